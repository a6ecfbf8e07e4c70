"""What is known of models is loaded at the start, taught by answers, and never in the way."""

from collections.abc import Mapping

import pytest

from askd.core.calibration import UNKNOWN, Rates, learn
from askd.core.outcome import Usage
from askd.core.tokens import decode_size, encode_size, measure
from askd.errors import StorageFailed
from askd.sessions.rates import KnownRates
from tests.fakes.log import FakeStore
from tests.fakes.models import ScriptedModels
from tests.fakes.sessions import open_room, to

RUSSIAN = "Обычное предложение из обычных слов. " * 20
SIZE = measure(RUSSIAN)
TAUGHT = learn(UNKNOWN, SIZE, 2 * SIZE.tokens)


def test_a_model_is_known_by_what_it_said_alone() -> None:
    rates = KnownRates()
    rates.learn("a/b", encode_size(SIZE), Usage(2 * SIZE.tokens))
    rates.learn("c/d", encode_size(SIZE), None)
    assert rates.estimate("a/b", SIZE) > rates.estimate("c/d", SIZE) == SIZE.tokens
    assert rates.estimate(None, SIZE) == SIZE.tokens
    assert rates.find("a/b") == learn(UNKNOWN, decode_size(encode_size(SIZE)), 2 * SIZE.tokens)


class Shelf:
    """Where rates are kept, or cannot be read."""

    def __init__(self, kept: Mapping[str, Rates] | None) -> None:
        self.kept = kept

    async def token_rates(self) -> Mapping[str, Rates]:
        if self.kept is None:
            raise StorageFailed("The disk is gone.")
        return self.kept


async def test_what_was_kept_is_known_again_and_what_was_just_learned_stays() -> None:
    rates = KnownRates()
    rates.learn("c/d", encode_size(SIZE), Usage(2 * SIZE.tokens))
    await rates.load(Shelf({"a/b": TAUGHT, "c/d": UNKNOWN}))
    assert rates.find("a/b") == TAUGHT
    assert rates.find("c/d") != UNKNOWN


async def test_a_start_does_not_fail_for_it(caplog: pytest.LogCaptureFixture) -> None:
    rates = KnownRates()
    await rates.load(Shelf(None))
    assert rates.find("a/b") == UNKNOWN
    assert "The disk is gone." in caplog.text


async def test_sessions_load_it_and_answers_teach_it() -> None:
    store = FakeStore()
    store.rates = {"test/large": TAUGHT}
    async with open_room(store=store, models=ScriptedModels(), title="off") as room:
        rates = room.sessions.means.rates
        assert rates.find("test/large") == TAUGHT
        first = await room.ask(RUSSIAN)
        before = rates.find("test/small")
        room.models.usage = Usage(2 * SIZE.tokens, 9)
        await room.finish(first)
        await room.finish(await room.ask("Ещё раз.", target=to(first.session)))
        assert before == UNKNOWN
        assert rates.find("test/small").reports > 0
        assert rates.estimate("test/small", SIZE) > 1.3 * SIZE.tokens


async def test_a_conversation_that_is_kept_nowhere_teaches_too() -> None:
    async with open_room(models=ScriptedModels(usage=Usage(2 * SIZE.tokens, 9))) as room:
        await room.finish(await room.ask(RUSSIAN, ephemeral=True))
        assert room.sessions.means.rates.find("test/small").reports == 1
