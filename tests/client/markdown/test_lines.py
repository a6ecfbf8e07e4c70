"""Single lines of Markdown: what they begin."""

import pytest

from ask.markdown import lines


@pytest.mark.parametrize(("line", "columns"), [("a", 0), ("  a", 2), ("\ta", 4), (" \ta", 4)])
def test_how_far_a_line_stands_in(line: str, columns: int) -> None:
    assert lines.find_indent(line) == columns


@pytest.mark.parametrize(
    ("line", "fence"),
    [
        ("```\n", ("```", "")),
        ("~~~~ python x\n", ("~~~~", "python x")),
        ("``\n", None),
        ("```a`b\n", None),
        ("~~~a`b\n", ("~~~", "a`b")),
        ("", None),
    ],
)
def test_fences(line: str, fence: tuple[str, str] | None) -> None:
    assert lines.read_fence(line) == fence


def test_what_closes_a_fence() -> None:
    assert lines.closes_fence("  ````\n", "```")
    assert not lines.closes_fence("``\n", "```")
    assert not lines.closes_fence("~~~\n", "```")
    assert not lines.closes_fence("``` x\n", "```")


@pytest.mark.parametrize(
    ("line", "size"),
    [("- a", 1), ("-", 1), ("-a", 0), ("12. a", 3), ("1) a", 2), ("1234567890. a", 0), ("1", 0)],
)
def test_marks_of_items(line: str, size: int) -> None:
    assert lines.find_marker(line) == size


@pytest.mark.parametrize(
    ("line", "is_one"),
    [("---", True), ("- - -", True), ("**", False), ("---a", False), ("\n", False), ("+++", False)],
)
def test_rules(line: str, is_one: bool) -> None:
    assert lines.is_rule(line) is is_one


@pytest.mark.parametrize(("line", "level"), [("===", 1), ("-", 2), ("=-", 0), ("", 0), ("***", 0)])
def test_underlines(line: str, level: int) -> None:
    assert lines.find_underline(line) == level


@pytest.mark.parametrize(
    ("line", "is_one"),
    [("|---|:-:|", True), ("--|--", True), ("---", False), ("| |-|", False), ("|a|-|", False)],
)
def test_dashes_of_tables(line: str, is_one: bool) -> None:
    assert lines.is_delimiter(line) is is_one


def test_cells() -> None:
    assert lines.cut_row("| a | b\\|c | |\n") == ["a", "b|c", ""]
    assert lines.cut_row("a|b\\|") == ["a", "b|"]


def test_headings_have_a_space() -> None:
    assert lines.is_heading("## a")
    assert lines.is_heading("#")
    assert not lines.is_heading("#a")
    assert not lines.is_heading("####### a")


def test_what_interrupts_a_paragraph() -> None:
    assert lines.can_interrupt("1. a")
    assert lines.can_interrupt("- a")
    assert not lines.can_interrupt("2. a")
    assert not lines.can_interrupt("-")
