"""A call leaves with its outputs or not at all."""

from hypothesis import given
from hypothesis import strategies as st

from askd.core.exchanges import drop_oldest, split_exchanges
from askd.core.items import AssistantMessage, Item, Text, ToolCall, ToolOutput, UserMessage
from askd.core.pairs import find_faults, heal
from tests.core.values import ITEMS

ASKED = UserMessage("u", (Text("x"),))
CALLS = AssistantMessage("a", (), calls=(ToolCall("c", "f", "{}"), ToolCall("d", "f", "{}")))
FIRST = ToolOutput("o", "c", "f", ())
SECOND = ToolOutput("p", "d", "f", ())
SAID = AssistantMessage("b", (Text("y"),))


def test_pieces() -> None:
    items: list[Item] = [ASKED, CALLS, FIRST, SECOND, SAID]
    assert split_exchanges(items) == [(ASKED,), (CALLS, FIRST, SECOND), (SAID,)]
    assert split_exchanges([]) == []


def test_the_oldest_leaves_with_its_partners() -> None:
    assert drop_oldest([CALLS, FIRST, SECOND, SAID]) == ([SAID], 3)
    assert drop_oldest([SAID]) == ([], 1)
    assert drop_oldest([]) == ([], 0)


@given(st.lists(ITEMS, max_size=12))
def test_dropping_pieces_breaks_nothing(items: list[Item]) -> None:
    rest: list[Item] = list(heal(items)[0])
    while rest:
        assert find_faults(rest) == []
        rest, count = drop_oldest(rest)
        assert count > 0
