"""The files of templates: where they are, which there are, and the text of one.

`NAME.md` in the directory `templates` beside the settings. Only what is a file of text, of a
size that one prompt may have, is read; it waits for no pipe, and it writes nothing.
"""

import difflib
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from ask.exits import NOT_FOUND, Failed
from ask.paths import Paths
from ask.templates import Template, check_name, is_template_name, parse_template, refuse

DIRECTORY = "templates"
ENDING = ".md"
FILE_LIMIT_BYTES = 256 * 1024
"""Of one template: as much as a part of a prompt may have in one message."""


def find_directory(environ: Mapping[str, str]) -> Path:
    """Where templates are, there or not."""
    return Paths.of(environ).config / DIRECTORY


def find_path(name: str, environ: Mapping[str, str]) -> Path:
    """Where the template of this name is, there or not; raise `Failed` if it cannot be one's."""
    return find_directory(environ) / f"{check_name(name)}{ENDING}"


def list_names(environ: Mapping[str, str]) -> list[str]:
    """The names of all templates, sorted; files whose names none can have are left out.

    Raises:
        Failed: the directory cannot be read.
    """
    directory = find_directory(environ)
    try:
        found = os.listdir(directory)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise refuse(DIRECTORY, f"{directory} cannot be read ({error.strerror})") from None
    names = [each.removesuffix(ENDING) for each in found if each.endswith(ENDING)]
    return sorted(name for name in names if is_template_name(name))


def read_template(name: str, environ: Mapping[str, str]) -> Template:
    """Read and check a template; raise `Failed`: 3 if there is none of this name, else 2."""
    return parse_template(read_text(name, environ), name)


def read_text(name: str, environ: Mapping[str, str]) -> str:
    """A template's text as it stands in its file, in order or not.

    Raises:
        Failed: there is none of this name (3, with the nearest), or it cannot be read (2).
    """
    path = find_path(name, environ)
    try:
        content = _read_file(path, name)
    except FileNotFoundError:
        if path.is_symlink():
            raise refuse(name, f"{path} leads to a file that is not there") from None
        raise _refuse_missing(name, environ) from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "its name is none"
        raise refuse(name, f"{path} cannot be read ({why})") from None
    if len(content) > FILE_LIMIT_BYTES:
        raise refuse(name, f"{path} is larger than {FILE_LIMIT_BYTES >> 10} KiB")
    if b"\0" in content:
        raise refuse(name, f"{path} is no text")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        what = f"{path} is not valid UTF-8 (line {line}, at byte {error.start})"
        raise refuse(name, what) from None


def _read_file(path: Path, name: str) -> bytes:
    # Not waiting: a pipe without a writer would never open.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise refuse(name, f"{path} is {'a directory' if stat.S_ISDIR(mode) else 'no file'}")
    with open(descriptor, "rb") as stream:
        return stream.read(FILE_LIMIT_BYTES + 1)


def _refuse_missing(name: str, environ: Mapping[str, str]) -> Failed:
    try:
        known = list_names(environ)
    except Failed:
        known = []
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"Did you mean {near[0]!r}?" if near else f"Write it: ask templates edit {name}"
    data = {"reason": "template_not_found", "candidates": near}
    return Failed(NOT_FOUND, f"There is no template {name!r}.", hint=hint, data=data)
