"""`ask` as a process: the short way and the long way as one, seen from outside."""

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.fakes.daemon import FakeDaemon, Stage, answer

COMMAND = [sys.executable, "-c", "from ask.__main__ import main; main()"]
LIMIT_S = 30


@pytest.fixture
def environ(lone_home: Path) -> dict[str, str]:
    """This process's environment, its home and all."""
    return dict(os.environ)


def ask(
    *words: str, environ: Mapping[str, str], stdin: bytes = b"", given: bool = True
) -> subprocess.CompletedProcess[bytes]:
    """Run a command line; without `given` its standard input is /dev/null."""
    command = [*COMMAND, *words]
    if given:
        return subprocess.run(
            command, env=environ, input=stdin, capture_output=True, timeout=LIMIT_S
        )
    return subprocess.run(
        command, env=environ, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S
    )


@pytest.mark.parametrize("way", [[], ["--usage"]])
def test_a_piped_log_and_a_question(
    lone_home: Path, environ: dict[str, str], way: list[str]
) -> None:
    with FakeDaemon(lone_home, answer("the disk")) as daemon:
        done = ask("what failed?", *way, environ=environ, stdin=b"error: disk full\n")
    assert (done.returncode, done.stdout) == (0, b"the disk\n")
    assert daemon.asked("turn/start")[0]["parts"] == [
        {"type": "text", "text": "what failed?"},
        {"type": "text", "text": "error: disk full\n", "name": "stdin"},
    ]


def test_a_large_input_goes_the_long_way_as_one_prompt(
    lone_home: Path, environ: dict[str, str]
) -> None:
    content = b"0123456789abcdef" * 20_000
    with FakeDaemon(lone_home, answer("read")) as daemon:
        done = ask("-q", environ=environ, stdin=content)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"read\n", b"")
    assert b"".join(chunk["bytes"] for chunk in daemon.asked("blob/put")) == content
    (params,) = daemon.asked("turn/start")
    assert params["parts"][0]["bytes"] == len(content)


def test_a_connection_lost_on_the_short_way_is_made_again_on_the_long_one(
    lone_home: Path, environ: dict[str, str]
) -> None:
    def lose(stage: Stage) -> None:
        stage.start()
        stage.delta("one \x1b[3")
        stage.drop()

    def go_on(stage: Stage) -> None:
        stage.delta("1mtwo")
        stage.say_whole("one \x1b[31mtwo")
        stage.finish()

    with FakeDaemon(lone_home, lose, go_on) as daemon:
        done = ask("-q", "count", environ=environ, stdin=b"log")
        first, second = daemon.asked("turn/start")
    assert (done.returncode, done.stdout) == (0, b"one two\n")
    assert first == second


def test_status_and_completion(lone_home: Path, environ: dict[str, str]) -> None:
    with FakeDaemon(lone_home):
        done = ask("daemon", "status", "--json", environ=environ)
    assert json.loads(done.stdout)["pid"] == 4711
    tab = {**environ, "_ASK_COMPLETE": "bash_complete"}
    done = ask("li", "ask li", environ=tab)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"word\tlist\n", b"")


def test_an_empty_input_is_said_and_none_is_not(lone_home: Path, environ: dict[str, str]) -> None:
    with FakeDaemon(lone_home, always=answer("x")):
        assert b"Standard input was empty." in ask("hi", environ=environ).stderr
        assert b"empty" not in ask("hi", environ=environ, given=False).stderr


@pytest.mark.parametrize(
    ("line", "code"), [(["--help"], 141), (["-c", "--json", "-s", "x", "hi"], 2)]
)
def test_an_output_that_nobody_reads(environ: dict[str, str], line: list[str], code: int) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    process = subprocess.run([*COMMAND, *line], env=environ, stdout=writer, timeout=LIMIT_S)
    os.close(writer)
    assert process.returncode == code


def test_python_dash_m(environ: dict[str, str]) -> None:
    command = [sys.executable, "-m", "ask", "--version"]
    done = subprocess.run(command, env=environ, capture_output=True, timeout=LIMIT_S, check=True)
    assert done.stdout == b"ask 0.1.0\n"


@pytest.mark.parametrize("way", [[], ["--usage"]])
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)]
)
def test_signals(
    lone_home: Path, environ: dict[str, str], way: list[str], number: signal.Signals, code: int
) -> None:
    """SIGINT ends the turn and is waited for; the others leave it alone."""

    def play(stage: Stage) -> None:
        stage.start()
        stage.delta("so far")
        if number == signal.SIGINT:
            stage.wait_for("turn/interrupt")
            stage.finish("interrupted", 1)

    with (
        FakeDaemon(lone_home, play) as daemon,
        subprocess.Popen(
            [*COMMAND, "go", *way],
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process,
    ):
        assert process.stdout is not None
        assert process.stdout.read(6) == b"so far"
        process.send_signal(number)
        out, _ = process.communicate(timeout=LIMIT_S)
    assert process.returncode == code
    assert out == (b"\n" if number == signal.SIGINT else b"")
    assert len(daemon.asked("turn/interrupt")) == (number == signal.SIGINT)


@pytest.mark.parametrize("way", [[], ["--usage"]])
def test_a_reader_that_leaves(lone_home: Path, environ: dict[str, str], way: list[str]) -> None:
    """`ask ... | head -c 3`: the turn goes on."""
    reader, writer = os.pipe()

    def play(stage: Stage) -> None:
        stage.start()
        stage.delta("one")
        assert os.read(reader, 3) == b"one"
        os.close(reader)
        answer("one two")(stage)

    with FakeDaemon(lone_home, play) as daemon:
        process = subprocess.Popen(
            [*COMMAND, "go", "-q", *way], env=environ, stdin=subprocess.DEVNULL, stdout=writer
        )
        os.close(writer)
        assert process.wait(LIMIT_S) == 141
    assert daemon.asked("turn/interrupt") == []


@pytest.mark.parametrize("way", [[], ["--usage"]])
def test_on_a_terminal(lone_home: Path, environ: dict[str, str], way: list[str]) -> None:
    """Raw or not, nothing that it would obey reaches it; and it is known again by its tty."""
    master, slave = pty.openpty()
    text = "\x1b]0;title\x07red \x1b[31malert"
    with FakeDaemon(lone_home, answer(text, text[:3], text[3:20], text[20:])) as daemon:
        done = subprocess.run(
            [*COMMAND, "go", "--raw", "-q", *way],
            env=environ,
            stdin=slave,
            stdout=slave,
            stderr=subprocess.DEVNULL,
            timeout=LIMIT_S,
            check=True,
        )
    shown = os.read(master, 1000)
    os.close(master)
    os.close(slave)
    assert done.returncode == 0
    assert shown == b"red alert\r\n"
    (params,) = daemon.asked("turn/start")
    assert params["terminal"].startswith("tty:/dev/pts/")


TOLD = """
import _socket, os, sys
log = os.open(os.environ["LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
def tell(text): os.write(log, f"{text}\\n".encode())
class Told(_socket.socket):
    def sendall(self, data):
        super().sendall(data)
        tell("sent")
_socket.socket = Told
sys.addaudithook(lambda event, found: tell(found[0]) if event == "import" else None)
from ask.__main__ import main
main()
"""
"""The program, and a file in which stands what it imported and when it had sent."""


def test_the_prompt_is_sent_before_anything_that_paints_is_imported(
    lone_home: Path, environ: dict[str, str], tmp_path: Path
) -> None:
    log = tmp_path / "log"
    environ |= {"LOG": str(log), "TERM": "xterm"}
    environ.pop("NO_COLOR", None)
    master, slave = pty.openpty()
    with FakeDaemon(lone_home, answer("# Yes", "# ", "Yes")):
        command = [sys.executable, "-c", TOLD, "-q", "hi"]
        subprocess.run(command, env=environ, stdin=slave, stdout=slave, timeout=LIMIT_S, check=True)
    shown = os.read(master, 1000)
    os.close(master)
    os.close(slave)
    assert shown.startswith(b"# Yes")
    assert b"\x1b[1;4mYes" in shown
    before, sent, after = log.read_text().partition("sent\n")
    assert sent
    names = ("ask.markdown", "rich", "pygments", "markdown_it")
    assert [name for name in names if name in before] == []
    assert [name for name in names if name in after] == list(names)


# ---- outputs that take nothing -----------------------------------------------------


def run_shell(line: str, environ: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
    """Run `ask ...` with a redirection, as a shell does it."""
    script = f'ask() {{ "$0" -c "$CODE" "$@"; }}; {line}'
    return subprocess.run(
        ["bash", "-c", script, sys.executable],
        env={**environ, "CODE": COMMAND[2]},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=LIMIT_S,
    )


UNWRITABLE = b"Standard output cannot be written: No space left on device."


@pytest.mark.parametrize(
    "line",
    [
        "hi",
        "hi --usage",
        "--json hi",
        "daemon status",
        "daemon status --json",
        "config path",
        "list",
        "--help",
        "--version",
        "list --help",
    ],
)
def test_a_full_disk_is_said_in_one_sentence(
    lone_home: Path, environ: dict[str, str], line: str
) -> None:
    page: dict[str, object] = {"data": [], "next_cursor": None, "total": 0}
    with FakeDaemon(lone_home, answer("x"), results={"conversation/list": page}):
        done = run_shell(f"ask {line} > /dev/full", environ)
    assert done.returncode == 74, done
    assert done.stderr.splitlines()[0] == UNWRITABLE
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    "line", ["hi", "hi --usage", "--json hi", "daemon status", "config path", "--help"]
)
@pytest.mark.parametrize("closed", [">&-", ">&- <&-", ">&- 2>&-"])
def test_an_output_that_was_never_open(
    lone_home: Path, environ: dict[str, str], line: str, closed: str
) -> None:
    """No socket takes its number: an answer would be sent back to the daemon."""
    with FakeDaemon(lone_home, answer("x")) as daemon:
        done = run_shell(f"ask {line} {closed}", environ)
    assert (done.returncode, done.stdout, done.stderr) == (141, b"", b"")
    assert daemon.faults == []


@pytest.mark.parametrize("way", [[], ["--usage"]])
def test_a_time_limit_is_for_reading_too(
    lone_home: Path, environ: dict[str, str], way: list[str]
) -> None:
    """`sleep 20 | ask --timeout 0.3 hi` asks nothing."""
    with FakeDaemon(lone_home) as daemon:
        process = subprocess.Popen(
            [*COMMAND, "--timeout", "0.3", *way, "hi"],
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        with process:
            assert process.wait(LIMIT_S) == 124
            assert process.stderr is not None
            assert b"while standard input was read" in process.stderr.read()
    assert daemon.asked("turn/start") == []


@pytest.mark.parametrize("way", [[], ["--usage"]])
def test_a_binary_input_is_refused(
    lone_home: Path, environ: dict[str, str], way: list[str]
) -> None:
    with FakeDaemon(lone_home) as daemon:
        done = ask("hi", *way, environ=environ, stdin=b"a\0b")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"Standard input is binary" in done.stderr
    assert daemon.requests == []
