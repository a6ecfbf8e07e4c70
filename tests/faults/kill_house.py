"""A home whose daemon is killed again and again, the models that it asks, and who writes to it.

Four write, each on a connection of its own: short talks, talks whose model runs a command,
detached turns with a command, and talks so long that they are compacted; every new conversation
is given a title by the model. Beside it is an empty home, whose daemon nobody disturbs: how long
that one takes to be ready is what the machine can do at that moment.
"""

import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ask.connection import Client, ConnectionLost, RpcError, Silent
from ask.exits import Failed
from tests.faults.kill_daemon import Order
from tests.faults.kill_model import KEY, KEY_NAME, Model, configure, open_models
from tests.faults.kill_shelf import shelve
from tests.faults.kill_writers import Writer, make_writers
from tests.system.servers import serve, write_config
from tests.system.world import LIMIT_S, ROOT, World

CONFIG = """\
default_model = "at-openai-chat/fake"
title = "model"
[context]
compaction_threshold = 0.5
summary_tokens = 200
user_message_tokens = 200
"""
RETRY_S = 0.002
"""Between two tries to connect: of all that is measured here, the finest step."""


class Forks:
    """The process of which all daemons of one home are forks, one at a time."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._program = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.kill_daemon"],
            cwd=ROOT,
            env={**env, "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )
        self._said = b""

    def start(self, order: Order) -> int:
        """The pid of a daemon."""
        assert self._program.stdin is not None
        self._program.stdin.write(order.encode().encode())
        return int(self._read_line(LIMIT_S).removeprefix("pid "))

    def wait_dead(self, limit_s: float) -> bool:
        """Whether it has died within this time."""
        line = self._read_line(limit_s)
        if not line:
            return False
        status = int(line.removeprefix("dead "))
        assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL, f"it ended by itself: {status}"
        return True

    def kill(self, pid: int) -> None:
        """End a daemon that has not ended itself meanwhile."""
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        assert self.wait_dead(LIMIT_S), "the daemon did not die"

    def _read_line(self, limit_s: float) -> str:
        """What the program says next; empty: nothing within this time."""
        assert self._program.stdout is not None
        until = time.monotonic() + limit_s
        while b"\n" not in self._said:
            left = max(0.0, until - time.monotonic())
            if not select.select([self._program.stdout], [], [], left)[0]:
                return ""
            data = os.read(self._program.stdout.fileno(), 4096)
            assert data, "the program of the daemons has ended"
            self._said += data
        line, _, self._said = self._said.partition(b"\n")
        return line.decode()

    def close(self) -> None:
        """End the program; no daemon of it lives."""
        assert self._program.stdin is not None
        self._program.stdin.close()
        self._program.wait(LIMIT_S)
        assert self._program.stdout is not None
        self._program.stdout.close()


@dataclass(slots=True)
class Life:
    """One daemon from its start to its end.

    Attributes:
        ready_s: from the fork to the first answer on its socket; None: it came to none.
        is_own_end: it ended itself where its order said.
    """

    pid: int
    began: float
    ready_s: float | None = None
    is_own_end: bool = False


class House:
    """The home, its models, its writers, its daemons; and the empty home beside it.

    Attributes:
        project: where commands are run.
    """

    def __init__(self, world: World, beside: World, models: Sequence[Model]) -> None:
        self.world = world
        self.models = models
        self.project = world.home / "project"
        self.project.mkdir()
        self.writers = make_writers(self.project)
        self._beside = beside
        self._forks = Forks(world.env)
        self._forks_beside = Forks(beside.env)

    def live_once(self, order: Order, limit_s: float, *, from_ready: bool = False) -> Life:
        """One daemon under its writers, killed after `limit_s` if not by itself before.

        The time counts from the fork, or from its first answer.
        """
        pid = self._forks.start(order)
        life = Life(pid, time.monotonic())
        gone, ready = threading.Event(), threading.Event()
        writers = [
            threading.Thread(target=self._keep_writing, args=(each, ready, gone))
            for each in self.writers
        ]
        greeter = threading.Thread(target=self._greet, args=(life, ready, gone))
        for thread in (greeter, *writers):
            thread.start()
        if from_ready:
            greeter.join(LIMIT_S)
            assert life.ready_s is not None, "the daemon never answered"
        life.is_own_end = self._forks.wait_dead(limit_s)
        if not life.is_own_end:
            self._forks.kill(pid)
        gone.set()
        for thread in (greeter, *writers):
            thread.join(LIMIT_S)
            assert not thread.is_alive(), "a writer did not hear of the daemon's end"
        return life

    def start_beside(self) -> float:
        """How long the undisturbed daemon of the empty home takes to be ready, in seconds."""
        pid = self._forks_beside.start(Order())
        began = time.monotonic()
        client = connect(self._beside, threading.Event())
        took_s = time.monotonic() - began
        assert client is not None
        client.close()
        self._forks_beside.kill(pid)
        return took_s

    def _greet(self, life: Life, ready: threading.Event, gone: threading.Event) -> None:
        client = connect(self.world, gone)
        if client is not None:
            life.ready_s = time.monotonic() - life.began
            client.close()
        ready.set()

    def _keep_writing(self, writer: Writer, ready: threading.Event, gone: threading.Event) -> None:
        ready.wait(LIMIT_S)  # else five of us would ask the machine for what the daemon needs
        client = connect(self.world, gone)
        if client is None:
            return
        with client:
            try:
                writer.write(client)
            except (RpcError, Silent) as error:
                writer.refusals.append(f"{writer.name} was refused: {error}")
            except ConnectionLost:
                return

    def close(self) -> None:
        """End the processes of which the daemons were forks; none of them lives."""
        self._forks.close()
        self._forks_beside.close()


def connect(world: World, gone: threading.Event) -> Client | None:
    """A connection to the daemon of a home as soon as it answers; None: it is gone."""
    until = time.monotonic() + LIMIT_S
    while not gone.is_set():
        try:
            return Client.connect(world.env, start=False)
        except Failed:
            assert time.monotonic() < until, "no daemon answers"
            time.sleep(RETRY_S)
    return None


@contextmanager
def open_house(directory: Path, shelved: int) -> Iterator[House]:
    """A house in an empty directory, with so many old conversations."""
    with ExitStack() as stack:
        models = stack.enter_context(serve(open_models()))
        world, beside = World(directory, None), World(directory / "next", None)
        beside.home.mkdir()
        for each in (world, beside):
            stack.callback(each.close)
            each.env[KEY_NAME] = KEY
            write_config(each, CONFIG + configure(models))
        shelve(world.ask_home / "data", shelved)
        house = stack.enter_context(closing(House(world, beside, models)))
        house.start_beside()  # the first makes its database
        yield house
