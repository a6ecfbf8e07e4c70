"""Where an answer goes besides the screen: a file, replaced only as a whole; its first code block.

It decides nothing about success: who calls it knows that the answer is whole.
"""

import os
import tempfile
from pathlib import Path

from ask.exits import STORAGE, USAGE, Failed
from ask.inputs import show_path

_BAD_OUTPUT = {"reason": "bad_output"}


def find_code_block(text: str) -> str | None:
    """The first fenced code block of a Markdown text, without its fences; None: there is none.

    A block within a list is moved left by as much as its fence is indented.
    """
    fence, indent = "", 0
    block: list[str] = []
    for line in text.splitlines(keepends=True):
        stripped = line.strip()
        if not fence:
            marker = stripped[:1]
            width = len(stripped) - len(stripped.lstrip(marker)) if marker in ("`", "~") else 0
            # "```x``` in a row" is inline code: a fence's own line holds no other backtick.
            if width >= 3 and marker not in stripped[width:]:
                fence = marker * width
                indent = len(line) - len(line.lstrip(" "))
        elif stripped.startswith(fence) and not stripped.strip(fence[0]):
            return "".join(block)
        else:
            spaces = len(line) - len(line.lstrip(" "))
            block.append(line[min(indent, spaces) :])
    # An answer may end before its fence does; what there is of the block is the block.
    return "".join(block) if fence else None


def check_output(output: str | None) -> None:
    """Refuse before a turn is spent what could not be written after it."""
    if output is None:
        return
    if not output:
        raise Failed(USAGE, "-o needs a file, and its name is empty.", data=_BAD_OUTPUT)
    path = Path(output)
    if path.is_dir():
        raise Failed(USAGE, f"{show_path(output)} is a directory.", data=_BAD_OUTPUT)
    place = path if path.exists() and not path.is_file() else path.resolve().parent
    if not os.access(place, os.W_OK):
        raise Failed(USAGE, f"{show_path(output)} cannot be written.", data=_BAD_OUTPUT)


def replace_output(path: Path, text: str) -> None:
    """Write the answer so that the file holds all of it or what it held before."""
    content = text.encode(errors="replace")
    if content and not content.endswith(b"\n"):
        content += b"\n"
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(content)  # a pipe or a device: there is nothing to replace
            return
        path = path.resolve()  # a link stays one
        mode = path.stat().st_mode & 0o7777 if path.exists() else 0o666 & ~_read_umask()
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            os.chmod(temporary, mode)
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        message = f"{show_path(str(path))} cannot be written: {error.strerror}."
        raise Failed(STORAGE, message, data={"reason": "output_failed"}) from None


def _read_umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
