"""Servers inside the test's own process, in a thread, and a daemon that is told of them.

What runs in the thread is any asynchronous context manager of `tests.fakes`: the
test reads what it has seen and scripts what it says, while real processes talk
to it. A test that has to hold an answer back uses `world.ModelServer` instead.
"""

import json
import queue
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path
from typing import TypeVar
from urllib.parse import parse_qsl

import trio

from tests.fakes.chat_answers import Answer, Status
from tests.fakes.scripted_server import ScriptedServer, open_server
from tests.fakes.sign_in_servers import Said, Server
from tests.system.world import LIMIT_S, Running, World

T = TypeVar("T")

DAEMON = (sys.executable, "-P", "-m", "askd", "run")


@contextmanager
def serve(opened: AbstractAsyncContextManager[T]) -> Iterator[T]:
    """Keep a server open in a thread while the block runs."""
    entered: queue.Queue[T | BaseException] = queue.Queue()
    tokens: list[trio.lowlevel.TrioToken] = []
    done = trio.Event()

    async def hold() -> None:
        tokens.append(trio.lowlevel.current_trio_token())
        async with opened as server:
            entered.put(server)
            await done.wait()

    def run() -> None:
        try:
            trio.run(hold)
        except BaseException as error:
            entered.put(error)
            raise

    thread = threading.Thread(target=run)
    thread.start()
    server = entered.get(timeout=LIMIT_S)
    if isinstance(server, BaseException):
        raise server
    try:
        yield server
    finally:
        trio.from_thread.run_sync(done.set, trio_token=tokens[0])
        thread.join(LIMIT_S)


class Told(ScriptedServer):
    """A server whose answers a function gives: method, path, headers and body in."""

    prefix = ""

    def __init__(self, answer: Callable[[str, str, dict[str, str], bytes], Answer]) -> None:
        super().__init__()
        self.paths: list[str] = []
        self.seen: list[dict[str, str]] = []
        self._tell = answer

    async def answer_request(
        self, method: str, path: str, headers: dict[str, str], body: bytes
    ) -> Answer:
        self.paths.append(path)
        self.seen.append(headers)
        return self._tell(method, path, headers, body)


@contextmanager
def tell(answer: Callable[[str, str, dict[str, str], bytes], Answer]) -> Iterator[Told]:
    """Run such a server."""
    server = Told(answer)
    with serve(open_server(server)):
        yield server


@contextmanager
def tell_sign_in(vendor: Server) -> Iterator[Told]:
    """Run a sign-in server of `tests.fakes.sign_in_servers` on a socket."""

    def answer(method: str, path: str, headers: dict[str, str], body: bytes) -> Status:
        vendor.calls.append(f"{method} {path}")
        said = vendor.troubles.pop(0) if vendor.troubles else None
        if isinstance(said, Exception):
            raise AssertionError("a socket raises nothing")
        if said is None:
            said = vendor.answer(method, path, read_fields(headers, body), headers)
        return as_status(said)

    with tell(answer) as server:
        yield server


def as_status(said: Said) -> Status:
    """An answer of a sign-in server, as HTTP."""
    return Status(said.status, said.body, dict(said.headers))


def read_fields(headers: Mapping[str, str], body: bytes) -> dict[str, str]:
    """What was posted, as JSON or as a form."""
    kind = headers.get("content-type", "")
    if "json" in kind:
        fields: dict[str, str] = json.loads(body)
        return fields
    return dict(parse_qsl(body.decode())) if "form" in kind else {}


def write_config(world: World, text: str) -> None:
    """The settings."""
    path = world.ask_home / "config" / "config.toml"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_text(text)


def start_daemon(world: World, env: Mapping[str, str | None] | None = None) -> Running:
    """Start askd by hand: with an environment that a client does not pass on."""
    daemon = world.start(command=DAEMON, env=env)
    daemon.wait_for("Ready", where="err")
    return daemon


def write_secret(path: Path, text: str) -> Path:
    """A file of mode 0600 in a directory of mode 0700."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o600)
    return path


def open_project(world: World) -> Path:
    """A directory to work in, and a daemon's server of models that wants no key of its caller."""
    assert world.model is not None
    provider = f'[providers.here]\ndialect = "openai-chat"\nbase_url = "{world.model.base_url}"\n'
    write_config(world, provider)
    world.env["ASK_MODEL"] = "here/fake"
    del world.env["OPENAI_API_KEY"], world.env["OPENAI_BASE_URL"]
    found = world.home / "project"
    found.mkdir()
    return found
