"""Memory: an idle daemon, a thousand idle conversations, a hundred attached terminals."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from ask.connection import Client
from tests.bench.measure import resident_bytes
from tests.bench.peers import Peer, make_ready, missing_row
from tests.bench.rows import Row
from tests.system.world import World

IDLE_SESSIONS = 1000
LLM_CHATS = 100
SAMPLED_CHATS = 3
BARE_IMPORTS = (
    "import trio, httpx, pydantic, msgpack, sys; print('up', flush=True); sys.stdin.read()"
)


@contextmanager
def bare_process(env: Mapping[str, str]) -> Iterator[int]:
    """A Python that has imported what the daemon imports, and waits."""
    process = subprocess.Popen(
        [sys.executable, "-c", BARE_IMPORTS], env=dict(env), stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
    finally:
        process.communicate()


def measure_memory(world: World, llm: Peer | None) -> Iterator[Row]:
    """What an idle daemon keeps, and what a thousand idle conversations add."""
    if world.owner() is not None:
        world.ok("daemon", "stop")
    world.ok("warm")
    pid = world.daemon_pid()
    idle = resident_bytes(pid)
    with bare_process(world.env) as bare_pid:
        bare = resident_bytes(bare_pid)
    yield Row(
        "idle daemon's memory against its bare imports",
        f"{idle / bare:.2f}× ({idle / 2**20:.0f} MiB)",
        "≤ 1.4×",
        idle / bare <= 1.4,
    )
    client = Client.connect(world.env)
    for number in range(IDLE_SESSIONS):
        made = client.call("conversation/create", {"name": f"idle {number}"})
        reference = {"conversation_id": made["id"]}
        client.call("conversation/subscribe", reference)
        client.call("conversation/unsubscribe", reference)
    client.close()
    full = resident_bytes(pid)
    yield Row(
        f"the same with {IDLE_SESSIONS} idle conversations in memory, against idle",
        f"{full / idle:.2f}× ({full / 2**20:.0f} MiB)",
        "≤ 1.5×",
        full / idle <= 1.5,
    )
    yield from measure_attached(world, llm)


def measure_attached(world: World, llm: Peer | None) -> Iterator[Row]:
    """A hundred attached terminals and their daemon, against as many `llm chat`."""
    name = f"{LLM_CHATS} attached terminals with the daemon, against {LLM_CHATS} `llm chat`"
    # One question before: of chats that start at once with no log, each would make its tables.
    ready = make_ready(llm, world.home, world.env)
    if isinstance(ready, str):
        yield missing_row(name, "llm", "≤ 1/20", ready)
        return
    world.ok("-s", "watched", "seen")
    watchers = [world.start("attach", "watched", "--no-input") for _ in range(LLM_CHATS)]
    for watcher in watchers:
        watcher.wait_for("seen")
    ours = unique_bytes(world.daemon_pid()) + sum(unique_bytes(w.process.pid) for w in watchers)
    for watcher in watchers:
        watcher.process.terminate()
        watcher.finish()
    chats = [
        world.start("chat", "-m", "fake", "--key", "k", command=(ready.argv[0],), env=ready.env,
                    stdin=subprocess.PIPE)
        for _ in range(SAMPLED_CHATS)
    ]  # fmt: skip
    for chat in chats:
        chat.wait_for("Chatting with")
    theirs = LLM_CHATS * sum(unique_bytes(c.process.pid) for c in chats) / SAMPLED_CHATS
    for chat in chats:
        chat.process.terminate()
        chat.finish()
    yield Row(
        f"{name} (private memory; {SAMPLED_CHATS} chats sampled)",
        f"1/{theirs / ours:.1f} ({ours / 2**20:.0f} against {theirs / 2**20:.0f} MiB)",
        "≤ 1/20",
        ours <= theirs / 20,
    )


def unique_bytes(pid: int) -> int:
    """The memory that would come free if only this process ended."""
    total = 0
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as stream:
        for line in stream:
            if line.startswith(("Private_Clean", "Private_Dirty")):
                total += int(line.split()[1]) * 1024
    return total
