"""`search_files`, with ripgrep and without: the same hits, the same bounds."""

import os
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio

from askd.core.items import join_text
from askd.tools import search
from askd.tools.base import CannotRun, Result, Site
from askd.tools.search import make_search_files
from tests.fakes.sandboxes import Bare
from tests.fakes.tools import SITE

RIPGREP = shutil.which("rg")
WITH_RIPGREP = pytest.mark.skipif(RIPGREP is None, reason="ripgrep is not installed")


@pytest.fixture(params=["ours", pytest.param("ripgrep", marks=WITH_RIPGREP)])
def programs(request: pytest.FixtureRequest) -> str:
    """The daemon's PATH: with ripgrep on it, or not."""
    return os.path.dirname(RIPGREP) if request.param == "ripgrep" and RIPGREP else "/nonexistent"


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A caller in a small project."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("needle\n")
    (tmp_path / ".gitignore").write_text("*.log\n")
    (tmp_path / "a.log").write_text("needle\n")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("one\na Needle\n\x1b]52;c;eA==\x07needle\r\n")
    (tmp_path / "src" / "b.txt").write_text("needle needle\n")
    (tmp_path / ".hidden").write_text("needle")
    (tmp_path / "binary").write_bytes(b"\0needle\n")
    (tmp_path / "etc").symlink_to("/etc")
    (tmp_path / "passwd").symlink_to("/etc/passwd")
    return replace(SITE, cwd=str(tmp_path), env={"PATH": os.defpath, "HOME": "/nonexistent"})


async def run(site: Site, programs: str, own: tuple[str, ...] = (), /, **arguments: Any) -> Result:
    tool = make_search_files(sandbox=Bare, path=programs, own=own)
    with trio.fail_after(30):
        return await tool.run({"pattern": "needle", **arguments}, site)


async def told(
    site: Site, programs: str, own: tuple[str, ...] = (), /, **arguments: Any
) -> list[str]:
    result = await run(site, programs, own, **arguments)
    assert not result.is_error
    return join_text(result.parts).split("\n")


async def test_hits_with_path_number_and_text(site: Site, programs: str) -> None:
    assert await told(site, programs) == [
        ".hidden:1: needle",
        "src/a.py:3: needle",
        "src/b.txt:1: needle needle",
    ]


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ({"ignore_case": True, "glob": "*.py"}, ["src/a.py:2: a Needle", "src/a.py:3: needle"]),
        ({"path": "src", "glob": "*.txt"}, ["src/b.txt:1: needle needle"]),
        ({"path": "src/b.txt"}, ["src/b.txt:1: needle needle"]),
        ({"path": "./src/../src/b.txt"}, ["src/b.txt:1: needle needle"]),
        ({"pattern": "ne+dle n"}, ["src/b.txt:1: needle needle"]),
        ({"pattern": "-n"}, ["No hits."]),
        ({"pattern": "needle", "glob": "--x"}, ["No hits."]),
        ({"pattern": "root:"}, ["No hits."]),
    ],
)
async def test_what_is_asked_for(
    site: Site, programs: str, arguments: dict[str, Any], lines: list[str]
) -> None:
    assert await told(site, programs, **arguments) == lines


async def test_a_named_path_is_in_the_workspace_or_refused(site: Site, programs: str) -> None:
    for each in ("/etc", "etc", "passwd", "../", "nowhere", "a\0b"):
        with pytest.raises(CannotRun):
            await run(site, programs, pattern="root", path=each)
    whole = await told(site, programs, path=f"{site.cwd}/src", glob="*.txt")
    assert whole == ["src/b.txt:1: needle needle"]


async def test_what_is_ours_is_not_told(site: Site, programs: str, tmp_path: Path) -> None:
    assert await told(site, programs, (str(tmp_path / "src"),)) == [".hidden:1: needle"]


async def test_more_hits_than_wanted(site: Site, programs: str, tmp_path: Path) -> None:
    (tmp_path / "many").write_text("needle\n" * 200_000)
    lines = await told(site, programs, max_results=3, path="many")
    assert lines[:3] == ["many:1: needle", "many:2: needle", "many:3: needle"]
    assert lines[3:] == ["[These are the first 3 hits; there are more. Search for less.]"]


async def test_long_lines_are_cut(site: Site, programs: str, tmp_path: Path) -> None:
    (tmp_path / "long").write_text("needle " + "x" * 5_000_000 + "\nneedle\n")
    lines = await told(site, programs, path="long")
    assert lines[0] == "long:1: needle " + "x" * 293 + " [...]"
    assert lines[1] == "long:2: needle"


async def test_what_is_no_expression_is_said(site: Site, programs: str) -> None:
    result = await run(site, programs, pattern="(")
    assert result.is_error
    assert "It could not be searched: " in join_text(result.parts)


async def test_an_expression_that_takes_for_ever_is_stopped(
    site: Site, programs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "zeros").write_text("0" * 5000 + "x\n")
    monkeypatch.setattr(search, "SEARCH_S", 0.5)
    began = time.monotonic()
    result = await run(site, programs, pattern="(0+0+)+$", path="zeros")
    assert time.monotonic() - began < 5
    if programs == "/nonexistent":  # ripgrep knows better and is done
        assert result.is_error
        assert "Stopped after 0.5 s" in join_text(result.parts)


async def test_a_preview_needs_nobody(site: Site) -> None:
    found = await make_search_files(sandbox=Bare).preview({"pattern": "x", "path": "src"}, site)
    assert (found.needs, found.writes, found.title) == ("auto", None, "Search src for x")


@contextmanager
def swapping(directory: Path, elsewhere: Path) -> Iterator[None]:
    """A directory that is a link to another one again and again, as fast as can be."""
    aside, link = directory.with_name("aside"), directory.with_name("link")
    link.symlink_to(elsewhere)
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            directory.rename(aside)
            link.rename(directory)
            directory.rename(link)
            aside.rename(directory)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


async def test_a_directory_that_becomes_a_link_meanwhile_leads_nowhere(
    programs: str, tmp_path: Path
) -> None:
    """The programs follow it now and then; what they bring back then is not told."""
    place, secret = tmp_path / "place", tmp_path / "secret"
    inner = place / "inner"
    inner.mkdir(parents=True)
    secret.mkdir()
    for number in range(100):
        (inner / f"{number}").write_text(f"needle of mine {number}\n")
        (secret / f"{number}").write_text(f"needle of others {number}\n")
    site = replace(SITE, cwd=str(place), env={"PATH": os.defpath})
    with swapping(inner, secret):
        for _ in range(10):
            result = await run(site, programs, max_results=1000)
            assert "of others" not in join_text(result.parts)
