"""A model is asked for a summary: what it is sent, in how many pieces, and how patiently."""

from collections.abc import Iterable, Sequence

import pytest
import trio
import trio.testing

from askd.core.compaction import PROMPT, UNAVAILABLE
from askd.core.items import (
    AssistantMessage,
    Blob,
    Item,
    Summary,
    Text,
    ToolCall,
    ToolOutput,
    UserMessage,
)
from askd.core.outcome import Failure, Usage
from askd.core.overflow import HOPELESS
from askd.errors import (
    AskdError,
    BadAnswer,
    NotFound,
    Overflowed,
    RateLimited,
    Refused,
    TooLarge,
    Unauthenticated,
    Unavailable,
)
from askd.providers.base import Caller, Failed, Manners, ModelRequest, Price
from askd.sessions.summaries import DELAYS_S, LONGEST_WAIT_S, THINKING_TOKENS, Summarizer, Written
from tests.fakes.log import FakeStore
from tests.fakes.long_talks import find_facts, make_models, now
from tests.fakes.models import ScriptedModels, Step
from tests.fakes.sessions import Room, open_room

CALLER = Caller(secrets={"KEY": "k"})


def say(id: str, text: str) -> UserMessage:
    return UserMessage(id, (Text(text),))


def answer(id: str, text: str) -> AssistantMessage:
    return AssistantMessage(id, (Text(text),))


def facts(count: int, tokens: int) -> list[Item]:
    """So many exchanges of about so many tokens each."""
    words = "and so it goes " * (tokens // 8)
    return [
        item
        for n in range(count)
        for item in (say(f"u{n}", f"FACT-{n} {words}"), answer(f"a{n}", words))
    ]


async def summarize(
    room: Room, items: Sequence[Item], *, contents: dict[str, bytes] | None = None
) -> Written:
    """The summary, 100 tokens long at the most."""

    async def read_blob(sha256: str) -> bytes:
        if contents is None or sha256 not in contents:
            raise NotFound(f"Blob not found: {sha256}")
        return contents[sha256]

    summarizer = Summarizer(
        model=await room.models.resolve(None, CALLER),
        caller=CALLER,
        means=room.sessions.means,
        read_blob=read_blob,
        system="Be brief.",
        summary_tokens=100,
        report=lambda kind, text: None,
    )
    return await summarizer.summarize(items)


def repeat(request: ModelRequest) -> Iterable[Step]:
    """Only what the request itself held."""
    return [" ".join(find_facts(request))]


async def test_the_request_is_the_source_and_the_prompt_and_nothing_else() -> None:
    models = make_models(lambda request: ["They ", "greeted."], price=Price(input=1e6, output=1e6))
    source: list[Item] = [say("u", "hi"), answer("a", "hello")]
    async with open_room(models=models) as room:
        written = await summarize(room, source)
        assert written == Written(text="They greeted.", usage=Usage(7, 3, cost_usd=10.0), trimmed=0)
        (request,) = models.requests
        assert list(request.items) == [*source, say("compaction", PROMPT)]
        assert (request.system, request.tools, request.max_output_tokens) == ("Be brief.", (), 100)
        assert models.callers == [CALLER]
        assert models.rejected == []


async def test_one_that_thinks_has_room_for_that() -> None:
    models = make_models(repeat, manners=Manners(effort="high"), window=20_000, reserved=10_000)
    async with open_room(models=models) as room:
        await summarize(room, [say("u", "hi")])
        assert models.requests[0].max_output_tokens == 100 + THINKING_TOKENS


async def test_calls_go_with_their_outputs_and_need_no_tools() -> None:
    calls = AssistantMessage("a", (), calls=(ToolCall("c1", "clock", "{}"),))
    source: list[Item] = [say("u", "time?"), calls, ToolOutput("o", "c1", "clock", (Text("noon"),))]
    models = make_models(repeat)
    async with open_room(models=models) as room:
        await summarize(room, source)
        assert list(models.requests[0].items[:3]) == source
        assert models.rejected == []


async def test_texts_beside_the_log_are_read_and_cut_and_images_named() -> None:
    notes, image = Blob("n", 50_000, "text/plain", "notes"), Blob("i", 9, "image/png")
    lost = Blob("l", 7, "text/plain", "lost")
    words = Text("See these.")
    models = make_models(repeat)
    async with open_room(models=models) as room:
        source = [UserMessage("u", (notes, image, lost, words))]
        await summarize(room, source, contents={"n": b"FACT-1" + b" x" * 24_997})
        (request,) = models.requests
        said = request.items[0]
        assert isinstance(said, UserMessage)
        texts = [part.text for part in said.parts if isinstance(part, Text)]
        assert len(texts) == 4
        assert texts[0].startswith("FACT-1 x x")
        assert "characters truncated" in texts[0]
        assert len(texts[0]) < 3000
        assert texts[1:] == [
            "[image/png, 9 bytes, not shown]",
            "[text/plain, 7 bytes, not shown]",
            "See these.",
        ]
        assert request.images == {}


async def test_what_does_not_fit_goes_in_pieces_each_with_the_summary_so_far() -> None:
    models = make_models(repeat)
    async with open_room(models=models) as room:
        written = await summarize(room, facts(12, 400))
        assert written.text.split() == [f"FACT-{n}" for n in range(12)]
        assert len(models.requests) == 3
        for earlier, request in zip(models.requests, models.requests[1:], strict=False):
            first = request.items[0]
            assert isinstance(first, Summary)
            assert first.text.split() == find_facts(earlier)
        assert written.usage == Usage(21, 9)


async def test_what_just_fits_goes_in_one_piece() -> None:
    models = make_models(repeat)
    async with open_room(models=models) as room:
        await summarize(room, facts(4, 400))
        assert len(models.requests) == 1


async def test_one_huge_message_is_cut() -> None:
    models = make_models(repeat)
    async with open_room(models=models) as room:
        huge = say("u", f"FACT-begin {'long words ' * 20_000} FACT-end")
        written = await summarize(room, [huge])
        assert written.text == "FACT-begin FACT-end"
        assert len(models.requests) == 1


@pytest.mark.parametrize("text", ["", "  \n ", "---", "..."])
async def test_an_answer_with_nothing_in_it_is_no_summary(text: str) -> None:
    models = make_models(lambda request: [text] if text else [])
    async with open_room(models=models) as room:
        assert (await summarize(room, [say("u", "hi")])).text == UNAVAILABLE


@pytest.mark.parametrize(
    "trouble",
    [
        Unavailable("no answer"),
        BadAnswer("nonsense"),
        RateLimited("too many"),
        Failed(Failure(1, "unavailable", "broke")),
    ],
)
async def test_what_may_pass_is_waited_for(
    autojump_clock: trio.testing.MockClock, trouble: Step
) -> None:
    troubles: list[list[Step]] = [[trouble] for _ in DELAYS_S]
    models = make_models(lambda request: troubles.pop() if troubles else ["done"])
    async with open_room(models=models) as room:
        began = trio.current_time()
        assert (await summarize(room, [say("u", "hi")])).text == "done"
        assert trio.current_time() - began == pytest.approx(sum(DELAYS_S))
        assert len(models.requests) == 6


async def test_it_is_given_up_after_the_last_wait(autojump_clock: trio.testing.MockClock) -> None:
    models = make_models(lambda request: [Unavailable("no answer")])
    async with open_room(models=models) as room:
        with pytest.raises(Unavailable):
            await summarize(room, [say("u", "hi")])
        assert len(models.requests) == 6


@pytest.mark.parametrize("error", [Unauthenticated("no"), Refused("never")])
async def test_what_does_not_pass_is_not_waited_for(error: AskdError) -> None:
    models = make_models(lambda request: [error])
    async with open_room(models=models) as room:
        with pytest.raises(type(error)):
            await summarize(room, [say("u", "hi")])
        assert len(models.requests) == 1


@pytest.mark.parametrize(("wait_s", "tries"), [(30.0, 2), (LONGEST_WAIT_S + 1, 1)])
async def test_a_server_that_says_when_is_believed(
    autojump_clock: trio.testing.MockClock, wait_s: float, tries: int
) -> None:
    troubles: list[Step] = []

    def play(request: ModelRequest) -> Iterable[Step]:
        return [troubles.pop()] if troubles else ["done"]

    models = make_models(play)
    async with open_room(models=models, store=FakeStore(now=now)) as room:
        troubles.append(RateLimited("later", data={"retry_at": now() + wait_s}))
        began = trio.current_time()
        if tries == 1:
            with pytest.raises(RateLimited):
                await summarize(room, [say("u", "hi")])
        else:
            await summarize(room, [say("u", "hi")])
            assert trio.current_time() - began == pytest.approx(wait_s)
        assert len(models.requests) == tries


async def test_what_the_server_finds_too_long_loses_its_oldest_exchange(
    autojump_clock: trio.testing.MockClock,
) -> None:
    source: list[Item] = [
        say("u0", "FACT-0"),
        AssistantMessage("a0", (), calls=(ToolCall("c1", "clock", "{}"),)),
        ToolOutput("o0", "c1", "clock", (Text("FACT-out"),)),
        say("u1", "FACT-1"),
    ]
    failing = [Unavailable("x")] * len(DELAYS_S)
    # After the first item has left, as many tries as at the beginning.
    script: list[Step] = [*failing, Overflowed("too long"), *failing, Overflowed("too long")]
    models = make_models(lambda request: [script.pop(0)] if script else repeat(request))
    async with open_room(models=models) as room:
        written = await summarize(room, source)
        assert (written.text, written.trimmed) == ("FACT-1", 3)
        assert models.rejected == []


async def test_nothing_can_be_made_of_what_never_fits() -> None:
    models = make_models(lambda request: [Overflowed("too long")])
    async with open_room(models=models) as room:
        with pytest.raises(TooLarge, match=HOPELESS):
            await summarize(room, facts(2, 40))
        assert len(models.requests) == 4


async def test_models_that_count_in_another_way_are_known() -> None:
    models = ScriptedModels(repeat, window=2500, reserved=500, usage=Usage(60, 3))
    async with open_room(models=models) as room:
        before = room.sessions.means.rates.find("test/small")
        await summarize(room, [say("u", "hello there " * 10)])
        assert room.sessions.means.rates.find("test/small") != before
