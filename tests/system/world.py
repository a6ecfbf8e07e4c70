"""A world for real processes: an empty home, the real `ask` and `askd`, a scripted model.

Nothing here reaches into the daemon: what a test knows, it knows from the
outputs, the exit codes, the sockets and the files that a user could look at.
"""

import json
import os
import select
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parents[2]
ASK = str(Path(sys.executable).with_name("ask"))
LIMIT_S = 60.0
"""How long anything may take before the test is wrong; no test waits for it to pass."""


@dataclass(frozen=True)
class Result:
    """How a process ended and what it said."""

    code: int
    out: str
    err: str

    @property
    def short_id(self) -> str:
        """The conversation's short id, as the client prints it on standard error."""
        words = [word for line in self.err.splitlines() for word in line.split()]
        ids = [w for w in words if len(w) == 8 and set(w) <= set("0123456789abcdef")]
        assert ids, f"no id in {self.err!r}"
        return ids[-1]


class Running:
    """A process whose output is collected as it comes, and can be waited for by content.

    `arrivals` holds each piece of standard output with the moment at which it came.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._changed = threading.Condition()
        self._text = {"out": b"", "err": b""}
        self.arrivals: list[tuple[float, bytes]] = []
        self._readers = [
            threading.Thread(target=self._read, args=(name, stream), daemon=True)
            for name, stream in (("out", process.stdout), ("err", process.stderr))
            if stream is not None
        ]
        for reader in self._readers:
            reader.start()

    def _read(self, name: str, stream: IO[bytes]) -> None:
        with suppress(ValueError, OSError):
            while chunk := os.read(stream.fileno(), 65536):
                with self._changed:
                    self._text[name] += chunk
                    if name == "out":
                        self.arrivals.append((time.monotonic(), chunk))
                    self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()

    @property
    def out(self) -> str:
        """Standard output so far."""
        return self._text["out"].decode(errors="replace")

    @property
    def err(self) -> str:
        """Standard error so far."""
        return self._text["err"].decode(errors="replace")

    def wait_for(self, wanted: str | Callable[[], bool], *, where: str = "out") -> None:
        """Wait until the output holds this text (or the condition is true)."""
        condition = wanted if callable(wanted) else lambda: wanted in getattr(self, where)
        with self._changed:
            ok = self._changed.wait_for(condition, LIMIT_S)
        assert ok, f"never came: {wanted!r}\nstdout: {self.out!r}\nstderr: {self.err!r}"

    def type(self, text: str) -> None:
        """Write to standard input."""
        assert self.process.stdin is not None
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def signal(self, number: int) -> None:
        """Send a signal to this process."""
        self.process.send_signal(number)

    def finish(self) -> Result:
        """Wait for the end."""
        if self.process.stdin is not None:
            with suppress(OSError):
                self.process.stdin.close()
        code = self.process.wait(LIMIT_S)
        for reader in self._readers:
            reader.join(LIMIT_S)
        return Result(code, self.out, self.err)


class ModelServer:
    """A scripted server as a process of its own: OpenAI-Chat's, or with a dialect a vendor's."""

    def __init__(self, *options: str, dialect: str | None = None) -> None:
        program = (
            ["tests.fakes.chat_server"] if dialect is None else ["tests.fakes.vendors", dialect]
        )
        self._process = subprocess.Popen(
            [sys.executable, "-m", *program, "--watch-stdin", *options],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.base_url = self._process.stdout.readline().strip()

    def _control(self, name: str, *, method: str = "GET") -> Any:
        request = urllib.request.Request(f"{self.base_url}/control/{name}", method=method)
        with urllib.request.urlopen(request, timeout=LIMIT_S) as answer:
            return json.loads(answer.read())

    def requests(self, at_least: int = 0) -> list[dict[str, Any]]:
        """Every request body so far; waits until there are `at_least` so many."""
        found: list[dict[str, Any]] = self._control(f"requests?at_least={at_least}")
        return found

    def violations(self) -> list[str]:
        """What was refused for breaking the vendor's rules."""
        found: list[str] = self._control("violations")
        return found

    def release(self) -> None:
        """Let held answers go on."""
        self._control("release", method="POST")

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(LIMIT_S)
        assert self._process.stdout is not None
        self._process.stdout.close()


class World:
    """An empty home and everything that is started in it."""

    def __init__(self, home: Path, model: ModelServer | None) -> None:
        self.home = home
        self.model = model
        self.ask_home = home / "ask"
        self.env: dict[str, str] = {
            "PATH": os.environ["PATH"],
            "OLLAMA_HOST": "127.0.0.1:9",  # whoever works on this may have a real one running
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "ASK_HOME": str(self.ask_home),
            "ASK_TERMINAL": "test-terminal",
        }
        for name in ("COVERAGE_PROCESS_START", "COVERAGE_FILE"):
            if name in os.environ:
                self.env[name] = os.environ[name]
        if model is not None:
            self.env["OPENAI_API_KEY"] = "test-key"
            self.env["OPENAI_BASE_URL"] = model.base_url
        self._running: list[Running] = []

    @property
    def running(self) -> Sequence[Running]:
        """What was started, the oldest first."""
        return tuple(self._running)

    def start(
        self,
        *arguments: str,
        env: Mapping[str, str | None] | None = None,
        command: Sequence[str] = (ASK,),
        stdin: int | IO[bytes] = subprocess.DEVNULL,
        cwd: Path | None = None,
    ) -> Running:
        """Start `ask ARGUMENTS` at home or in `cwd`; in `env` a None takes a variable away."""
        merged = {**self.env, **(env or {})}
        process = subprocess.Popen(
            [*command, *arguments],
            env={name: value for name, value in merged.items() if value is not None},
            cwd=cwd or self.home,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )
        running = Running(process)
        self._running.append(running)
        return running

    def ask(
        self,
        *arguments: str,
        stdin: bytes | None = None,
        env: Mapping[str, str | None] | None = None,
        command: Sequence[str] = (ASK,),
        cwd: Path | None = None,
    ) -> Result:
        """Run `ask ARGUMENTS` to its end."""
        running = self.start(
            *arguments,
            env=env,
            command=command,
            cwd=cwd,
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
        )
        if stdin is not None:
            assert running.process.stdin is not None
            with suppress(BrokenPipeError):
                view = memoryview(stdin)
                while view:
                    view = view[running.process.stdin.write(view) :]
        return running.finish()

    def ok(self, *arguments: str, stdin: bytes | None = None) -> Result:
        """Run `ask ARGUMENTS` and demand exit code 0."""
        result = self.ask(*arguments, stdin=stdin)
        assert result.code == 0, result
        return result

    def events(self, conversation: str) -> list[dict[str, Any]]:
        """Every event of a conversation, over the wire."""
        found = self.ok(
            "api", "conversation/resolve", json.dumps({"target": _session(conversation)})
        )
        conversation_id = json.loads(found.out)["id"]
        events: list[dict[str, Any]] = []
        after: int | None = 0
        while after is not None:
            page = self.ok(
                "api",
                "conversation/read",
                json.dumps({"conversation_id": conversation_id, "after_seq": after}),
            )
            answer = json.loads(page.out)
            events += answer["data"]
            after = answer.get("next_after_seq")
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
        return events

    def owner(self) -> dict[str, Any] | None:
        """The owner's note, if a daemon holds the data directory."""
        try:
            note: dict[str, Any] = json.loads((self.ask_home / "data" / "owner.json").read_text())
        except FileNotFoundError:
            return None
        return note

    def daemon_pid(self) -> int:
        """The pid of the daemon that owns this home."""
        note = self.owner()
        assert note is not None
        return int(note["pid"])

    def find_daemons(self) -> list[int]:
        """Every process that runs `askd run` for this home, as the kernel knows it."""
        found = []
        wanted = f"ASK_HOME={self.ask_home}".encode()
        for entry in Path("/proc").iterdir():
            if not entry.name.isdecimal():
                continue
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                variables = (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"askd" in words and b"run" in words and wanted in variables:
                found.append(int(entry.name))
        return found

    def kill_daemon(self, number: int = signal.SIGKILL) -> None:
        """Send the daemon a signal and wait until it is gone."""
        pid = self.daemon_pid()
        handle = os.pidfd_open(pid)
        try:
            signal.pidfd_send_signal(handle, number)
            assert select.select([handle], [], [], LIMIT_S)[0], "the daemon did not end"
        finally:
            os.close(handle)

    def wait_saved(self, text: str) -> None:
        """Wait until a running answer's text is on the disk as far as this."""
        database = self.ask_home / "data" / "ask.db"
        until = time.monotonic() + LIMIT_S
        found = False
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as reader:
            while not found and time.monotonic() < until:
                rows = reader.execute("SELECT text FROM partials").fetchall()
                found = any(text in saved for (saved,) in rows)
        assert found, f"never saved: {text!r}"

    def log(self) -> str:
        """The daemon's log."""
        path = self.ask_home / "state" / "askd.log"
        return path.read_text() if path.exists() else ""

    def close(self) -> None:
        """End all that was started, by its id."""
        for running in self._running:
            if running.process.poll() is None:
                running.process.kill()
            running.finish()
            for stream in (running.process.stdout, running.process.stderr):
                if stream is not None:
                    stream.close()
        with suppress(OSError, AssertionError):
            self.kill_daemon(signal.SIGTERM)


def _session(text: str) -> dict[str, str]:
    return {"kind": "session", "value": text}


@contextmanager
def open_world(home: Path, *, model: bool = True, options: Sequence[str] = ()) -> Iterator[World]:
    """A world with a scripted model server (or none), ended when the block is."""
    server = ModelServer(*options) if model else None
    world = World(home, server)
    try:
        yield world
        if server is not None:
            assert server.violations() == []
    finally:
        world.close()
        if server is not None:
            server.close()
