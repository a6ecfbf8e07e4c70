"""A diff says what changes, all of it or how much is left out."""

import re

from hypothesis import given
from hypothesis import strategies as st

from askd.tools.files import diffs
from askd.tools.files.diffs import count_lines, draw_diff, split_lines

HEADER = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


def apply_diff(before: str, diff: str) -> str:
    """What a patch program would make of it; fails where the diff does not fit."""
    old, new, place = split_lines(before), [], 0
    lines = diff.split("\n")[2:-1]
    for number, line in enumerate(lines):
        ended = number + 1 < len(lines) and lines[number + 1] == diffs.NO_NEWLINE
        text = line[1:] + ("" if ended else "\n")
        match line[0]:
            case "@":
                header = HEADER.fullmatch(line)
                assert header
                start = int(header[1]) - (header[2] != "0")
                new += old[place:start]
                place = start
                assert len(new) + (header[4] != "0") == int(header[3])
            case " " | "-":
                assert old[place] == text
                place += 1
                new += [text] if line[0] == " " else []
            case "+":
                new.append(text)
            case _:
                assert line == diffs.NO_NEWLINE
    return "".join(new + old[place:])


# No CR: it is drawn as a sign.
LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n", "\u2028\n", "a"]), max_size=30)


@given(before=LINES, after=LINES)
def test_a_diff_turns_the_one_into_the_other(before: list[str], after: list[str]) -> None:
    old, new = "".join(before), "".join(after)
    diff = draw_diff(old, new, "x")
    assert (diff == "") == (old == new)
    assert apply_diff(old, diff or "\n\n") == new


@given(before=LINES, after=LINES)
def test_comparing_nothing_says_the_same_with_more_lines(
    before: list[str], after: list[str]
) -> None:
    old, new = "".join(before), "".join(after)
    limit, diffs.COMPARED_PAIRS = diffs.COMPARED_PAIRS, 0
    try:
        diff = draw_diff(old, new, "x")
    finally:
        diffs.COMPARED_PAIRS = limit
    assert apply_diff(old, diff or "\n\n") == new


def test_a_change_is_shown_with_what_is_around_it() -> None:
    before = "".join(f"{number}\n" for number in range(1, 41))
    after = before.replace("\n20\n", "\nzwanzig\n").replace("\n39\n", "\n")
    assert draw_diff(before, after, "n.txt") == (
        "--- a/n.txt\n+++ b/n.txt\n"
        "@@ -17,7 +17,7 @@\n 17\n 18\n 19\n-20\n+zwanzig\n 21\n 22\n 23\n"
        "@@ -36,5 +36,4 @@\n 36\n 37\n 38\n-39\n 40\n"
    )


def test_a_new_file_is_all_lines() -> None:
    assert draw_diff(None, "a\nb\n", "x") == "--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+a\n+b\n"
    assert draw_diff(None, "", "x") == "--- /dev/null\n+++ b/x\n"
    assert draw_diff("", "", "x") == ""


def test_a_change_of_line_ends_is_to_be_seen() -> None:
    diff = draw_diff("a\r\n", "a\n", "x")
    assert "-a␍\n+a\n" in diff


def test_a_long_diff_says_what_it_leaves_out() -> None:
    after = "".join(f"{number}\n" for number in range(5_000))
    lines = draw_diff(None, after, "x").splitlines()
    assert len(lines) == 2 + diffs.DIFF_LINES + 1
    assert lines[-1] == f"[{5_001 - diffs.DIFF_LINES:,} more lines of this diff are not shown]"


def test_long_lines_are_cut_and_so_is_the_whole() -> None:
    diff = draw_diff("x" * 10_000_000, "y" * 10_000_000, "x")
    assert "-" + "x" * diffs.LINE_CHARACTERS + " [9,998,000 more characters]\n" in diff
    assert len(diff) < 10_000
    diff = draw_diff(None, ("z" * 1_999 + "\n") * 1_000, "x")
    assert len(diff) <= diffs.DIFF_CHARACTERS + 200
    assert diff.endswith(" more lines of this diff are not shown]\n")


def test_two_large_texts_without_a_line_in_common_take_no_time() -> None:
    before = "".join(f"a{number % 100}\n" for number in range(50_000))
    after = "".join(f"a{number % 99}\n" for number in range(50_000))
    assert "more lines of this diff" in draw_diff(before, after, "x")


def test_a_small_change_far_down_a_large_text_is_all_that_is_shown() -> None:
    before = "same\n" * 1_000_000
    after = "same\n" * 500_000 + "new\n" + "same\n" * 500_000
    same = " same\n" * 3
    found = draw_diff(before, after, "x")
    # Where among lines that are all the same a new one came is anybody's guess.
    assert found == f"--- a/x\n+++ b/x\n@@ -499998,6 +499998,7 @@\n{same}+new\n{same}"


def test_nothing_of_a_text_of_millions_of_lines_is_forgotten() -> None:
    before, after = "\n" * 2_000_000, "x\n" * 1_000_000
    last = draw_diff(before, after, "x").splitlines()[-1]
    assert last == f"[{3_000_001 - diffs.DIFF_LINES:,} more lines of this diff are not shown]"


def test_nothing_but_a_newline_ends_a_line() -> None:
    text = "a\u2028b\x0bc\x85d\re\nf"
    assert split_lines(text) == ["a\u2028b\x0bc\x85d\re\n", "f"]
    assert [count_lines(each) for each in ("", "a", "a\n", "a\nb", text)] == [0, 1, 1, 2, 2]
