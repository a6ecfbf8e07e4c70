"""`search_files`: which lines of the caller's files match a regular expression.

Ripgrep searches if the daemon finds it, else a program of ours, either of them confined and
bounded in time. What it prints is material: a hit is told only after it was found again in
the workspace. It changes nothing, so nobody is asked.
"""

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import trio
from pydantic import Field, field_validator

from askd.processes.supervise import CannotStart, Child, Command, open_child
from askd.tools.base import BuiltIn, CannotRun, Preview, Result, Site, Tool, ToolArguments, say
from askd.tools.bubblewrap import INTERPRETER
from askd.tools.capture import Capture
from askd.tools.escapes import strip_escapes
from askd.tools.files.places import open_place, show_path
from askd.tools.hits import Hit, HitReader, check_hits
from askd.tools.shell import Confines
from askd.tools.workspace import Workspace, open_workspace, pick_environment

NAME = "search_files"
WALKER = Path(__file__).with_name("walker.py")

SEARCH_S = 10.0
"""Longer than that a model should have asked for less."""
RESULTS = 100
MOST_RESULTS = 1000
PATTERN_LENGTH = 4096
LINE_LENGTH = 300
"""Characters of a line that are told: enough to see what it is about."""
TROUBLE_BYTES = 4096
SIZE_LIMIT = "32M"

DESCRIPTION = (
    "Search the files of the user's working directory for a regular expression, line by line. "
    "The answer has one hit a line: path:number: text. Hidden files are searched; .git, binary "
    "files, files over 32 MB and what .gitignore leaves out are not."
)


class SearchArguments(ToolArguments):
    """What `search_files` takes."""

    pattern: str = Field(
        min_length=1, max_length=PATTERN_LENGTH, description="The regular expression."
    )
    path: str = Field(default=".", description="The directory or file to search.")
    glob: str | None = Field(
        default=None,
        max_length=PATTERN_LENGTH,
        description="Only files that fit this: `*.py`, `src/**/*.ts`.",
    )
    ignore_case: bool = Field(default=False, description="Take upper and lower case for the same.")
    max_results: int = Field(
        default=RESULTS, ge=1, le=MOST_RESULTS, description="Stop after so many hits."
    )

    @field_validator("pattern", "glob")
    @classmethod
    def _check_text(cls, text: str | None) -> str | None:
        if text is not None and "\0" in text:
            raise ValueError("it cannot hold a NUL character")
        return text


@dataclass(slots=True)
class _Found:
    """What a search brought. `status` None: it was ended before it had come to its own end."""

    hits: list[Hit] = field(default_factory=list)
    trouble: Capture = field(default_factory=lambda: Capture(TROUBLE_BYTES))
    status: int | None = None
    is_full: bool = False


def make_search_files(
    *, sandbox: Callable[[], Confines], path: str = "", own: Sequence[str] = ()
) -> Tool:
    """The tool.

    Args:
        sandbox: by the settings of now.
        path: where ripgrep is looked for: the daemon's own PATH, never a caller's.
        own: our own directories, absolute; nothing of them is told.
    """

    async def show(arguments: SearchArguments, site: Site) -> Preview:
        with open_workspace(site, own) as workspace:
            return Preview(
                title=f"Search {show_path(arguments.path)} for {arguments.pattern}",
                body=f"In {workspace.path}",
                needs="auto",
            )

    async def do(arguments: SearchArguments, site: Site) -> Result:
        with open_workspace(site, own) as workspace:
            with open_place(workspace, arguments.path) as place:
                relative = place.relative
            command = await sandbox().confine(
                _choose(arguments, relative, path),
                env=pick_environment(site.env),
                cwd=workspace.path,
                cwd_fd=workspace.fd,
                read_only=[workspace.path],
            )
            found = await _search(command, workspace, arguments.max_results)
        return _present(found, arguments)

    return BuiltIn(
        name=NAME, description=DESCRIPTION, arguments=SearchArguments, does=do, shows=show
    )


def _choose(arguments: SearchArguments, relative: str, path: str) -> list[str]:
    """The program that searches, and how."""
    ripgrep = shutil.which("rg", path=path) if path else None
    if ripgrep is None or not ripgrep.startswith("/"):
        spec = {
            "pattern": arguments.pattern,
            "path": relative,
            "glob": arguments.glob,
            "ignore_case": arguments.ignore_case,
        }
        return [*INTERPRETER, str(WALKER), json.dumps(spec)]
    return [
        ripgrep,
        "--no-config",
        "--no-heading",
        "--with-filename",
        "--line-number",
        "--byte-offset",
        "--null",
        "--color=never",
        # Offsets count bytes of the file as it is.
        "--encoding=none",
        "--hidden",
        "--no-follow",
        "--sort=path",
        f"--max-filesize={SIZE_LIMIT}",
        *([] if arguments.glob is None else [f"--glob={arguments.glob}"]),
        "--glob=!.git",
        *(["--ignore-case"] if arguments.ignore_case else []),
        f"--regexp={arguments.pattern}",
        "--",
        f"./{'' if relative == '.' else relative}",
    ]


async def _search(command: Command, workspace: Workspace, limit: int) -> _Found:
    """Run it until it ends, has found enough, or its time is over."""
    found = _Found()
    try:
        with trio.move_on_after(SEARCH_S):
            async with open_child(command) as child:
                await _read(child, workspace, limit, found)
    except CannotStart as error:
        raise CannotRun(f"The search could not be started: {error}") from None
    return found


async def _read(child: Child, workspace: Workspace, limit: int, found: _Found) -> None:
    async def drain_trouble() -> None:
        async for piece in child.stderr:
            found.trouble.feed(piece)

    await child.stdin.aclose()
    reader = HitReader()
    # In it: who reads what went wrong, to its end.
    async with trio.open_nursery() as nursery:
        nursery.start_soon(drain_trouble)
        async for piece in child.stdout:
            hits = reader.feed(piece)
            if hits:
                found.hits += await trio.to_thread.run_sync(check_hits, workspace, hits)
            if len(found.hits) > limit:
                found.is_full = True
                nursery.cancel_scope.cancel()
                return
    found.status = await child.wait()


def _present(found: _Found, arguments: SearchArguments) -> Result:
    shown = found.hits[: arguments.max_results]
    lines = [_show(each) for each in shown]
    trouble = found.trouble.text().strip()
    if found.is_full:
        lines.append(f"[These are the first {len(shown)} hits; there are more. Search for less.]")
    elif found.status is None:
        lines.append(
            f"[Stopped after {SEARCH_S:g} s: not everything was searched. Search for less, or in a "
            "part of it.]"
        )
    elif found.status not in (0, 1) and not lines:
        return say(
            f"It could not be searched: {trouble or f'status {found.status}'}", is_error=True
        )
    elif not lines:
        lines.append("No hits.")
    if trouble:
        lines.append(f"[{trouble}]")
    return say("\n".join(lines), is_error=found.status is None and not found.hits)


def _show(hit: Hit) -> str:
    text = strip_escapes(hit.text.decode("utf-8", "replace")).strip("\n")
    if len(text) > LINE_LENGTH:
        text = f"{text[:LINE_LENGTH]} [...]"
    return f"{show_path(hit.path)}:{hit.number}: {text}"
