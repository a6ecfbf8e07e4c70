"""Copies of files that a tool is about to write, where no git could keep them.

Bounded: what is too large is named and not kept. A link is followed as far as it leads
to a file in the workspace; what is no file is not read. It writes nothing.
"""

import hashlib
import os
import stat
from collections.abc import Container, Sequence
from dataclasses import dataclass, field

from askd.core.items import Blob, Copy
from askd.processes.grants import is_beneath
from askd.tools.snapshots.places import BadPath, open_parent, split_path

FILE_BYTES = 8 * 1024 * 1024
TURN_BYTES = 32 * 1024 * 1024
MEDIA_TYPE = "application/octet-stream"
"""Whatever is in it: a copy is put back as it was, and read by nobody."""


@dataclass(slots=True)
class Copies:
    """What was copied from `top`: files, their contents by digest, the paths of those left out."""

    top: str
    files: list[Copy] = field(default_factory=list)
    blobs: dict[str, bytes] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)


def copy_files(
    workspace: str, paths: Sequence[str], *, known: Container[str], room: int = TURN_BYTES
) -> Copies:
    """Copy files of a workspace, those that are not `known` already.

    Args:
        paths: relative to the workspace; one that leads out of it is passed over.
        room: the bytes that may be kept.
    """
    top = os.path.realpath(workspace)
    copies = Copies(top)
    seen = set()
    for each in paths:
        path = _find_path(top, each)
        if path is None or path in known or path in seen:
            continue
        seen.add(path)
        room -= _copy(top, path, copies, room=room)
    return copies


def _find_path(top: str, path: str) -> str | None:
    """Where a path leads to, relative to the workspace."""
    try:
        place = os.path.realpath(os.path.join(top, path))
    except (OSError, ValueError):
        return None
    if place == top or not is_beneath(place, top):
        return None
    return os.path.relpath(place, top)


def _copy(top: str, path: str, copies: Copies, *, room: int) -> int:
    """Add one file; how many bytes it takes."""
    try:
        content, mode = read_file(top, path, limit=min(FILE_BYTES, room))
    except (FileNotFoundError, NotADirectoryError):
        copies.files.append(Copy(path))
        return 0
    except (OSError, BadPath):
        copies.left_out.append(path)
        return 0
    if content is None:
        copies.left_out.append(path)
        return 0
    digest = hashlib.sha256(content).hexdigest()
    copies.blobs[digest] = content
    copies.files.append(Copy(path, Blob(digest, len(content), MEDIA_TYPE), mode))
    return len(content)


def read_file(top: str, path: str, *, limit: int) -> tuple[bytes | None, int]:
    """The content of a file and its mode; None: it is larger. Raises `OSError`."""
    *folders, name = split_path(path)
    # Without waiting: a pipe in the place of a file would have us wait for its writer.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    with open_parent(top, folders) as parent:
        descriptor = os.open(name, flags, dir_fd=parent)
    with os.fdopen(descriptor, "rb") as stream:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise IsADirectoryError(path)
        content = stream.read(limit + 1)
        mode = stat.S_IMODE(found.st_mode)
        return (content if len(content) <= limit else None), mode
