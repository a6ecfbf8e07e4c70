"""One limit for all that is asked, and no daemon that is not there already."""

import _signal
import json
import os
import socket
import threading
import time
from pathlib import Path

import pytest

from ask.completion.daemon import ask_daemon, ask_in_time, tell_caller
from tests.client.commands.fake_daemon import FakeDaemon

HOPELESS_S = 30.0
FELT_S = 2.0
"""Far above the limit, for a machine that is busy; far below every other limit on the way."""


def test_what_is_done_in_time_is_answered() -> None:
    assert ask_in_time(lambda word: word * 2, "a") == "aa"


def test_what_is_not_done_in_time_is_left() -> None:
    began = time.monotonic()
    assert ask_in_time(time.sleep, HOPELESS_S) is None
    assert time.monotonic() - began < FELT_S


def test_the_alarm_is_put_back_whatever_happens() -> None:
    before = _signal.getsignal(_signal.SIGALRM)

    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        ask_in_time(fail)
    assert _signal.getsignal(_signal.SIGALRM) is before
    assert _signal.getitimer(_signal.ITIMER_REAL) == (0.0, 0.0)


@pytest.mark.usefixtures("patient")
def test_a_running_daemon_answers(daemon: FakeDaemon) -> None:
    daemon.create("work")
    page = ask_daemon("conversation/list", {"limit": 5})
    assert [row["name"] for row in page["data"]] == ["work"]
    assert ask_daemon("conversation/resolve", {"target": {"kind": "session", "value": "no"}}) == {}


def test_no_daemon_is_started(home: Path) -> None:
    assert ask_daemon("conversation/list", {}) == {}
    assert not home.exists()


# What is left in the middle is closed by the process's end, which comes at once.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("accepts", [True, False])
def test_a_daemon_that_says_nothing_holds_nobody_up(home: Path, accepts: bool) -> None:
    path = home / "run" / "askd.sock"
    path.parent.mkdir(parents=True, mode=0o700)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(0)
        waiting = []
        if not accepts:
            for _ in range(3):  # its queue is full: nobody gets in
                waiting.append(socket.socket(socket.AF_UNIX))
                waiting[-1].setblocking(False)
                try:
                    waiting[-1].connect(str(path))
                except BlockingIOError:
                    break
        began = time.monotonic()
        assert not ask_in_time(ask_daemon, "conversation/list", {})
        assert time.monotonic() - began < FELT_S
        for each in waiting:
            each.close()


def test_a_daemon_that_drips_is_left_in_time(home: Path) -> None:
    path = home / "run" / "askd.sock"
    path.parent.mkdir(parents=True, mode=0o700)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(1)
        over = threading.Event()

        def drip() -> None:
            stream, _ = listener.accept()
            with stream:
                stream.sendall(b"\xdd\xff\xff\xff\xff")  # a list that will never be whole
                while not over.wait(0.01):
                    try:
                        stream.sendall(b"\xc0")
                    except OSError:
                        return

        thread = threading.Thread(target=drip)
        thread.start()
        began = time.monotonic()
        assert not ask_in_time(ask_daemon, "conversation/list", {})
        assert time.monotonic() - began < FELT_S
        over.set()
        thread.join()


@pytest.mark.usefixtures("patient")
def test_the_owners_note_leads_to_a_daemon_elsewhere(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ASK_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    (tmp_path / "run").mkdir(mode=0o700)
    data = tmp_path / "data" / "ask"
    data.mkdir(parents=True)
    with FakeDaemon(tmp_path / "elsewhere" / "askd.sock") as daemon:
        daemon.create("work")
        owner = {"socket": str(daemon.path), "pid": os.getpid(), "boot_id": daemon.boot_id}
        data.joinpath("owner.json").write_text(json.dumps({**owner, "protocol": 1, "version": "1"}))
        assert ask_daemon("conversation/list", {"limit": 5})["data"][0]["name"] == "work"


def test_who_asks_is_told_by_the_tables_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk")
    monkeypatch.setenv("SOMETHING_ELSE", "x")
    said = tell_caller()
    assert said["secrets"]["OPENAI_API_KEY"] == "sk"  # type: ignore[index]
    assert "SOMETHING_ELSE" not in str(said)
