"""Tool outputs that are too large: which, how much of them is seen, and where the rest is."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.core.conversation import fold
from askd.core.events import Body, ConversationCreated, Event, ItemAdded, TurnStarted
from askd.core.items import (
    AssistantMessage,
    Blob,
    Item,
    Text,
    ToolCall,
    ToolOutput,
    UserMessage,
    join_text,
)
from askd.core.outputs import (
    ALL_SHARE,
    LEAST_TOKENS,
    ONE_SHARE,
    blank_output,
    can_shorten,
    count_bytes,
    cut_output,
    find_cap,
    find_fixed,
    find_latest,
    find_output,
)
from tests.core.histories import History, count_tokens
from tests.core.turn_world import accept

PICTURE = Blob("ab" * 32, 5000, "image/png")


def make_output(text: str, *, id: str = "o", call_id: str = "call_1") -> ToolOutput:
    return ToolOutput(id, call_id, "peek", (Text(text),))


def test_bytes_are_those_of_the_text_wherever_it_is_kept() -> None:
    beside = Blob("cd" * 32, 700, "text/plain")
    output = ToolOutput("o", "call_1", "peek", (Text("aé\ud800"), beside, PICTURE))
    assert count_bytes(output) == 4 + 700


# ---- how much ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sizes", "rest", "cap"),
    [
        ([], 0, LEAST_TOKENS),
        ([1000], 0, 1000),  # it fits: nobody needs to be cut
        ([2000], 0, 2000),  # a quarter of 8000
        ([2001], 0, 2000),
        ([9000], 0, 2000),
        ([9000, 9000], 0, 2000),
        ([9000, 9000, 9000], 0, 4000 // 3),  # together no more than half
        ([10, 10, 9000], 0, 2000),  # what the small ones leave goes to the large one
        ([1000, 1500, 9000], 0, 1500),
        ([9000], 7000, 1000),  # what cannot leave leaves this much
        ([9000], 9000, LEAST_TOKENS),
    ],
)
def test_how_much_one_may_have_of_8000(sizes: list[int], rest: int, cap: int) -> None:
    assert find_cap(sizes, budget=8000, rest=rest) == cap


@given(
    st.lists(st.integers(1, 100_000), min_size=1, max_size=12),
    st.integers(2000, 200_000),
    st.integers(0, 300_000),
)
def test_what_is_cut_to_it_fits(sizes: list[int], budget: int, rest: int) -> None:
    cap = find_cap(sizes, budget=budget, rest=rest)
    cut = [min(size, cap) for size in sizes]
    room = max(min(budget // ALL_SHARE, budget - rest), len(sizes) * LEAST_TOKENS)
    assert sum(cut) <= room
    assert max(cut) <= max(budget // ONE_SHARE, LEAST_TOKENS)
    if sum(sizes) <= min(budget // ALL_SHARE, budget - rest) and max(sizes) <= budget // ONE_SHARE:
        assert cut == sizes


# ---- which ---------------------------------------------------------------------------


def record_of(*items: Item) -> list[ToolOutput]:
    bodies: list[Body] = [ConversationCreated("c"), accept("t"), TurnStarted("t", 1)]
    bodies += [ItemAdded("t", item, 1) for item in items]
    events = [Event("c", seq, 0.0, body) for seq, body in enumerate(bodies, start=1)]
    return find_latest(fold("c", events).turns["t"])


def test_the_latest_are_those_of_the_last_answer() -> None:
    old, new = make_output("a", id="o1"), make_output("b", id="o2")
    newer = make_output("c", id="o3", call_id="call_2")
    first = AssistantMessage("m1", calls=(ToolCall("call_1", "peek", "{}"),))
    assert record_of() == []
    assert record_of(first, old) == [old]
    assert record_of(first, old, first, new, newer) == [new, newer]
    assert record_of(first, old, AssistantMessage("m2", (Text("done"),))) == []
    steered = UserMessage("u", (Text("hurry"),))
    assert record_of(first, old, first, new, steered) == [new]


def test_what_has_no_text_is_left_as_it_is() -> None:
    assert can_shorten(make_output("x"))
    assert can_shorten(ToolOutput("o", "c", "f", (Blob("ab" * 32, 9, "text/plain"),)))
    assert not can_shorten(ToolOutput("o", "c", "f", (PICTURE,)))
    assert not can_shorten(ToolOutput("o", "c", "f", (Text("x"),), synthetic="interrupted"))


def test_earlier_exchanges_can_leave_and_the_latest_cannot() -> None:
    prompt, steered = UserMessage("u", (Text("go"),)), UserMessage("v", (Text("on"),))
    first, last = AssistantMessage("m1", (Text("1"),)), AssistantMessage("m2", (Text("2"),))
    items: list[Item] = [prompt, first, make_output("a"), steered, last, make_output("b", id="o2")]
    assert find_fixed(items) == [prompt, steered, last]
    assert find_fixed([prompt]) == [prompt]


# ---- what is seen --------------------------------------------------------------------


@given(st.text(min_size=1, max_size=400), st.integers(0, 40), st.integers(60, 400))
def test_a_cut_output_fits_and_says_how_to_read_on(text: str, times: int, limit: int) -> None:
    whole = text * times
    output = make_output(whole)
    cut = cut_output(output, whole, limit=limit, count=count_tokens)
    assert (cut.id, cut.call_id, cut.name) == (output.id, output.call_id, output.name)
    shown = join_text(cut.parts)
    assert f"it has {len(whole)} characters in all" in shown
    assert '"call_id": "call_1"' in shown
    assert "read_output" in shown
    note_alone = shown.startswith("[The middle")
    assert note_alone or count_tokens([cut]) <= limit


def test_a_cut_output_has_both_its_ends() -> None:
    text = "begins here " + "and so on " * 2000 + "ends there"
    cut = cut_output(make_output(text), text, limit=500, count=count_tokens)
    shown = join_text(cut.parts)
    assert shown.startswith("begins here ")
    assert "ends there\n[The middle of this output is left out here" in shown
    assert "characters truncated ...]" in shown
    assert 350 < count_tokens([cut]) <= 500


def test_denser_ends_are_cut_further() -> None:
    """The ends count four times what the middle does."""

    def count(items: Sequence[Item]) -> int:
        text = "".join(join_text(item.parts) for item in items if isinstance(item, ToolOutput))
        return len(text) + 3 * text.count("\u0433")

    text = "\u0433" * 4000 + "a" * 16_000 + "\u0433" * 4000
    cut = cut_output(make_output(text), text, limit=4000, count=count)
    assert 2000 < count([cut]) <= 4000


def test_pictures_stay_in_either_case() -> None:
    text = "long " * 5000
    output = ToolOutput("o", "call_1", "peek", (Text(text), PICTURE))
    cut = cut_output(output, text, limit=200, count=lambda items: 100)
    assert cut.parts[1:] == (PICTURE,)
    blank = blank_output(output, text)
    assert blank.parts[1:] == (PICTURE,)
    assert join_text(blank.parts) == (
        "[This output is left out: it has 25000 characters. Read any part of it with "
        'read_output: {"call_id": "call_1", "offset": ..., "limit": ...}, in characters.]'
    )


# ---- reading on ----------------------------------------------------------------------


def test_an_output_is_found_by_its_call_and_of_several_the_latest() -> None:
    history = History()
    history.begin(3)
    history.use_tool(5)
    history.end(2)
    history.begin(3)
    history.use_tool(7)
    conversation = history.conversation
    outputs = [
        added.item
        for record in conversation.turns.values()
        for added in record.items
        if isinstance(added.item, ToolOutput)
    ]
    assert len(outputs) == 2
    for output in outputs:
        assert find_output(conversation, output.call_id) == output
    assert find_output(conversation, "nobody's") is None
    again = ToolOutput("x", outputs[0].call_id, "f", (Text("newer"),))
    history.bodies.append(ItemAdded(history.running, again, 9))
    assert find_output(history.conversation, outputs[0].call_id) == again
