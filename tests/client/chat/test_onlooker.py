"""What nobody needs is asked without harm: nothing is started, and nothing given up."""

import threading
from collections.abc import Iterator

import pytest

from ask.chat.onlooker import Onlooker
from ask.chat.reader import Reader
from ask.connection import Client, ConnectionLost, Silent
from ask.feed import Lost
from tests.client.commands.fake_daemon import FakeDaemon


@pytest.fixture
def reader(daemon: FakeDaemon) -> Iterator[Reader]:
    found = Reader(lambda start: Client.connect(start=start), lambda: None)
    found.start(Client.connect(start=False))
    yield found
    found.close()


def test_an_answer_is_handed_over(daemon: FakeDaemon, reader: Reader) -> None:
    assert Onlooker(reader).call("daemon/status")["pid"]


def test_one_that_comes_too_late_costs_nothing_but_itself(
    daemon: FakeDaemon, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ask.chat.reader.DEADLINES_S", 0.01)
    later = threading.Event()
    daemon.deleting = lambda conversation_id: later.wait(10.0)
    slow = {"conversation_id": daemon.create("slow")}
    with pytest.raises(Silent):
        Onlooker(reader).call("conversation/delete", slow, limit_s=0.05)
    later.set()
    assert reader.call("daemon/status")["clients"] == 1
    assert Onlooker(reader).call("daemon/status")["clients"] == 1
    assert not any(isinstance(each, Lost) for each in [*iter_reports(reader)])


def test_where_there_is_no_daemon_any_more_it_says_so(daemon: FakeDaemon, reader: Reader) -> None:
    daemon.stop()
    with pytest.raises(ConnectionLost):
        Onlooker(reader).call("daemon/status")


def iter_reports(reader: Reader) -> Iterator[object]:
    while not reader.reports.empty():
        yield reader.reports.get()
