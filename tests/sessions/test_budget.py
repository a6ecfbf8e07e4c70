"""Near the limit the provider counts, if it can, and never for longer than a moment."""

import pytest
import trio

from askd.core.events import ItemPinned
from askd.core.items import Text, UserMessage
from askd.core.outcome import OVERFLOW, Usage
from askd.core.sight import find_sight
from askd.core.tokens import encode_size, measure_request
from askd.errors import TooLarge, Unavailable
from askd.providers.base import Caller, Model, ModelRequest
from askd.sessions.budget import COUNT_S, NEAR, check_budget, count_request, is_near, size_request
from askd.sessions.rates import KnownRates
from tests.fakes.models import ScriptedModels
from tests.fakes.sessions import open_room, to

BUDGET = 1000


def request_of(words: int) -> ModelRequest:
    return ModelRequest(model="small", items=[UserMessage("u", (Text("word " * words),))])


async def find_model(models: ScriptedModels) -> Model:
    return await models.resolve(None, Caller())


async def count(models: ScriptedModels, request: ModelRequest) -> int:
    return await count_request(
        request,
        size_request(request),
        model=await find_model(models),
        caller=Caller(),
        models=models,
        rates=KnownRates(),
    )


def windowed(**more: object) -> ScriptedModels:
    return ScriptedModels(window=BUDGET + 200, reserved=200, **more)  # type: ignore[arg-type]


async def test_far_from_the_limit_nobody_is_asked() -> None:
    models = windowed(counts=5)
    for words in (100, 3000):
        request = request_of(words)
        assert await count(models, request) == size_request(request).tokens
    assert models.counted == []


async def test_near_the_limit_the_count_is_what_counts() -> None:
    for counted in (700, 1400):
        models = windowed(counts=counted)
        request = request_of(1000)
        assert await count(models, request) == counted
        assert models.counted == [request]


@pytest.mark.parametrize("counts", [None, Unavailable("gone")])
async def test_who_does_not_count_leaves_the_estimate(counts: Exception | None) -> None:
    request = request_of(1000)
    models = windowed(counts=counts)
    assert await count(models, request) == size_request(request).tokens
    assert len(models.counted) == 1


async def test_who_is_slow_leaves_the_estimate(autojump_clock: trio.testing.MockClock) -> None:
    request = request_of(1000)
    began = trio.current_time()
    assert await count(windowed(counts=trio.Event()), request) == size_request(request).tokens
    assert trio.current_time() - began == COUNT_S


async def test_near_is_a_share_of_the_budget_on_both_sides() -> None:
    model = await find_model(windowed())
    edges = [round(BUDGET * (1 - NEAR)), round(BUDGET * (1 + NEAR))]
    assert [is_near(edge, model) for edge in edges] == [True, True]
    assert [is_near(edges[0] - 1, model), is_near(edges[1] + 1, model)] == [False, False]
    check_budget(BUDGET, model)
    with pytest.raises(TooLarge, match=r"about 1001 tokens; test/small has a window of 1200"):
        check_budget(BUDGET + 1, model)


async def test_a_prompt_that_only_seems_too_long_is_taken() -> None:
    async with open_room(models=windowed(counts=900), title="off") as room:
        end = await room.finish(await room.ask("word " * 1020))
        assert end.code == 0
        # Asked at the door and before the request: the same prompt, with all that travels with it.
        assert len(room.models.counted) == 2
        room.models.counts = 1020
        with pytest.raises(TooLarge, match="about 1020 tokens"):
            await room.ask("word " * 900)


async def test_a_conversation_that_only_seems_to_fit_is_refused() -> None:
    async with open_room(models=windowed(), title="off", overflow="ask") as room:
        first = await room.ask("word " * 400)
        await room.finish(first)
        room.models.counts = 1100
        # Pinned, so that nothing can leave; and a person is to decide, but none is there.
        said = find_sight(first.session.conversation, None).items
        await first.session.append([ItemPinned(item.id) for item in said])
        end = await room.finish(await room.ask("word " * 100, target=to(first.session)))
        assert (end.outcome, end.code) == ("failed", OVERFLOW)
        assert end.message is not None
        assert "about 1100 tokens" in end.message


async def test_what_was_learned_decides_too() -> None:
    text = "Обычное предложение из обычных слов. " * 50
    size = measure_request([UserMessage("u", (Text(text),))])
    window = 3 * size.tokens // 2
    async with open_room(models=ScriptedModels(window=window, reserved=0), title="off") as room:
        await room.finish(await room.ask(text))
        for turns in (1, 2, 3):
            tokens = {each: turns * count for each, count in encode_size(size).items()}
            room.sessions.means.rates.learn("test/small", tokens, Usage(2 * turns * size.tokens))
        with pytest.raises(TooLarge):
            await room.ask(text)
