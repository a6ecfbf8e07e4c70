"""Of a file the lines are read that are asked for, whatever the file is."""

import io
import os
from pathlib import Path

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from askd.tools.files import reading
from askd.tools.files.reading import describe_binary, make_read_file, read_passage
from askd.tools.registry import Registry
from tests.fakes.workspaces import look, refuse, run, say, stand_in

TOOLS = Registry([make_read_file()])
LINES = st.lists(st.binary(max_size=6).map(lambda each: each.replace(b"\n", b"")), max_size=12)


async def read(place: Path, **arguments: object) -> str:
    return await say(TOOLS, stand_in(place), "read_file", path="f", **arguments)


@given(
    lines=LINES,
    ended=st.booleans(),
    offset=st.integers(1, 15),
    limit=st.integers(1, 15),
    chunk=st.integers(1, 8),
)
def test_a_range_is_what_its_lines_are(
    lines: list[bytes], ended: bool, offset: int, limit: int, chunk: int
) -> None:
    content = b"\n".join(lines) + (b"\n" if ended and lines else b"")
    whole = content.split(b"\n")
    whole = [each + b"\n" for each in whole[:-1]] + ([whole[-1]] if whole[-1] else [])
    before, reading.CHUNK_BYTES = reading.CHUNK_BYTES, chunk
    try:
        passage = read_passage(io.BytesIO(content), offset, limit)
    finally:
        reading.CHUNK_BYTES = before
    wanted = whole[offset - 1 : offset - 1 + limit]
    assert passage.content == b"".join(wanted)
    assert passage.lines == len(wanted)
    assert not passage.is_cut
    if wanted:
        assert passage.is_end == (offset - 1 + limit >= len(whole))
        assert passage.total is None
    else:
        assert passage.total == len(whole)


@given(lines=LINES, most=st.integers(1, 20))
def test_no_more_is_read_than_fits_and_reading_on_gives_the_rest(
    lines: list[bytes], most: int
) -> None:
    content = b"".join(each + b"\n" for each in lines)
    before, reading.READ_BYTES = reading.READ_BYTES, most
    found, offset = b"", 1
    try:
        for _ in range(len(lines) + 1):
            passage = read_passage(io.BytesIO(content), offset, 1_000)
            assert len(passage.content) <= most
            if passage.is_cut:
                return  # the rest of a line that is too long is not to be had
            found += passage.content
            offset += passage.lines
            if passage.is_end:
                break
    finally:
        reading.READ_BYTES = before
    assert found == content


async def test_a_whole_file_is_its_text(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("eins\nzwei ü\n")
    assert await read(tmp_path) == "eins\nzwei ü\n"
    (tmp_path / "f").write_text("")
    assert await read(tmp_path) == "[f is empty]"


async def test_a_range_says_which_it_is(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("".join(f"{number}\n" for number in range(1, 3_001)))
    assert (await read(tmp_path)).startswith(
        "[lines 1 to 2,000 of f; more follows at offset 2001]\n1\n2\n"
    )
    assert await read(tmp_path, offset=2_999) == "[lines 2,999 to 3,000 of f]\n2999\n3000\n"
    assert await read(tmp_path, offset=7, limit=1) == "[line 7 of f; more follows at offset 8]\n7\n"
    said = await run(TOOLS, stand_in(tmp_path), "read_file", path="f", offset=3_001)
    assert said.is_error
    assert "f has only 3,000 lines." in str(said.parts)


async def test_a_line_that_does_not_fit_is_cut_between_characters(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x" + "ü" * reading.READ_BYTES)
    text = await read(tmp_path)
    assert text.startswith(f"[line 1 of f; only the first {reading.READ_BYTES:,} bytes of that")
    assert "no UTF-8" not in text


async def test_line_ends_and_strange_bytes_are_said(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"a\r\nb\r\n")
    assert await read(tmp_path) == "[each line ends with CR LF, shown as LF]\na\nb\n"
    (tmp_path / "f").write_bytes(b"a\r\nb\n")
    assert await read(tmp_path) == "a\r\nb\n"
    (tmp_path / "f").write_bytes(b"caf\xe9\n")
    assert await read(tmp_path) == "[bytes that are no UTF-8 are shown as \ufffd]\ncaf\ufffd\n"
    (tmp_path / "f").write_text("\ufffd\n")
    assert await read(tmp_path) == "\ufffd\n"


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n....", "an image (image/png), and images cannot be read yet"),
        (b"\x7fELF\x02", "a program"),
        (b"PK\x03\x04", "a ZIP archive, or a document that is one"),
        (b"\xff\xfeh\x00i\x00", "text in UTF-16, which is not read here"),
        (b"a\x00b", "with NUL characters among them"),
    ],
)
async def test_what_is_no_text_is_named(content: bytes, kind: str, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(content)
    assert describe_binary(content) == kind
    output = await run(TOOLS, stand_in(tmp_path), "read_file", path="f")
    assert f"f is no text: {len(content)} bytes, {kind}." in str(output.parts)


async def test_a_nul_further_down_is_found(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"a\n" * 10_000 + b"\0\n")
    assert (await read(tmp_path)).startswith("[lines 1 to 2,000")
    output = await run(TOOLS, stand_in(tmp_path), "read_file", path="f", offset=9_999)
    assert "NUL characters" in str(output.parts)


async def test_a_huge_file_is_not_held(tmp_path: Path) -> None:
    with (tmp_path / "f").open("wb") as stream:
        stream.write(b"first\n" * 3_000)
        stream.truncate(5 * 1024**3)  # sparse: it takes no room
    assert (await read(tmp_path, limit=1)).startswith("[line 1 of f; more follows")


async def test_reading_far_into_a_huge_file_can_be_cancelled(tmp_path: Path) -> None:
    with (tmp_path / "f").open("wb") as stream:
        stream.write(b"first\n" * 3_000)
        stream.truncate(1024**4)  # a tebibyte of nothing takes minutes to go through
    with trio.move_on_after(0.05) as scope:
        await read(tmp_path, offset=10_000)
    assert scope.cancelled_caught


async def test_a_file_that_may_not_be_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x")
    real = os.open

    def refusing(path: str, flags: int, *more: int, **others: int) -> int:
        if str(path).startswith("/proc/self/fd/"):
            raise PermissionError(13, "Permission denied", path)
        return real(path, flags, *more, **others)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", refusing)
        output = await run(TOOLS, stand_in(tmp_path), "read_file", path="f")
    assert "f: Permission denied." in str(output.parts)


async def test_nobody_is_asked_but_for_what_a_home_hides(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x")
    (tmp_path / ".netrc").write_text("x")
    (tmp_path / "link").symlink_to(".netrc")
    plain = await look(TOOLS, stand_in(tmp_path), "read_file", path=".netrc")
    assert plain is not None
    assert (plain.needs, plain.writes, plain.confined) == ("auto", None, True)
    at_home = stand_in(tmp_path, home=str(tmp_path))
    for path, needs in (("f", "auto"), (".netrc", "ask"), ("link", "ask")):
        preview = await look(TOOLS, at_home, "read_file", path=path)
        assert preview is not None
        assert preview.needs == needs, path
    assert preview is not None
    assert preview.title == "Read .netrc"


async def test_arguments_that_mean_nothing_are_refused(tmp_path: Path) -> None:
    site = stand_in(tmp_path)
    for arguments in ({"offset": 0}, {"limit": 0}, {"offset": "x"}, {"lines": 3}):
        said = await refuse(TOOLS, site, "read_file", path="f", **arguments)
        assert said.startswith("The arguments of 'read_file' do not fit")
    assert "lone surrogate" in await refuse(TOOLS, site, "read_file", path="\ud800")
