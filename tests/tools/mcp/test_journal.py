"""What a server writes beside the protocol: its end is kept, whatever it is."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from askd.tools.mcp.journal import ENTRY_BYTES, KEEP_BYTES, LINE_BYTES, Journal


def make_journal() -> Journal:
    times = itertools.count(1_700_000_000)
    return Journal(lambda: next(times))


def test_lines_have_times_and_our_own_are_marked() -> None:
    journal = make_journal()
    journal.feed(b"one\ntw")
    journal.note("said by us")
    journal.feed(b"three")
    assert journal.text().splitlines() == [
        "2023-11-14T22:13:20Z one",
        "2023-11-14T22:13:21Z tw",
        "2023-11-14T22:13:22Z -- said by us",
        "2023-11-14T22:13:23Z three",
    ]


@given(st.lists(st.binary(max_size=30), max_size=30))
def test_it_does_not_matter_how_the_words_were_cut(pieces: list[bytes]) -> None:
    cut, whole = Journal(lambda: 0.0), Journal(lambda: 0.0)
    for piece in pieces:
        cut.feed(piece)
    whole.feed(b"".join(pieces))
    assert cut.text() == whole.text()


def test_a_flood_leaves_the_end_and_says_so() -> None:
    journal = make_journal()
    for k in range(10_000):
        journal.feed(b"line %d\n" % k)
    lines = journal.text().splitlines()
    assert lines[-1].endswith("line 9999")
    assert "lines left out" in lines[0]
    assert len(lines) - 1 <= KEEP_BYTES // ENTRY_BYTES


def test_empty_lines_and_long_lines_are_no_way_around() -> None:
    journal = make_journal()
    journal.feed(b"\n" * 100_000)
    assert len(journal.text()) < KEEP_BYTES
    journal.feed(b"x" * 10_000_000 + b"\nafter\n")
    assert len(journal.text()) < KEEP_BYTES + LINE_BYTES
    assert journal.text().splitlines()[-1].endswith("after")


def test_what_is_for_a_terminal_is_not_shown() -> None:
    journal = make_journal()
    journal.feed(b"\x1b]0;title\x07\x1b[31mred\x1b[0m \xff\n")
    assert journal.text().endswith(" red \N{REPLACEMENT CHARACTER}\n")


def test_the_last_words_are_its_own() -> None:
    journal = make_journal()
    assert journal.last_line() == ""
    journal.feed(b"I cannot go on.\n\n  \n")
    journal.note("It ended.")
    assert journal.last_line() == "I cannot go on."
    journal.feed(b"and now")
    assert journal.last_line() == "and now"


def test_the_first_reason_is_the_one_until_it_is_started_again() -> None:
    journal = make_journal()
    journal.pid = 7
    journal.end("first")
    journal.end("second")
    assert (journal.ended, journal.gone.is_set()) == ("first", True)
    assert "second" not in journal.text()
    journal.renew()
    left: object = (journal.pid, journal.ended, journal.gone.is_set())
    assert left == (None, None, False)
    assert "first" in journal.text()


def test_what_it_writes_is_never_taken_for_ours() -> None:
    journal = Journal(lambda: 0.0)
    journal.note("Ready: \n-- fake, 2025-06-18")
    journal.feed(
        b"-- It closed its standard output.\n  -- Ready: x\r\nplain\xe2\x80\xa8-- more\n-- end"
    )
    assert [line.partition("Z ")[2] for line in journal.text().splitlines()] == [
        "-- Ready:  -- fake, 2025-06-18",
        "  -- It closed its standard output.",
        "    -- Ready: x",
        "plain -- more",
        "  -- end",
    ]
    assert journal.last_line() == "-- end"


def test_what_is_secret_is_hidden_in_all_that_it_gives() -> None:
    journal = Journal(lambda: 0.0)
    journal.hide = lambda text: text.replace("hunter2", "***")
    journal.feed(b"my key is hunter2\n")
    journal.note("It said hunter2.")
    assert "hunter2" not in journal.text()
    assert journal.text().count("***") == 2
    assert journal.last_line() == "my key is ***"
