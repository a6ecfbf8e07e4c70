"""One daemon per data directory: a lock that dies with its holder, and a note beside it.

The lock is an `flock` on a file that is never unlinked, so that two daemons
cannot each hold "the" lock on different inodes. The note says where the holder
listens, for clients whose environment does not (`env -i`, cron).
"""

import errno
import fcntl
import json
import logging
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType

import trio

from askd.errors import StorageFailed
from askd.files import PRIVATE_FILE, make_private_directory, replace_file

log = logging.getLogger(__name__)

TAKEOVER_LIMIT_S = 40.0
"""How long a daemon on its way out may hold the data directory: its drain, and a margin."""
TAKEOVER_PAUSE_S = 0.05


class AlreadyOwned(Exception):
    """Another daemon holds the data directory.

    `is_settled`: it has its note there, so it stays; without, it is leaving or has just come.
    """

    def __init__(self, message: str, *, is_settled: bool) -> None:
        super().__init__(message)
        self.is_settled = is_settled


@dataclass(frozen=True, slots=True)
class OwnerNote:
    """What stands in the owner's file; `ask.paths` reads it on the other side."""

    socket: str
    pid: int
    boot_id: str
    protocol: int
    version: str


class Ownership:
    """Holds the data directory for as long as it is open. Use it as a context manager."""

    def __init__(self, lock_file: Path, note_file: Path) -> None:
        self._note_file = note_file
        try:
            make_private_directory(lock_file.parent)
            self._descriptor = os.open(
                lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, PRIVATE_FILE
            )
        except OSError as error:
            raise StorageFailed(
                f"The data directory {lock_file.parent} cannot be written: {error.strerror}. "
                "Make it writable, or choose another with ASK_HOME."
            ) from None
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._descriptor)
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                raise AlreadyOwned(
                    f"Another askd owns {lock_file.parent}.", is_settled=note_file.exists()
                ) from None
            raise StorageFailed(f"{lock_file} cannot be locked: {error.strerror}.") from None

    def announce(self, note: OwnerNote) -> None:
        """Tell clients where the daemon listens; raises `StorageFailed`."""
        try:
            replace_file(self._note_file, json.dumps(asdict(note)).encode() + b"\n")
        except OSError as error:
            raise StorageFailed(f"{self._note_file} cannot be written: {error.strerror}.") from None

    def withdraw(self) -> None:
        """We are leaving: clients that come now look for our successor. Never fails."""
        try:
            self._note_file.unlink(missing_ok=True)
        except OSError as error:
            # A directory that has become read-only: the lock still says who owns it.
            log.warning("The owner's note stays: %s", error)

    def __enter__(self) -> "Ownership":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # The note goes first: while the lock is held nobody else can have written one.
        self.withdraw()
        os.close(self._descriptor)


async def own_when_free(lock_file: Path, note_file: Path, *, is_promised: bool) -> Ownership:
    """Own the data directory; wait for a holder that is leaving, or has promised to.

    Raises:
        AlreadyOwned: the holder stays, or does not let go in time.
        StorageFailed: the directory cannot be written.
    """
    with trio.move_on_after(TAKEOVER_LIMIT_S):
        while True:
            try:
                return Ownership(lock_file, note_file)
            except AlreadyOwned as error:
                if error.is_settled and not is_promised:
                    raise
            await trio.sleep(TAKEOVER_PAUSE_S)
    message = f"Another askd holds {lock_file.parent} and does not let go."
    raise AlreadyOwned(message, is_settled=False)
