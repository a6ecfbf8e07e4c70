"""Hits: read in any pieces, and believed only when they are there."""

import itertools
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.tools.hits import HEAD_BYTES, LINE_BYTES, Hit, HitReader, check_hits
from askd.tools.workspace import Workspace, open_workspace
from tests.fakes.tools import SITE


def read(*pieces: bytes) -> list[Hit]:
    reader = HitReader()
    return [hit for piece in pieces for hit in reader.feed(piece)]


OUTPUT = b"./a b:c\x001:0:one:two\nsrc/x\x0012:345:\xff\nno hit\n\x00\n./y\x00z:1:2\ny\x003:4:"
HITS = [
    Hit(path="a b:c", number=1, offset=0, text=b"one:two"),
    Hit(path="src/x", number=12, offset=345, text=b"\xff"),
]


@given(st.lists(st.integers(0, len(OUTPUT))).map(sorted))
def test_the_pieces_do_not_matter_and_what_is_no_hit_is_none(cuts: list[int]) -> None:
    places = [0, *cuts, len(OUTPUT)]
    assert read(*(OUTPUT[a:b] for a, b in itertools.pairwise(places))) == HITS
    assert read(OUTPUT, b"\n")[-1] == Hit(path="y", number=3, offset=4, text=b"")


@given(st.binary(max_size=200))
def test_no_output_breaks_it(output: bytes) -> None:
    read(output, b"\n")


def test_of_a_line_without_end_only_its_beginning_is_kept() -> None:
    reader = HitReader()
    reader.feed(b"f\x001:0:")
    for _ in range(100):
        reader.feed(b"x" * 65_536)
        assert len(reader._line) <= HEAD_BYTES + LINE_BYTES
    (hit,) = reader.feed(b"\n")
    assert hit.text == b"x" * LINE_BYTES


# ---- checked -------------------------------------------------------------------------


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """A directory with a file, a link out, and something of ours."""
    (tmp_path / "file").write_text("first\nsecond\n")
    (tmp_path / "out").symlink_to("/etc")
    (tmp_path / "in").symlink_to("file")
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours" / "key").write_text("second\n")
    os.mkfifo(tmp_path / "fifo")
    with open_workspace(replace(SITE, cwd=str(tmp_path)), [str(tmp_path / "ours")]) as found:
        yield found


SECOND = Hit(path="file", number=2, offset=6, text=b"second")
PASSWD = Path("/etc/passwd").read_bytes().split(b"\n")[0]


@pytest.mark.parametrize(
    "hit",
    [
        replace(SECOND, offset=5),
        replace(SECOND, offset=1 << 40),
        replace(SECOND, text=b"secret"),
        replace(SECOND, path="in"),
        replace(SECOND, path="fifo"),
        replace(SECOND, path="."),
        replace(SECOND, path="nowhere"),
        Hit(path="ours/key", number=1, offset=0, text=b"second"),
        Hit(path="out/passwd", number=1, offset=0, text=PASSWD),
        Hit(path="/etc/passwd", number=1, offset=0, text=PASSWD),
        Hit(path="../../../../../../etc/passwd", number=1, offset=0, text=PASSWD),
    ],
    ids=lambda hit: hit.path,
)
def test_what_is_not_there_is_no_hit(workspace: Workspace, hit: Hit) -> None:
    assert check_hits(workspace, [hit, SECOND]) == [SECOND]
