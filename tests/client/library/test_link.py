"""One connection for requests: made again where it was lost, never asked twice what may act."""

import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ask
from ask import connection, patience
from ask.connection import ConnectionLost, RpcError
from ask.library import link
from ask.library.link import LONG, REPEATABLE, WAITS, Link, find_limit
from ask.listener import NoDaemon, Unreachable
from ask.protocol.messages import METHODS
from tests.fakes.daemon import Dropped, FakeDaemon, Refusal


def open_link(*, start: bool = False) -> Link:
    opened = Link(os.environ, start=start)
    opened.greet()
    return opened


def cut(opened: Link) -> None:
    """Lose the connection, as a daemon that ends does it."""
    assert opened._connection is not None
    opened._connection._stream.shutdown(socket.SHUT_RDWR)


def drop_once(result: Any) -> Callable[[Any], Any]:
    """A daemon's answer that takes the connection with it the first time."""
    left = [1]

    def answer(params: Any) -> Any:
        if left:
            left.pop()
            raise Dropped
        return result

    return answer


def test_a_request_is_answered(lone_home: Path) -> None:
    with FakeDaemon(lone_home):
        opened = open_link()
        assert opened.call("daemon/status")["sessions"] == 2
        opened.close()
        opened.close()


def test_a_refusal_is_translated(lone_home: Path) -> None:
    refusal = Refusal(3, "job_not_found", "No such job.")
    with FakeDaemon(lone_home, refuse={"job/read": [refusal]}) as daemon:
        opened = open_link()
        with pytest.raises(ask.NotFound, match="No such job"):
            opened.call("job/read", {"job_id": "x"})
        opened.call("daemon/status")
        opened.close()
    assert len(daemon.raw) == 1, "the connection lives on"


def test_who_only_looks_is_asked_again(lone_home: Path) -> None:
    page: dict[str, object] = {"data": [], "next_cursor": None}
    with FakeDaemon(lone_home, results={"job/list": drop_once(page)}) as daemon:
        opened = open_link()
        assert opened.call("job/list") == page
        opened.close()
    assert len(daemon.asked("job/list")) == 2


def test_what_may_have_been_done_is_not_asked_again(lone_home: Path) -> None:
    results = {"conversation/clear": drop_once({})}
    with FakeDaemon(lone_home, results=results) as daemon:
        opened = open_link()
        with pytest.raises(ask.ConnectionLost):
            opened.call("conversation/clear", {"conversation_id": "c"})
        assert len(daemon.asked("conversation/clear")) == 1
        opened.call("daemon/status")  # on a connection of its own
        opened.close()


def test_who_is_refused_by_a_daemon_that_stops_asks_the_next(lone_home: Path) -> None:
    draining = Refusal(69, "draining", "The daemon is about to stop.")
    with FakeDaemon(lone_home, refuse={"question/answer": [draining, draining]}) as daemon:
        opened = open_link()
        said = {"conversation_id": "c", "question_id": "q", "digest": "d", "decision": "yes"}
        opened.call("question/answer", said)
        opened.close()
    assert len(daemon.asked("question/answer")) == 3


def test_a_connection_that_was_lost_meanwhile_is_made_again(lone_home: Path) -> None:
    with FakeDaemon(lone_home) as daemon:
        opened = open_link()
        cut(opened)
        opened.call("conversation/clear", {"conversation_id": "c"})
        opened.close()
    assert len(daemon.asked("conversation/clear")) == 1
    assert len(daemon.raw) == 2


def test_what_was_not_sent_yet_waits_for_a_machine_that_is_out_of_reach(
    lone_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reach = Link.open
    away = [Unreachable("A tunnel.", lasting=False), NoDaemon("None runs.")]

    def find(opened: Link) -> connection.Client:
        if away:
            raise away.pop()
        return reach(opened)

    with FakeDaemon(lone_home) as daemon:
        opened = open_link()
        cut(opened)
        monkeypatch.setattr(patience, "FAR_PAUSE_S", 0.001)
        monkeypatch.setattr(Link, "open", find)
        opened.call("conversation/clear", {"conversation_id": "c"})
        opened.close()
    assert len(daemon.asked("conversation/clear")) == 1


@pytest.mark.usefixtures("in_vain")
def test_a_daemon_that_stays_away_is_said(lone_home: Path) -> None:
    with FakeDaemon(lone_home):
        opened = open_link()
        cut(opened)
    with pytest.raises(ask.NoDaemon):
        opened.call("daemon/status")
    opened.close()
    with pytest.raises(ask.NoDaemon, match="No daemon is running"):
        open_link()


def test_a_ctrl_c_leaves_no_half_read_connection(
    lone_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeDaemon(lone_home) as daemon:
        opened = open_link()

        def strike(*arguments: Any, **options: Any) -> Any:
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(connection.Client, "call", strike)
            with pytest.raises(KeyboardInterrupt):
                opened.call("daemon/status")
        assert opened.call("daemon/status")
        opened.close()
    assert len(daemon.raw) == 2


def test_one_thread_one_client(lone_home: Path) -> None:
    with FakeDaemon(lone_home):
        opened = open_link()
        caught: list[BaseException] = []

        def use() -> None:
            try:
                opened.call("daemon/status")
            except ask.UsageError as error:
                caught.append(error)

        thread = threading.Thread(target=use)
        thread.start()
        thread.join()
        assert "another thread" in str(caught[0])
        opened.close()
        with pytest.raises(ask.UsageError, match="closed"):
            opened.call("daemon/status")


def test_a_fork_has_no_client(lone_home: Path) -> None:
    with FakeDaemon(lone_home):
        opened = open_link()
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                opened.call("daemon/status")
            except ask.UsageError as error:
                os.write(writer, str(error).encode())
            opened.close()
            os._exit(0)
        os.close(writer)
        os.waitpid(child, 0)
        assert b"another process" in os.read(reader, 1000)
        os.close(reader)
        assert opened.call("daemon/status"), "the parent's is as it was"
        opened.close()


def test_rows_are_read_page_by_page(lone_home: Path) -> None:
    def page(params: Any) -> Any:
        start = int(params.get("cursor") or 0)
        end = min(start + min(params["limit"], 3), 7)
        cursor = str(end) if end < 7 else None
        return {"data": [{"id": n} for n in range(start, end)], "next_cursor": cursor}

    with FakeDaemon(lone_home, results={"job/list": page}) as daemon:
        opened = open_link()
        found = {
            limit: [row["id"] for row in opened.list_rows("job/list", {}, limit=limit)]
            for limit in (None, 5, 0)
        }
        opened.close()
    assert found == {None: [*range(7)], 5: [*range(5)], 0: []}
    assert daemon.asked("job/list")[-1]["limit"] == 2


def test_tables_name_methods() -> None:
    assert {*WAITS, *LONG, *REPEATABLE} <= set(METHODS)
    assert not set(WAITS) & LONG
    looks = ("list", "logs", "read", "search", "stats", "status")
    assert {each for each in METHODS if each.rpartition("/")[2] in looks} <= REPEATABLE
    for method, (name, default) in WAITS.items():
        fields = METHODS[method].params.__dataclass_fields__  # type: ignore[attr-defined]
        assert fields[name].default == default


def test_a_request_that_waits_may_take_so_much_longer() -> None:
    assert find_limit("daemon/status", {}) == connection.ANSWER_LIMIT_S
    assert find_limit("job/wait", {"timeout_s": 5}) == connection.ANSWER_LIMIT_S + 5
    assert find_limit("job/wait", {}) == connection.ANSWER_LIMIT_S + 60
    assert find_limit("daemon/check", {}) == link.LONG_LIMIT_S


class Enough(Exception):
    """What is raised the second time, and means that there was one."""


@pytest.mark.parametrize(
    ("error", "start", "helps"),
    [
        (ConnectionLost(), True, True),
        (RpcError(69, "Draining.", {"reason": "draining"}), True, True),
        (RpcError(2, "Odd.", {"reason": "bad_params"}), True, False),
        (NoDaemon("None."), True, False),
        (NoDaemon("None."), False, True),
    ],
)
def test_what_trying_again_may_help(error: ask.Error, start: bool, helps: bool) -> None:
    tried: list[Exception] = [error, Enough()]

    def attempt() -> None:
        raise tried.pop(0)

    with pytest.raises(Enough if helps else type(error)):
        Link({}, start=start).persist(attempt)
