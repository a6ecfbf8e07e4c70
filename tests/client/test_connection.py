"""A connection: found, made, greeted, used, lost."""

import json
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ask
from ask import connection, spawn
from ask.commands.root import main
from ask.connection import Client, ConnectionLost, RpcError, connect
from ask.exits import Failed
from ask.listener import Listener, NoDaemon, find_listener
from ask.paths import Paths
from ask.protocol.frames import encode_response
from tests.fakes.daemon import FakeDaemon, Peer, Refusal, Stage, answer


def test_call_and_answer(lone_home: Path) -> None:
    with FakeDaemon(lone_home) as daemon, connect() as client:
        assert client.hello["pid"] == 4711
        assert client.call("daemon/status")["sessions"] == 2
    data = str(Paths.of(os.environ).data)
    assert daemon.asked("hello") == [
        {"client": "ask", "version": ask.__version__, "protocol": 1, "data": data},
    ]


def test_a_refusal_is_an_error_with_its_code(lone_home: Path) -> None:
    refusal = Refusal(3, "conversation_not_found", "Conversation not found: id=x", hint="Look.")
    with FakeDaemon(lone_home, refuse={"daemon/status": [refusal]}), connect() as client:
        with pytest.raises(RpcError, match="id=x") as caught:
            client.call("daemon/status")
        assert client.call("daemon/status")  # the connection lives on
    assert (caught.value.code, caught.value.reason) == (3, "conversation_not_found")
    assert caught.value.hint == "Look."


def test_an_answer_is_found_when_it_has_come(lone_home: Path) -> None:
    refusal = Refusal(3, "conversation_not_found", "Conversation not found: id=x")
    with FakeDaemon(lone_home, refuse={"daemon/status": [refusal]}), connect() as client:
        asked = [client.send("daemon/status"), client.send("daemon/status")]
        assert client.poll(30.0, heed_answers=True) is None
        with pytest.raises(RpcError, match="id=x"):
            client.find_answer(asked[0])
        while (found := client.find_answer(asked[1])) is None:
            client.poll(30.0, heed_answers=True)
        assert found["sessions"] == 2
        assert client.find_answer(asked[1]) is None


def test_an_error_that_makes_no_sense_is_a_failure(lone_home: Path) -> None:
    refusal = Refusal(0, "x", "x")
    refusal.error = {"code": 0, "message": "Odd.", "data": {}}
    with (
        FakeDaemon(lone_home, refuse={"daemon/status": [refusal]}),
        connect() as client,
        pytest.raises(RpcError, match="Odd") as caught,
    ):
        client.call("daemon/status")
    assert (caught.value.code, caught.value.reason) == (1, "internal")


def test_nobody_listens(lone_home: Path) -> None:
    with pytest.raises(NoDaemon, match="No daemon is running") as caught:
        connect(start=False)
    assert caught.value.code == 69
    assert caught.value.hint == "Start it: ask daemon start"


def test_notifications_wait_while_an_answer_is_waited_for(lone_home: Path) -> None:
    with FakeDaemon(lone_home, answer("one two", "one ", "two")) as daemon, connect() as client:
        params = {"target": {"kind": "new"}, "key": "k", "parts": [], "follow": True}
        accepted = client.call("turn/start", params)
        client.call("daemon/status")  # is answered after all of them
        methods = [client.receive()[0] for _ in range(5)]
        assert methods == ["event", "delta", "delta", "event", "event"]
        assert client.poll(0.0) is None
    assert accepted["conversation_id"] in daemon.events


def test_a_quiet_daemon_is_asked_whether_it_lives(
    lone_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "QUIET_S", 0.01)

    def play(stage: Stage) -> None:
        stage.wait_for("daemon/status")
        stage.wait_for("daemon/status")
        stage.delta("at last")

    with FakeDaemon(lone_home, play), connect() as client:
        client.call(
            "turn/start", {"target": {"kind": "new"}, "key": "k", "parts": [], "follow": True}
        )
        method, params = client.receive()
    assert (method, params["text"]) == ("delta", "at last")


def test_a_woken_wait_ends(lone_home: Path) -> None:
    reader, writer = os.pipe()
    with FakeDaemon(lone_home), connect() as client:
        os.write(writer, b"x")
        assert client.poll(None, wake=reader) is None
    os.close(reader)
    os.close(writer)


class Odd(FakeDaemon):
    """Does something else at `daemon/status`."""

    act: Callable[[Peer], None]

    def answer(self, peer: Peer, method: str, params: Any, then: Any) -> Any:
        if method == "daemon/status":
            self.act(peer)
        return super().answer(peer, method, params, then)


def say_nonsense(peer: Peer) -> None:
    peer.stream.sendall(b"\xc1")


def hang_up(peer: Peer) -> None:
    peer.stream.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize(("act", "text"), [(say_nonsense, "no message"), (hang_up, "lost")])
def test_a_connection_that_is_lost(lone_home: Path, act: Callable[[Peer], None], text: str) -> None:
    daemon = Odd(lone_home)
    daemon.act = act
    with daemon, connect() as client, pytest.raises(ConnectionLost, match=text) as caught:
        client.call("daemon/status")
    assert caught.value.code == 69


def test_a_reset_connection_is_lost(lone_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = socket.socketpair()
    client = Client(ours)
    theirs.close()
    with pytest.raises(ConnectionLost):
        client.send("daemon/status")
    client.close()


def test_an_answer_has_its_time() -> None:
    ours, theirs = socket.socketpair()
    with Client(ours) as client, theirs, pytest.raises(ConnectionLost, match="does not answer"):
        client.call("daemon/status", limit_s=0.01)


def test_a_request_that_no_message_holds() -> None:
    ours, theirs = socket.socketpair()
    with Client(ours) as client, theirs, pytest.raises(Failed, match="too large"):
        client.call("conversation/note", {"text": "x" * 2**20})


def test_a_number_that_no_message_can_hold_is_said() -> None:
    ours, theirs = socket.socketpair()
    with Client(ours) as client, theirs, pytest.raises(Failed, match="beyond 64 bits"):
        client.send("usage/read", {"since_at": 2**100})


def test_what_is_no_map_is_an_empty_one() -> None:
    ours, theirs = socket.socketpair()
    with Client(ours) as client, theirs:
        theirs.sendall(encode_response(1, None, [1]))
        assert client.call("daemon/status") == {}


@pytest.mark.parametrize("before", [True, False])
def test_a_message_that_could_not_be_read_is_a_refusal(before: bool) -> None:
    """The answer to it has the id 0: nothing better was known of it."""
    ours, theirs = socket.socketpair()
    said = {"code": 2, "message": "Malformed message: x.", "data": {"reason": "malformed"}}
    with Client(ours) as client, theirs:
        theirs.sendall(encode_response(0, said, None))
        if before:
            theirs.close()
        with pytest.raises(RpcError, match="Malformed") as caught:
            client.call("daemon/status")
    assert (caught.value.code, caught.value.reason) == (2, "malformed")


# ---- where ------------------------------------------------------------------------


def test_the_owners_file_says_where_it_listens(lone_home: Path, tmp_path: Path) -> None:
    """As for `env -i` and cron, whose best place is another one."""
    paths = Paths.of(os.environ)
    paths.data.mkdir(parents=True)
    elsewhere = tmp_path / "e" / "askd.sock"
    paths.owner_file.write_text(json.dumps({"socket": str(elsewhere)}))
    with pytest.raises(NoDaemon):
        connect(start=False)
    with FakeDaemon(elsewhere), connect(start=False) as client:
        assert client.hello["pid"] == 4711


def note(place: Path) -> None:
    """Our data directory's note names this place."""
    paths = Paths.of(os.environ)
    paths.data.mkdir(parents=True)
    paths.owner_file.write_text(json.dumps({"socket": str(place)}))


def test_a_note_that_leads_to_another_ones_daemon_is_out_of_date(
    lone_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "e" / "askd.sock"
    note(elsewhere)
    ours = []

    def start(paths: Paths, environ: object, *, stale: str | None) -> Listener:
        assert stale == str(elsewhere)
        ours.append(FakeDaemon(lone_home, data=paths.data).__enter__())
        found = find_listener(paths, stale=stale)
        assert found is not None
        return found

    monkeypatch.setattr(spawn, "start_daemon", start)
    with FakeDaemon(elsewhere, data=tmp_path / "other") as other:
        with pytest.raises(NoDaemon, match="No daemon is running"):
            connect(start=False)
        assert ours == []
        with connect():
            pass
        assert len(other.asked("hello")) == 2
    ours[0].__exit__(None, None, None)
    assert len(ours[0].asked("hello")) == 1


def test_another_ones_daemon_at_our_place_is_said_and_left_alone(
    lone_home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """At once, in the daemon's own sentence, and nothing is started."""
    monkeypatch.setattr(spawn, "start_daemon", None)
    monkeypatch.setattr(time, "sleep", None)
    with FakeDaemon(lone_home, data=tmp_path / "other") as daemon:
        assert main(["--no-stdin", "hi"]) == 69
    assert f"Another data directory than {lone_home.parent.parent}" in capfd.readouterr().err
    assert len(daemon.asked("hello")) == 1
    assert daemon.asked("turn/start") == []


# ---- versions ----------------------------------------------------------------------


def test_a_newer_daemon_is_left_alone(lone_home: Path) -> None:
    with (
        FakeDaemon(lone_home, protocol=2) as daemon,
        pytest.raises(NoDaemon, match="speaks protocol 2, this ask speaks 1"),
    ):
        connect()
    assert daemon.asked("daemon/drain") == []


class Older(FakeDaemon):
    """Speaks an older protocol; at `daemon/drain` it makes place for `next`."""

    next: FakeDaemon | None = None

    def answer(self, peer: Peer, method: str, params: Any, then: Any) -> Any:
        found = super().answer(peer, method, params, then)
        if method == "daemon/drain":
            then.append((self.leave, {"conversation_id": "", "turn_id": ""}))
        return found

    def leave(self, stage: Stage) -> None:
        self.path.unlink()
        if self.next is not None:
            self.next.__enter__()
        stage.drop()


def test_an_older_daemon_is_replaced_visibly(
    lone_home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    older = Older(lone_home, protocol=0)
    staged = lone_home.with_name("staged.sock")

    class Newer(FakeDaemon):
        def __enter__(self) -> FakeDaemon:
            os.rename(staged, lone_home)
            return super().__enter__()

    older.next = newer = Newer(staged)
    with older, connect() as client:
        assert client.hello["protocol"] == 1
    newer.__exit__(None, None, None)
    assert len(older.asked("daemon/drain")) == 1
    assert "Replacing the older daemon (version 0.1.0)" in capfd.readouterr().err


def test_an_older_daemon_that_stays_is_said(
    lone_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "DRAIN_LIMIT_S", 0.05)
    with FakeDaemon(lone_home, protocol=0), pytest.raises(NoDaemon, match="does not end"):
        connect()


def test_two_older_daemons_are_one_too_many(lone_home: Path) -> None:
    older = Older(lone_home, protocol=0)
    staged = lone_home.with_name("staged.sock")

    class Another(FakeDaemon):
        def __enter__(self) -> FakeDaemon:
            os.rename(staged, lone_home)
            return super().__enter__()

    older.next = another = Another(staged, protocol=0)
    with older, pytest.raises(NoDaemon, match="could not be replaced"):
        connect()
    another.__exit__(None, None, None)


def test_a_refused_hello_is_an_error(lone_home: Path) -> None:
    refusal = Refusal(8, "too_many_connections", "Too many.")
    with (
        FakeDaemon(lone_home, refuse={"hello": [refusal]}),
        pytest.raises(RpcError, match="Too many"),
    ):
        connect()


def test_a_daemon_that_was_stopped_is_named(
    lone_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "GREETING_LIMIT_S", 0.02)
    lone_home.parent.mkdir(parents=True)
    paths = Paths.of(os.environ)
    paths.data.mkdir(parents=True)
    paths.owner_file.write_text(json.dumps({"socket": str(lone_home), "pid": 4711}))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(lone_home))
        listener.listen()
        with pytest.raises(ConnectionLost) as caught:
            connect(start=False)
    assert caught.value.message == "The daemon (pid 4711) is running, and does not answer."
    assert "kill -KILL 4711" in str(caught.value.hint)
