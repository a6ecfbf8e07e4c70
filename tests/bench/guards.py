"""Counts in place of times: the same on every machine, however busy it is.

The tests hold the first two as well (`tests/client/fast/test_guards.py`), and by the same means.
"""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from ask.connection import Client
from tests.bench.peers import missing_row
from tests.bench.provider import ANSWER_TEXT, STAMPED, STAMPS
from tests.bench.rows import Row
from tests.client.fast.test_guards import (
    CALLS_LIMIT,
    ENTRY,
    HEAVY,
    MODULES_LIMIT,
    environment,
    list_modules,
    say_once,
    start,
)
from tests.fakes.daemon import FakeDaemon
from tests.system.world import LIMIT_S, ROOT, World, open_world

FOLLOWERS = 8
NAME = "counted"
LOOK_S = 0.1
"""How often it is looked whether the daemon answers; nothing starts another one."""
APPENDS = (100, 400)
"""Two sizes: the difference has no opening and no closing in it."""
SYNC_LIMIT = 1.05
"""Fsyncs of a commit; the log of the database is emptied into it now and then."""
STRAYS = 0.05
"""Calls of pydantic for a delta that are none of its own: there were more deltas than twenty."""


def measure_guards(directory: Path, env: dict[str, str]) -> Iterator[Row]:
    """All of them."""
    directory = directory / "guards"
    directory.mkdir()
    yield from count_modules(directory)
    yield from count_system_calls(directory)
    yield from count_delta_work(directory, env)
    yield from count_syncs(directory)


def count_modules(directory: Path) -> Iterator[Row]:
    """What the fast path loads, beyond a bare Python."""
    environ = environment(directory / "modules.sock")
    base = list_modules("os._exit(0)", environ=environ)
    for words in (("hi",), ("daemon", "status")):
        with FakeDaemon(directory / "modules.sock", say_once):
            more = list_modules(ENTRY, *words, environ=environ) - base
        heavy = sorted(more & set(HEAVY))
        yield Row(
            f"modules that `ask {' '.join(words)}` loads, beyond a bare Python's",
            f"{len(more)}; {', '.join(heavy) or 'none'} of the heavy ones",
            f"≤ {MODULES_LIMIT}, none of them heavy",
            len(more) <= MODULES_LIMIT and not heavy,
            ratio=float(len(more)),
        )


def count_system_calls(directory: Path) -> Iterator[Row]:
    """Of the fast path, against a Python that does nothing."""
    environ = environment(directory / "calls.sock")
    tally = directory / "tally"

    def count(code: str, *words: str) -> int:
        start(code, *words, environ=environ, before=("strace", "-f", "-c", "-o", str(tally)))
        return int(tally.read_text().splitlines()[-1].split()[3])

    for words in (("hi",), ("daemon", "status")):
        name = f"system calls of `ask {' '.join(words)}`, against `python -c pass`"
        if shutil.which("strace") is None:
            yield missing_row(name, "strace", f"≤ {CALLS_LIMIT}×")
            continue
        with FakeDaemon(directory / "calls.sock", say_once, say_once):
            count(ENTRY, *words)  # the first run compiles
            calls = count(ENTRY, *words)
        base = count("pass")
        ratio = calls / base
        figure = f"{ratio:.2f}× ({calls} against {base})"
        yield Row(name, figure, f"≤ {CALLS_LIMIT}×", ratio <= CALLS_LIMIT, ratio=ratio)


def count_delta_work(directory: Path, env: dict[str, str]) -> Iterator[Row]:
    """What a daemon does for each delta of an answer that some follow."""
    counts = []
    for number, prompt in enumerate(("hi", STAMPED.decode())):
        home = directory / f"home{number}"
        home.mkdir()
        with open_world(home, model=False) as world:
            world.env |= {each: env[each] for each in ("OPENAI_API_KEY", "OPENAI_BASE_URL")}
            counts.append(count_answer(world, prompt, home / "counts.json"))
    short, long = counts
    deltas = long["published"] - short["published"]
    if short["pydantic"] == 0 or deltas < STAMPS / 2:
        raise RuntimeError(f"nothing was counted: {short}, {long}")
    more = long["pydantic"] - short["pydantic"]
    yield Row(
        f"calls of pydantic for a delta, of {deltas} more than another answer has",
        f"{more / deltas:.2f} ({long['pydantic']} against {short['pydantic']} in all)",
        "none",
        more / deltas < STRAYS,
        ratio=more / deltas,
    )
    ratio = long["encoded"] / long["published"]
    heard = long["offered"] / long["published"]
    yield Row(
        f"encodings of a delta that {FOLLOWERS + 1} follow",
        f"{ratio:.2f} (to {heard:.1f} connections)",
        "1",
        long["encoded"] == long["published"],
        ratio=ratio,
    )


def count_answer(world: World, prompt: str, file: Path) -> dict[str, int]:
    """A daemon that counts, an answer that some follow to its end, and the daemon's counts."""
    daemon = world.start(
        command=(sys.executable, "-P", "-m", "tests.bench.counted", "daemon", str(file)),
        env={"PYTHONPATH": str(ROOT)},
    )
    until = time.monotonic() + LIMIT_S
    while world.ask("daemon", "status").code:
        if daemon.process.poll() is not None or time.monotonic() > until:
            raise RuntimeError(f"the daemon did not start: {daemon.err}")
        time.sleep(LOOK_S)
    with ExitStack() as stack:
        followers = [stack.enter_context(Client.connect(world.env)) for _ in range(FOLLOWERS)]
        made = followers[0].call("conversation/create", {"name": NAME})
        for follower in followers:
            follower.call("conversation/subscribe", {"conversation_id": made["id"]})
        said = world.ok("-s", NAME, prompt).out.strip()
        if said != ANSWER_TEXT and len(said.split()) != STAMPS:
            raise RuntimeError(f"{prompt!r} was answered with {said!r}")
        for follower in followers:
            if (heard := hear(follower)) != said:
                raise RuntimeError(f"a follower heard {heard!r} in place of {said!r}")
    world.ok("daemon", "stop")
    result = daemon.finish()
    if result.code:
        raise RuntimeError(f"the daemon ended with {result.code}: {result.err}")
    counts: dict[str, int] = json.loads(file.read_text())
    return counts


def hear(follower: Client) -> str:
    """The text of the turn that it follows, to its end."""
    text = ""
    while True:
        method, fields = follower.receive()
        if method == "delta" and fields["kind"] == "text":
            text += fields["text"]
        elif fields.get("type") == "turn_finished":
            return text.strip()


def count_syncs(directory: Path) -> Iterator[Row]:
    """How often the disk is waited for, for each commit."""
    name = "fsyncs of a commit"
    if shutil.which("strace") is None:
        yield missing_row(name, "strace", "1")
        return
    commits, syncs = zip(*(sync(directory, count) for count in APPENDS), strict=True)
    ratio = (syncs[1] - syncs[0]) / (commits[1] - commits[0])
    figure = f"{ratio:.2f} ({syncs[1]} of {commits[1]} commits, with opening and closing)"
    yield Row(name, figure, "1", 1 <= ratio <= SYNC_LIMIT, ratio=ratio)


def sync(directory: Path, count: int) -> tuple[int, int]:
    """Commits, and waits for the disk, of so many appends."""
    tally, file = directory / "syncs", directory / "commits.json"
    subprocess.run(
        ["strace", "-f", "-c", "-e", "trace=fsync,fdatasync", "-o", str(tally), sys.executable,
         "-m", "tests.bench.counted", "appends", str(file), str(count)],
        cwd=ROOT, check=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    commits: int = json.loads(file.read_text())["commits"]
    return commits, int(tally.read_text().splitlines()[-1].split()[3])
