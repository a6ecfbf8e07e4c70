"""The daemon as its handlers see it: its state, its settings, its end.

It decides when to stop and what the settings are, and opens nothing itself.
"""

import logging
import math
import os
import re
import resource
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import trio

from ask.paths import Paths
from ask.protocol import CAPABILITIES, PROTOCOL
from ask.protocol.messages import ConfigReadResult, DaemonStatus, HelloResult
from askd import __version__
from askd.config import read_settings, write_setting
from askd.errors import BadConfig, StorageFailed
from askd.owner import OwnerNote
from askd.settings import Settings, show_settings
from askd.store.scrub.scrubber import Places

LOOK_INTERVAL_S = 1.0
"""How often the configuration file is looked at while nobody asks for anything."""

log = logging.getLogger(__name__)


class Daemon:
    """The application around the server; implements `server.house.Host`.

    Attributes:
        settings: the ones in force; the last good ones while the file is bad.
        warning: why the file that is there now is not in force, if so.
        draining: no more prompts are accepted.
    """

    def __init__(
        self,
        *,
        settings: Settings,
        config_file: Path,
        identity: HelloResult,
        socket: str,
        data: Path,
        count_sessions: Callable[[], int],
        count_jobs: Callable[[], Awaitable[int]],
        apply: Callable[[Settings], None],
    ) -> None:
        self.settings = settings
        self.warning: str | None = None
        self.draining = False
        self._config_file = config_file
        self._seen = _stamp(config_file)
        self._identity = identity
        self._socket = socket
        self._data = data
        self._count_sessions = count_sessions
        self._count_jobs = count_jobs
        self._apply = apply
        self._started = trio.current_time()
        self._wanted = trio.Event()
        self._deadline = math.inf
        self._moved = trio.Event()

    async def status(self, *, clients: int) -> DaemonStatus:
        """How the daemon is, now."""
        return DaemonStatus(
            pid=self._identity.pid,
            version=self._identity.version,
            protocol=self._identity.protocol,
            boot_id=self._identity.boot_id,
            uptime_s=round(trio.current_time() - self._started, 3),
            rss_bytes=_resident_bytes(),
            sessions=self._count_sessions(),
            jobs=await self._count_jobs(),
            clients=clients,
            socket=self._socket,
            data=str(self._data),
            sqlite=sqlite3.sqlite_version,
            draining=self.draining,
        )

    # ---- its end ---------------------------------------------------------------

    def drain(self, wait_s: float) -> None:
        """Accept no more prompts, let turns end, then exit; answers at once."""
        self.stop(wait_s)

    def stop(self, wait_s: float) -> None:
        """The same. Asked twice, the shorter time counts."""
        self.draining = True
        self._deadline = min(self._deadline, trio.current_time() + wait_s)
        self._wanted.set()
        self._moved.set()
        self._moved = trio.Event()

    async def wait_stop(self) -> float:
        """Wait until someone wants the daemon gone; how many seconds running turns have left."""
        await self._wanted.wait()
        return max(0.0, self._deadline - trio.current_time())

    async def wait_deadline(self) -> None:
        """Wait until running turns have had their time, also when it is cut short meanwhile."""
        while (left_s := self._deadline - trio.current_time()) > 0:
            with trio.move_on_after(left_s):
                await self._moved.wait()

    # ---- its settings ----------------------------------------------------------

    def read_config(self) -> ConfigReadResult:
        """The settings in force; keys are named, not held, and what else may be one is masked."""
        return ConfigReadResult(
            path=str(self._config_file),
            settings=show_settings(self.settings),
            warnings=[] if self.warning is None else [self.warning],
        )

    async def write_config(self, key: str, value: Any) -> ConfigReadResult:
        """Change one setting in the file; raise `BadConfig`, with nothing changed."""
        try:
            settings = await trio.to_thread.run_sync(write_setting, self._config_file, key, value)
        except OSError as error:
            raise StorageFailed(f"{self._config_file} cannot be written: {error}") from None
        self._take(settings)
        return self.read_config()

    def reload(self) -> None:
        """Read the file again; keep the last good settings if it is bad, and say so."""
        try:
            settings = read_settings(self._config_file)
        except BadConfig as error:
            self._seen = _stamp(self._config_file)
            self.warning = f"{error.message} (the last good settings are kept)"
            log.warning("%s", self.warning)
        else:
            self._take(settings)
            log.info("Settings read: %s", self._config_file)

    def _take(self, settings: Settings) -> None:
        self._seen = _stamp(self._config_file)
        self.settings, self.warning = settings, None
        self._apply(settings)

    def serves(self, data: str) -> bool:
        """Whether this is the data directory that is served here, by whatever path."""
        try:
            return os.path.samefile(data, self._data)
        except (OSError, ValueError):
            return False

    def refresh(self) -> None:
        """Reload if the file has changed: who asks next gets what the file says now."""
        if _stamp(self._config_file) != self._seen:
            self.reload()

    async def watch_config(self) -> None:
        """Reload whenever the file changes, until cancelled: turns that wait want it too."""
        while True:
            await trio.sleep(LOOK_INTERVAL_S)
            self.refresh()


def find_places(paths: Paths, settings: Settings) -> Places:
    """The database, and every directory beside it in which something is written."""
    return Places(
        database=paths.database,
        data=paths.data,
        state=paths.state,
        log_file=paths.log_file,
        archive=paths.archive,
        rollouts=Path(settings.rollouts.directory or paths.rollouts),
        caches=[find_cache(paths)],
    )


def describe_self(pid: int, *, boot_id: str) -> HelloResult:
    """What `hello` answers."""
    return HelloResult(
        protocol=PROTOCOL,
        version=__version__,
        pid=pid,
        boot_id=boot_id,
        capabilities=list(CAPABILITIES),
    )


def describe_owner(identity: HelloResult, socket: str) -> OwnerNote:
    """What stands beside the lock for those who look for us."""
    return OwnerNote(
        socket=socket,
        pid=identity.pid,
        boot_id=identity.boot_id,
        protocol=identity.protocol,
        version=identity.version,
    )


def find_cache(paths: Paths) -> Path:
    """What providers said of their models; asked for again when it is gone."""
    return paths.state / "models.json"


def find_installed_version(package: Path = Path(__file__).parent) -> str | None:
    """The version that stands on the disk now; an upgrade may have put another there."""
    try:
        text = (package / "__init__.py").read_text(encoding="utf-8")
    except OSError:
        return None  # in the middle of an upgrade
    found = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    return found.group(1) if found else None


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def _resident_bytes() -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        # Without /proc: the peak, which is the best that is left.
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return pages * os.sysconf("SC_PAGE_SIZE")
