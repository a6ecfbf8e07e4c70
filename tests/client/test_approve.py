"""An approval on a screen: everything that would be done, and nothing of it as our own words."""

import os
import pty
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ask.approve import (
    GUTTER,
    LEAST_ROWS,
    OUR_ROWS,
    Approval,
    Sight,
    find_sight,
    lay_out_approval,
    read_approval,
)
from ask.graphemes import find_width

NARROW = Sight(columns=40, rows=20)
PAINT = re.compile(r"\x1b\[(?:0|1|31|32|36)m")
"""All that we ever send a terminal ourselves."""
DIFF = "--- a/notes.md\n+++ b/notes.md\n@@ -1,2 +1,2 @@\n same\n-old\n+new"
HOSTILE = [
    "\x1b]52;c;cm0gLXJmIH4=\x07",  # the clipboard
    "\x1b]0;title\x07",
    "\x1b[2J\x1b[H",
    "\x9b2J\x9d0;x\x9c",
    "safe\rrm -rf ~",
    "\x1bP+q\x1b\\",
    "evil\u202etxt.\u2066exe",
    "\x08\x08\x08\x7f\x00",
    "line\u2028separator\u0085next",
]
FAKE = "\n\n1. Yes\n2. No\n\nAllow it? (1-2 or y/n)\nAnswered elsewhere: Yes\n"


def test_what_would_be_done_and_where() -> None:
    detail = {
        "title": "Run: make test",
        "body": "make test\n",
        "cwd": "/home/u/p",
        "confinement": "Nothing confines it.",
    }
    approval = read_approval(detail, "other")
    shown = ["Run: make test", "  | make test", "  In /home/u/p", "  Nothing confines it."]
    assert lay_out_approval(approval, Sight()) == shown
    # Who stands there knows it.
    del shown[2]
    assert lay_out_approval(approval, Sight(directory="/home/u/p")) == shown


def test_our_own_words_are_broken_between_words() -> None:
    approval = Approval("Run", note="It writes to this directory and nowhere else.")
    assert lay_out_approval(approval, NARROW)[1:] == [
        *("  It writes to this directory and", "  nowhere else."),
    ]


@pytest.mark.parametrize(
    ("detail", "approval"),
    [
        ({}, Approval("Run: ls", "ls -l\nfor you")),
        ({"title": 1}, Approval("Run: ls", "ls -l\nfor you")),
        ({"title": "T", "body": 1}, Approval("Run: ls", "ls -l\nfor you")),
        ({"title": "T"}, Approval("T")),
        ({"title": "T", "cwd": None, "confinement": ""}, Approval("T")),
    ],
)
def test_what_says_less_is_read_from_its_text(
    detail: dict[str, object], approval: Approval
) -> None:
    assert read_approval(detail, "Run: ls\n\nls -l\nfor you") == approval


def test_a_title_goes_on_behind_the_gutter() -> None:
    title = "Fetch: " + "x" * 40 + "\n[... 9 characters are not shown ...]\n1. Yes"
    assert lay_out_approval(Approval(title), NARROW) == [
        "Fetch: " + "x" * 29,
        GUTTER + "x" * 11,
        f"{GUTTER}[... 9 characters are not shown ...]",
        f"{GUTTER}1. Yes",
    ]


def test_a_diff_is_painted_where_that_can_be_seen() -> None:
    lines = lay_out_approval(Approval("Edit notes.md", DIFF), Sight(80, 20, coloured=True))
    assert lines == [
        "\x1b[1mEdit notes.md\x1b[0m",
        f"{GUTTER}\x1b[1m--- a/notes.md\x1b[0m",
        f"{GUTTER}\x1b[1m+++ b/notes.md\x1b[0m",
        f"{GUTTER}\x1b[36m@@ -1,2 +1,2 @@\x1b[0m",
        f"{GUTTER} same",
        f"{GUTTER}\x1b[31m-old\x1b[0m",
        f"{GUTTER}\x1b[32m+new\x1b[0m",
    ]
    plain = lay_out_approval(Approval("Edit notes.md", DIFF), Sight(80, 20))
    assert plain == ["Edit notes.md", *(f"{GUTTER}{line}" for line in DIFF.split("\n"))]


def test_a_command_is_no_diff() -> None:
    lines = lay_out_approval(Approval("Run", "-rf\n+x"), Sight(80, 20, coloured=True))
    assert lines[1:] == [f"{GUTTER}-rf", f"{GUTTER}+x"]


@pytest.mark.parametrize("coloured", [False, True])
@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_of_it_reaches_the_terminal(text: str, coloured: bool) -> None:
    approval = Approval(f"Run: {text}", f"{text}\n{DIFF}\n+{text}", text, f"/{text}")
    shown = "\n".join(lay_out_approval(approval, Sight(40, 99, coloured)))
    bare = PAINT.sub("", shown)
    assert all(line.isprintable() for line in bare.split("\n"))
    # What it hides is there to be read.
    letters = [each for each in text if each.isalnum()]
    assert all(bare.count(each) >= 4 for each in letters)


@given(st.text(), st.text(), st.integers(20, 60), st.booleans())
def test_every_row_is_behind_the_gutter_and_fits(
    title: str, body: str, columns: int, coloured: bool
) -> None:
    sight = Sight(columns, None, coloured)
    first, *rest = lay_out_approval(Approval(title, body + FAKE + DIFF), sight)
    assert all(row.startswith(GUTTER) for row in rest)
    for row in (first, *rest):
        bare = PAINT.sub("", row)
        assert bare.isprintable()
        assert find_width(bare) <= columns
    assert "\n".join(rest).count("Allow it?") == 1


def test_a_long_line_cannot_reach_the_edge_and_begin_anew() -> None:
    body = "true" + " " * 32 + "1. Yes"
    lines = lay_out_approval(Approval("Run", body), NARROW)
    assert lines[1:] == [f"{GUTTER}true{' ' * 32}", f"{GUTTER}1. Yes"]


def test_wide_letters_at_forty_columns() -> None:
    lines = lay_out_approval(Approval("Write", "雪" * 40), NARROW)
    assert [find_width(line) for line in lines[1:]] == [40, 40, 12]


def test_what_is_long_is_cut_and_says_so() -> None:
    body = "\n".join(str(number) for number in range(100))
    lines = lay_out_approval(Approval("Write", body), NARROW, more=": m shows it")
    assert len(lines) == 22
    assert lines[-2:] == [f"{GUTTER}19", "  ... 80 more lines: m shows it"]
    whole = lay_out_approval(Approval("Write", body), Sight(40))
    assert whole[-1] == f"{GUTTER}99"
    two = lay_out_approval(Approval("Write", "a\nb"), Sight(40, 1))
    assert two[-1] == "  ... 1 more line"


def test_a_megabyte_in_one_line_is_cut_too() -> None:
    lines = lay_out_approval(Approval("Write", "x" * 1_000_000), NARROW)
    assert len(lines) == 22
    assert lines[-1] == f"  ... {1_000_000 - 20 * 36:,} more characters"


# ---- the terminal ------------------------------------------------------------------


@contextmanager
def open_pty() -> Iterator[int]:
    ours, theirs = pty.openpty()
    yield theirs
    os.close(theirs)
    os.close(ours)


@pytest.mark.parametrize(
    ("environ", "coloured"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "xterm", "NO_COLOR": ""}, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
        ({"TERM": "dumb"}, False),
        ({}, False),
    ],
)
def test_colours_are_for_who_can_and_wants_to_see_them(
    environ: dict[str, str], coloured: bool
) -> None:
    with open_pty() as theirs:
        assert find_sight(theirs, environ) == Sight(80, 24 - OUR_ROWS, coloured, os.getcwd())


def test_a_tiny_window_shows_something() -> None:
    import fcntl
    import struct
    import termios

    with open_pty() as theirs:
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 4, 10, 0, 0))
        sight = find_sight(theirs, {})
    assert (sight.columns, sight.rows) == (20, LEAST_ROWS)


def test_what_is_no_terminal_gets_all_of_it() -> None:
    reader, writer = os.pipe()
    assert find_sight(writer, {"TERM": "xterm"}) == Sight()
    os.close(reader)
    os.close(writer)
