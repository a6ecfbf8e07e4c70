"""Files with conversations from elsewhere, read whole and changed in nothing.

A file that is compressed (`.zst`) is unpacked if the library for it is there. It
does not look at what a file says: that is the daemon's to tell.
"""

import importlib
import io
from pathlib import Path
from typing import IO, Any

from ask.exits import USAGE, Failed
from ask.inputs import show_path
from ask.protocol.limits import IMPORT_LIMIT_BYTES

MAGIC = b"\x28\xb5\x2f\xfd"
"""How a Zstandard frame begins (RFC 8878)."""


def read_archive(path: str) -> bytes:
    """The content of a file, unpacked if it is compressed.

    Raises:
        Failed: it cannot be read, is too large, or needs a library that is not there; code 2.
    """
    name = show_path(path)
    if not path:
        raise _unfit("A file's name is empty.")
    if Path(path).is_dir():
        raise _unfit(
            f"{name} is a directory.", hint="Name the files in it, for example with a shell's **."
        )
    try:
        with open(path, "rb") as stream:
            content = stream.read(IMPORT_LIMIT_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise _unfit(f"{name} cannot be read: {reason}.") from None
    if content.startswith(MAGIC):
        content = _unpack(content, name)
    if len(content) > IMPORT_LIMIT_BYTES:
        raise _unfit(f"{name} is larger than {IMPORT_LIMIT_BYTES >> 20} MiB.")
    return content


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
