"""A directory to stand in, and tools called there as a turn would: looked at first, then run.

A look must change nothing; whoever calls through here finds out if one did.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from askd.core.items import ToolCall, ToolOutput, join_text
from askd.tools.base import Preview, Site
from askd.tools.registry import Registry
from askd.tools.workspace import Workspace, open_workspace

HOME = "/nonexistent/home"
"""Nobody's, and in no workspace."""

Tree = Mapping[str, str]
"""What is in a directory: by path its kind, its mode and what it holds."""


def stand_in(directory: Path, *, call_id: str = "call_1", home: str = HOME) -> Site:
    """The site of a caller whose working directory is this one."""
    status = directory.stat()
    return Site(
        conversation_id="c",
        turn_id="t",
        call_id=call_id,
        cwd=str(directory),
        cwd_id=f"{status.st_dev}:{status.st_ino}",
        env={"HOME": home},
    )


@contextmanager
def opened(directory: Path, *, own: tuple[str, ...] = ()) -> Iterator[Workspace]:
    """The workspace of a caller who stands there."""
    with open_workspace(stand_in(directory), own) as workspace:
        yield workspace


async def look(registry: Registry, site: Site, name: str, **arguments: object) -> Preview | None:
    """What a call would do; None: it cannot be carried out."""
    call = ToolCall(site.call_id, name, json.dumps(arguments))
    assert site.cwd is not None
    before = read_tree(Path(site.cwd))
    found = await registry.look(call, item_id="t.1.1", site=site)
    assert read_tree(Path(site.cwd)) == before, "a look has changed something"
    return found if isinstance(found, Preview) else None


async def run(registry: Registry, site: Site, name: str, **arguments: object) -> ToolOutput:
    """What a call answers."""
    call = ToolCall(site.call_id, name, json.dumps(arguments))
    output = await registry.run(call, item_id="t.1.1", site=site)
    join_text(output.parts).encode()  # an event must be able to hold it
    return output


async def say(registry: Registry, site: Site, name: str, **arguments: object) -> str:
    """What a call that works answers, as text."""
    output = await run(registry, site, name, **arguments)
    assert not output.is_error, join_text(output.parts)
    return join_text(output.parts)


async def refuse(registry: Registry, site: Site, name: str, **arguments: object) -> str:
    """The sentence of a call that does not work; a look at it found nothing to ask about."""
    assert await look(registry, site, name, **arguments) is None
    output = await run(registry, site, name, **arguments)
    assert output.is_error
    return join_text(output.parts)


def read_tree(top: Path) -> Tree:
    """Everything below a directory, links not followed."""
    found = {}
    for directory, names, files in os.walk(top):
        for name in [*names, *files]:
            path = Path(directory, name)
            status = path.lstat()
            if path.is_symlink():
                held = os.readlink(path)
            elif path.is_file():
                held = path.read_bytes().decode("latin-1")
            else:
                held = ""
            found[str(path.relative_to(top))] = f"{status.st_mode:o} {held}"
    return found
