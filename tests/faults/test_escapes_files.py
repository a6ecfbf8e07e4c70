"""No path leads out of the workspace: case by case, and while another swaps what it means.

Both ways of opening are tried, the kernel's and the walk. What people write instead,
comparing names before they open, is tried as well: it must lose, or the race was none.
"""

import itertools
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from askd.core.items import join_text
from askd.tools import beneath
from askd.tools.base import CannotRun
from askd.tools.files import make_file_tools
from askd.tools.files.places import open_content, open_place, open_spot
from askd.tools.files.replacing import replace_content
from askd.tools.registry import Registry
from askd.tools.workspace import Workspace
from tests.fakes.workspaces import look, opened, read_tree, run, stand_in
from tests.faults.escapes_files import (
    EDIT,
    ESCAPES,
    LIST,
    OLD,
    SECRET,
    TOOLS,
    WRITE,
    WRITTEN,
    Ground,
    make_ground,
)
from tests.faults.swapping import swapped

ITERATIONS = 10_000
PATIENCE_S = 20.0


@pytest.fixture(params=["openat2", "walk"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How paths are opened."""
    if request.param == "openat2":
        assert beneath.has_openat2(), "this kernel cannot show what it is to show"
    else:
        monkeypatch.setattr(beneath, "has_openat2", lambda: False)
    return str(request.param)


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    hidden = tmp_path / "hidden.txt"
    hidden.write_text(f"{OLD} {SECRET}\n")
    secret = os.open(hidden, os.O_RDWR)
    try:
        yield make_ground(tmp_path / "ground", secret)
    finally:
        os.close(secret)


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether what is written outlives the power is not what is asked here."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def make_arguments(tool: str, path: str) -> dict[str, object]:
    if tool == WRITE:
        return {"path": path, "content": WRITTEN}
    if tool == EDIT:
        return {"path": path, "old": OLD, "new": "new"}
    return {"path": path}


@pytest.mark.parametrize("name", ESCAPES)
async def test_no_path_leads_out(name: str, way: str, ground: Ground) -> None:
    escape = ESCAPES[name]
    escape.prepare(ground)
    works = escape.works if way == "openat2" or escape.walking is None else escape.walking
    path = escape.path.replace("{ws}", str(ground.inside)).replace("{out}", str(ground.outside))
    path = path.replace("{fd}", str(ground.secret))
    registry = Registry(make_file_tools(own=[str(ground.inside / "ours")]))
    site = stand_in(ground.inside)
    inside, outside = read_tree(ground.inside), read_tree(ground.outside)
    descriptors = len(os.listdir("/proc/self/fd"))
    # The write last: it is the one that may change what the others find.
    for tool in sorted(TOOLS, key=lambda each: each == WRITE):
        before = read_tree(ground.inside)
        preview = await look(registry, site, tool, **make_arguments(tool, path))
        output = await run(registry, site, tool, **make_arguments(tool, path))
        text = join_text(output.parts)
        assert output.is_error == (tool not in works), (tool, text)
        assert SECRET not in text + str(preview)
        if tool not in works:
            # A listing of what is no directory is found out only by running it.
            assert tool in ("read_file", LIST) or preview is None
            assert read_tree(ground.inside) == before, (tool, text)
        if tool == EDIT and tool in works:
            inside = read_tree(ground.inside)
    changed = {
        each: held
        for each, held in read_tree(ground.inside).items()
        if inside.get(each) != held and not held.startswith("4")
    }
    expected = escape.writes if WRITE in works else {}
    assert {each: held.partition(" ")[2] for each, held in changed.items()} == expected
    assert set(inside) <= set(read_tree(ground.inside)), "something is gone"
    assert read_tree(ground.outside) == outside
    assert os.pread(ground.secret, 100, 0).decode() == f"{OLD} {SECRET}\n"
    assert len(os.listdir("/proc/self/fd")) == descriptors


def test_there_are_cases_enough_and_most_of_them_get_nothing() -> None:
    assert len(ESCAPES) >= 60
    assert sum(not each.works for each in ESCAPES.values()) >= 40


async def test_a_workspace_that_is_gone_or_another_one_is_said(tmp_path: Path, way: str) -> None:
    place = tmp_path / "ws"
    place.mkdir()
    site = stand_in(place)
    registry = Registry(make_file_tools())
    place.rename(tmp_path / "moved")
    for tool in TOOLS:
        output = await run(registry, site, tool, **make_arguments(tool, "notes.md"))
        assert join_text(output.parts) == f"The directory you stood in ({place}) is gone."
    place.mkdir()
    (place / "notes.md").write_text(f"{OLD}\n")
    for tool in TOOLS:
        output = await run(registry, site, tool, **make_arguments(tool, "notes.md"))
        assert output.is_error
        assert join_text(output.parts).endswith(" is another one now.")
    assert (place / "notes.md").read_text() == f"{OLD}\n"
    assert os.listdir(tmp_path / "moved") == []


@pytest.mark.parametrize(
    "path",
    [
        "proc/self/environ",
        "/proc/self/environ",
        "proc/self/root/etc/passwd",
        "proc/self/fd/0",
        "dev/zero",
        "dev/fd/0",
        "proc/kcore",
    ],
)
async def test_the_whole_machine_as_a_workspace_shows_nothing_of_the_daemon(
    path: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = await run(Registry(make_file_tools()), stand_in(Path("/")), "read_file", path=path)
    assert output.is_error, join_text(output.parts)[:100]


@pytest.fixture
def arena(tmp_path: Path) -> Ground:
    """`door` is a directory with a file, and `trap` a link to one outside; in `one`, files."""
    inside, outside = tmp_path / "ws", tmp_path / "outside"
    (inside / "door").mkdir(parents=True)
    (inside / "one").mkdir()
    outside.mkdir()
    (inside / "door" / "file").write_text(INSIDE)
    (inside / "one" / "kept").write_text(INSIDE)
    os.link(inside / "one" / "kept", inside / "one" / "door")
    (outside / "file").write_text(f"{SECRET}\n")
    (inside / "trap").symlink_to("../outside")
    (inside / "one" / "trap").symlink_to("../../outside/file")
    return Ground(inside, outside, -1)


INSIDE = "inside\n"

Act = Callable[[Workspace, int], str]


def read_below(workspace: Workspace, turn: int) -> str:
    return _read(workspace, "door/file")


def read_door(workspace: Workspace, turn: int) -> str:
    return _read(workspace, "one/door")


def write_below(workspace: Workspace, turn: int) -> str:
    return _write(workspace, "door/file")


def make_below(workspace: Workspace, turn: int) -> str:
    return _write(workspace, f"door/{turn}/file")


def write_door(workspace: Workspace, turn: int) -> str:
    # What is written takes the place of one of the two: both are laid out again.
    one = Path(workspace.path, "one")
    # By links to a file that is there: a new one's content would be waited for each time.
    os.link(one / "kept", one / "next")
    (one / "next").rename(one / "door")
    (one / "next").unlink(missing_ok=True)
    (one / "next").symlink_to("../../outside/file")
    (one / "next").rename(one / "trap")
    return _write(workspace, "one/door")


def _read(workspace: Workspace, path: str) -> str:
    with open_place(workspace, path) as found:
        descriptor = open_content(found)
        try:
            return os.read(descriptor, 100).decode()
        finally:
            os.close(descriptor)


def _write(workspace: Workspace, path: str) -> str:
    with open_spot(workspace, path) as spot:
        replace_content(spot, INSIDE.encode(), path)
    return INSIDE


@pytest.mark.parametrize(
    ("act", "iterations"),
    [
        (read_below, ITERATIONS),
        (read_door, ITERATIONS // 5),
        (write_below, ITERATIONS),
        (write_door, ITERATIONS // 20),
        (make_below, ITERATIONS // 10),
    ],
)
def test_whoever_swaps_what_is_opened_for_a_link_gains_nothing(
    act: Act, iterations: int, way: str, arena: Ground
) -> None:
    before = read_tree(arena.outside)
    done = refused = 0
    where = arena.inside / "one" if act in (read_door, write_door) else arena.inside
    with opened(arena.inside) as workspace, swapped(where):
        # On a busy machine the other may not have had its turn yet.
        deadline = time.monotonic() + PATIENCE_S
        for turn in itertools.count():
            if turn >= iterations and (min(done, refused) or time.monotonic() > deadline):
                break
            try:
                assert act(workspace, turn) == INSIDE
                done += 1
            except (CannotRun, OSError):
                refused += 1
    assert read_tree(arena.outside) == before
    assert done, "nothing was ever opened"
    assert refused, "nothing was ever swapped"
    assert not any(".ask-" in each for each in read_tree(arena.inside)), "a half was left"


def test_comparing_names_before_opening_loses_that_race(arena: Ground) -> None:
    root = os.path.realpath(arena.inside)
    lost = tries = 0
    deadline = time.monotonic() + PATIENCE_S
    with swapped(arena.inside):
        while not lost and time.monotonic() < deadline:
            tries += 1
            with suppress(OSError):
                path = os.path.realpath(os.path.join(root, "door/file"))
                if path.startswith(root + os.sep):
                    lost += SECRET in Path(path).read_text()
    assert lost, f"nothing lost in {tries} tries: the race proves nothing"
