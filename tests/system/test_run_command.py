"""Commands that a model runs, gone wrong in every way, under each sandbox and under none."""

import json
import os
import resource
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import trio

from askd.core.items import ToolCall, join_text
from askd.tools.base import Site, Tool
from askd.tools.registry import Registry
from askd.tools.sandbox import Sandbox, Wanted
from askd.tools.search import make_search_files
from askd.tools.shell import CommandRules, make_run_command
from tests.fakes.ticks import counting
from tests.fakes.tools import SITE
from tests.faults.escapes import PYTHON
from tests.processes.test_launcher import is_running

ALL: tuple[Wanted, ...] = ("bubblewrap", "landlock", "none")


class Bench:
    """A workspace, our own directory with a secret in it, and tools under one sandbox."""

    def __init__(self, directory: Path, wanted: Wanted) -> None:
        self.wanted = wanted
        self.workspace = directory / "workspace"
        self.secret = directory / "ours" / "secret"
        self.workspace.mkdir()
        self.secret.parent.mkdir()
        self.secret.write_text("key\n")
        self.sandbox = Sandbox(wanted, hidden=[str(self.secret.parent)])
        env = {"PATH": os.defpath, "HOME": "/nonexistent", "OPENAI_API_KEY": "k", "LANG": "C.UTF-8"}
        self.site = replace(SITE, cwd=str(self.workspace), env=env)
        self.timeout_s = 60.0

    def make(self) -> Tool:
        rules = CommandRules(timeout_s=self.timeout_s)
        return make_run_command(
            sandbox=lambda: self.sandbox, rules=lambda: rules, own=[str(self.secret.parent)]
        )

    async def run(self, command: str, site: Site | None = None) -> str:
        """What the model is told; never an exception, and never late."""
        call = ToolCall("call_1", "run_command", json.dumps({"command": command}))
        with trio.fail_after(self.timeout_s + 10):
            output = await Registry([self.make()]).run(
                call, item_id="t.1.1", site=site or self.site
            )
        return join_text(output.parts)


@pytest.fixture(params=ALL)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    before = len(os.listdir("/proc/self/fd"))
    made = Bench(tmp_path, request.param)
    if trio.run(made.sandbox.find) != made.wanted:
        pytest.skip(f"{made.wanted} does not work here")
    yield made
    assert len(os.listdir("/proc/self/fd")) == before


async def test_what_every_sandbox_lets_through(bench: Bench) -> None:
    text = await bench.run('echo hello > new; cat new; pwd; echo "<$OPENAI_API_KEY>"; exit 3')
    assert text == f"hello\n{bench.workspace}\n<>\n[exit code 3]"
    assert (bench.workspace / "new").read_text() == "hello\n"


async def test_our_own_is_not_read_where_anything_confines(bench: Bench) -> None:
    text = await bench.run(f"cat {bench.secret}")
    assert ("key\n" in text) == (bench.wanted == "none")


async def test_a_gigabyte_is_drained_and_takes_no_memory(bench: Bench) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    count = (1 << 30) if bench.wanted == "bubblewrap" else (64 << 20)
    text = await bench.run(f"echo first; head -c {count} /dev/zero | tr '\\0' x; echo; echo last")
    assert text.startswith("first\nxxx")
    assert text.endswith("xxx\nlast\n[exit code 0]")
    left_out = count + len("first\n\nlast\n") - (1 << 20)
    assert f"[... {left_out:,} bytes left out ...]" in text
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 32 * 1024, f"{grown} KiB"


LASTING = {
    "sleeps": "exec sleep 1000",
    "is deaf": "trap '' TERM; while :; do sleep 1; done",
    "closes its pipes": "exec >&- 2>&- <&-; sleep 1000",
    "has children": "sleep 1000 & sleep 1000 & wait",
    "has a child that leaves": "(trap '' TERM HUP; setsid sleep 1000) & wait",
    "stops itself": "kill -STOP $$",
    "says yes for ever": "yes",
}


async def test_at_their_deadline_they_are_over_and_nobody_is_left(bench: Bench) -> None:
    bench.timeout_s = 0.5
    mark = f"ask-mark-{os.getpid()}-{bench.wanted}"
    said: dict[str, str] = {}

    async def run(name: str, command: str) -> None:
        said[name] = await bench.run(f": {mark}; {command}")

    async with counting() as ticks, trio.open_nursery() as nursery:  # in it: the commands
        for name, command in LASTING.items():
            nursery.start_soon(run, name, command)
    assert ticks.passed_s < 0.5 + 3
    assert said.keys() == LASTING.keys()
    assert all(each.endswith("[stopped after 0.5 s]") for each in said.values())
    assert find_marked(mark) == []


async def test_what_it_leaves_behind_is_ended_with_it(bench: Bench) -> None:
    with trio.fail_after(10):
        text = await bench.run(
            "(trap '' TERM; setsid sh -c 'exec sleep 4567' &) ; sleep 4568 & echo done"
        )
    assert text == "done\n[exit code 0]"
    assert find_marked("4567") == find_marked("4568") == []


async def test_many_children_end_with_it(bench: Bench) -> None:
    """No bomb, for the machine is everybody's: a hundred that fork once more each."""
    bench.timeout_s = 1.5
    text = await bench.run("for i in $(seq 50); do (sleep 7654 & sleep 7654 & wait) & done; wait")
    assert text == "[stopped after 1.5 s]"
    assert find_marked("7654") == []


async def test_nothing_of_it_reaches_a_terminal(bench: Bench) -> None:
    text = await bench.run(
        "printf '\\033]52;c;c2VjcmV0\\007\\033]0;title\\033\\\\\\033[2Jshown\\n\\302\\233 \\377'"
    )
    assert text == "shown\n\ufffd\n[exit code 0]"


@pytest.mark.parametrize(
    ("command", "end"),
    [
        ("no-such-command-at-all", "[exit code 127]"),
        ("./not-there", "[exit code 127]"),
        ("touch x; ./x", "[exit code 126]"),
        ("head -c 100 /dev/urandom; exit 5", "[exit code 5]"),
        ("if then", "[exit code 2]"),
    ],
)
async def test_commands_that_do_not_work(bench: Bench, command: str, end: str) -> None:
    assert (await bench.run(command)).endswith(end)


async def test_an_end_by_a_signal_is_said(bench: Bench) -> None:
    text = await bench.run("kill -SEGV $$")
    assert "SIGSEGV" in text.splitlines()[-1]


async def test_a_megabyte_of_command_and_a_nul_are_refused(bench: Bench) -> None:
    assert "1,000,006 bytes are more" in await bench.run("echo " + "x" * 1_000_001)
    assert "NUL" in await bench.run("echo \0")
    assert (await bench.run("echo ok #" + "x" * 120_000)) == "ok\n[exit code 0]"
    assert (await bench.run("echo ok #" + "\x01" * 120_000)) == "ok\n[exit code 0]"


async def test_a_workspace_that_vanishes(bench: Bench) -> None:
    async with trio.open_nursery() as nursery:

        async def run() -> None:
            text = await bench.run("touch begun; while [ -e begun ]; do sleep 0.02; done; touch x")
            assert "No such file" in text
            assert text.endswith("[exit code 1]")

        nursery.start_soon(run)
        begun = bench.workspace / "begun"
        while not await trio.to_thread.run_sync(begun.exists):
            await trio.lowlevel.checkpoint()
        begun.unlink()
        bench.workspace.rmdir()
    assert "is gone" in await bench.run("echo hello")


async def test_a_socket_of_ours_is_reached_only_without_a_sandbox(bench: Bench) -> None:
    path = bench.secret.parent / "askd.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        text = await bench.run(
            f"{PYTHON} -c 'import socket; s=socket.socket(socket.AF_UNIX); "
            f's.connect("{path}"); print("reached")\''
        )
    assert ("reached" in text) == (bench.wanted == "none")


async def test_the_search_works_under_each(bench: Bench) -> None:
    (bench.workspace / "a").write_text("one\nneedle\n")
    (bench.workspace / "out").symlink_to(bench.secret.parent)
    for path in (os.defpath, "/nonexistent"):
        tool = make_search_files(sandbox=lambda: bench.sandbox, path=path)
        result = await tool.run({"pattern": "needle|key"}, bench.site)
        assert join_text(result.parts) == "a:2: needle"


def find_marked(mark: str) -> list[int]:
    """Processes with that word on their command line, and alive."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                line = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if mark.encode() in line and is_running(int(entry.name)):
                found.append(int(entry.name))
    return found
