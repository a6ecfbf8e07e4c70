"""Files with conversations from elsewhere, read whole and changed in nothing.

A file that is compressed (`.zst`) is unpacked if the library for it is there, and
`-` is standard input. No device or pipe is opened by its name: it might never end. It
does not look at what a file says: that is the daemon's to tell.
"""

import importlib
import io
import os
import stat
import sys
from pathlib import Path
from typing import IO, Any

from ask.exits import USAGE, Failed
from ask.fast.caller import INPUT_NAME
from ask.inputs import show_path
from ask.protocol.limits import IMPORT_LIMIT_BYTES

MAGIC = b"\x28\xb5\x2f\xfd"
"""How a Zstandard frame begins (RFC 8878)."""
STDIN = "-"
"""In place of a file: it comes on standard input; a file of that name is `./-`."""


def name_archive(path: str) -> str:
    """What a file is called in sentences."""
    return INPUT_NAME if path == STDIN else show_path(path)


def read_archive(path: str) -> bytes:
    """The content of a file, unpacked if it is compressed.

    Raises:
        Failed: it cannot be read, is too large, or needs a library that is not there; code 2.
    """
    name = name_archive(path)
    if path == STDIN and os.isatty(0):
        raise _unfit(
            "- reads a file from standard input, and that is a terminal.",
            hint="For example: zcat rollout.jsonl.gz | ask history import -",
        )
    if not path:
        raise _unfit("A file's name is empty.")
    if path != STDIN and Path(path).is_dir():
        raise _unfit(
            f"{name} is a directory.", hint="Name the files in it, for example with a shell's **."
        )
    try:
        with _open(path, name) as stream:
            content = stream.read(IMPORT_LIMIT_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise _unfit(f"{name} cannot be read: {reason}.") from None
    if content.startswith(MAGIC):
        content = _unpack(content, name)
    if len(content) > IMPORT_LIMIT_BYTES:
        raise _unfit(f"{name} is larger than {IMPORT_LIMIT_BYTES >> 20} MiB.")
    return content


def _open(path: str, name: str) -> IO[bytes]:
    if path == STDIN:
        if sys.stdin is None:
            raise _unfit("Standard input is closed.")
        return open(0, "rb", closefd=False)
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise _unfit(
            f"{name} is no regular file; an import takes no device, pipe or socket by its name.",
            hint="Send it on standard input: ask history import - <FILE",
        )
    # It may have become a pipe since it was looked at.
    return open(path, "rb", opener=lambda each, flags: os.open(each, flags | os.O_NONBLOCK))


def _unpack(content: bytes, name: str) -> bytes:
    try:
        # By name: it is no part of the installation, and has no place among its types.
        library: Any = importlib.import_module("zstandard")
    except ImportError:
        raise _unfit(
            f"{name} is compressed, and the library for it is not installed.",
            hint="Install it (pip install zstandard), or unpack the file first: zstd -d",
        ) from None
    try:
        unpacker = library.ZstdDecompressor()
        stream: IO[bytes]
        with unpacker.stream_reader(io.BytesIO(content), read_across_frames=True) as stream:
            # A few bytes can stand for any number: no more is unpacked than is taken.
            return stream.read(IMPORT_LIMIT_BYTES + 1)
    except library.ZstdError as error:
        raise _unfit(f"{name} cannot be unpacked: {error}.") from None


def _unfit(message: str, *, hint: str | None = None) -> Failed:
    return Failed(USAGE, message, hint=hint, data={"reason": "bad_input"})
