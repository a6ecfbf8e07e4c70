"""The thread that owns the socket: news in order, answers to others, the connection again."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ask import patience
from ask.chat import reader as module
from ask.chat.reader import Ended, Reader
from ask.connection import Client, ConnectionLost, RpcError
from ask.feed import Found, Gone, Heard, Lost, Report
from ask.listener import Unreachable
from ask.protocol.frames import FrameReader, Request, encode_notification, encode_response
from tests.client.commands.fake_daemon import FakeDaemon
from tests.client.commands.fake_log import Refusal

LIMIT_S = 20.0
"""How long anything may take before the test is wrong."""


class Chat:
    """A reader, and all that it has reported."""

    def __init__(self) -> None:
        self.reports: list[Report] = []
        self.news: list[Any] = []
        self._come = threading.Event()
        self.reader = Reader(
            lambda start: Client.connect(start=False), self._come.set, limit_s=LIMIT_S
        )
        self.reader.start(Client.connect(start=False))

    def wait_for(self, condition: Callable[[], bool]) -> None:
        until = time.monotonic() + LIMIT_S
        while not condition():
            assert time.monotonic() < until, (self.reports, self.news)
            self._come.wait(0.2)
            self._come.clear()
            while not self.reader.reports.empty():
                report = self.reader.reports.get()
                self.reports.append(report)
                if isinstance(report, Heard):
                    self.news += report.news

    def events(self) -> list[int]:
        return [each.fields["seq"] for each in self.news if each.method == "event"]

    def text(self) -> str:
        return "".join(each.fields["text"] for each in self.news if each.method == "delta")


@pytest.fixture
def chat(daemon: FakeDaemon) -> Iterator[Chat]:
    found = Chat()
    yield found
    found.reader.close()


def test_what_is_said_is_heard_once_and_in_order(daemon: FakeDaemon, chat: Chat) -> None:
    conversation_id = daemon.create("talk")
    daemon.say(conversation_id, "before")
    chat.reader.follow(conversation_id, 3)
    chat.wait_for(lambda: len(chat.events()) == 2)
    daemon.say(conversation_id, "live")
    chat.wait_for(lambda: len(chat.events()) == 6)
    assert chat.events() == [4, 5, 6, 7, 8, 9]
    assert chat.text() == "You said: live"


def test_requests_are_answered_while_news_goes_on(daemon: FakeDaemon, chat: Chat) -> None:
    conversation_id = daemon.create("talk")
    chat.reader.follow(conversation_id, 1)
    daemon.hold.clear()
    talk = threading.Thread(target=daemon.say, args=(conversation_id, "hello there"))
    talk.start()
    chat.wait_for(lambda: chat.text() != "")
    answers: list[int] = []
    asked = [
        threading.Thread(target=lambda: answers.append(chat.reader.call("daemon/status")["pid"]))
        for _ in range(5)
    ]
    for each in asked:
        each.start()
    for each in asked:
        each.join(LIMIT_S)
    assert len(answers) == 5
    daemon.hold.set()
    talk.join(LIMIT_S)
    chat.wait_for(lambda: chat.text() == "You said: hello there")


def test_a_refusal_reaches_who_asked(daemon: FakeDaemon, chat: Chat) -> None:
    daemon.refusals["config/read"] = Refusal("internal", "Not now.")
    with pytest.raises(RpcError, match="Not now"):
        chat.reader.call("config/read")
    assert chat.reader.call("daemon/status")["clients"] == 1


def test_a_lost_connection_is_made_again_and_nothing_is_missed(
    daemon: FakeDaemon, chat: Chat
) -> None:
    conversation_id = daemon.create("talk")
    chat.reader.follow(conversation_id, 0)
    daemon.hold.clear()
    talk = threading.Thread(target=daemon.say, args=(conversation_id, "hello there"))
    talk.start()
    chat.wait_for(lambda: chat.text() != "")
    daemon.drop()
    chat.wait_for(lambda: any(isinstance(each, Found) for each in chat.reports))
    daemon.hold.set()
    talk.join(LIMIT_S)
    chat.wait_for(lambda: len(chat.events()) == 5)
    assert chat.events() == [1, 2, 3, 4, 5]
    assert chat.text() == "You said: hello there"
    kinds = [type(each) for each in chat.reports if not isinstance(each, Heard)]
    assert kinds == [Lost, Found]


def test_what_was_asked_on_a_lost_connection_is_not_known(daemon: FakeDaemon, chat: Chat) -> None:
    daemon.deleting = lambda conversation_id: daemon.drop()
    conversation_id = daemon.create("talk")
    with pytest.raises(ConnectionLost):
        chat.reader.call("conversation/delete", {"conversation_id": conversation_id})
    assert chat.reader.call("daemon/status")["pid"]  # on the next one


def test_a_conversation_that_is_gone_ends_it(daemon: FakeDaemon, chat: Chat) -> None:
    conversation_id = daemon.create("talk")
    chat.reader.follow(conversation_id, 0)
    chat.wait_for(lambda: len(chat.events()) == 1)
    gone = Refusal("conversation_not_found", "There is no such conversation.")
    daemon.refusals["conversation/subscribe"] = gone
    daemon.drop()
    chat.wait_for(lambda: any(isinstance(each, Gone) for each in chat.reports))
    (told,) = [each for each in chat.reports if isinstance(each, Gone)]
    assert told.error.data["reason"] == "conversation_not_found"
    with pytest.raises(Ended):
        chat.reader.call("daemon/status")


def test_closing_ends_the_thread_and_whoever_waits(daemon: FakeDaemon, chat: Chat) -> None:
    assert chat.reader.call("daemon/status")["pid"]
    chat.reader.close()
    with pytest.raises(Ended):
        chat.reader.call("daemon/status")
    chat.reader.close()


def test_what_is_told_is_said_though_the_reader_is_closed_at_once(
    daemon: FakeDaemon, chat: Chat
) -> None:
    conversation_id = daemon.create("talk")
    params = {"conversation_id": conversation_id, "turn_id": "none"}
    chat.reader.tell("turn/interrupt", params)
    chat.reader.close()
    until = time.monotonic() + LIMIT_S
    while daemon.called("turn/interrupt") != [params]:
        assert time.monotonic() < until
        time.sleep(0.01)


def test_the_connection_is_closed_when_what_was_told_has_been_read() -> None:
    ours, theirs = socket.socketpair()
    theirs.settimeout(LIMIT_S)
    reader = Reader(lambda start: Client(ours), lambda: None)
    reader.start(Client(ours))
    reader.tell("turn/interrupt", {})
    closing = threading.Thread(target=reader.close)
    closing.start()
    with theirs:
        (asked,) = FrameReader().feed(theirs.recv(65536))
        assert isinstance(asked, Request)
        closing.join(0.1)
        assert closing.is_alive()
        theirs.sendall(encode_notification("event", {}))  # it is heard, by nobody
        theirs.sendall(encode_response(asked.id, None, {}))
        assert theirs.recv(1) == b""
    closing.join(LIMIT_S)
    assert not closing.is_alive()


def test_a_daemon_that_reads_nothing_keeps_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FAREWELL_LIMIT_S", 0.05)
    ours, theirs = socket.socketpair()
    reader = Reader(lambda start: Client(ours), lambda: None)
    reader.start(Client(ours))
    reader.tell("turn/interrupt", {})
    with theirs:
        reader.close()


def test_a_daemon_that_was_stopped_is_started_only_if_somebody_waits(
    daemon: FakeDaemon, home: Any
) -> None:
    asked: list[bool] = []

    def connect(start: bool) -> Client:
        asked.append(start)
        return Client.connect(start=False)

    wake = threading.Event()
    reader = Reader(connect, wake.set, limit_s=0.0)
    reader.start(Client.connect(start=False))
    assert reader.call("daemon/status")["pid"]
    daemon.stop()
    assert wake.wait(LIMIT_S)
    until = time.monotonic() + LIMIT_S
    while len(asked) < 2:
        assert time.monotonic() < until
        time.sleep(0.01)
    assert not any(asked)
    with pytest.raises((ConnectionLost, Ended)):
        reader.call("daemon/status")
    assert asked[-1] is True
    reader.close()


def test_a_machine_that_is_away_is_tried_again_and_holds_nobody_up(
    daemon: FakeDaemon, home: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CLOSE_LIMIT_S", 0.05)
    monkeypatch.setattr(patience, "FAR_PAUSE_S", 0.01)
    tried, blocked, leave = [], threading.Event(), threading.Event()

    def connect(start: bool) -> Client:
        tried.append(start)
        if len(tried) < 3:
            raise Unreachable("It is away.", lasting=False)
        blocked.set()  # as a login does that nobody answers
        leave.wait(LIMIT_S)
        raise Unreachable("Permission denied.")

    reader = Reader(connect, lambda: None)
    reader.start(Client.connect(start=False))
    assert reader.call("daemon/status")["pid"]
    daemon.stop()
    assert blocked.wait(LIMIT_S)
    begun = time.monotonic()
    reader.close()
    assert time.monotonic() - begun < LIMIT_S / 2
    leave.set()
    reader._thread.join(LIMIT_S)
    reports = [reader.reports.get() for _ in range(reader.reports.qsize())]
    assert isinstance(reports[0], Lost)
    assert isinstance(reports[-1], Gone)  # what lasts is not tried again
    assert "Permission denied." in str(reports[-1].error)
    reader.close()


def test_who_comes_too_late_takes_nothing_with_them(
    daemon: FakeDaemon, chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken, go_on = threading.Event(), threading.Event()
    send = chat.reader._client.send

    def send_slowly(method: str, params: dict[str, Any]) -> int:
        if method == "daemon/status":
            taken.set()
            assert go_on.wait(LIMIT_S)
        return send(method, params)

    monkeypatch.setattr(chat.reader._client, "send", send_slowly)
    chat.reader.tell("daemon/status", {})
    assert taken.wait(LIMIT_S)
    chat.reader.tell("config/read", {})  # nobody has taken it when the chat ends
    closing = threading.Thread(target=chat.reader.close)
    closing.start()
    chat.wait_for(lambda: chat.reader._ending)
    with pytest.raises(Ended):
        chat.reader.call("usage/read")
    go_on.set()
    closing.join(LIMIT_S)
    assert daemon.called("config/read")
    assert not daemon.called("usage/read")
