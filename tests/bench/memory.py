"""Memory: an idle daemon, a thousand idle conversations, a hundred attached terminals.

An idle daemon stands beside two Pythons that have what it stands on. One has only
imported it: what pydantic does then is next to nothing, since it loads its parts when
they are asked for. The other has used each once, and SQLite, as a daemon does that has
given a single answer; what is more than that is the daemon's own.
"""

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
BARE_IMPORTS = "import trio, httpx, pydantic, msgpack"
USED_IMPORTS = f"""
{BARE_IMPORTS}, sqlite3
pydantic.create_model("Asked", a=(int, ...)).model_validate({{"a": 1}})
httpx.AsyncClient(trust_env=False, verify=False)
sqlite3.connect(":memory:").execute("CREATE TABLE a (b)")
trio.run(trio.lowlevel.checkpoint)
msgpack.unpackb(msgpack.packb([1]))
"""
WAITING = "import sys; print('up', flush=True); sys.stdin.read()"
WHY = """\
The daemon was 5 MiB larger: httpx draws in its own command line with rich and pygments, which the
bare imports still count. Loading the rest takes 41 MiB, by the kernel's count after each import: 17
are its own code (390 modules, no room above 3.2), 7 pydantic in use, 18 trio, TLS and the standard
library. Nothing of it is garbage or lies in gaps (32.3 of 33.6 MB in Python's arenas are in use; a
collection and a trim of the heap free 0.1), so that only less code would be less memory.

A Python that does nothing but wait holds 2.8 MiB of its own: a hundred of them and the daemon would
be 1/13 of as many `llm chat`. `ask attach` holds 10.9; 4.4 of that is click."""


@contextmanager
def bare_process(env: Mapping[str, str], program: str) -> Iterator[int]:
    """A Python that has run this, and waits."""
    process = subprocess.Popen(
        [sys.executable, "-c", f"{program}\n{WAITING}"], env=dict(env), stdin=subprocess.PIPE,
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
    for name, program in (("bare imports", BARE_IMPORTS), ("imports, used once", USED_IMPORTS)):
        with bare_process(world.env, program) as bare_pid:
            bare = resident_bytes(bare_pid)
        yield Row(
            f"idle daemon's memory against its {name}",
            f"{idle / bare:.2f}× ({idle / 2**20:.0f} against {bare / 2**20:.0f} MiB)",
            "≤ 1.4×",
            idle / bare <= 1.4,
            ratio=idle / bare,
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
        f"daemon with {IDLE_SESSIONS} idle conversations in memory, against an idle one",
        f"{full / idle:.2f}× ({full / 2**20:.0f} MiB)",
        "≤ 1.5×",
        full / idle <= 1.5,
        ratio=full / idle,
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
        ratio=ours / theirs,
    )


def unique_bytes(pid: int) -> int:
    """The memory that would come free if only this process ended."""
    total = 0
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as stream:
        for line in stream:
            if line.startswith(("Private_Clean", "Private_Dirty")):
                total += int(line.split()[1]) * 1024
    return total
