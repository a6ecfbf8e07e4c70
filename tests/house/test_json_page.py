"""The page of JSON has every command that prints it, and no shape that the contract lacks."""

import re

from ask.protocol.messages import METHODS
from tests.house import json_page
from tests.house.json_page import SHAPES
from tests.house.json_shapes import find_shapes


def test_page_is_current() -> None:
    written = json_page.PATH.read_text(encoding="utf-8")
    assert written == json_page.render(), "run: python -m tests.house.json_page"


def test_every_command_that_prints_json_has_a_row_and_no_other() -> None:
    assert set(json_page.find_commands()) == set(SHAPES)


def test_every_shape_is_one_of_the_contract() -> None:
    known = {each.__name__ for each in find_shapes(m.result for m in METHODS.values())}
    known |= {m.result.__name__ for m in METHODS.values()}
    named = {shape for _, shape, _ in SHAPES.values() if shape}
    named |= {w for _, _, said in SHAPES.values() for w in re.findall(r"`([A-Z]\w+)`", said)}
    assert named - known == set()
