"""Files that hold a secret: read only if nobody else can, and never more than a bit of them.

A file that others may read or write, or that another user owns, is refused with
the command that repairs it. No sentence here holds anything of a file's content.
"""

import json
import os
import shlex
import stat
from pathlib import Path
from typing import Any

from askd.errors import NotConfigured

KEY_LIMIT_BYTES = 16 * 1024
"""For a file that holds one key; an HTTP header has no room for more."""

JSON_LIMIT_BYTES = 1 << 20
"""For a file of tokens; the largest one known is 10 KiB."""

OTHERS = stat.S_IRWXG | stat.S_IRWXO


def read_private_file(path: Path, *, limit_bytes: int = KEY_LIMIT_BYTES) -> bytes | None:
    """The content of a file that is this user's alone; None if there is none.

    Raises:
        NotConfigured: others can read or write it, it is not ours, it is no file
            or a large one, or it cannot be read.
    """
    return _read(path, limit_bytes=limit_bytes, forbidden=OTHERS, owners=(os.geteuid(),))


def read_service_file(directory: Path, name: str) -> bytes | None:
    """A credential that systemd passes (`LoadCredential=`); None if it passes none of that name.

    systemd may leave the file to root and let us in by an access list, which looks
    like a group that can read; the directory is closed to all others.

    Raises:
        NotConfigured: as for any other file.
    """
    if not name or "/" in name or name.startswith("."):
        return None
    return _read(
        directory / name,
        limit_bytes=KEY_LIMIT_BYTES,
        forbidden=OTHERS & ~stat.S_IRGRP,
        owners=(os.geteuid(), 0),
    )


def read_private_json(path: Path) -> dict[str, Any] | None:
    """The JSON object in a file that is this user's alone; None if there is none.

    Raises:
        NotConfigured: as `read_private_file`, or it holds no JSON object.
    """
    data = read_private_file(path, limit_bytes=JSON_LIMIT_BYTES)
    if data is None:
        return None
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise NotConfigured(f"{path} does not hold a JSON object; repair it or remove it.")
    return value


def _read(path: Path, *, limit_bytes: int, forbidden: int, owners: tuple[int, ...]) -> bytes | None:
    try:
        # Non-blocking, for a pipe by that name would keep us waiting for its writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    try:
        # Of what is open, not of the name: nobody can exchange it in between.
        _check(path, os.fstat(descriptor), forbidden=forbidden, owners=owners)
        with open(descriptor, "rb", closefd=False) as stream:
            data = stream.read(limit_bytes + 1)
    except OSError as error:
        raise _unreadable(path, error) from None
    finally:
        os.close(descriptor)
    if len(data) > limit_bytes:
        raise NotConfigured(f"{path} is larger than {limit_bytes} bytes, which no such file is.")
    return data


def _check(path: Path, facts: os.stat_result, *, forbidden: int, owners: tuple[int, ...]) -> None:
    if not stat.S_ISREG(facts.st_mode):
        raise NotConfigured(f"{path} is no regular file.")
    command = f"chmod 600 {shlex.quote(str(path))}"
    if facts.st_uid not in owners:
        raise NotConfigured(
            f"{path} belongs to another user; put a file of your own there, and then: {command}"
        )
    if stat.S_IMODE(facts.st_mode) & forbidden:
        raise NotConfigured(
            f"{path} can be read or written by others; make it yours alone: {command}"
        )


def _unreadable(path: Path, error: Exception) -> NotConfigured:
    why = error.strerror if isinstance(error, OSError) else "its name is none"
    return NotConfigured(f"{path} cannot be read: {why}")
