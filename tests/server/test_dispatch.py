"""From a method to its answer: the table is whole, and no fault gets further than an error."""

import logging

import pytest
import trio

from ask.protocol.messages import METHODS
from askd.errors import Busy, NotFound
from askd.server import handlers
from tests.fakes.house import Refused, Server, open_server


def test_every_method_has_its_handler_and_no_handler_is_without_method() -> None:
    assert set(handlers.HANDLERS) | {"hello"} == set(METHODS)


async def fail_with(
    server: Server, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> Refused:
    async def fail(*arguments: object) -> None:
        await trio.lowlevel.checkpoint()
        raise error

    monkeypatch.setitem(handlers.HANDLERS, "daemon/status", fail)
    peer = await server.greet()
    with pytest.raises(Refused) as caught:
        await peer.call("daemon/status")
    monkeypatch.undo()
    assert (await peer.call("daemon/status"))["pid"] == 42
    return caught.value


async def test_an_error_for_people_is_answered_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_server() as server:
        error = await fail_with(server, Busy("Later.", data={"at": 5}), monkeypatch)
        assert (error.code, error.message, error.data) == (
            8,
            "Later.",
            {"at": 5, "reason": "busy"},
        )


async def test_a_group_of_errors_for_people_is_its_first(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_server() as server:
        group = ExceptionGroup("g", [ExceptionGroup("h", [NotFound("First.")]), Busy("Second.")])
        error = await fail_with(server, group, monkeypatch)
        assert (error.code, error.message) == (3, "First.")


@pytest.mark.parametrize(
    "planted",
    [
        RuntimeError("planted"),
        ExceptionGroup("planted", [Busy("x"), KeyError("k")]),
        RecursionError("planted"),
        MemoryError("planted"),
    ],
)
async def test_anything_else_is_internal_and_logged_with_its_traceback(
    planted: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_server() as server:
        error = await fail_with(server, planted, monkeypatch)
        assert (error.code, error.reason) == (1, "internal")
        assert "ask daemon logs" in error.message
        assert "planted" not in error.message
    records = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert len(records) == 1
    assert records[0].exc_info is not None


async def test_an_unknown_method_is_named_but_not_at_length() -> None:
    async with open_server() as server:
        peer = await server.greet()
        with pytest.raises(Refused) as caught:
            await peer.call("turn/steer" + "x" * 1000)
        assert caught.value.reason == "unknown_method"
        assert len(caught.value.message) < 80


async def test_parameters_are_checked_before_the_handler() -> None:
    async with open_server() as server:
        peer = await server.greet()
        with pytest.raises(Refused) as caught:
            await peer.call("daemon/stop", {"wait_s": "soon"})
        assert (caught.value.code, caught.value.reason) == (2, "bad_params")
        assert caught.value.data["field"] == "wait_s"
        assert server.host.told == []


async def test_a_client_of_other_data_is_refused_before_it_can_ask() -> None:
    async with open_server() as server:
        peer = server.connect()
        hello = {"client": "c", "version": "1", "protocol": 1}
        with pytest.raises(Refused) as caught:
            await peer.call("hello", {**hello, "data": "/elsewhere"})
        assert (caught.value.code, caught.value.reason) == (69, "other_data")
        with pytest.raises(Refused) as caught:
            await peer.call("daemon/status")
        assert caught.value.reason == "hello_needed"
        assert await server.connect().call("hello", {**hello, "data": "/d"})
