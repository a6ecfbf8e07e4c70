"""Changes of a view without a model: pruned with a word in the log, cleared, reset, taken back."""

import logging

import pytest

from askd.core.context import build_context
from askd.core.events import ItemAdded, SettingsChanged, ViewChanged
from askd.core.items import AssistantMessage, Summary, Text, ToolCall, ToolOutput
from askd.providers.base import Caller, Model
from askd.sessions.live import LiveSession
from askd.sessions.rules import ContextRules
from askd.sessions.shrinking import clear, find_overhead, prune, reset, undo
from tests.fakes.long_talks import Scribe, changes_of, fill, make_models, talk
from tests.fakes.models import texts_of
from tests.fakes.sessions import Room, open_room

RULES = ContextRules(compaction=False, compaction_threshold=0.4)
"""What takes more than 1,000 tokens is pruned to 900."""


async def find_model(room: Room) -> Model:
    return await room.models.resolve(None, Caller())


async def shrink(room: Room, session: LiveSession) -> ViewChanged | None:
    return await prune(session, await find_model(room), means=room.sessions.means, reason="test")


def seen(session: LiveSession) -> list[str]:
    return texts_of(build_context(session.conversation, None, system=None).items)


async def test_pruning_is_told_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async with open_room(models=make_models(Scribe()), title="off", context=RULES) as room:
        session = await talk(room, None, *(fill(str(n), 200) for n in range(6)))
        first = session.conversation.started[0]
        call = AssistantMessage("call", (), calls=(ToolCall("call_7", "clock", "{}"),))
        output = ToolOutput("out", "call_7", "clock", (Text("tick " * 10),))
        await session.append([ItemAdded(first, call, 2), ItemAdded(first, output, 2)])
        with caplog.at_level(logging.DEBUG):
            change = await shrink(room, session)
        assert change is not None
        assert (change.kind, change.reason) == ("prune", "test")
        before, after = change.tokens_before, change.tokens_after
        lines = [record.getMessage() for record in caplog.records]
        assert f"Pruning conversation: tokens={before}/2000, threshold=2000" in lines
        assert f"Pruning complete: removed 4 messages, tokens now {after}/2000" in lines
        assert "Pruning tool call pair atomically: call_id=call_7, message_count=2" in lines
        assert seen(session)[-1] == "ok"
        assert not any("FACT-0" in text for text in seen(session)[1:])


async def test_what_is_small_enough_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    async with open_room(models=make_models(Scribe()), title="off", context=RULES) as room:
        session = await talk(room, None, "hi", "there")
        with caplog.at_level(logging.INFO):
            assert await shrink(room, session) is None
        assert "Pruning" not in caplog.text
        assert changes_of(session) == []


async def test_clear_hides_all_that_was_said_and_only_that() -> None:
    async with open_room(models=make_models(Scribe()), title="off", context=RULES) as room:
        session = await talk(room, None, "hi")
        change = await clear(session, new_id=room.ids)
        assert change is not None
        assert (change.kind, change.through_turn) == ("clear", session.conversation.started[-1])
        assert seen(session) == []


async def test_where_nothing_was_said_there_is_nothing_to_clear() -> None:
    async with open_room(models=make_models(Scribe()), title="off") as room:
        session = await talk(room, None, "hi")
        fresh = await room.sessions.open(room.ids(), ephemeral=True)
        assert await clear(fresh, new_id=room.ids) is None
        assert changes_of(session) == []


async def test_a_reset_leaves_the_prompt_and_says_what_happened() -> None:
    async with open_room(models=make_models(Scribe()), title="off", context=RULES) as room:
        session = await talk(room, None, *(fill(str(n), 200) for n in range(4)))
        last = session.conversation.started[-1]
        change = await reset(session, last, await find_model(room), means=room.sessions.means)
        assert change is not None
        assert (change.kind, change.reason) == ("clear", "overflow")
        items = build_context(session.conversation, last, system=None).items
        assert isinstance(items[0], Summary)
        assert "was cleared" in items[0].text
        assert [text.split()[0] for text in texts_of(items)] == ["FACT-3", "ok"]


async def test_the_last_change_is_taken_back_and_then_the_one_before() -> None:
    async with open_room(models=make_models(Scribe()), title="off", context=RULES) as room:
        session = await talk(room, None, *(fill(str(n), 200) for n in range(6)))
        whole = seen(session)
        one = await shrink(room, session)
        await talk(room, session, *(fill(str(n), 200) for n in range(6, 10)))
        two = await shrink(room, session)
        assert one is not None
        assert two is not None
        assert await undo(session, new_id=room.ids) == two
        assert await undo(session, new_id=room.ids) == one
        assert seen(session)[: len(whole)] == whole
        assert await undo(session, new_id=room.ids) is None
        assert [change.kind for change in changes_of(session)][-2:] == ["undo", "undo"]


async def test_a_clear_is_not_taken_back() -> None:
    async with open_room(models=make_models(Scribe()), title="off", context=RULES) as room:
        session = await talk(room, None, *(fill(str(n), 200) for n in range(6)))
        assert await shrink(room, session)
        await clear(session, new_id=room.ids)
        assert await undo(session, new_id=room.ids) is None


async def test_the_frame_of_a_request_counts() -> None:
    async with open_room(models=make_models(Scribe()), title="off") as room:
        session = await talk(room, None, "hi")
        model, means = await find_model(room), room.sessions.means
        bare = find_overhead(session.conversation, model, means)
        await session.append([SettingsChanged(system="Be brief. " * 50)])
        assert find_overhead(session.conversation, model, means) >= bare + 100
