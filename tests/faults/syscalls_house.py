"""A real daemon whose system calls can be made to fail, one kind on one file, by `strace`."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ask.answers import RpcError
from ask.connection import Client
from ask.exits import Failed
from tests.faults.programmes import CannotRun
from tests.house.floors import ROOT

LIMIT_S = 60.0
"""For anything that should take a moment, on a machine that does other things too."""
POLL_S = 0.02
DAEMON = "askd"
HASTY = "tests.faults.syscalls_hasty"
FILES = {"database": "ask.db", "log": "ask.db-wal"}
ANY = "file, whichever"
FOLDER = "folder of rollouts"
NAMED = {"rename": "?rename,?renameat,?renameat2", "unlink": "?unlink,?unlinkat"}
"""Calls that have another name on another machine."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What fails. `when`: the how manieth such call of a thread; `for_good`: and all after it."""

    file: str
    call: str
    error: str
    when: int
    for_good: bool

    def __str__(self) -> str:
        times = f"{self.when} and on" if self.for_good else f"{self.when}"
        return f"{self.call} of the {self.file}, {self.error}, {times}"


class House:
    """A daemon in `home`, started by `module`; its standard error is a file as well."""

    def __init__(self, home: Path, module: str) -> None:
        self.home = home
        self._module = module
        self.told = home / "daemon.log"
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "ASK_HOME": str(home / "ask"),
            "OLLAMA_HOST": "127.0.0.1:9",  # whoever works on this may have a real one running
        }
        home.mkdir(parents=True)
        self.process = self._launch()

    def _launch(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", self._module]
        if self._module == DAEMON:
            command.append("run")
        with self.told.open("ab") as stream:
            return subprocess.Popen(
                command, cwd=ROOT, env=self.env, stdin=subprocess.DEVNULL, stderr=stream
            )

    def connect(self) -> Client:
        """A client, as soon as the daemon listens."""
        until = time.monotonic() + LIMIT_S
        while True:
            try:
                return Client.connect(self.env, start=False)
            except Failed:
                if self.process.poll() is not None or time.monotonic() > until:
                    raise
                time.sleep(POLL_S)

    def is_alive(self) -> bool:
        """Whether the daemon that was started still runs."""
        return self.process.poll() is None

    def ask(self, *arguments: str) -> int:
        """The exit code of the real client."""
        program = [sys.executable, "-m", "ask", *arguments]
        done = subprocess.run(
            program, cwd=ROOT, env=self.env, capture_output=True, timeout=LIMIT_S, check=False
        )
        return done.returncode

    def find(self, file: str, conversation_id: str) -> Path | None:
        """Where a file of a fault is; waits for one that is written a moment later."""
        if file == ANY:
            return None
        if file == "notes of the daemon":
            return self.told
        data = self.home / "ask" / "data"
        if file in FILES:
            return data / FILES[file]
        until = time.monotonic() + LIMIT_S
        while not (found := self.find_rollouts(conversation_id)):
            if time.monotonic() > until:
                raise RuntimeError("The conversation has no rollout.")
            time.sleep(POLL_S)
        return found[0].parent if file == FOLDER else found[0]

    def find_rollouts(self, conversation_id: str, suffix: str = "") -> list[Path]:
        """The files of a conversation; with the suffix ".partial" its drafts."""
        rollouts = self.home / "ask" / "data" / "rollouts"
        return list(rollouts.rglob(f"*{conversation_id}.jsonl{suffix}"))

    def kill(self) -> None:
        """End the daemon as a crash does, with all its children."""
        self.process.kill()
        self.process.wait(LIMIT_S)

    def stop(self) -> None:
        """End it as somebody does who has time."""
        self.process.terminate()
        self.process.wait(LIMIT_S)

    def start(self) -> None:
        """Start the next."""
        self.process = self._launch()

    def restart(self) -> None:
        """Kill it, and start the next."""
        self.kill()
        self.start()


@dataclass
class Injection:
    """A fault that is in force. `fired`: how often, known when it is over."""

    fired: int = 0


@contextmanager
def inject(house: House, fault: Fault, path: Path | None) -> Iterator[Injection]:
    """Let the fault be in force during the block; raises `CannotRun` if none can be.

    Once is once in each thread of the daemon.
    """
    if shutil.which("strace") is None:
        raise CannotRun("strace is not installed: without it no call can be made to fail.")
    log = house.home / "strace.log"
    log.unlink(missing_ok=True)
    when = f"{fault.when}+" if fault.for_good else str(fault.when)
    call = NAMED.get(fault.call, fault.call)
    command: list[Any] = ["strace", "-f", "-p", house.process.pid, "-o", log]
    command += [] if path is None else ["-P", path]
    command += ["-e", f"trace={call}", "-e", f"inject={call}:error={fault.error}:when={when}"]
    tracer = subprocess.Popen([*map(str, command)], stderr=subprocess.PIPE, text=True)
    assert tracer.stderr is not None
    injection = Injection()
    try:
        said = tracer.stderr.readline()
        if "attached" not in said:
            raise RuntimeError(f"strace cannot trace the daemon: {said}")
        yield injection
    finally:
        # It lets go of the daemon, which goes on without it.
        tracer.send_signal(signal.SIGINT)
        tracer.wait(LIMIT_S)
        tracer.stderr.close()
        if log.exists():
            injection.fired = log.read_text(encoding="utf-8", errors="replace").count("(INJECTED)")


def try_call(client: Client, method: str, **params: Any) -> tuple[dict[str, Any], RpcError | None]:
    """An answer, or the refusal."""
    try:
        return client.call(method, params, limit_s=LIMIT_S), None
    except RpcError as error:
        return {}, error
