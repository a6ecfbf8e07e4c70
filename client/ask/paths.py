"""Where everything of one user lives; client and daemon ask the same functions.

It names places and never creates, opens or connects to one. `ASK_HOME` moves
everything together, the socket included. Without it the directories are the XDG
ones, read from the process's own environment (and from the password database
where there is no HOME, so that `env -i` finds the same place).
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

APPLICATION = "ask"
SOCKET_NAME = "askd.sock"
TEMPORARY = "/tmp"
"""Not $TMPDIR: a daemon and a client that differ in it would miss each other."""
SOCKET_PATH_LIMIT_BYTES = 107
"""What fits `sun_path` on Linux, its end left out."""


@dataclass(frozen=True, slots=True)
class Paths:
    """The places of one user.

    Attributes:
        data, config, state: directories.
        sockets: where a daemon binds, the best first; a client tries the first, then the
            place that the owner's file names.
    """

    data: Path
    config: Path
    state: Path
    sockets: tuple[Path, ...]

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> "Paths":
        """The places that an environment stands for."""
        home = environ.get("ASK_HOME")
        if home:
            base = Path(home).absolute()
            directories = (base / "data", base / "config", base / "state")
        else:
            directories = _find_directories()
        return cls(*directories, sockets=socket_candidates(environ))

    @property
    def database(self) -> Path:
        """Every conversation and job."""
        return self.data / "ask.db"

    @property
    def rollouts(self) -> Path:
        """The files that mirror conversations, if no other directory was asked for."""
        return self.data / "rollouts"

    @property
    def archive(self) -> Path:
        """Rollouts of conversations that grew too old to keep."""
        return self.data / "archive"

    @property
    def owner_file(self) -> Path:
        """Who owns the data directory: `{socket, pid, boot_id, protocol, version}` as JSON."""
        return self.data / "owner.json"

    @property
    def lock_file(self) -> Path:
        """The owner holds an `flock` on it."""
        return self.data / "askd.lock"

    @property
    def config_file(self) -> Path:
        """The settings."""
        return self.config / "config.toml"

    @property
    def log_file(self) -> Path:
        """What the daemon says about itself."""
        return self.state / "askd.log"

    @property
    def start_lock(self) -> Path:
        """A client that starts a daemon holds an `flock` on it."""
        return self.state / "start.lock"

    @property
    def run(self) -> Path:
        """The directory of the best socket."""
        return self.sockets[0].parent

    def read_owner(self) -> dict[str, Any] | None:
        """What the owner's file says; None if there is none that makes sense."""
        try:
            owner = json.loads(self.owner_file.read_bytes())
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(owner, dict) or not _is_socket_path(owner.get("socket")):
            return None
        if type(owner.get("pid", 0)) is not int:
            del owner["pid"]
        return owner


def socket_candidates(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Where the socket may be bound, the best place first.

    A place that was asked for by name (`ASK_SOCKET`, `ASK_HOME`) is the only one.
    """
    if environ.get("ASK_SOCKET"):
        return (Path(environ["ASK_SOCKET"]).absolute(),)
    uid = os.getuid()
    temporary = Path(f"{TEMPORARY}/{APPLICATION}-{uid}")
    if environ.get("ASK_HOME"):
        home = Path(environ["ASK_HOME"]).absolute()
        path = home / "run" / SOCKET_NAME
        if len(os.fsencode(path)) <= SOCKET_PATH_LIMIT_BYTES:
            return (path,)
        import hashlib  # OpenSSL with it: only for a path that is too long

        digest = hashlib.sha256(os.fsencode(home)).hexdigest()[:16]
        return (temporary / f"{digest}.sock",)
    runtime = [environ.get("XDG_RUNTIME_DIR"), f"/run/user/{uid}"]
    found = [
        Path(directory) / APPLICATION / SOCKET_NAME
        for directory in dict.fromkeys(runtime)
        if directory and is_own_directory(directory, uid)
    ]
    return (*found, temporary / SOCKET_NAME)


def is_own_directory(path: str, uid: int) -> bool:
    """Whether `path` (absolute) is a directory that belongs to this user."""
    try:
        status = os.stat(path)
    except OSError:
        return False
    return path.startswith("/") and status.st_uid == uid and (status.st_mode & 0o170000) == 0o040000


def _is_socket_path(path: object) -> bool:
    """Whether a socket could be there: an absolute path, of text, short enough."""
    if not isinstance(path, str) or not path.startswith("/") or "\0" in path:
        return False
    try:
        return len(path.encode()) <= SOCKET_PATH_LIMIT_BYTES
    except UnicodeEncodeError:
        return False


def _find_directories() -> tuple[Path, Path, Path]:
    from platformdirs import PlatformDirs  # 50 modules: only where there is no ASK_HOME

    directories = PlatformDirs(APPLICATION)
    return (
        directories.user_data_path,
        directories.user_config_path,
        directories.user_state_path,
    )
