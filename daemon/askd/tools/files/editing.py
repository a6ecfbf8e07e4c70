"""`edit_file`: one passage of a file replaced by another, where it is clear which is meant.

A passage has to be there exactly as it was given, and once, unless all are meant. All else
of the file stays as it is, byte for byte; a file whose lines end with CR LF keeps that. It
guesses nothing: what fits only nearly is not replaced.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field

from askd.tools.base import CannotRun, Preview, Result, Site, Tool, ToolArguments, say
from askd.tools.files.diffs import draw_diff
from askd.tools.files.places import FileText, Spot, explain, open_spot, show_path
from askd.tools.files.reading import describe_binary, ends_with_cr_lf
from askd.tools.files.replacing import Desk, Sight, read_content, refuse_changed, replace_content
from askd.tools.files.writing import TEXT_BYTES, make_writer, name_spot, preview_writing
from askd.tools.workspace import open_workspace

NAME = "edit_file"

PLACES = 100
"""Counted at the most: in a file of one letter any passage is everywhere."""

LINES_NAMED = 10
"""Of several places this many are named by their lines."""

DESCRIPTION = (
    "Replace a passage of a text file in the user's working directory. `old` must be in the file "
    "exactly as given, with its indentation, and only once: give enough of the lines around it, "
    "or set `replace_all`. Read the file before. The result shows the change as a diff."
)


class EditArguments(ToolArguments):
    """What `edit_file` takes."""

    path: FileText = Field(description="The file, relative to the working directory.")
    old: FileText = Field(description="The passage to replace, exactly as it is in the file.")
    new: FileText = Field(description="What is to stand there instead; empty: nothing.")
    replace_all: bool = Field(default=False, description="Replace every place where `old` is.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """A file's content after an edit. `places`: in how many it differs."""

    content: bytes
    places: int


def make_edit_file(desk: Desk, own: Sequence[str] = ()) -> Tool:
    """The tool.

    Args:
        desk: what it shares with the other tools that write.
        own: our own directories, absolute; nothing in them is changed.
    """

    def look(arguments: EditArguments, site: Site) -> tuple[Preview, Sight]:
        with open_workspace(site, own) as workspace, open_spot(workspace, arguments.path) as spot:
            try:
                before, edited = _edit(spot, arguments)
            except OSError as error:
                raise explain(error, workspace, arguments.path) from None
            title = f"Edit {name_spot(spot, arguments.path)}{_say_places(edited.places)}"
            body = _draw(spot, before, edited)
            return preview_writing(workspace, spot, title, body), Sight(spot.relative)

    def edit(arguments: EditArguments, site: Site, shown: Sight | None) -> Result:
        with open_workspace(site, own) as workspace, open_spot(workspace, arguments.path) as spot:
            refuse_changed(shown, Sight(spot.relative))
            try:
                before, edited = _edit(spot, arguments)
                replace_content(spot, edited.content, arguments.path)
            except OSError as error:
                raise explain(error, workspace, arguments.path) from None
            name = show_path(spot.relative)
            diff = _draw(spot, before, edited)
            return say(f"Changed {name}{_say_places(edited.places)}.\n\n{diff}")

    return make_writer(desk, NAME, DESCRIPTION, arguments=EditArguments, look=look, change=edit)


def plan_edit(content: bytes, old: str, new: str, *, replace_all: bool, name: str) -> Edited:
    """The content with `old` replaced; `CannotRun` where it is not clear what is meant.

    Args:
        name: of the file, for the sentence.
    """
    if not old:
        raise CannotRun("`old` is empty; to write a whole file, use write_file.")
    if old == new:
        raise CannotRun("`old` and `new` are the same, so nothing would change.")
    before, after = old.encode(), new.encode()
    if ends_with_cr_lf(content):
        before, after = _with_cr_lf(before), _with_cr_lf(after)
    if before == after:
        raise CannotRun("`old` and `new` differ in how lines end only, which an edit keeps.")
    places = find_places(content, before, 1 if replace_all else PLACES)
    if not places:
        raise CannotRun(f"`old` is not in {name} as it was given; read the file again.")
    if len(places) > 1 and not replace_all:
        lines = [str(content.count(b"\n", 0, each) + 1) for each in places[:LINES_NAMED]]
        more = ", ..." if len(places) > LINES_NAMED else ""
        times = f"{len(places):,} times" if len(places) < PLACES else f"{PLACES:,} times or more"
        raise CannotRun(
            f"`old` is in {name} {times}, at lines {', '.join(lines)}{more}: give "
            "more of what stands around the one you mean, or set `replace_all`."
        )
    count = content.count(before) if replace_all else 1
    if len(content) + count * (len(after) - len(before)) > TEXT_BYTES:
        raise CannotRun(f"{name} would become larger than {TEXT_BYTES:,} bytes.")
    return Edited(content=content.replace(before, after), places=count)


def find_places(content: bytes, passage: bytes, most: int = PLACES) -> list[int]:
    """Where a passage begins, places that overlap included: each could be the one meant."""
    found: list[int] = []
    place = content.find(passage)
    while place >= 0 and len(found) < most:
        found.append(place)
        place = content.find(passage, place + 1)
    return found


def _with_cr_lf(text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def _edit(spot: Spot, arguments: EditArguments) -> tuple[bytes, Edited]:
    """What a file holds, and what it would hold."""
    name = show_path(arguments.path)
    if spot.found is None:
        raise CannotRun(f"There is no {name}; to make it, use write_file.")
    content = read_content(spot, TEXT_BYTES)
    if content is None:
        raise CannotRun(f"{name} is larger than {TEXT_BYTES:,} bytes and is not edited.")
    kind = describe_binary(content)
    if kind is not None:
        raise CannotRun(f"{name} is no text: {len(content):,} bytes, {kind}.")
    edited = plan_edit(
        content, arguments.old, arguments.new, replace_all=arguments.replace_all, name=name
    )
    return content, edited


def _draw(spot: Spot, before: bytes, edited: Edited) -> str:
    old = before.decode("utf-8", "backslashreplace")
    new = edited.content.decode("utf-8", "backslashreplace")
    return draw_diff(old, new, show_path(spot.relative))


def _say_places(places: int) -> str:
    return "" if places == 1 else f" in {places:,} places"
