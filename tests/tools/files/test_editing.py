"""An edit changes one passage, or says why it does not; all else stays, byte for byte."""

from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from askd.core.items import join_text
from askd.tools.base import CannotRun
from askd.tools.files import editing, make_file_tools
from askd.tools.files.editing import find_places, plan_edit
from askd.tools.files.writing import TEXT_BYTES
from askd.tools.registry import Registry
from tests.fakes.workspaces import look, refuse, run, say, stand_in

NAME = "edit_file"
TEXT = st.text(alphabet="ab\nü", max_size=12)


@pytest.fixture
def tools() -> Registry:
    return Registry(make_file_tools())


def plan(content: bytes, old: str, new: str, *, replace_all: bool = False) -> bytes:
    return plan_edit(content, old, new, replace_all=replace_all, name="f").content


def find_refusal(content: bytes, old: str, new: str, *, replace_all: bool = False) -> str:
    with pytest.raises(CannotRun) as caught:
        plan(content, old, new, replace_all=replace_all)
    return str(caught.value)


@given(before=TEXT, old=TEXT.filter(bool), after=TEXT, new=TEXT, ends=st.sampled_from("\n\r"))
def test_the_inverse_edit_gives_the_original_back(
    before: str, old: str, after: str, new: str, ends: str
) -> None:
    assume(old != new)
    content = (before + old + after).encode()
    if ends == "\r":
        # With a line that stays, so that both know how lines end here.
        content = b"first\r\n" + content.replace(b"\n", b"\r\n")
    assume(new != "")
    try:
        edited = plan(content, old, new)
        restored = plan(edited, new, old)
    except CannotRun:
        return  # several places: nothing was changed
    assert restored == content
    assert edited != content


@given(content=TEXT, old=TEXT.filter(bool), new=TEXT)
def test_what_is_not_there_once_is_not_replaced(content: str, old: str, new: str) -> None:
    assume(old != new)
    data = content.encode()
    places = sum(content.startswith(old, place) for place in range(len(content)))
    assert len(find_places(data, old.encode())) == places
    if places == 1:
        assert plan(data, old, new) == content.replace(old, new).encode()
    else:
        said = find_refusal(data, old, new)
        assert f"{places} times" in said if places else "is not in f" in said
    if places:
        assert plan(data, old, new, replace_all=True) == content.replace(old, new).encode()


def test_several_places_are_named_by_their_lines() -> None:
    assert find_refusal(b"x\na\nb\na\n", "a", "c") == (
        "`old` is in f 2 times, at lines 2, 4: give more of what stands around the one you mean, "
        "or set `replace_all`."
    )
    assert "12 times, at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ...:" in find_refusal(
        b"a\n" * 12, "a", "c"
    )
    assert "2 times" in find_refusal(b"aaa", "aa", "b"), "places that overlap are two"
    assert "100 times or more" in find_refusal(b"a" * 1_000_000, "a" * 1_000, "b")


def test_line_ends_stay_as_they_are() -> None:
    assert plan(b"a\r\nb\r\n", "a\nb", "c\nd\ne") == b"c\r\nd\r\ne\r\n"
    assert plan(b"a\r\nb\r\n", "a\r\nb", "c\r\nd") == b"c\r\nd\r\n"
    assert plan(b"a\r\nb\r\n", "a", "c\nd") == b"c\r\nd\r\nb\r\n"
    assert plan(b"a\r\nb\n", "b\n", "c\n") == b"a\r\nc\n"
    assert "is not in f" in find_refusal(b"a\r\nb\n", "a\nb", "c")
    assert "how lines end" in find_refusal(b"a\r\nb\r\n", "a\r\n", "a\n")


def test_bytes_that_are_no_text_stay() -> None:
    assert plan(b"\xff caf\xe9 ok \xfe", "ok", "ja") == b"\xff caf\xe9 ja \xfe"


def test_edits_that_mean_nothing_are_refused() -> None:
    assert "`old` is empty" in find_refusal(b"x", "", "y")
    assert "nothing would change" in find_refusal(b"x", "x", "x")


def test_a_file_cannot_be_blown_up() -> None:
    said = find_refusal(b"a" * 10_000, "a", "b" * 10_000, replace_all=True)
    assert said == f"f would become larger than {TEXT_BYTES:,} bytes."


async def test_an_edit_is_shown_done_and_answered_with_its_diff(
    tools: Registry, tmp_path: Path
) -> None:
    place = tmp_path / "f"
    place.write_text("eins\nzwei\ndrei\n")
    place.chmod(0o640)
    site = stand_in(tmp_path)
    arguments = {"path": "f", "old": "zwei", "new": "2"}
    diff = "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n eins\n-zwei\n+2\n drei\n"
    preview = await look(tools, site, NAME, **arguments)
    assert preview is not None
    assert (preview.title, preview.body, preview.writes) == ("Edit f", diff, ("f",))
    assert preview.grant is not None
    assert preview.grant.tool == "write_file", "whoever allows the one allows the other"
    assert await say(tools, site, NAME, **arguments) == f"Changed f.\n\n{diff}"
    assert place.read_text() == "eins\n2\ndrei\n"
    assert place.stat().st_mode & 0o777 == 0o640
    said = await say(tools, site, NAME, path="f", old="e", new="E", replace_all=True)
    assert said.startswith("Changed f in 2 places.\n\n---")


async def test_an_edit_that_fits_no_more_is_not_made(tools: Registry, tmp_path: Path) -> None:
    place = tmp_path / "f"
    place.write_text("one two\n")
    site = stand_in(tmp_path)
    assert await look(tools, site, NAME, path="f", old="one", new="1") is not None
    place.write_text("two one one\n")
    output = await run(tools, site, NAME, path="f", old="one", new="1")
    assert "2 times" in join_text(output.parts)
    place.write_text("three one\n")  # here it is as clear as it was
    await say(tools, site, NAME, path="f", old="one", new="1")
    assert place.read_text() == "three 1\n"


async def test_what_is_no_text_or_too_large_or_not_there_is_refused(
    tools: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = stand_in(tmp_path)
    (tmp_path / "f").write_bytes(b"ok\0")
    assert "is no text" in await refuse(tools, site, NAME, path="f", old="ok", new="x")
    assert await refuse(tools, site, NAME, path="none", old="ok", new="x") == (
        "There is no none; to make it, use write_file."
    )
    monkeypatch.setattr(editing, "TEXT_BYTES", 2)
    assert "is larger than 2 bytes" in await refuse(tools, site, NAME, path="f", old="a", new="b")
