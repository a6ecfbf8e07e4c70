"""A program as a server, for real: what it says is bounded, and nothing of it is left behind."""

import math
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from askd.core.items import Text
from askd.tools.base import CannotRun, Result, Site
from askd.tools.mcp import stdio
from askd.tools.mcp.base import describe_tool
from askd.tools.mcp.configs import ServerConfig
from askd.tools.mcp.journal import Journal
from askd.tools.mcp.owner import Owner
from askd.tools.mcp.session import Offer, call_tool
from askd.tools.mcp.stdio import GRACE_S, LEAVE_S, MOST_NONSENSE, open_stdio
from tests.processes.test_launcher import PATIENCE_S, is_running

ROOT = Path(__file__).resolve().parents[3]
FAKE = str(ROOT / "tests" / "fakes" / "mcp_server.py")
ENV = {"PATH": os.environ["PATH"], "HOME": "/"}


@dataclass
class Starts:
    """The file in which a server notes each start."""

    path: Path

    def count(self) -> int:
        return len(self.path.read_text().splitlines()) if self.path.exists() else 0

    def pids(self) -> list[int]:
        return [int(pid) for pid in self.path.read_text().split()] if self.path.exists() else []

    def left(self) -> list[int]:
        return [pid for pid in self.pids() if is_running(pid)]


@dataclass
class Keeper:
    """Takes what it is told."""

    offers: list[Offer] = field(default_factory=list)

    def take_offer(self, offer: Offer) -> None:
        self.offers.append(offer)

    def take_rooted(self) -> None:
        pass


@dataclass
class Held:
    """A server that is held, and its starts."""

    owner: Owner
    starts: Starts
    keeper: Keeper

    async def call(self, name: str, site: Site | None = None, **arguments: Any) -> str:
        """Call a tool; the text of its answer."""
        site = site or Site(conversation_id="c", turn_id="t", call_id="call-1")
        tool = describe_tool("fake", name, "", {})

        async def do(session: Any) -> Result:
            return await call_tool(session, tool, arguments, site)

        result = await self.owner.do(do, site=site)
        return "".join(each.text for each in result.parts if isinstance(each, Text))


def configure(starts: Starts, *args: str, **more: Any) -> ServerConfig:
    limits: dict[str, Any] = {"startup_s": 20.0, "call_s": 20.0, **more}
    command = {"command": sys.executable, "args": (FAKE, "--starts", str(starts.path), *args)}
    return ServerConfig(**{"name": "fake", **command, **limits})


@asynccontextmanager
async def hold(tmp_path: Path, *args: str, **more: Any) -> AsyncIterator[Held]:
    """Hold the scripted server while the block runs; nothing may be left of it then."""
    starts, keeper = Starts(tmp_path / "starts"), Keeper()

    def open_it(config: ServerConfig, *, journal: Journal) -> Any:
        return open_stdio(config, journal=journal, env=ENV)

    owner = Owner(
        configure(starts, *args, **more),
        None,
        open_transport=open_it,
        keeper=keeper,
        now=lambda: 0.0,
    )
    # In it: the owner.
    async with trio.open_nursery() as nursery:
        nursery.start_soon(owner.run)
        yield Held(owner, starts, keeper)
        nursery.cancel_scope.cancel()
    assert starts.left() == []


async def wait_until(is_so: Callable[[], bool]) -> None:
    with trio.fail_after(PATIENCE_S):
        while True:
            if is_so():
                return
            await trio.sleep(0.01)


async def test_a_call_and_its_end(tmp_path: Path) -> None:
    async with hold(tmp_path) as held:
        assert await held.call("echo", text="hé\u2028llo\n") == "hé\u2028llo\n"
        assert held.owner.journal.pid == held.starts.pids()[0]
        assert await held.call("pid") == str(held.owner.journal.pid)
        assert "call echo" in held.owner.journal.text()
    assert held.owner.journal.pid is None


async def test_it_sees_its_own_variables_and_none_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUR_SECRET", "hunter2")
    program = "env; pwd"
    config = ServerConfig(
        name="fake", command="sh", args=("-c", program), env={"MINE": "1", "HOME": "/tmp"}
    )
    journal = Journal(lambda: 0.0)
    async with open_stdio(config, journal=journal, env=ENV):
        await journal.gone.wait()
    said = journal.text()
    assert "MINE=1" in said
    assert "HOME=/tmp" in said
    assert "hunter2" not in said
    assert "no message: /\n" in said


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (ServerConfig(name="fake", command="/no/such/program"), "/no/such/program: No such file"),
        (ServerConfig(name="fake", command="true", cwd="/no/such/place"), "/no/such/place: No"),
        (ServerConfig(name="fake", command="/etc/passwd"), "/etc/passwd: Permission denied"),
    ],
)
async def test_what_cannot_be_started_is_a_sentence(config: ServerConfig, said: str) -> None:
    with pytest.raises(CannotRun, match=f"It cannot be started: {said}"):
        async with open_stdio(config, journal=Journal(lambda: 0.0), env=ENV):
            pass


@pytest.mark.parametrize("name", ["big", "big_late"])
async def test_a_huge_result_is_an_error_and_its_server_goes_on(tmp_path: Path, name: str) -> None:
    async with hold(tmp_path) as held:
        with pytest.raises(CannotRun, match=r"A message of 50,\d+,\d+ bytes is more than"):
            await held.call(name, n=50_000_000)
        assert len(await held.call(name, n=1_000_000)) == 1_000_000
        assert held.starts.count() == 1


async def test_what_nobody_can_tell_ends_it(tmp_path: Path) -> None:
    async with hold(tmp_path, "--endless-line") as held:
        with pytest.raises(CannotRun, match="It wrote a line that does not end"):
            await held.call("echo", text="")
        await wait_until(lambda: not held.starts.left())


async def test_some_nonsense_is_skipped_and_noted(tmp_path: Path) -> None:
    async with hold(tmp_path, "--nonsense", "50") as held:
        assert await held.call("babble", n=MOST_NONSENSE) == "said it"
        assert await held.call("babble", n=MOST_NONSENSE) == "said it"
        assert "no message: nonsense 0" in held.owner.journal.text()
        assert held.starts.count() == 1


async def test_much_nonsense_ends_it(tmp_path: Path) -> None:
    async with hold(tmp_path) as held:
        with pytest.raises(CannotRun, match="lines in a row that are no messages"):
            await held.call("babble", n=MOST_NONSENSE + 1)
        await wait_until(lambda: not held.starts.left())


async def test_in_a_flood_calls_are_answered_and_others_have_their_time(tmp_path: Path) -> None:
    async with hold(tmp_path, "--flood") as held:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await trio.sleep(0.01)
                ticks += 1

        async with trio.open_nursery() as others:
            others.start_soon(tick)
            assert await held.call("echo", text="hello") == "hello"
            before = trio.current_time()
            ticks = 0
            await trio.sleep(0.5)
            others.cancel_scope.cancel()
        assert ticks > 10, trio.current_time() - before


async def test_a_flood_without_a_pause_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A pace that any machine can keep up with: at one which it cannot, nothing would have to wait.
    monkeypatch.setattr(stdio, "MESSAGES_PER_S", 50)
    monkeypatch.setattr(stdio, "MESSAGES_AT_ONCE", 50)
    monkeypatch.setattr(stdio, "MOST_FLOOD", 100)
    async with hold(tmp_path, "--flood") as held:
        held.owner.need()
        await wait_until(lambda: held.owner.error is not None)
        assert stdio.FLOOD in str(held.owner.error)
        await wait_until(lambda: not held.starts.left())


async def test_a_huge_standard_error_is_read_and_its_end_is_kept(tmp_path: Path) -> None:
    async with hold(tmp_path, "--moan", "3000000") as held:
        assert await held.call("echo", text="hello") == "hello"
        assert await held.call("moan", n=500_000) == "moaned"
        text = held.owner.journal.text()
        assert "lines left out" in text
        assert len(text) < 400_000


async def test_many_tools(tmp_path: Path) -> None:
    async with hold(tmp_path, "--tools", "500", "--page", "100") as held:
        await held.owner.get_ready()
        assert len(held.keeper.offers[-1].tools) > 500


async def test_death_in_the_middle_of_a_call(tmp_path: Path) -> None:
    async with hold(tmp_path) as held:
        with pytest.raises(CannotRun, match=r"The server 'fake' is gone. It ended with status 7\."):
            await held.call("die")
        with pytest.raises(CannotRun, match="It ended with status 7"):
            await held.call("echo", text="")


async def test_one_that_ends_at_once_says_why(tmp_path: Path) -> None:
    async with hold(tmp_path, "--exit", "3") as held:
        said = r"It ended with status 3. Its last words: I cannot go on\."
        with pytest.raises(CannotRun, match=said):
            await held.call("echo", text="")


async def test_one_that_fails_is_not_started_over_and_over(tmp_path: Path) -> None:
    async with hold(tmp_path, "--exit", "3") as held:
        for _ in range(200):
            with pytest.raises(CannotRun):
                await held.call("echo", text="")
        assert held.starts.count() == 1


async def test_one_that_reads_nothing(tmp_path: Path) -> None:
    async with hold(tmp_path, "--deaf", startup_s=0.7) as held:
        with pytest.raises(CannotRun, match=r"It was not ready within 0\.7 s"):
            await held.call("echo", text="")


async def test_one_that_stops_to_read(tmp_path: Path) -> None:
    """More than a pipe takes is written to it, and it is asleep."""
    program = (
        "import sys, json, time\n"
        "for line in sys.stdin:\n"
        "    m = json.loads(line)\n"
        "    answer = {'jsonrpc': '2.0', 'id': m.get('id')}\n"
        "    if m['method'] == 'initialize':\n"
        "        answer['result'] = {'protocolVersion': '2025-06-18', 'capabilities': {},\n"
        "                            'serverInfo': {'name': 'x', 'version': '1'}}\n"
        "        print(json.dumps(answer), flush=True)\n"
        "    else:\n"
        "        time.sleep(600)\n"
    )
    more = {"command": sys.executable, "args": ("-c", program), "call_s": 0.5}
    async with hold(tmp_path, **more) as held:
        for _ in range(2):
            with pytest.raises(CannotRun):
                await held.call("echo", text="x" * 1_000_000)
        await wait_until(lambda: held.owner.state == "failed")
        assert "does not read what it is sent" in held.owner.journal.text()


async def test_cancelled_calls_leave_the_pipe_in_order(tmp_path: Path) -> None:
    """A line is written whole, whoever has gone meanwhile."""
    async with hold(tmp_path) as held:
        await held.owner.get_ready()
        for k in range(20):
            with trio.move_on_after(0.002 * k):
                await held.call("wait", n=600)
            with trio.move_on_after(0.0005 * k):
                await held.call("echo", text="x" * 300_000)
        assert await held.call("echo", text="still here") == "still here"
        assert held.starts.count() == 1
        assert "cancelled" in held.owner.journal.text()


async def test_one_that_will_not_end_is_ended_and_all_that_it_started(tmp_path: Path) -> None:
    async with hold(tmp_path, "--stubborn", "--forks", "2") as held:
        left = [int(pid) for pid in (await held.call("fork", n=2)).split()]
        assert len(held.starts.left()) == 3
        began = trio.current_time()
    assert trio.current_time() - began < LEAVE_S + GRACE_S + PATIENCE_S
    assert not any(map(is_running, left))


@pytest.mark.parametrize("after_s", [0.0, 0.01, 0.03, 0.06, 0.1, 0.15, 0.25])
async def test_cancelled_at_any_time_nothing_is_left(
    tmp_path: Path, after_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stdio, "LEAVE_S", 0.1)
    monkeypatch.setattr(stdio, "GRACE_S", 0.1)

    async def call(held: Held, name: str, n: int) -> None:
        # Its owner may be cancelled just when a call learns that it can be made: it is refused.
        with suppress(CannotRun):
            await held.call(name, n=n)

    with trio.move_on_after(after_s):
        async with hold(tmp_path, "--forks", "1") as held, trio.open_nursery() as calling:
            calling.start_soon(call, held, "wait", 600)
            await call(held, "fork", 1)
            await trio.sleep(math.inf)
    assert Starts(tmp_path / "starts").left() == []


async def test_a_server_that_leaves_by_itself_when_its_input_ends_has_time_for_it(
    tmp_path: Path,
) -> None:
    mark = tmp_path / "left"
    program = f"cat > /dev/null; echo bye > {mark}"
    config = ServerConfig(name="fake", command="sh", args=("-c", program))
    async with open_stdio(config, journal=Journal(lambda: 0.0), env=ENV):
        await wait_all_tasks_blocked()
    assert mark.read_text() == "bye\n"


DAEMON = """
import os, sys, time, trio
from askd.tools.mcp.configs import ServerConfig
from askd.tools.mcp.servers import Servers
from askd.tools.mcp.stdio import open_stdio
from functools import partial
from pathlib import Path

config = ServerConfig(name="fake", command=sys.executable, args=tuple(sys.argv[2:]))

async def main():
    servers = Servers(
        lambda: [config],
        stdio=partial(open_stdio, env={"PATH": os.environ["PATH"], "HOME": "/"}),
        http=None,
        known_file=Path(sys.argv[1]),
        now=time.time,
    )
    async with trio.open_nursery() as nursery:
        await nursery.start(servers.run)
        assert await servers.prepare(["all"], None) == []
        print("ready", flush=True)
        await trio.sleep_forever()

trio.run(main)
"""
"""A daemon in small: it holds a server until it is killed."""


@contextmanager
def small_daemon(tmp_path: Path, starts: Starts, *args: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [
        sys.executable, "-c", DAEMON, str(tmp_path / "known.json"),
        FAKE, "--starts", str(starts.path), *args,
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE) as daemon:
        assert daemon.stdout is not None
        assert daemon.stdout.readline() == b"ready\n"
        try:
            yield daemon
        finally:
            daemon.kill()


async def test_the_daemon_is_killed_and_nothing_is_left_of_the_server(tmp_path: Path) -> None:
    starts = Starts(tmp_path / "starts")
    with small_daemon(tmp_path, starts, "--stubborn", "--forks", "2") as daemon:
        assert len(starts.left()) == 3
        daemon.kill()
        await wait_until(lambda: not starts.left())
