"""`list_directory`: what is in a directory, by name, and in those below it if asked.

Of a directory of any size only so many names are ever held; how many are left out is
said. Links are named with where they lead, and not followed.
"""

import heapq
import os
import stat
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import trio
from pydantic import Field

from askd.tools.base import BuiltIn, CannotRun, Preview, Result, Site, Tool, ToolArguments, say
from askd.tools.beneath import open_beneath
from askd.tools.files.places import (
    FileText,
    describe_kind,
    explain,
    open_place,
    say_number,
    show_path,
)
from askd.tools.files.reading import preview_reading
from askd.tools.workspace import Workspace, open_workspace

NAME = "list_directory"

ENTRIES = 1_000
DEPTH = 8
NAMES_A_BEAT = 4_096
"""Between two looks at whether the listing is still wanted."""

TARGET_CHARACTERS = 200
"""Of where a link leads; a target can be as long as a path."""

DESCRIPTION = (
    "List a directory in the user's working directory: one entry a line, sorted; directories "
    "end with a slash, links show where they lead, files their size in bytes."
)


class ListArguments(ToolArguments):
    """What `list_directory` takes."""

    path: FileText = Field(
        default=".", description="The directory, relative to the working directory."
    )
    depth: int = Field(
        default=1, ge=1, le=DEPTH, description="How many levels to show; 1: its entries only."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What was found in a tree.

    Attributes:
        left_out: entries that were seen and are not among the lines.
        closed: directories that were not looked into, for there was no room left.
    """

    lines: Sequence[str]
    left_out: int
    closed: int


def make_list_directory(own: Sequence[str] = ()) -> Tool:
    """The tool. `own`: our own directories, absolute; they are not looked into."""

    def look(arguments: ListArguments, site: Site) -> Preview:
        with (
            open_workspace(site, own) as workspace,
            open_place(workspace, arguments.path) as found,
        ):
            title = f"List {show_path(found.relative)}"
            return preview_reading(NAME, title, workspace, found, "listing directories here")

    def read(arguments: ListArguments, site: Site) -> Result:
        with (
            open_workspace(site, own) as workspace,
            open_place(workspace, arguments.path) as found,
        ):
            name = show_path(arguments.path)
            if not stat.S_ISDIR(found.status.st_mode):
                kind = describe_kind(found.status.st_mode)
                raise CannotRun(f"{name} is {kind}, not a directory.")
            try:
                listing = list_tree(
                    workspace,
                    found.relative,
                    arguments.depth,
                    trio.from_thread.check_cancelled,
                )
            except OSError as error:
                raise explain(error, workspace, arguments.path) from None
            return say(_present(listing, name))

    async def show(arguments: ListArguments, site: Site) -> Preview:
        return await trio.to_thread.run_sync(look, arguments, site)

    async def do(arguments: ListArguments, site: Site) -> Result:
        return await trio.to_thread.run_sync(read, arguments, site)

    return BuiltIn(
        name=NAME,
        description=DESCRIPTION,
        arguments=ListArguments,
        does=do,
        shows=show,
    )


def list_tree(
    workspace: Workspace, top: str, depth: int, beat: Callable[[], None] = lambda: None
) -> Listing:
    """The entries of a directory of the workspace and of those below; the nearest are kept.

    Raises `OSError` if `top` cannot be read; below it, such a directory stays closed.

    Args:
        top: free of links.
        beat: called once in a while; whatever it raises ends the listing.
    """
    found: dict[tuple[str, ...], str] = {}
    left_out = closed = 0
    waiting: deque[tuple[str, ...]] = deque([()])
    while waiting:
        parts = waiting.popleft()
        here = "/".join(parts if top == "." else (top, *parts)) or "."
        if parts and _is_closed(workspace, top, here):
            found[parts] += " (not looked into)"
            continue
        if len(found) == ENTRIES:
            closed += 1
            continue
        try:
            directory = open_beneath(workspace.fd, here, os.O_RDONLY | os.O_DIRECTORY, links=False)
        except OSError as error:
            if not parts:
                raise
            found[parts] += f" ({error.strerror})"
            continue
        try:
            names, count = _read_names(directory, ENTRIES - len(found), beat)
            left_out += count - len(names)
            for name in names:
                inner = (*parts, name)
                entry, is_directory = _draw_entry(directory, name)
                found[inner] = entry
                if is_directory and len(inner) < depth:
                    waiting.append(inner)
        finally:
            os.close(directory)
    lines = [
        "".join(f"{show_path(each)}/" for each in parts[:-1]) + entry
        for parts, entry in sorted(found.items())
    ]
    return Listing(lines=lines, left_out=left_out, closed=closed)


def _is_closed(workspace: Workspace, top: str, here: str) -> bool:
    """Whether nobody has asked for what is in a directory, and it is not for everybody."""
    if workspace.is_own(here):
        return True
    return workspace.is_private(here) and not workspace.is_private(top)


def _read_names(directory: int, most: int, beat: Callable[[], None]) -> tuple[list[str], int]:
    """The first names of a directory in their order, and how many it has."""
    count = 0

    def read(entries: Iterable["os.DirEntry[str]"]) -> Iterator[str]:
        nonlocal count
        for each in entries:
            if count % NAMES_A_BEAT == 0:
                beat()
            count += 1
            yield each.name

    with os.scandir(directory) as entries:
        return heapq.nsmallest(most, read(entries)), count


def _draw_entry(directory: int, name: str) -> tuple[str, bool]:
    """An entry as a line without what is above it, and whether it is a directory."""
    shown = show_path(name)
    try:
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except OSError as error:
        return f"{shown} ({error.strerror})", False
    mode = status.st_mode
    if stat.S_ISDIR(mode):
        return f"{shown}/", True
    if stat.S_ISREG(mode):
        return f"{shown} ({say_number(status.st_size, 'byte')})", False
    if not stat.S_ISLNK(mode):
        return f"{shown} ({describe_kind(mode)})", False
    try:
        target = show_path(os.readlink(name, dir_fd=directory))
    except OSError as error:
        return f"{shown} ({error.strerror})", False
    cut = "..." if len(target) > TARGET_CHARACTERS else ""
    return f"{shown} -> {target[:TARGET_CHARACTERS]}{cut}", False


def _present(listing: Listing, name: str) -> str:
    notes = []
    if listing.left_out:
        notes.append(f"[not shown: {listing.left_out:,} more of the entries]")
    if listing.closed:
        notes.append(f"[not looked into, of the directories above: {listing.closed:,}]")
    return "\n".join([*listing.lines, *notes]) or f"[{name} is empty]"
