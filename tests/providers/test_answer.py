"""One answer: tries, time limits, cuts, on a mock clock."""

import logging

import httpx
import pytest
import trio
from trio.testing import MockClock

from askd.errors import (
    BadAnswer,
    Overflowed,
    ProviderError,
    RateLimited,
    Refused,
    Unauthenticated,
    Unavailable,
    UnknownModel,
)
from askd.providers.base import ModelRequest, TextDelta
from askd.providers.transport import Transport
from tests.fakes import chat_answers
from tests.fakes.chat_answers import DONE, chunk
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
