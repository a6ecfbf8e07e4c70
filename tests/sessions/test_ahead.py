"""What is found ahead of a turn is for that turn alone, once, and not for long.

What a turn does with it is `test_instructions`'s and `test_turns`'s.
"""

import trio
import trio.testing

from askd.core.conversation import Conversation
from askd.core.events import PromptAccepted
from askd.providers.base import Caller
from askd.sessions.ahead import FRESH_S, Ahead
from tests.fakes.sessions import open_room


async def test_it_is_given_once_and_to_its_turn_alone(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_room() as room:
        model = await room.models.resolve(None, Caller())
        ahead, prompt = Ahead(), PromptAccepted("t", "k", ())
        assert ahead.take("t") is None
        ahead.announce(prompt, model)
        assert ahead.is_wanted()
        await ahead.look(Conversation("c"), room.sessions.means)
        assert not ahead.is_wanted()
        found = ahead.take("t")
        assert found is not None
        assert (found.prompt, found.model, found.read is not None) == (prompt, model, True)
        assert ahead.take("t") is None
        ahead.announce(prompt, model)
        assert (ahead.take("another"), ahead.is_wanted()) == (None, False)


async def test_it_is_not_kept_for_long(autojump_clock: trio.testing.MockClock) -> None:
    async with open_room() as room:
        model = await room.models.resolve(None, Caller())
        ahead = Ahead()
        ahead.announce(PromptAccepted("t", "k", ()), model)
        await trio.sleep(FRESH_S * 1.1)
        assert ahead.take("t") is None
