"""What keeps the short way short: the modules it loads, and the system calls it makes.

Both are counted against a bare `python -c pass` of the same interpreter, in fresh
processes, so that no machine's speed decides.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.daemon import FakeDaemon, Stage
from tests.fakes.hits import make_hit

ENTRY = "import sys; from ask.__main__ import main; main()"
"""What pip's script does; the script's own cost is pip's, and `python -c pass` has none."""
MODULES_LIMIT = 8
SEARCH_MODULES_LIMIT = 12
"""Hits are laid out, for which it takes the widths of letters."""
CALLS_LIMIT = 1.4
HEAVY = ("click", "re", "typing", "enum", "socket", "json", "msgpack", "datetime", "dataclasses")
HEAVY_TOO = ("functools", "signal", "select", "struct", "pathlib", "platformdirs", "ask.protocol")


def say_once(stage: Stage) -> None:
    """All of an answer in one write, so that the number of reads does not depend on timing."""
    with stage.peer.together():
        stage.start()
        stage.delta("yes")
        stage.say_whole("yes")
        stage.finish()


def environment(socket_path: Path) -> dict[str, str]:
    """A bare one: nothing that makes Python, or coverage, load more."""
    return {"PATH": os.environ["PATH"], "ASK_SOCKET": str(socket_path)}


def start(code: str, *words: str, environ: dict[str, str], before: tuple[str, ...] = ()) -> str:
    """Run Python code to a good end: what it said on stdout."""
    done = subprocess.run(
        [*before, sys.executable, "-c", code, *words],
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


def list_modules(code: str, *words: str, environ: dict[str, str]) -> set[str]:
    """The names of the modules that were loaded when the process ended."""
    tell = (
        "import os, sys\n"
        "leave = os._exit\n"
        "def tell(code):\n"
        "    os.write(1, ('\\n' + ' '.join(sys.modules)).encode())\n"
        "    leave(code)\n"
        "os._exit = tell\n"
    )
    out = start(f"{tell}{code}", *words, environ=environ)
    return set(out.splitlines()[-1].split())


@pytest.mark.parametrize(
    "words",
    [
        ("hi",),
        ("mail", "me@example.org"),
        ("--no-mentions", "@x.py"),
        ("daemon", "status"),
        ("daemon", "status", "--json"),
    ],
)
def test_the_modules_are_few_and_light(lone_home: Path, words: tuple[str, ...]) -> None:
    environ = environment(lone_home)
    with FakeDaemon(lone_home, say_once):
        loaded = list_modules(ENTRY, *words, environ=environ)
    more = loaded - list_modules("os._exit(0)", environ=environ)
    assert "ask.fast.codec" in more
    assert not more & {*HEAVY, *HEAVY_TOO}
    assert len(more) <= MODULES_LIMIT, sorted(more)


def test_a_search_loads_little_more(lone_home: Path) -> None:
    found = {"conversation/search": {"data": [make_hit()], "next_cursor": None}}
    environ = environment(lone_home)
    with FakeDaemon(lone_home, results=found):
        loaded = list_modules(ENTRY, "history", "search", "fox", environ=environ)
    more = loaded - list_modules("os._exit(0)", environ=environ)
    assert "ask.fast.search" in more
    assert not more & {*HEAVY, *HEAVY_TOO}
    assert len(more) <= SEARCH_MODULES_LIMIT, sorted(more)


def test_a_terminal_with_a_name_costs_no_module(lone_home: Path) -> None:
    environ = {**environment(lone_home), "TMUX": "/tmp/t,1,0", "TMUX_PANE": "%1"}
    with FakeDaemon(lone_home, say_once) as daemon:
        loaded = list_modules(ENTRY, "hi", environ=environ)
    assert daemon.asked("turn/start")[0]["terminal"] == "tmux:/tmp/t,1:%1"
    assert len(loaded - list_modules("os._exit(0)", environ=environ)) <= MODULES_LIMIT


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
@pytest.mark.parametrize("words", [("hi",), ("daemon", "status")])
def test_the_system_calls_are_few(lone_home: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    environ = environment(lone_home)
    tally = tmp_path / "tally"

    def count(code: str, *words: str) -> int:
        before = ("strace", "-f", "-c", "-o", str(tally))
        start(code, *words, environ=environ, before=before)
        return int(tally.read_text().splitlines()[-1].split()[3])

    with FakeDaemon(lone_home, say_once, say_once):
        count(ENTRY, *words)  # the first run compiles
        calls = count(ENTRY, *words)
    base = count("pass")
    assert calls <= CALLS_LIMIT * base, json.dumps({"calls": calls, "base": base})
