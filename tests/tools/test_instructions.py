"""Reading a project's instructions: what is read, what is left out and why, and how much."""

import os
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from askd.core.instructions import InstructionFile
from askd.tools import beneath
from askd.tools.instructions import (
    THREADS,
    TOTAL_BYTES,
    Found,
    InstructionReader,
    find_instructions,
)
from tests.fakes.workspaces import read_tree, stand_in
from tests.tools.test_gitdirs import make_gitdir

NAMES = ("AGENTS.md",)


def find(directory: Path, names: Sequence[str] = NAMES, own: Sequence[str] = ()) -> Found:
    return find_instructions(stand_in(directory), names, lambda: own)


def texts(directory: Path, names: Sequence[str] = NAMES) -> list[str]:
    found = find(directory, names)
    assert found.complaints == ()
    return [each.text for each in found.files]


def complaint(directory: Path, own: Sequence[str] = ()) -> str:
    """Why the one file in a directory is left out."""
    before = read_tree(directory)
    found = find(directory, own=own)
    assert found.files == ()
    assert read_tree(directory) == before
    (sentence,) = found.complaints
    assert sentence.startswith(f"{directory}/AGENTS.md is left out: ")
    return sentence.partition(": ")[2]


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A repository with directories in it."""
    make_gitdir(tmp_path / "top" / ".git")
    (tmp_path / "top" / "a" / "b").mkdir(parents=True)
    return tmp_path / "top"


def test_one_file_of_each_directory_the_outermost_first(top: Path) -> None:
    (top.parent / "AGENTS.md").write_text("beyond")
    (top / "AGENTS.md").write_text("outer")
    (top / "a" / "b" / "AGENTS.md").write_text("inner")
    assert find(top / "a" / "b").files == (
        InstructionFile(f"{top}/AGENTS.md", "outer"),
        InstructionFile(f"{top}/a/b/AGENTS.md", "inner"),
    )
    assert texts(top / "a") == ["outer"]


def test_the_first_name_that_there_is_counts(top: Path) -> None:
    names = ("LOCAL.md", "docs/RULES.md", "AGENTS.md")
    (top / "AGENTS.md").write_text("agents")
    assert texts(top, names) == ["agents"]
    (top / "docs").mkdir()
    (top / "docs" / "RULES.md").write_text("rules")
    assert texts(top, names) == ["rules"]
    (top / "LOCAL.md").write_text(" \n")  # an empty one says nothing
    assert texts(top, names) == ["rules"]
    assert texts(top, ()) == []


def test_a_link_in_the_project_is_followed_and_none_out_of_it(top: Path) -> None:
    (top / "RULES.md").write_text("rules")
    (top / "a" / "AGENTS.md").symlink_to("../RULES.md")
    if beneath.has_openat2():
        assert texts(top / "a") == ["rules"]
    for target in ("../../secret", "/etc/passwd"):
        (top.parent / "secret").write_text("secret")
        link = top / "a" / "AGENTS.md"
        link.unlink()
        link.symlink_to(target)
        assert complaint(top / "a").startswith("it is a link that leads out of the project")


def test_a_directory_that_is_a_link_leads_nowhere_else(top: Path) -> None:
    (top.parent / "docs").mkdir()
    (top.parent / "docs" / "AGENTS.md").write_text("secret")
    (top / "docs").symlink_to("../docs")
    found = find(top, ("docs/AGENTS.md",))
    assert found.files == ()
    assert len(found.complaints) == 1


def test_without_openat2_no_link_is_followed(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beneath, "has_openat2", lambda: False)
    (top / "AGENTS.md").write_text("outer")
    (top / "a" / "AGENTS.md").symlink_to("../AGENTS.md")
    found = find(top / "a")
    assert [each.text for each in found.files] == ["outer"]
    assert len(found.complaints) == 1


def test_a_link_that_leads_to_nothing_is_nothing(top: Path) -> None:
    (top / "AGENTS.md").symlink_to("gone")
    assert texts(top) == []


@pytest.mark.parametrize(
    ("kind", "reason"),
    [("pipe", "it is a named pipe."), ("directory", "it is a directory.")],
)
def test_what_is_no_file_is_not_opened(top: Path, kind: str, reason: str) -> None:
    if kind == "pipe":
        os.mkfifo(top / "AGENTS.md")
    else:
        (top / "AGENTS.md").mkdir()
    assert complaint(top) == reason


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"caf\xe9", "it is not in UTF-8."),
        (b"half \xe2\x82", "it is not in UTF-8."),
        (b"\xff\xfea\0", "it is not in UTF-8."),
        (b"a\0b", "it is no text."),
        (b"x" * (TOTAL_BYTES - 1) + b"\xff" * 9, "it is not in UTF-8."),
    ],
)
def test_what_is_no_text_is_left_out(top: Path, data: bytes, reason: str) -> None:
    (top / "AGENTS.md").write_bytes(data)
    assert complaint(top) == reason


def test_a_mark_at_its_beginning_is_none_of_its_text(top: Path) -> None:
    (top / "AGENTS.md").write_bytes(b"\xef\xbb\xbfhue")
    assert texts(top) == ["hue"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_what_somebody_else_has_left_there_is_left_out(top: Path) -> None:
    (top / "AGENTS.md").write_text("obey")
    os.chown(top / "AGENTS.md", 4711, 4711)
    assert complaint(top) == "it belongs to somebody else."
    os.chown(top, 4711, 4711)  # then one stands in that person's own directory
    assert texts(top) == ["obey"]


def test_a_link_to_what_is_our_own_is_left_out(top: Path) -> None:
    if not beneath.has_openat2():
        pytest.skip("no link is followed here")
    (top / "data").mkdir()
    (top / "data" / "auth.json").write_text("{}")
    (top / "AGENTS.md").symlink_to("data/auth.json")
    assert complaint(top, [str(top / "data")]) == "it is a link to what is ask's own."
    assert find(top, own=[str(top / "other")]).complaints == ()


def test_a_name_is_complained_of_on_one_line(tmp_path: Path) -> None:
    odd = tmp_path / "o\n\x1bdd"
    odd.mkdir()
    (odd / "AGENTS.md").mkdir()
    (sentence,) = find(odd).complaints
    assert sentence.isprintable()


def test_where_there_is_no_room_for_all_the_nearest_goes_first(top: Path) -> None:
    (top / "AGENTS.md").write_text("o" * 9_000)
    (top / "a" / "AGENTS.md").write_text("m" * TOTAL_BYTES)
    (top / "a" / "b" / "AGENTS.md").write_text("i" * 1_000)
    found = find(top / "a" / "b")
    assert [(each.text[0], each.bytes, each.left_out_bytes) for each in found.files] == [
        ("m", TOTAL_BYTES - 1_000, 1_000),
        ("i", 1_000, 0),
    ]
    assert found.complaints == (
        f"{top}/AGENTS.md is left out: there is no room for it beside the others.",
    )


def test_a_file_that_just_fits_is_whole(top: Path) -> None:
    (top / "AGENTS.md").write_text("x" * TOTAL_BYTES)
    (found,) = find(top).files
    assert (found.bytes, found.left_out_bytes) == (TOTAL_BYTES, 0)


def test_a_cut_leaves_whole_characters(top: Path) -> None:
    (top / "AGENTS.md").write_text("x" + "€" * TOTAL_BYTES)
    (found,) = find(top).files
    assert set(found.text[1:]) == {"€"}
    assert TOTAL_BYTES - 3 < found.bytes <= TOTAL_BYTES
    assert found.bytes + found.left_out_bytes == 1 + 3 * TOTAL_BYTES


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200), st.sampled_from([0, TOTAL_BYTES - 3, TOTAL_BYTES]))
def test_whatever_stands_in_it_an_event_can_hold_what_is_read(
    top: Path, data: bytes, before: int
) -> None:
    (top / "AGENTS.md").write_bytes(b"x" * before + data)
    found = find(top)
    for each in found.files:
        assert each.bytes <= TOTAL_BYTES
        assert "\0" not in each.text
        each.text.encode()
    if not found.files and not found.complaints:
        assert before == 0
        assert not data.decode("utf-8-sig").strip()


def test_nowhere_and_gone(top: Path) -> None:
    (top / "AGENTS.md").write_text("outer")
    site = stand_in(top)
    assert find_instructions(replace(site, cwd=None), NAMES) == Found()
    assert find_instructions(replace(site, cwd_id="1:1"), NAMES) == Found()
    (top / "gone").mkdir()
    site = stand_in(top / "gone")
    (top / "gone").rmdir()
    assert find_instructions(site, NAMES) == Found()


def test_everything_is_closed_again(top: Path) -> None:
    (top / "AGENTS.md").write_text("outer")
    (top / "a" / "AGENTS.md").mkdir()
    (top / "a" / "b" / "AGENTS.md").write_bytes(b"\xff")
    before = sorted(os.listdir("/proc/self/fd"))
    find(top / "a" / "b")
    assert sorted(os.listdir("/proc/self/fd")) == before


async def test_it_is_read_in_a_thread(top: Path) -> None:
    (top / "AGENTS.md").write_text("outer")
    reader = InstructionReader()
    assert (await reader.read(stand_in(top), NAMES)).files[0].text == "outer"
    assert await reader.read(replace(stand_in(top), cwd=None), NAMES) == Found()


async def test_threads_that_hang_keep_nobody(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Event()
    (top / "AGENTS.md").write_text("outer")
    (top / "RULES.md").write_text("rules")
    (top / "AGENTS.md").unlink()
    (top / "AGENTS.md").symlink_to("RULES.md")

    def hang() -> Sequence[str]:
        go_on.wait(10)
        return ()

    reader = InstructionReader(hang)
    for _ in range(THREADS + 1):
        with trio.move_on_after(0.02) as patience:
            await reader.read(stand_in(top), NAMES)
        assert patience.cancelled_caught
    go_on.set()
    assert (await reader.read(stand_in(top), NAMES)).files[0].text == "rules"
