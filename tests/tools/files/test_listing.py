"""A listing names what is there, follows nothing, and says what it leaves out."""

import os
from pathlib import Path

import pytest
import trio

from askd.core.items import join_text
from askd.tools.beneath import open_beneath
from askd.tools.files import listing, make_file_tools
from askd.tools.files.listing import list_tree
from askd.tools.registry import Registry
from tests.fakes.workspaces import look, opened, refuse, run, say, stand_in

NAME = "list_directory"


@pytest.fixture
def tools() -> Registry:
    return Registry(make_file_tools())


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "b" / "c").mkdir(parents=True)
    (tmp_path / "b" / "c" / "deep").write_text("1")
    (tmp_path / "b" / "x").write_text("12")
    (tmp_path / "a.txt").write_text("x" * 1_234)
    (tmp_path / "loop").symlink_to(".")
    (tmp_path / "out").symlink_to("/etc")
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


async def test_entries_are_sorted_and_say_what_they_are(tools: Registry, tree: Path) -> None:
    assert (await say(tools, stand_in(tree), NAME)).splitlines() == [
        "a.txt (1,234 bytes)",
        "b/",
        "loop -> .",
        "out -> /etc",
        "pipe (a named pipe)",
    ]


async def test_deeper_levels_are_shown_if_asked_for(tools: Registry, tree: Path) -> None:
    text = await say(tools, stand_in(tree), NAME, path="b", depth=1)
    assert text.splitlines() == ["c/", "x (2 bytes)"]
    text = await say(tools, stand_in(tree), NAME, depth=8)
    assert text.splitlines()[1:5] == ["b/", "b/c/", "b/c/deep (1 byte)", "b/x (2 bytes)"]
    assert "loop/" not in text
    assert "passwd" not in text


async def test_names_and_targets_stay_on_their_lines(tools: Registry, tmp_path: Path) -> None:
    (tmp_path / "a\nb\x1b]0;x\x07").write_text("")
    (tmp_path / "l").symlink_to("x" * 1_000)
    os.mkdir(os.fsencode(tmp_path) + b"/\xff")
    text = await say(tools, stand_in(tmp_path), NAME, depth=2)
    assert text.splitlines() == [
        "a\\nb\\x1b]0;x\\x07 (0 bytes)",
        f"l -> {'x' * listing.TARGET_CHARACTERS}...",
        "\\xff/",
    ]


async def test_a_large_directory_is_cut_and_that_is_said(
    tools: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "ENTRIES", 5)
    for number in range(9):
        (tmp_path / f"d{number}").mkdir()
    text = await say(tools, stand_in(tmp_path), NAME, depth=2)
    assert text.splitlines() == [
        "d0/",
        "d1/",
        "d2/",
        "d3/",
        "d4/",
        "[not shown: 4 more of the entries]",
        "[not looked into, of the directories above: 5]",
    ]


def test_the_nearest_entries_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    for number in range(3):
        (tmp_path / "a" / "b" / f"deep{number}").write_text("")
        (tmp_path / f"z{number}").write_text("")
    monkeypatch.setattr(listing, "ENTRIES", 6)
    with opened(tmp_path) as workspace:
        found = list_tree(workspace, ".", 8)
    assert [each.split(" ")[0] for each in found.lines] == [
        "a/",
        "a/b/",
        "a/b/deep0",
        "z0",
        "z1",
        "z2",
    ]
    assert (found.left_out, found.closed) == (2, 0)


async def test_what_is_no_directory_is_said(tools: Registry, tree: Path) -> None:
    for path, kind in (("a.txt", "a file"), ("pipe", "a named pipe")):
        output = await run(tools, stand_in(tree), NAME, path=path)
        assert join_text(output.parts) == f"{path} is {kind}, not a directory."
    assert "depth" in await refuse(tools, stand_in(tree), NAME, depth=9)
    (tree / "empty").mkdir()
    assert await say(tools, stand_in(tree), NAME, path="empty") == "[empty is empty]"


async def test_what_a_home_hides_is_not_looked_into_unasked(
    tools: Registry, tmp_path: Path
) -> None:
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "id").write_text("")
    site = stand_in(tmp_path, home=str(tmp_path))
    preview = await look(tools, site, NAME, depth=3)
    assert preview is not None
    assert preview.needs == "auto"
    assert await say(tools, site, NAME, depth=3) == ".ssh/ (not looked into)"
    preview = await look(tools, site, NAME, path=".ssh")
    assert preview is not None
    assert preview.needs == "ask"
    assert await say(tools, site, NAME, path=".ssh") == "id (0 bytes)"


async def test_our_own_directories_are_named_and_stay_closed(tmp_path: Path) -> None:
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours" / "auth.json").write_text("")
    tools = Registry(make_file_tools(own=[str(tmp_path / "ours")]))
    assert await say(tools, stand_in(tmp_path), NAME, depth=3) == "ours/ (not looked into)"


def test_a_listing_that_nobody_waits_for_ends(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()

    def stop() -> None:
        raise trio.Cancelled._create()

    with opened(tmp_path) as workspace, pytest.raises(trio.Cancelled):
        list_tree(workspace, ".", 1, stop)


def test_what_vanishes_in_between_is_no_trouble(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    real = listing._read_names

    def vanish(*arguments: object) -> object:
        found = real(*arguments)  # type: ignore[arg-type]  # passed on as they came
        for each in tmp_path.iterdir():
            each.rmdir()
        return found

    monkeypatch.setattr(listing, "_read_names", vanish)
    with opened(tmp_path) as workspace:
        found = list_tree(workspace, ".", 2)
    assert found.lines == ["a (No such file or directory)", "b (No such file or directory)"]


def test_a_directory_that_stays_closed_is_not_shown_as_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)

    def refuse_inner(root: int, path: str, flags: int, *, links: bool = True) -> int:
        if path == "a":
            raise PermissionError(13, "Permission denied", path)
        return open_beneath(root, path, flags, links=links)

    monkeypatch.setattr("askd.tools.files.listing.open_beneath", refuse_inner)
    with opened(tmp_path) as workspace:
        assert list_tree(workspace, ".", 1).lines == ["a/"]
        assert list_tree(workspace, ".", 2).lines == ["a/ (Permission denied)"]
        with pytest.raises(PermissionError):
            list_tree(workspace, "a", 1)
