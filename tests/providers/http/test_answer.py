"""One answer: tries, time limits, cuts, on a mock clock."""

import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import httpx
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from askd.errors import (
    BadAnswer,
    NotConfigured,
    Overflowed,
    ProviderError,
    RateLimited,
    Refused,
    Unauthenticated,
    Unavailable,
    UnknownModel,
)
from askd.providers.base import Ended, Endpoint, HttpCall, ModelRequest, StreamEvent, TextDelta
from askd.providers.http.answer import AT_ONCE
from askd.providers.http.transport import Transport
from askd.providers.refusals import read_refusal
from tests.fakes import chat_answers
from tests.fakes.chat_answers import DONE, chunk, say
from tests.fakes.scenes import CODEC, WHERE, Body, Scene, collect, good, refuse, stream_of, text_of

# ---- trying again ---------------------------------------------------------------


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503, 529])
async def test_busy_server_is_asked_again(status: int, autojump_clock: MockClock) -> None:
    scene = Scene(refuse(status), refuse(status), good())
    assert text_of(await scene.ask()) == "Hello"
    assert trio.current_time() == pytest.approx(0.25 + 0.5)
    kinds = [kind for kind, _ in scene.reports]
    assert kinds == ["retrying", "retrying"]
    assert "(try 2 of 4)" in scene.reports[0][1]


async def test_four_tries_and_no_more(autojump_clock: MockClock) -> None:
    scene = Scene(*[refuse(500, f"Number {n}.") for n in range(1, 6)])
    with pytest.raises(Unavailable, match="Number 4"):
        await scene.ask()
    assert len(scene.requests) == 4
    assert trio.current_time() == pytest.approx(0.25 + 0.5 + 1)


@pytest.mark.parametrize(
    ("headers", "wait_s"), [({"retry_after": "7"}, 7.0), ({"retry_after_ms": "1500"}, 1.5)]
)
async def test_server_says_when(
    headers: dict[str, str], wait_s: float, autojump_clock: MockClock
) -> None:
    scene = Scene(refuse(429, **headers), good())
    await scene.ask()
    assert trio.current_time() == pytest.approx(wait_s)


async def test_server_that_wants_too_much_patience_gets_none(autojump_clock: MockClock) -> None:
    scene = Scene(refuse(429, retry_after="3600"))
    with pytest.raises(RateLimited) as caught:
        await scene.ask()
    assert caught.value.data["retry_at"] == 1000.0 + 3600
    assert trio.current_time() == 0


@pytest.mark.parametrize(
    ("status", "message", "expected"),
    [(400, "No.", Refused), (401, "No.", Unauthenticated), (404, "no such model", UnknownModel),
     (400, "prompt is too long", Overflowed)],
)  # fmt: skip
async def test_refusals_are_final(status: int, message: str, expected: type[ProviderError]) -> None:
    scene = Scene(refuse(status, message))
    with pytest.raises(expected):
        await scene.ask()
    assert scene.reports == []


@pytest.mark.parametrize("trouble", [httpx.ConnectError("refused"), httpx.ConnectTimeout("slow")])
async def test_unreachable_server_is_tried_again(
    trouble: Exception, autojump_clock: MockClock
) -> None:
    scene = Scene(trouble, good())
    assert text_of(await scene.ask()) == "Hello"
    assert len(scene.reports) == 1


@pytest.mark.parametrize(
    "trouble", [httpx.ReadError("reset"), httpx.WriteError("pipe"), httpx.RemoteProtocolError("x")]
)
async def test_kept_connection_that_was_closed_is_replaced_without_a_word(
    trouble: Exception, autojump_clock: MockClock
) -> None:
    scene = Scene(trouble, good())
    assert text_of(await scene.ask()) == "Hello"
    assert scene.reports == []
    assert trio.current_time() == 0


async def test_server_that_always_hangs_up_is_given_up(autojump_clock: MockClock) -> None:
    scene = Scene(*[httpx.RemoteProtocolError("gone") for _ in range(9)])
    with pytest.raises(Unavailable, match="connection broke: gone"):
        await scene.ask()
    assert len(scene.requests) == 4 + 1
    assert len(scene.reports) == 3


async def test_cut_before_anything_was_shown_is_tried_again(autojump_clock: MockClock) -> None:
    role = chunk({"role": "assistant", "content": ""})
    scene = Scene(stream_of(role), stream_of(role, httpx.ReadError("reset")), good())
    assert text_of(await scene.ask()) == "Hello"
    assert "cut before its end" in scene.reports[0][1]


async def test_count_alone_shows_nothing(autojump_clock: MockClock) -> None:
    counted = chat_answers.usage(prompt=10, completion=0)
    broken = chat_answers.event({"error": {"message": "overloaded", "type": "overloaded_error"}})
    scene = Scene(stream_of(counted, broken), stream_of(counted), good())
    assert text_of(await scene.ask()) == "Hello"
    assert len(scene.reports) == 2


async def test_error_event_before_anything_was_shown_is_tried_again(
    autojump_clock: MockClock,
) -> None:
    broken = chat_answers.event({"error": {"message": "overloaded", "type": "server_error"}})
    scene = Scene(stream_of(broken), good())
    assert text_of(await scene.ask()) == "Hello"


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        ((), "cut before its end"),
        ((httpx.ReadError("reset"),), "connection broke: reset"),
        ((chat_answers.event({"error": {"message": "Crashed."}}),), "Crashed."),
        ((b"data: {broken\n\n",), "not a JSON object"),
    ],
)
async def test_after_the_first_word_nothing_is_tried_again(
    pieces: tuple[bytes | Exception, ...], words: str
) -> None:
    scene = Scene(stream_of(chunk({"content": "Half"}), *pieces), good())
    request = ModelRequest(model="m", items=[])
    async with scene.transport.stream(WHERE, CODEC, request, progress=lambda *_: None) as events:
        assert await anext(events) == TextDelta("Half")
        with pytest.raises(ProviderError, match=words):
            await anext(events)
    assert len(scene.requests) == 1


async def test_end_without_a_done_is_a_cut() -> None:
    scene = Scene(stream_of(chunk({"content": "All."}), chunk({}, finish="stop")))
    with pytest.raises(Unavailable, match="cut before its end"):
        await scene.ask()


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "text/html"])
async def test_answer_that_is_no_stream(kind: str) -> None:
    scene = Scene(httpx.Response(200, headers={"content-type": kind}, stream=Body(b"<html>")))
    with pytest.raises(BadAnswer, match="not a stream"):
        await scene.ask()


async def test_broken_pairing_is_logged_as_an_error(caplog: pytest.LogCaptureFixture) -> None:
    words = "Messages with role 'tool' must be a response to a preceding message."
    with pytest.raises(Refused, match="must be a response"):
        await Scene(refuse(400, words)).ask()
    assert [record.levelno for record in caplog.records if words in record.message] == [
        logging.ERROR
    ]


# ---- time -----------------------------------------------------------------------


async def test_server_that_never_begins(autojump_clock: MockClock) -> None:
    async def hang(request: httpx.Request) -> httpx.Response:
        await trio.sleep_forever()
        raise AssertionError

    transport = Transport(mock=httpx.MockTransport(hang))
    with pytest.raises(Unavailable, match="sent nothing for 60 seconds"):
        await collect(transport)
    assert trio.current_time() == pytest.approx(60)


async def test_comments_are_silence(autojump_clock: MockClock) -> None:
    drip: list[bytes | float] = [b": keep-alive\n\n", 10.0]
    scene = Scene(stream_of(chunk({"content": "Hi"}), *drip * 100))
    with pytest.raises(Unavailable, match="sent nothing for 120 seconds"):
        await scene.ask()
    assert trio.current_time() == pytest.approx(120)
    assert scene.reports == []


async def test_slow_answer_is_fine_up_to_a_total(autojump_clock: MockClock) -> None:
    words: list[bytes | float] = [chunk({"content": "x"}), 100.0]
    assert len(await Scene(stream_of(*words * 5, DONE)).ask()) == 6
    with pytest.raises(Unavailable, match="not over after 30 minutes"):
        await Scene(stream_of(*words * 100)).ask()


async def test_tries_share_the_total(autojump_clock: MockClock) -> None:
    scene = Scene(refuse(503, retry_after="50"), refuse(503, retry_after="50"), good())
    with pytest.raises(Unavailable):
        await scene.ask(total_s=80)
    assert len(scene.requests) == 2


async def test_slow_reader_is_not_the_servers_fault(autojump_clock: MockClock) -> None:
    scene = Scene(stream_of(chunk({"content": "a"}), chunk({"content": "b"}), DONE))
    request = ModelRequest(model="m", items=[])
    async with scene.transport.stream(WHERE, CODEC, request, progress=lambda *_: None) as events:
        async for _ in events:
            await trio.sleep(500)


async def test_oversized_answer_is_refused(autojump_clock: MockClock) -> None:
    scene = Scene(stream_of(chunk({"content": "a"}), b"data: " + b"x" * (1 << 21)))
    with pytest.raises(BadAnswer, match="longer than 1 MiB"):
        await scene.ask()


async def test_half_an_event_for_ever_is_silence(autojump_clock: MockClock) -> None:
    drip: list[bytes | float] = [b"x", 10.0]
    scene = Scene(stream_of(chunk({"content": "Hi"}), b'data: {"choices', *drip * 100))
    with pytest.raises(Unavailable, match="sent nothing for 120 seconds"):
        await scene.ask()
    assert trio.current_time() == pytest.approx(120)


async def test_events_that_say_nothing_show_nothing(autojump_clock: MockClock) -> None:
    empty = chunk({"content": ""})
    scene = Scene(stream_of(empty, empty, chat_answers.event({"error": {"message": "x"}})), good())
    assert text_of(await scene.ask()) == "Hello"


async def test_white_space_first_is_no_trouble(autojump_clock: MockClock) -> None:
    pieces = [each for each in say("Hi") if isinstance(each, bytes)]
    assert text_of(await Scene(stream_of(b"\xef\xbb\xbf", b" \n", *pieces)).ask()) == "Hi"
    assert text_of(await Scene(stream_of(b"\n", b"d", b"ata: ", pieces[0][6:], *pieces[1:])).ask())


@pytest.mark.parametrize("kind", [None, "text/plain", "application/json", "text/event-stream"])
async def test_content_type_is_not_believed(kind: str | None) -> None:
    headers = {} if kind is None else {"content-type": kind}
    reply = httpx.Response(200, headers=headers, stream=good().stream)
    assert text_of(await Scene(reply).ask()) == "Hello"


class Lines:
    """A dialect of JSON lines, as Ollama's."""

    dialect = "ollama"

    def encode(self, request: ModelRequest) -> HttpCall:
        return HttpCall(method="POST", path="/api/chat", body=b"{}")

    def decoder(self, request: ModelRequest) -> "Lines":
        return self

    def feed(self, data: bytes) -> list[StreamEvent]:
        events: list[StreamEvent] = []
        for line in data.splitlines():
            parsed = json.loads(line)
            events.append(Ended() if parsed.get("done") else TextDelta(parsed["text"]))
        return events

    def read_error(self, status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
        return read_refusal("work", status, headers, body)


async def ask_lines(response: httpx.Response) -> list[StreamEvent]:
    """Every event of an answer in lines."""
    scene = Scene(response)
    async with scene.transport.stream(
        WHERE, Lines(), ModelRequest(model="m", items=[]), progress=lambda *_: None
    ) as events:
        return [event async for event in events]


@pytest.mark.parametrize("kind", ["application/x-ndjson", "application/json", None])
async def test_lines_of_json_are_a_stream_in_their_dialect(kind: str | None) -> None:
    headers = {} if kind is None else {"content-type": kind}
    body = Body(b'{"text": "Hi"}\n', b'{"done": true}\n')
    events = await ask_lines(httpx.Response(200, headers=headers, stream=body))
    assert events == [TextDelta("Hi"), Ended()]


async def test_page_where_lines_should_be() -> None:
    with pytest.raises(BadAnswer, match="a web page"):
        await ask_lines(httpx.Response(200, stream=Body(b"<html>")))
    with pytest.raises(BadAnswer, match="no stream of events"):
        await ask_lines(httpx.Response(200, stream=Body(b"data: {}")))


async def test_compressed_answer_is_not_decoded() -> None:
    bomb = httpx.Response(200, headers={"content-encoding": "gzip"}, stream=Body(b"\x1f\x8b"))
    with pytest.raises(BadAnswer, match=r"compresses its answer \(gzip\) though asked not to"):
        await Scene(bomb).ask()


async def test_compressed_error_is_known_by_its_status(autojump_clock: MockClock) -> None:
    zipped = {"content-encoding": "br"}
    scene = Scene(httpx.Response(503, headers=zipped, stream=Body(b"\x8b\x01")), good())
    assert text_of(await scene.ask()) == "Hello"
    assert "(HTTP 503) without a readable reason" in scene.reports[0][1]


async def test_error_that_does_not_end_is_known_by_its_status(autojump_clock: MockClock) -> None:
    endless = httpx.Response(401, stream=Body(b'{"error": "No."', 1e9))
    with pytest.raises(Unauthenticated, match="No"):
        await Scene(endless).ask()
    assert trio.current_time() == pytest.approx(5)


# ---- others' turns --------------------------------------------------------------


@pytest.mark.parametrize("split", [False, True], ids=["one read", "a read each"])
async def test_a_fast_answer_lets_others_have_their_turns(split: bool) -> None:
    """Though nothing of it is ever waited for."""
    pieces = [chunk({"content": "x"}) for _ in range(AT_ONCE * 10)]
    end = [chunk({}, finish="stop"), DONE]
    body = [*pieces, *end] if split else [b"".join([*pieces, *end])]
    scene = Scene(stream_of(*body))
    turns = 0

    async def live_beside() -> None:
        nonlocal turns
        while True:
            await trio.lowlevel.checkpoint()
            turns += 1

    async with (
        trio.open_nursery() as nursery,
        scene.transport.stream(
            WHERE, CODEC, ModelRequest(model="m", items=[]), progress=lambda kind, text: None
        ) as events,
    ):
        await anext(events)
        nursery.start_soon(live_beside)
        texts = [text_of([event]) async for event in events]
        nursery.cancel_scope.cancel()
    assert "".join(texts) == "x" * (len(pieces) - 1)
    assert turns > 5  # of ten; the first of them begin it


async def test_an_answer_cut_off_in_anothers_turn_loses_nothing_before_it() -> None:
    pieces = [chunk({"content": f"{n} "}) for n in range(AT_ONCE * 2)]
    scene = Scene(stream_of(b"".join(pieces), 1e9))
    taken: list[StreamEvent] = []
    with trio.CancelScope() as scope:
        async with scene.transport.stream(
            WHERE, CODEC, ModelRequest(model="m", items=[]), progress=lambda kind, text: None
        ) as events:
            async for event in events:
                taken.append(event)
                if len(taken) == AT_ONCE - 1:
                    scope.cancel()
    assert text_of(taken) == "".join(f"{n} " for n in range(len(taken)))
    assert len(taken) == AT_ONCE - 1


# ---- limits on rates ------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": {"code": "insufficient_quota", "message": "Quota."}}, "used up: Quota."),
        ({"error": {"type": "rate_limit_error", "message": "Spent.",
                    "details": {"error_code": "enforced_spend_limit_reached"}}}, "used up: Spent."),
        ({"error": {"type": "usage_limit_reached", "message": "Reached.", "resets_at": 1030}},
         "renewed at 1970-01-01 00:17 UTC"),
    ],
)  # fmt: skip
async def test_what_is_used_up_is_not_tried_again(
    body: dict[str, Any], words: str, autojump_clock: MockClock
) -> None:
    reply = httpx.Response(429, stream=Body(json.dumps(body).encode()))
    scene = Scene(reply, good())
    with pytest.raises(RateLimited, match=words) as caught:
        await scene.ask()
    assert len(scene.requests) == 1
    assert caught.value.data.get("retry_at") == body["error"].get("resets_at")
    assert text_of(await scene.ask()) == "Hello"  # and slows nobody
    assert trio.current_time() == 0


async def test_same_inside_a_stream(autojump_clock: MockClock) -> None:
    broken = {"error": {"code": "insufficient_quota", "message": "Quota."}}
    scene = Scene(stream_of(chat_answers.event(broken)), good())
    with pytest.raises(RateLimited, match="used up"):
        await scene.ask()
    assert len(scene.requests) == 1


async def test_text_says_when(autojump_clock: MockClock) -> None:
    words = "Rate limit reached. Please try again in 2.5s. Visit the dashboard."
    scene = Scene(refuse(429, words), good())
    await scene.ask()
    assert trio.current_time() == pytest.approx(2.5)
    limited = {"error": {"code": "rate_limit_exceeded", "message": words}}
    scene = Scene(stream_of(chat_answers.event(limited)), good())
    await scene.ask()
    assert trio.current_time() == pytest.approx(5)


async def test_too_long_a_wait_is_said(autojump_clock: MockClock) -> None:
    scene = Scene(refuse(429, "Slow.", retry_after="7200"), good())
    with pytest.raises(RateLimited, match=r"Slow\. Try again in 2 hours\.$"):
        await scene.ask()
    with pytest.raises(RateLimited, match="takes no more requests for now") as caught:
        await scene.ask()  # the next one is not even asked
    assert caught.value.data["retry_at"] == 1000 + 7200
    assert len(scene.requests) == 1


@pytest.mark.parametrize("status", [429, 503, 529])
async def test_one_limit_slows_everyone(status: int, autojump_clock: MockClock) -> None:
    scene = Scene(refuse(status, retry_after="20"), *[good() for _ in range(8)])
    arrived: list[float] = []
    async with trio.open_nursery() as nursery:  # the askers; each ends by itself
        nursery.start_soon(scene.ask)
        await wait_all_tasks_blocked()

        async def ask() -> None:
            await scene.ask()
            arrived.append(trio.current_time())

        for _ in range(7):
            nursery.start_soon(ask)
        await wait_all_tasks_blocked()
        assert len(scene.requests) == 1
    assert arrived == pytest.approx([20] * 7)
    waits = [text for kind, text in scene.reports if kind == "waiting"]
    assert waits[0] == "work had too many requests; waiting 20 s as it asks"


async def test_who_was_refused_is_ahead_of_those_who_came_later(autojump_clock: MockClock) -> None:
    """Three requests in two seconds, twenty who ask: each has its answer within its tries."""
    tokens, filled_at = 1, 0.0
    tries: dict[str, int] = {}

    async def answer(request: httpx.Request) -> httpx.Response:
        nonlocal tokens, filled_at
        prompt = json.loads(request.content)["messages"][0]["content"]
        tries[prompt] = tries.get(prompt, 0) + 1
        await trio.sleep(0.01)
        if trio.current_time() - filled_at >= 1:
            tokens, filled_at = 3, trio.current_time()
        tokens -= 1
        return good() if tokens >= 0 else refuse(429, retry_after="2")

    transport = Transport(mock=httpx.MockTransport(answer), chance=lambda: 1.0, now=lambda: 1000.0)
    reports: list[tuple[str, str]] = []
    async with trio.open_nursery() as nursery:  # the askers; each ends by itself
        for number in range(20):
            nursery.start_soon(partial(collect, transport, reports, prompt=f"p{number}"))
    assert len(tries) == 20
    assert max(tries.values()) <= 4
    assert not [words for kind, words in reports if kind == "waiting" and "0.1 s" in words]


async def test_retry_is_told_once(autojump_clock: MockClock) -> None:
    scene = Scene(refuse(429, retry_after="2"), good())
    await scene.ask()
    assert [kind for kind, _ in scene.reports] == ["retrying"]
    assert trio.current_time() == pytest.approx(2)


async def test_long_answer_does_not_hold_the_gate(autojump_clock: MockClock) -> None:
    def slow() -> httpx.Response:
        return stream_of(chunk({"content": "a"}), 100.0, chunk({}, finish="stop"), DONE)

    scene = Scene(refuse(429, retry_after="20"), *[slow() for _ in range(8)])
    async with trio.open_nursery() as nursery:  # the askers; each ends by itself
        for _ in range(8):
            nursery.start_soon(scene.ask)
            await wait_all_tasks_blocked()
    # That they are answered at all is the verdict: all were asked in the same moment.
    assert trio.current_time() == pytest.approx(20 + 100)


async def test_wait_at_the_gate_ends_with_the_total(autojump_clock: MockClock) -> None:
    scene = Scene(refuse(429, retry_after="50"))
    with pytest.raises(RateLimited):
        await scene.ask(total_s=5)
    with pytest.raises(Unavailable, match="not over after"):
        await scene.ask(total_s=30)
    assert trio.current_time() == pytest.approx(30)


@pytest.mark.parametrize("status", [500, 503])
async def test_trouble_without_a_time_slows_nobody(status: int, autojump_clock: MockClock) -> None:
    scene = Scene(refuse(status), good(), good())
    async with trio.open_nursery() as nursery:  # one asker, who ends by itself
        nursery.start_soon(scene.ask)
        await wait_all_tasks_blocked()
        await scene.ask()
        assert trio.current_time() == 0


# ---- another key ----------------------------------------------------------------


async def ask_renewing(
    scene: Scene, *replies: Endpoint | ProviderError | None
) -> tuple[list[StreamEvent], int]:
    """The events, and how often another key was asked for."""
    left = list(replies)

    async def renew() -> Endpoint | None:
        reply = left.pop(0)
        if isinstance(reply, ProviderError):
            raise reply
        return reply

    async with scene.transport.stream(
        WHERE,
        CODEC,
        ModelRequest(model="m", items=[]),
        progress=lambda kind, text: scene.reports.append((kind, text)),
        renew=renew,
    ) as events:
        taken = [event async for event in events]
    return taken, len(replies) - len(left)


async def test_refused_key_is_renewed_once(autojump_clock: MockClock) -> None:
    another = replace(WHERE, base_url="http://other/v1", api_key="sk-another")
    scene = Scene(refuse(401), good())
    events, renewals = await ask_renewing(scene, another)
    assert text_of(events) == "Hello"
    assert renewals == 1
    assert [str(each.url) for each in scene.requests] == [
        "http://host/v1/chat/completions",
        "http://other/v1/chat/completions",
    ]
    assert scene.requests[1].headers["authorization"] == "Bearer sk-another"
    assert scene.reports == []
    assert trio.current_time() == 0


async def test_renewed_key_that_is_refused_too() -> None:
    scene = Scene(refuse(401, "First."), refuse(401, "Second."))
    with pytest.raises(Unauthenticated, match="Second"):
        await ask_renewing(scene, WHERE)


async def test_no_other_key() -> None:
    with pytest.raises(Unauthenticated, match="First"):
        await ask_renewing(Scene(refuse(401, "First.")), None)


async def test_renewal_that_fails_is_the_error() -> None:
    with pytest.raises(NotConfigured, match=r"Sign in again\."):
        await ask_renewing(Scene(refuse(401)), NotConfigured("Sign in again."))


async def test_renewal_is_no_try(autojump_clock: MockClock) -> None:
    scene = Scene(refuse(401), refuse(500), refuse(500), refuse(500), good())
    events, _ = await ask_renewing(scene, WHERE)
    assert text_of(events) == "Hello"


# ---- echoes ---------------------------------------------------------------------


async def test_echo_of_the_key_is_screened() -> None:
    pieces = [chunk({"content": each}) for each in ("You sent sk-", "secr", "et", "; why?")]
    end = [chunk({}, finish="stop"), DONE]
    events = await Scene(stream_of(*pieces, *end)).ask()
    assert text_of(events) == "You sent ***; why?"


async def test_text_that_was_held_back_comes_before_a_cut(autojump_clock: MockClock) -> None:
    scene = Scene(stream_of(chunk({"content": "as"})))
    request = ModelRequest(model="m", items=[])
    async with scene.transport.stream(WHERE, CODEC, request, progress=lambda *_: None) as events:
        assert await anext(events) == TextDelta("a")
        assert await anext(events) == TextDelta("s")
        with pytest.raises(Unavailable, match="cut before its end"):
            await anext(events)
        with pytest.raises(StopAsyncIteration):
            await anext(events)
    assert len(scene.requests) == 1


@pytest.mark.parametrize("status", [400, 422])
async def test_broken_request_is_logged_as_an_error(
    status: int, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(Refused, match="Bad temperature"):
        await Scene(refuse(status, "Bad temperature.")).ask()
    assert [record.levelname for record in caplog.records] == ["ERROR"]
