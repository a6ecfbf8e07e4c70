"""The splitter: however a text is cut, its blocks are the same, and together they are the text."""

from collections.abc import Callable

import pytest
from hypothesis import given

from ask.markdown.blocks import Block, Splitter
from tests.client.markdown.texts import ANSWER, PLACES, TEXTS, cut_up
from tests.fakes.growth import LINEAR, find_growth


def split(*pieces: str) -> list[Block]:
    splitter = Splitter()
    found = [block for piece in pieces for block in splitter.feed(piece)]
    return found + splitter.finish()


def kinds(text: str) -> list[str]:
    return [block.kind for block in split(text)]


@given(TEXTS, PLACES)
def test_the_cutting_does_not_matter(text: str, places: list[int]) -> None:
    assert split(*cut_up(text, places)) == split(text)


@given(TEXTS, PLACES)
def test_what_came_is_finished_or_open(text: str, places: list[int]) -> None:
    splitter = Splitter()
    came = done = ""
    for piece in cut_up(text, places):
        came += piece
        done += "".join(block.text for block in splitter.feed(piece))
        assert splitter.size == len(came) - len(done)
        assert done + splitter.tail == came
    done += "".join(block.text for block in splitter.finish())
    assert (done, splitter.tail) == (text, "")


@given(TEXTS, PLACES)
def test_a_cut_loses_nothing(text: str, places: list[int]) -> None:
    splitter = Splitter()
    done = ""
    for piece in cut_up(text, places):
        done += "".join(block.text for block in [*splitter.feed(piece), *splitter.cut()])
        assert (splitter.tail, splitter.size) == ("", 0)
    assert done == text


def test_an_answer_in_its_blocks() -> None:
    assert [each for each in kinds(ANSWER) if each != "blank"] == [
        *("heading", "paragraph", "item", "item", "item", "item"),
        *("fence", "code", "code", "fence"),
        *("heading", "quote", "table", "rule"),
        *("fence", "code", "code", "fence", "code", "item", "item"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\nb\n", ["paragraph"]),
        ("a\n\nb", ["paragraph", "blank", "paragraph"]),
        ("a\n# b\nc", ["paragraph", "heading", "paragraph"]),
        ("a\n1984. b", ["paragraph"]),  # a number at a line's begin is no list
        ("a\n1. b", ["paragraph", "item"]),
        ("a\n-\n", ["heading"]),
        ("a | b\n", ["paragraph"]),
        ("a | b\n-|-\n1 | 2\nrest\n\n", ["table", "blank"]),
        ("a | b\n-|-|-\n", ["paragraph"]),
        ("before\na | b\n-|-\n", ["paragraph", "table"]),
        ("a\n    b\n", ["paragraph"]),
        ("    b\n", ["code"]),
        ("- a\n\n    b\n", ["item", "blank", "paragraph"]),
        ("- ```sh\n  ls\n  ```\n", ["item", "code", "fence"]),
        ("> a\nb\n\n> c", ["quote", "blank", "quote"]),
        ("```x``` b\n", ["paragraph"]),
        ("#hash\n", ["paragraph"]),
        ("**bold** a\n", ["paragraph"]),
        ("* * *\n", ["rule"]),
    ],
)
def test_what_begins_and_ends_a_block(text: str, expected: list[str]) -> None:
    assert kinds(text) == expected


def test_code_is_finished_line_by_line() -> None:
    splitter = Splitter()
    found = splitter.feed("```python\nx = 1\ny =")
    assert [(each.kind, each.text, each.info) for each in found] == [
        ("fence", "```python\n", "python"),
        ("code", "x = 1\n", "python"),
    ]
    assert splitter.tail == "y ="


def test_a_fence_that_is_never_closed_ends_with_the_text() -> None:
    splitter = Splitter()
    splitter.feed("```\n# no heading\n")
    splitter.finish()
    assert [each.kind for each in splitter.feed("# heading\n")] == ["heading"]


def test_code_goes_on_after_a_cut() -> None:
    splitter = Splitter()
    splitter.feed("```\nx")
    assert [each.kind for each in splitter.cut()] == ["code"]
    assert [each.kind for each in splitter.feed("# y\n")] == ["code"]


def test_a_longer_fence_holds_a_shorter_one() -> None:
    assert kinds("````\n```\nx\n```\n````\n") == ["fence", "code", "code", "code", "fence"]


def test_blocks_are_values() -> None:
    block = Block("item", "- a\n", indent=2)
    assert block == Block("item", "- a\n", indent=2) != Block("item", "- a\n")
    assert len({block, Block("item", "- a\n", indent=2)}) == 1
    assert repr(block) == "Block('item', '- a\\n', info='', indent=2)"
    assert block != "- a\n"


@given(TEXTS, PLACES)
def test_to_look_changes_nothing(text: str, places: list[int]) -> None:
    splitter = Splitter()
    found: list[Block] = []
    for piece in cut_up(text, places):
        found += splitter.feed(piece)
        assert splitter.tail == splitter.tail
    assert found + splitter.finish() == split(text)


@pytest.mark.parametrize("unit", ["word ", "a b\n", "> a\n"])
def test_who_looks_often_waits_in_proportion(unit: str) -> None:
    def make(size: int) -> Callable[[], None]:
        text = (unit * size)[:size]

        def work() -> None:
            splitter = Splitter()
            for place in range(0, size, 100):
                splitter.feed(text[place : place + 100])
                assert splitter.tail

        return work

    assert find_growth(make, 20_000) < LINEAR
