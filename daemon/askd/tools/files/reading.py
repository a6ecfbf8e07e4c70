"""`read_file`: the lines of a text file, as many as are asked for and fit.

A file is streamed: of one of any size only the range is ever held. What is no text is not
shown but named. It opens nothing but regular files of the workspace, and changes none.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import trio
from pydantic import Field

from askd.core.approval import Grant
from askd.core.images import find_image_type
from askd.tools.base import BuiltIn, CannotRun, Preview, Result, Site, Tool, ToolArguments, say
from askd.tools.files.places import (
    FileText,
    Found,
    explain,
    open_content,
    open_place,
    refuse_other_kinds,
    say_number,
    show_path,
)
from askd.tools.workspace import Workspace, open_workspace

NAME = "read_file"

LINES = 2_000
"""Shown unless asked otherwise: more than most files have."""

READ_BYTES = 256 * 1024
"""Of one call; a part of a message larger than this would be kept apart from it."""

CHUNK_BYTES = 1024 * 1024
HEAD_BYTES = 8_192
"""Where git, too, looks for a NUL to tell that a file holds no text."""

SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"\x7fELF", "a program"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive, or a document that is one"),
    (b"\x1f\x8b", "compressed by gzip"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd"),
    (b"\xfd7zXZ\x00", "compressed by xz"),
    (b"SQLite format 3\x00", "a SQLite database"),
    (b"\xff\xfe", "text in UTF-16, which is not read here"),
    (b"\xfe\xff", "text in UTF-16, which is not read here"),
)
"""How files of these kinds begin, by the formats' own specifications."""

DESCRIPTION = (
    "Read a text file in the user's working directory. Returns its text; of a long file a range "
    f"of lines, {LINES:,} unless told otherwise, with a first line in brackets that says which."
)


class ReadArguments(ToolArguments):
    """What `read_file` takes."""

    path: FileText = Field(description="The file, relative to the working directory.")
    offset: int = Field(default=1, ge=1, description="The first line to read, counted from 1.")
    limit: int = Field(default=LINES, ge=1, description="How many lines to read at the most.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """Some lines of a file.

    Attributes:
        content: the lines, as they are.
        lines: how many they are; 0 with `total`: the file ends before them.
        is_cut: the last one goes on where `content` ends.
        is_end: nothing follows.
        total: the lines of the whole file, where that had to be counted.
    """

    content: bytes
    lines: int
    is_cut: bool = False
    is_end: bool = True
    total: int | None = None


def make_read_file(own: Sequence[str] = ()) -> Tool:
    """The tool. `own`: our own directories, absolute; nothing in them is read."""

    def look(arguments: ReadArguments, site: Site) -> Preview:
        with (
            open_workspace(site, own) as workspace,
            open_place(workspace, arguments.path) as found,
        ):
            title = f"Read {show_path(found.relative)}"
            if arguments.offset > 1:
                title += f", from line {arguments.offset:,} on"
            return preview_reading(NAME, title, workspace, found, "reading files here")

    def read(arguments: ReadArguments, site: Site) -> Result:
        with (
            open_workspace(site, own) as workspace,
            open_place(workspace, arguments.path) as found,
        ):
            try:
                return say(_read(found, arguments))
            except OSError as error:
                raise explain(error, workspace, arguments.path) from None

    async def show(arguments: ReadArguments, site: Site) -> Preview:
        return await trio.to_thread.run_sync(look, arguments, site)

    async def do(arguments: ReadArguments, site: Site) -> Result:
        return await trio.to_thread.run_sync(read, arguments, site)

    return BuiltIn(
        name=NAME,
        description=DESCRIPTION,
        arguments=ReadArguments,
        does=do,
        shows=show,
    )


def preview_reading(
    tool: str, title: str, workspace: Workspace, found: Found, label: str
) -> Preview:
    """Looking at a project's files needs nobody's word; what a home hides does."""
    if not workspace.is_private(found.relative):
        return Preview(title=title, needs="auto")
    return Preview(
        title=title, needs="ask", grant=Grant(tool=tool, cwd=workspace.path, label=label)
    )


def read_passage(
    stream: BinaryIO, offset: int, limit: int, beat: Callable[[], None] = lambda: None
) -> Passage:
    """`limit` lines of a stream from the line `offset` on, and never more than fit.

    Args:
        beat: called once in a while; whatever it raises ends the reading.
    """
    before = _skip_lines(stream, offset - 1, beat)
    if before is not None:
        return Passage(content=b"", lines=0, total=before)
    data = stream.read(READ_BYTES + 1)
    end = _find_line_end(data, limit)
    if end is not None and end <= READ_BYTES:
        is_end = end == len(data) and not stream.read(1)
        return Passage(content=data[:end], lines=limit, is_end=is_end)
    if len(data) <= READ_BYTES:
        lines = data.count(b"\n") + (not data.endswith(b"\n") and data != b"")
        return Passage(content=data, lines=lines, total=0 if offset == 1 and not data else None)
    end = data.rfind(b"\n", 0, READ_BYTES) + 1
    if end:
        return Passage(content=data[:end], lines=data.count(b"\n", 0, end), is_end=False)
    return Passage(content=data[:READ_BYTES], lines=1, is_cut=True, is_end=False)


def _skip_lines(stream: BinaryIO, missing: int, beat: Callable[[], None]) -> int | None:
    """Go behind so many lines; if there are not that many, or nothing after: how many there are."""
    seen = 0
    last = b"\n"
    while seen < missing:
        chunk = stream.read(CHUNK_BYTES)
        beat()
        if not chunk:
            return seen + (last != b"\n")
        last = chunk[-1:]
        count = chunk.count(b"\n")
        if seen + count < missing:
            seen += count
            continue
        place = -1
        while seen < missing:
            place = chunk.index(b"\n", place + 1)
            seen += 1
        stream.seek(place + 1 - len(chunk), os.SEEK_CUR)
    if missing and not stream.read(1):
        return seen
    if missing:
        stream.seek(-1, os.SEEK_CUR)
    return None


def _find_line_end(data: bytes, lines: int) -> int | None:
    """Where so many lines end; None: there are not that many whole ones."""
    place = 0
    for _ in range(lines):
        place = data.find(b"\n", place) + 1
        if not place:
            return None
    return place


def _read(found: Found, arguments: ReadArguments) -> str:
    refuse_other_kinds(found, arguments.path)
    name, size = show_path(arguments.path), say_number(found.status.st_size, "byte")
    with os.fdopen(open_content(found), "rb") as stream:
        head = stream.read(HEAD_BYTES)
        kind = describe_binary(head)
        if kind is not None:
            raise CannotRun(f"{name} is no text: {size}, {kind}.")
        stream.seek(0)
        passage = read_passage(
            stream, arguments.offset, arguments.limit, trio.from_thread.check_cancelled
        )
    if b"\0" in passage.content:
        raise CannotRun(f"{name} is no text: {size}, with NUL characters among them.")
    return _present(passage, arguments, name)


def describe_binary(head: bytes) -> str | None:
    """What a file is that begins like this and is no text; None: it may be text."""
    image = find_image_type(head)
    if image is not None:
        return f"an image ({image}), and images cannot be read yet"
    for beginning, kind in SIGNATURES:
        if head.startswith(beginning):
            return kind
    return "with NUL characters among them" if b"\0" in head else None


def ends_with_cr_lf(content: bytes) -> bool:
    """Whether every line that ends does so with CR LF, and one does."""
    ends = content.count(b"\r\n")
    return ends > 0 and ends == content.count(b"\n")


def _present(passage: Passage, arguments: ReadArguments, name: str) -> str:
    if passage.total is not None:
        if not passage.total:
            return f"[{name} is empty]"
        raise CannotRun(f"{name} has only {say_number(passage.total, 'line')}.")
    text = passage.content.decode("utf-8", "replace")
    notes = []
    first, last = arguments.offset, arguments.offset + passage.lines - 1
    if first > 1 or not passage.is_end:
        which = f"line {first:,}" if first == last else f"lines {first:,} to {last:,}"
        notes.append(f"{which} of {name}")
    if passage.is_cut:
        notes.append(f"only the first {len(passage.content):,} bytes of that line")
    elif not passage.is_end:
        notes.append(f"more follows at offset {last + 1}")
    if ends_with_cr_lf(passage.content):
        notes.append("each line ends with CR LF, shown as LF")
        text = text.replace("\r\n", "\n")
    if "\ufffd" in text and not _is_utf8(passage):
        notes.append("bytes that are no UTF-8 are shown as \ufffd")
    return (f"[{'; '.join(notes)}]\n" if notes else "") + text


def _is_utf8(passage: Passage) -> bool:
    try:
        passage.content.decode("utf-8")
    except UnicodeDecodeError as error:
        # A line that is cut may be cut within a character.
        return passage.is_cut and error.start > len(passage.content) - 4
    return True
