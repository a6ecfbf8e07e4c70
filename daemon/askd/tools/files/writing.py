"""`write_file`: a whole file, new or in place of what was there.

What would change is shown as a diff before. A link is written through to the file it leads
to, if that is in the workspace too. It appends to nothing and removes nothing.
"""

from collections.abc import Callable, Sequence

import trio
from pydantic import Field, field_validator

from askd.core.approval import Grant
from askd.tools.base import Arguments, BuiltIn, Preview, Result, Site, Tool, ToolArguments, say
from askd.tools.files.diffs import count_lines, draw_diff
from askd.tools.files.places import FileText, Spot, explain, open_spot, say_number, show_path
from askd.tools.files.reading import describe_binary
from askd.tools.files.replacing import (
    Desk,
    Sight,
    read_content,
    refuse_changed,
    replace_content,
    see,
)
from askd.tools.workspace import Workspace, open_workspace

NAME = "write_file"

CONTENT_BYTES = 1024 * 1024
TEXT_BYTES = 8 * 1024 * 1024
"""A larger file is neither compared nor edited."""

GRANT_LABEL = "writing files here"

DESCRIPTION = (
    "Write a whole text file in the user's working directory; it and the directories above it "
    "are made if they are not there, and what the file held is replaced. To change a part of a "
    "file, use edit_file."
)


class WriteArguments(ToolArguments):
    """What `write_file` takes."""

    path: FileText = Field(description="The file, relative to the working directory.")
    content: FileText = Field(description="All that the file is to hold.")

    @field_validator("content")
    @classmethod
    def _check_content(cls, content: str) -> str:
        size = len(content.encode())
        if size > CONTENT_BYTES:
            raise ValueError(f"{size:,} bytes are more than can be written ({CONTENT_BYTES:,})")
        return content


def make_write_file(desk: Desk, own: Sequence[str] = ()) -> Tool:
    """The tool.

    Args:
        desk: what it shares with the other tools that write.
        own: our own directories, absolute; nothing in them is written.
    """

    def look(arguments: WriteArguments, site: Site) -> tuple[Preview, Sight]:
        with open_workspace(site, own) as workspace, open_spot(workspace, arguments.path) as spot:
            try:
                before = read_content(spot, TEXT_BYTES)
            except OSError as error:
                raise explain(error, workspace, arguments.path) from None
            lines = say_number(count_lines(arguments.content), "line")
            title = f"Write {name_spot(spot, arguments.path)} ({lines})"
            body = _draw(spot, before, arguments.content)
            return preview_writing(workspace, spot, title, body), see(spot)

    def write(arguments: WriteArguments, site: Site, shown: Sight | None) -> Result:
        with open_workspace(site, own) as workspace, open_spot(workspace, arguments.path) as spot:
            refuse_changed(shown, see(spot))
            content = arguments.content.encode()
            try:
                replace_content(spot, content, arguments.path)
            except OSError as error:
                raise explain(error, workspace, arguments.path) from None
            did = "Made" if spot.found is None else "Replaced"
            lines = say_number(count_lines(arguments.content), "line")
            size = say_number(len(content), "byte")
            return say(f"{did} {show_path(spot.relative)}: {lines}, {size}.")

    return make_writer(desk, NAME, DESCRIPTION, arguments=WriteArguments, look=look, change=write)


def make_writer(
    desk: Desk,
    name: str,
    description: str,
    *,
    arguments: type[Arguments],
    look: Callable[[Arguments, Site], tuple[Preview, Sight]],
    change: Callable[[Arguments, Site, Sight | None], Result],
) -> Tool:
    """A tool that changes one file: one at a time, and what was shown is what is changed.

    Args:
        look, change: each in a thread; the latter hears what the former saw, if that is known.
    """

    async def show(arguments: Arguments, site: Site) -> Preview:
        preview, sight = await trio.to_thread.run_sync(look, arguments, site)
        desk.note_sight(site, sight)
        return preview

    async def do(arguments: Arguments, site: Site) -> Result:
        async with desk.find_lock(site):
            return await trio.to_thread.run_sync(change, arguments, site, desk.take_sight(site))

    return BuiltIn(
        name=name,
        description=description,
        arguments=arguments,
        does=do,
        shows=show,
        effects=True,
        needs="ask",
    )


def preview_writing(workspace: Workspace, spot: Spot, title: str, body: str) -> Preview:
    """What a change of one file is shown as; what is allowed for good covers every tool's."""
    grant = Grant(tool=NAME, cwd=workspace.path, label=GRANT_LABEL)
    return Preview(
        title=title,
        body=body,
        needs="ask",
        grant=None if workspace.is_wide else grant,
        writes=(spot.relative,),
    )


def name_spot(spot: Spot, path: str) -> str:
    """A file by where it really is; said, if the path went through a link."""
    shown = show_path(spot.relative)
    given = [each for each in path.split("/") if each not in ("", ".")]
    # An absolute path ends with the relative one, if no link is in between.
    is_plain = given[-spot.relative.count("/") - 1 :] == spot.relative.split("/")
    return shown if is_plain and ".." not in given else f"{shown} (through {show_path(path)})"


def _draw(spot: Spot, before: bytes | None, content: str) -> str:
    if spot.found is None:
        return draw_diff(None, content, show_path(spot.relative))
    size = say_number(spot.found.status.st_size, "byte")
    if before is None:
        return f"In place of {size}, too many to be compared:\n\n{_as_new(spot, content)}"
    kind = describe_binary(before)
    if kind is not None:
        return f"In place of {size} that are no text ({kind}):\n\n{_as_new(spot, content)}"
    old = before.decode("utf-8", "backslashreplace")
    return draw_diff(old, content, show_path(spot.relative)) or "It holds exactly that already."


def _as_new(spot: Spot, content: str) -> str:
    return draw_diff(None, content, show_path(spot.relative))
