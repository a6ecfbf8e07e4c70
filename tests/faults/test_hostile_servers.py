"""Servers of tools that mean harm, and models that do: nobody else waits, and nothing gets out.

Through the real daemon. What is measured is what another person would notice: how long a turn
without that server takes, how much memory the daemon has had, and how long it needs to stop.
"""

import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.system.test_mcp_bad_servers import serving
from tests.system.tool_servers import Tools, wait_until
from tests.system.world import ROOT

HOSTILE = str(ROOT / "tests" / "fakes" / "hostile_server.py")
MIB = 1 << 20
MOST_BYTES = 300 * MIB
"""Of the daemon, whatever comes: it has a third of that to begin with."""
PROMPT_S = 8.0
"""For a turn that wants no server, on a machine with others at work; alone it takes a tenth of a
second."""
STOP_S = 20.0 + 15.0
"""What is drained has twenty; then a server that does not want to end is ended."""
SECRET = "s3cret-canary-0123"


@contextmanager
def attacked(home: Path, how: str, **settings: object) -> Iterator[Tools]:
    """A world with a hostile server that is known already."""
    server = {"command": sys.executable, "args": [HOSTILE, how], **settings}
    with serving(home, bad=server) as tools:
        assert tools.run("bad__echo", {"text": "hello"}) == "hello"
        yield tools


def find_requests(tools: Tools) -> list[dict[str, Any]]:
    """All that the model was sent."""
    assert tools.world.model is not None
    return tools.world.model.requests()


def ask_plainly(tools: Tools) -> float:
    """A turn that has nothing to do with it; how long it took, in seconds."""
    began = time.monotonic()
    assert tools.world.ok("ECHO:hello").out == "hello\n"
    return time.monotonic() - began


@pytest.mark.parametrize(
    "how",
    ["ask-at-length", "ask-often", "answer-wrongly", "answer-a-little", "answer-deeply"],
)
def test_no_other_turn_waits_and_memory_is_bounded(tmp_path: Path, how: str) -> None:
    with attacked(tmp_path, how, tool_timeout_s=4) as tools:
        turn = tools.start(("bad__go", {}))
        took = []
        until = time.monotonic() + 3
        while time.monotonic() < until:
            took.append(ask_plainly(tools))
        assert max(took) < PROMPT_S
        assert turn.finish().code == 0
        assert tools.count_daemon_bytes() < MOST_BYTES
        told = [
            each["content"]
            for request in find_requests(tools)
            for each in request["messages"]
            if each["role"] == "tool"
        ]
        assert len(told[-1]) < 1000
        tools.world.ok("mcp", "list")


def test_one_that_reads_nothing_holds_up_nobody_and_not_the_end(tmp_path: Path) -> None:
    with attacked(tmp_path, "go-deaf") as tools:
        calls = [("bad__go", {"text": "x" * 1500})] * 50
        first, second = tools.start(*calls), tools.start(*calls)
        wait_until(lambda: len(find_requests(tools)) >= 4)
        assert ask_plainly(tools) < PROMPT_S
        began = time.monotonic()
        first.signal(2)
        first.finish()
        assert time.monotonic() - began < PROMPT_S
        assert ask_plainly(tools) < PROMPT_S
        began = time.monotonic()
        tools.world.ok("daemon", "stop")
        assert time.monotonic() - began < STOP_S
        assert second.finish().code != 0
        wait_until(lambda: not tools.find_processes())


def test_what_a_model_makes_up_ends_no_session(tmp_path: Path) -> None:
    with attacked(tmp_path, "tell") as tools:
        (pid,) = {each for each in tools.find_processes() if HOSTILE in read_words(each)}
        assert tools.run("bad__echo", {"text": "a\ud800b", "\udfff": 1}) == "a?b"
        assert tools.run("bad__echo", {"text": "still"}) == "still"
        assert pid in tools.find_processes()


def test_no_secret_of_a_server_gets_out_by_what_it_says(tmp_path: Path) -> None:
    env = {"API_TOKEN": SECRET, "DATABASE_URL": f"postgres://me:{SECRET}-db@here/x"}
    with attacked(tmp_path, "tell", env=env) as tools:
        world = tools.world
        turn = tools.start(("bad__go", {})).finish()
        assert turn.code == 0
        assert SECRET not in tools.told()
        said = [turn.out, turn.err, world.log()]
        for words in (
            ("mcp", "logs", "bad"),
            ("mcp", "list", "--json"),
            ("mcp", "test", "bad", "--json"),
            ("config", "show"),
            ("config", "show", "--json"),
        ):
            result = world.ask(*words)
            said += [result.out, result.err]
        logs = world.ok("mcp", "logs", "bad").out
        assert "***" in logs
        assert "\x1b" not in logs
        assert "\n-- " not in logs, "its lines are never ours"
        assert not [each for each in said if SECRET in each]
        argv = [read_words(int(each.name)) for each in Path("/proc").glob("[0-9]*")]
        assert not [each for each in argv if SECRET in each]
        (known,) = world.home.rglob("mcp-tools.json")
        assert stat.S_IMODE(known.stat().st_mode) == 0o600
        assert SECRET not in known.read_text()


def read_words(pid: int) -> str:
    try:
        return os.fsdecode(Path(f"/proc/{pid}/cmdline").read_bytes())
    except OSError:
        return ""
