"""One prompt the short way, against a fake daemon: what is shown, and what is handed over."""

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ask.fast.argv import read_prompt
from ask.fast.run import DETACHED, Carried, run_prompt
from tests.fakes.daemon import FakeDaemon, Refusal, Script, Stage, answer

Run = Callable[..., "int | Carried"]


def run(*line: str) -> int | Carried:
    words = read_prompt(list(line))
    assert words is not None
    return run_prompt(words, os.environ)


@pytest.fixture(autouse=True)
def same_signals_afterwards() -> Iterator[None]:
    """A test process keeps the handlers that a leaving `ask` has no need to put back."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def carried_from(result: int | Carried) -> Carried:
    """What goes to the long way; the connection is let go, as that would do it."""
    assert isinstance(result, Carried)
    if result.held is not None:
        os.close(result.held)
    return result


# ---- what goes well ----------------------------------------------------------------


@pytest.mark.parametrize("pieces", [(), ("The sky ", "is ", "blue.")])
def test_an_answer_is_streamed(
    lone_home: Path, capfd: pytest.CaptureFixture[str], pieces: tuple[str, ...]
) -> None:
    with FakeDaemon(lone_home, answer("The sky is blue.", *pieces)) as daemon:
        assert run("Why?") == 0
    out, err = capfd.readouterr()
    assert out == "The sky is blue.\n"
    (conversation_id,) = daemon.events
    assert err == f"{conversation_id[:8]}\n"


def test_each_delta_is_shown_before_the_next_comes(lone_home: Path) -> None:
    reader, writer = os.pipe()
    seen: list[bytes] = []

    def play(stage: Stage) -> None:
        stage.start()
        for piece in ("one ", "two ", "three"):
            stage.delta(piece)
            seen.append(os.read(reader, 100))  # blocks until it has been written
        stage.say_whole("one two three")
        stage.finish()

    before = os.dup(1)
    os.dup2(writer, 1)
    try:
        with FakeDaemon(lone_home, play):
            assert run("count", "-q") == 0
    finally:
        os.dup2(before, 1)
    assert seen == [b"one ", b"two ", b"three"]
    assert os.read(reader, 100) == b"\n"


def test_quiet_says_nothing_but_the_answer(
    lone_home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def play(stage: Stage) -> None:
        stage.progress("model_chosen", "Using fake/model.")
        answer("yes\n")(stage)

    with FakeDaemon(lone_home, play, results={"turn/start": {"position": 1}}):
        assert run("-q", "ok?") == 0
    assert capfd.readouterr() == ("yes\n", "")


def test_a_turn_that_waits_with_a_time_limit_goes_the_long_way(lone_home: Path) -> None:
    def play(stage: Stage) -> None:
        stage.wait_for("turn/interrupt")

    with FakeDaemon(lone_home, play, results={"turn/start": {"position": 1}}):
        carried = carried_from(run("hi", "--timeout", "60"))
    assert carried.answer is not None
    assert not carried.answer.started


def test_what_happens_is_said_on_stderr(lone_home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def play(stage: Stage) -> None:
        stage.progress("model_chosen", "Using fake/model.")
        stage.progress("model_loading", "Loading \x1b[1mthe model ...")
        stage.notify("progress", {**stage.turn, "turn_id": "other", "kind": "warning", "text": "x"})
        answer("yes")(stage)

    with FakeDaemon(lone_home, play, results={"turn/start": {"position": 2}}) as daemon:
        assert run("ok?") == 0
    (conversation_id,) = daemon.events
    assert capfd.readouterr().err.splitlines() == [
        "Queued: 2 turns before this one.",
        "Using fake/model.",
        "Loading the model ...",
        conversation_id[:8],
    ]


def test_the_whole_item_completes_what_deltas_left_out(
    lone_home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def play(stage: Stage) -> None:
        stage.start()
        stage.delta("The sky ")
        stage.delta("blue", offset=12)  # after a hole: not shown yet
        stage.say_whole("The sky is blue.")
        stage.finish()

    with FakeDaemon(lone_home, play):
        run("Why?", "-q")
    assert capfd.readouterr().out == "The sky is blue.\n"


def test_other_turns_and_kinds_are_not_shown(
    lone_home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def play(stage: Stage) -> None:
        mine = stage.turn
        stage.turn = {**mine, "turn_id": "other"}
        stage.delta("not mine")
        stage.event("turn_finished", outcome="completed", code=0)
        stage.turn, stage.item_id = mine, f"{mine['turn_id']}.1"
        stage.delta("thinking", kind="reasoning")
        stage.delta("{}", kind="arguments")
        answer("mine")(stage)

    with FakeDaemon(lone_home, play):
        assert run("Why?", "-q") == 0
    assert capfd.readouterr().out == "mine\n"


def test_a_second_completion_begins_on_its_own_line(
    lone_home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def play(stage: Stage) -> None:
        stage.start()
        stage.say_whole("Let me look.")
        stage.item_id = f"{stage.turn['turn_id']}.2"
        stage.delta("Found ")
        stage.say_whole("Found it.", completion=2)
        stage.finish()

    with FakeDaemon(lone_home, play):
        run("find", "-q")
    assert capfd.readouterr().out == "Let me look.\nFound it.\n"


def steered(stage: Stage) -> None:
    """An answer that is cut by a message, and the answer to that."""
    stage.start()
    stage.delta("Once upon")
    item = stage.accept_steering("s.0", "no, rhyme")
    stage.say_whole("Once upon a", status="interrupted")
    stage.join(item, "t.2")
    stage.delta("The ")
    stage.say_whole("The end.", completion=2)
    stage.finish()


def test_who_asked_first_sees_the_cut_answer_and_then_the_new_one(
    lone_home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with FakeDaemon(lone_home, steered):
        assert run("tell") == 0
    assert capfd.readouterr().out == "Once upon a\nThe end.\n"


def test_who_steers_sees_what_is_said_to_that_and_nothing_before(
    lone_home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def play(stage: Stage) -> None:
        item = stage.accept_steering("s.0", "no, rhyme")
        stage.delta("Once")
        stage.say_whole("Once upon a", status="interrupted")
        stage.join(item, "t.2")
        stage.say_whole("The end.", completion=2)
        stage.finish()

    results = {"turn/start": {"steers": "s.0"}}
    with FakeDaemon(lone_home, play, results=results) as daemon:
        assert run("--steer", "-s", "work", "no, rhyme") == 0
    assert daemon.asked("turn/start")[0]["busy"] == "steer"
    assert capfd.readouterr().out == "The end.\n"


@pytest.mark.parametrize(("terminals", "carries"), [((), False), ((2,), True)])
def test_a_message_of_somebody_else_is_shown_to_who_watches(
    lone_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    terminals: tuple[int, ...],
    carries: bool,
) -> None:
    monkeypatch.setattr(os, "isatty", lambda descriptor: descriptor in terminals)
    with FakeDaemon(lone_home, always=steered):
        left = run("tell")
        assert isinstance(left, Carried) == carries
        if isinstance(left, Carried) and left.held is not None:
            os.close(left.held)
        assert run("-q", "tell") == 0


def test_another_attempt_begins_anew(lone_home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def play(stage: Stage) -> None:
        stage.start()
        stage.delta("The firs")
        stage.say_whole("The firs", status="superseded")
        stage.daemon.live.clear()
        stage.start(attempt=2)
        answer("The second.")(stage)

    with FakeDaemon(lone_home, play):
        run("go", "-q")
    assert capfd.readouterr().out == "The firs\nThe second.\n"


@pytest.mark.parametrize(
    ("line", "out"),
    [(["x", "-q"], "red é\u00a0\n"), (["x", "-q", "--raw"], "\x1b[31mred\x1b[0m é\u00a0\n")],
)
def test_control_sequences_need_raw_and_a_pipe(
    lone_home: Path, capfd: pytest.CaptureFixture[str], line: list[str], out: str
) -> None:
    text = "\x1b[31mred\x1b[0m é\u00a0"
    with FakeDaemon(lone_home, answer(text, text[:2], text[2:9], text[9:])):
        assert run(*line) == 0
    assert capfd.readouterr().out == out


# ---- what is handed over -----------------------------------------------------------


def test_no_daemon(lone_home: Path) -> None:
    carried = carried_from(run("hi", "--key", "k"))
    assert carried.key == "k"
    assert carried.answer is None


def test_an_empty_prompt(lone_home: Path) -> None:
    with FakeDaemon(lone_home) as daemon:
        assert carried_from(run()).answer is None
    assert daemon.requests == []


def test_a_daemon_of_another_protocol(lone_home: Path) -> None:
    with FakeDaemon(lone_home, protocol=2):
        assert carried_from(run("hi")).answer is None


def test_a_refusal_goes_with_it(lone_home: Path) -> None:
    refusal = Refusal(2, "unknown_model", "No model 'x'.", candidates=["y"])
    with FakeDaemon(lone_home, refuse={"turn/start": [refusal]}):
        assert carried_from(run("hi")).refusal == refusal.error


def drop_at_once(stage: Stage) -> None:
    stage.start()
    stage.delta("begun")
    stage.drop()


def unsaved(stage: Stage) -> None:
    stage.delta("begun")
    fields = {"outcome": "completed", "code": 74, "reason": "the disk is full"}
    stage.notify("turn_unsaved", {**stage.turn, **fields})


def gap(stage: Stage) -> None:
    stage.delta("begun")
    stage.notify("gap", {"conversation_id": stage.turn["conversation_id"]})


def blob(stage: Stage) -> None:
    stage.delta("begun")
    part = {"type": "blob", "sha256": "0", "bytes": 1, "media_type": "text/plain"}
    item = {"type": "assistant_message", "id": stage.item_id, "parts": [part]}
    stage.event("item_added", item=item, completion=1)


def failed(stage: Stage) -> None:
    stage.delta("begun")
    stage.finish("failed", 5, reason="rate_limited", message="Too many requests.")


def cut(stage: Stage) -> None:
    stage.delta("begun")
    stage.finish("completed", 9, reason="length")


def nonsense(stage: Stage) -> None:
    stage.delta("begun")
    stage.peer.stream.sendall(b"\xc1")


def request(stage: Stage) -> None:
    stage.delta("begun")
    stage.peer.send([0, 1, "hello", [{}]])


def misshapen(stage: Stage) -> None:
    stage.delta("begun")
    stage.notify("delta", {"turn_id": stage.turn["turn_id"], "kind": "text"})


@pytest.mark.parametrize(
    "script",
    [drop_at_once, unsaved, gap, blob, failed, cut, nonsense, request, misshapen],
)
def test_everything_unusual(
    lone_home: Path, capfd: pytest.CaptureFixture[str], script: Script
) -> None:
    with FakeDaemon(lone_home, script):
        carried = carried_from(run("hi"))
    out = capfd.readouterr().out
    if script is nonsense and not out:
        assert carried.answer is None or not carried.answer.shown  # all of it came together
    else:
        assert carried.answer is not None
        assert out == "begun"
        assert carried.answer.shown == {"turn-1.1": 5}
        assert (carried.answer.ended is not None) == (script in (failed, cut))
    assert (carried.unsaved is not None) == (script is unsaved)


def test_a_question_needs_a_person_or_nobody_is_asked(
    lone_home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The long way asks; it gets the question again, for its seq was not passed."""

    def ask(stage: Stage) -> None:
        stage.start()
        stage.event("question_asked", question_id="q", kind="overflow", digest="d", detail={})
        stage.say_whole("done")
        stage.finish()

    with FakeDaemon(lone_home, ask, ask):
        assert run("-q", "hi") == 0
        assert capfd.readouterr().out == "done\n"
        monkeypatch.setattr("ask.fast.caller.is_interactive", lambda: True)
        carried = carried_from(run("-q", "hi"))
    assert carried.answer is not None
    assert (carried.answer.started, carried.answer.ended) == (True, None)


def use_a_tool(stage: Stage) -> None:
    stage.start()
    calls = [{"call_id": "c", "name": "read_file", "arguments": "{}"}]
    item = {"type": "assistant_message", "id": stage.item_id, "parts": [], "calls": calls}
    stage.event("item_added", completion=1, item=item)
    stage.progress("tool", "Run: make: 30 s, 12 bytes of output")
    stage.progress("tool", "Denied: run_command: Run: \x1b[2Jmake (nobody to ask)")
    stage.item_id += "b"
    stage.say_whole("done", completion=2)
    stage.finish()


def test_what_tools_do_is_shown_to_who_watches(
    lone_home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The long way does, from the first call on; a script is told of what was denied."""
    with FakeDaemon(lone_home, use_a_tool, use_a_tool, use_a_tool) as daemon:
        assert run("hi") == 0
        out, err = capfd.readouterr()
        (conversation_id,) = daemon.events
        denied = "Denied: run_command: Run: make (nobody to ask)\n"
        assert (out, err) == ("done\n", f"{denied}{conversation_id[:8]}\n")
        monkeypatch.setattr(os, "isatty", lambda descriptor: descriptor == 2)
        carried = carried_from(run("hi"))
        assert carried.answer is not None
        assert (carried.answer.started, carried.answer.ended) == (True, None)
        assert run("-q", "hi") == 0
    assert capfd.readouterr() == ("done\n", "")


def test_who_was_there_stays_there_until_the_long_way_listens(
    lone_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A daemon that finds nobody there denies what it would have asked."""
    left = threading.Event()

    def call(stage: Stage) -> None:
        use_a_tool(stage)
        stage.peer.stream.settimeout(5.0)
        with suppress(ConnectionResetError):  # it leaves things unread
            while stage.peer.stream.recv(4096):
                pass
        left.set()

    monkeypatch.setattr(os, "isatty", lambda descriptor: descriptor == 2)
    with FakeDaemon(lone_home, call):
        result = run("hi")
        assert isinstance(result, Carried)
        assert result.held is not None
        assert not left.wait(0.05)
        os.close(result.held)
        assert left.wait(5.0)


def test_who_was_not_let_in_is_not_there(lone_home: Path) -> None:
    with FakeDaemon(lone_home, answer("hi"), refuse={"turn/start": [Refusal(8, "busy", "Busy.")]}):
        result = run("hi")
    assert isinstance(result, Carried)
    assert result.held is None


def test_signals_are_given_back_to_the_long_way(lone_home: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    assert isinstance(run("hi"), Carried)
    assert signal.getsignal(signal.SIGINT) == before


@pytest.mark.parametrize("on_terminal", [True, False])
def test_instructions_are_a_line_and_no_reason_to_go_the_long_way(
    lone_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    on_terminal: bool,
) -> None:
    monkeypatch.setattr(os, "isatty", lambda descriptor: on_terminal and descriptor == 2)
    file = {"path": "/p/AGENTS.md", "text": "Say hue. é\n" * 3_000}

    def play(stage: Stage) -> None:
        stage.event("instructions_changed", turn_id=None, files=[file])
        stage.start()
        stage.progress("instructions", "Instructions: AGENTS.md (36.0 kB)")
        stage.say_whole("done")
        stage.finish()

    with FakeDaemon(lone_home, play) as daemon:
        assert run("hi") == 0
    (conversation_id,) = daemon.events
    said = f"Instructions: AGENTS.md (36.0 kB)\n{conversation_id[:8]}\n"
    assert capfd.readouterr() == ("done\n", said)


def test_reasoning_and_loading_on_a_terminal(
    lone_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "isatty", lambda descriptor: descriptor == 2)

    def think(stage: Stage) -> None:
        stage.delta("hm", kind="reasoning")

    def load(stage: Stage) -> None:
        stage.progress("model_loading", "Loading ...")

    def wait(stage: Stage) -> None:
        stage.progress("waiting", "Waiting ...")

    def compact(stage: Stage) -> None:
        news = {"conversation_id": stage.turn["conversation_id"], "state": "started"}
        stage.notify("compaction", {**news, "text": "Compacting conversation history..."})

    with FakeDaemon(lone_home, think, load, wait, compact):
        assert carried_from(run("hi")).progress is None
        for text in ("Loading ...", "Waiting ...", "Compacting conversation history..."):
            progress = carried_from(run("hi")).progress
            assert progress is not None
            assert progress["text"] == text


@pytest.mark.parametrize(("words", "on_terminal"), [(("hi",), False), (("-q", "hi"), True)])
def test_a_compaction_is_no_news_in_a_pipe_nor_when_quiet(
    lone_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    on_terminal: bool,
) -> None:
    monkeypatch.setattr(os, "isatty", lambda descriptor: on_terminal and descriptor == 2)

    def play(stage: Stage) -> None:
        stage.start()
        news = {"conversation_id": stage.turn["conversation_id"], "state": "finished"}
        stage.notify("compaction", {**news, "text": "Compacted: 2 -> 1 tokens."})
        stage.say_whole("done")
        stage.finish()

    with FakeDaemon(lone_home, play):
        assert run(*words) == 0
    out, err = capfd.readouterr()
    assert out == "done\n"
    assert "Compacted" not in err


def test_a_time_limit_that_the_daemon_does_not_keep(
    lone_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A silent one is left soon, for the long way to stop."""
    monkeypatch.setattr("ask.fast.run.SILENT_S", 0.0)

    def play(stage: Stage) -> None:
        stage.delta("still ")
        stage.wait_for("turn/interrupt")

    with FakeDaemon(lone_home, play):
        carried = carried_from(run("hi", "--timeout", "0.02"))
    assert carried.deadline is not None


def test_a_time_limit_that_is_over_when_something_comes(
    lone_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Clock:
        times = iter([0.0, 0.0, 1000.0])

        @classmethod
        def monotonic(cls) -> float:
            return next(cls.times)

    def play(stage: Stage) -> None:
        stage.wait_for("turn/interrupt")

    monkeypatch.setattr("ask.fast.run.time", Clock)
    with FakeDaemon(lone_home, play):
        assert carried_from(run("hi", "--timeout", "10")).deadline == 10.0


# ---- outputs that fail -------------------------------------------------------------


@pytest.fixture
def stdout() -> Iterator[Callable[[int], None]]:
    """Put another descriptor in the place of standard output."""
    before = os.dup(1)

    def replace(descriptor: int) -> None:
        os.dup2(descriptor, 1)
        os.close(descriptor)

    yield replace
    os.dup2(before, 1)
    os.close(before)


def test_a_closed_pipe_detaches(lone_home: Path, stdout: Callable[[int], None]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    stdout(writer)
    with FakeDaemon(lone_home, answer("nobody reads this")) as daemon:
        assert run("hi") == 141
    assert daemon.asked("turn/interrupt") == []


def test_a_full_disk_is_handed_over(lone_home: Path, stdout: Callable[[int], None]) -> None:
    stdout(os.open("/dev/full", os.O_WRONLY))
    with FakeDaemon(lone_home, answer("x")):
        assert carried_from(run("hi")).broken == "No space left on device"


# ---- Ctrl-C ------------------------------------------------------------------------


MAIN_THREAD = threading.main_thread().ident or 0


def send_self(number: int) -> None:
    """A signal, to the thread that runs the client: the others are the daemon's."""
    signal.pthread_kill(MAIN_THREAD, number)


def interrupt_self() -> None:
    send_self(signal.SIGINT)


def test_ctrl_c_interrupts_the_turn(lone_home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def play(stage: Stage) -> None:
        stage.start()
        stage.delta("so far")
        interrupt_self()
        params = stage.wait_for("turn/interrupt")
        assert params == stage.turn
        stage.say_whole("so far", status="interrupted")
        stage.finish("interrupted", 1, reason="interrupted")

    with FakeDaemon(lone_home, play) as daemon:
        assert run("hi") == 130
    (conversation_id,) = daemon.events
    assert capfd.readouterr() == ("so far\n", f"{conversation_id[:8]}\n")


def test_ctrl_c_takes_a_queued_prompt_back(lone_home: Path) -> None:
    def play(stage: Stage) -> None:
        interrupt_self()
        stage.wait_for("turn/interrupt")
        stage.finish("withdrawn", 1, reason="withdrawn")

    with FakeDaemon(lone_home, play):
        carried = carried_from(run("hi"))  # the long way says so
    assert carried.interrupted
    assert carried.answer is not None
    assert carried.answer.ended is not None


def test_a_turn_that_is_done_all_the_same_is_done(lone_home: Path) -> None:
    def play(stage: Stage) -> None:
        stage.start()
        interrupt_self()
        stage.wait_for("turn/interrupt")
        stage.say_whole("done")
        stage.finish()

    with FakeDaemon(lone_home, play):
        assert run("hi") == 0


@pytest.fixture
def interrupt_heard() -> Iterator[Callable[[], None]]:
    """Send a SIGINT, and return when the client has dealt with it."""
    heard = threading.Event()
    before = signal.signal(signal.SIGUSR1, lambda number, frame: heard.set())

    def interrupt() -> None:
        interrupt_self()
        send_self(signal.SIGUSR1)  # the same thread deals with it, after the SIGINT
        assert heard.wait(10)

    yield interrupt
    signal.signal(signal.SIGUSR1, before)


def test_ctrl_c_before_the_answer_waits_for_it(
    lone_home: Path, interrupt_heard: Callable[[], None]
) -> None:
    class Slow(FakeDaemon):
        def answer(self, peer: Any, method: str, params: Any, then: Any) -> Any:
            if method == "turn/start":
                interrupt_heard()
            return super().answer(peer, method, params, then)

    def play(stage: Stage) -> None:
        stage.wait_for("turn/interrupt")
        stage.finish("interrupted", 1)

    with Slow(lone_home, play):
        assert run("hi") == 130


class Left(BaseException):
    """Stands for the end of the process."""


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 143), (signal.SIGINT, 130)]
)
def test_leaving(
    lone_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    number: signal.Signals,
    code: int,
) -> None:
    """A second Ctrl-C says what it did, below the ^C of the terminal."""
    monkeypatch.setattr(os, "isatty", lambda descriptor: descriptor == 2)

    def leave(status: int) -> None:
        raise Left(status)

    monkeypatch.setattr(os, "_exit", leave)

    def play(stage: Stage) -> None:
        stage.start()
        if number == signal.SIGINT:
            interrupt_self()
            stage.wait_for("turn/interrupt")
        send_self(number)

    with FakeDaemon(lone_home, play) as daemon, pytest.raises(Left, match=str(code)):
        run("hi")
    assert len(daemon.asked("turn/interrupt")) == (number == signal.SIGINT)
    assert capfd.readouterr().err == (f"\n{DETACHED}" if number == signal.SIGINT else "")


def test_a_lost_connection_cannot_be_asked_to_stop(
    lone_home: Path, interrupt_heard: Callable[[], None]
) -> None:
    def play(stage: Stage) -> None:
        stage.start()
        stage.peer.stream.shutdown(socket.SHUT_RD)  # what the client sends now fails
        interrupt_heard()
        stage.drop()

    with FakeDaemon(lone_home, play):
        assert carried_from(run("hi")).interrupted


def test_an_ignored_signal_stays_ignored(lone_home: Path) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def play(stage: Stage) -> None:
        send_self(signal.SIGHUP)
        answer("still here")(stage)

    with FakeDaemon(lone_home, play):
        assert run("hi", "-q") == 0
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
