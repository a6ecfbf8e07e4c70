"""Compaction keeps what must be kept, in its order, and makes a view worth the trouble."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.core.bounds import WORTH
from askd.core.compaction import (
    GOAL_SHARE,
    PREFIX,
    UNAVAILABLE,
    CompactionPlan,
    clean_summary,
    is_summary,
    make_change,
    plan_compaction,
    shorten_item,
    split_source,
)
from askd.core.context import build_context
from askd.core.events import ItemPinned, PromptAccepted, ViewChanged
from askd.core.items import (
    AssistantMessage,
    Blob,
    Item,
    Reasoning,
    Summary,
    Text,
    ToolCall,
    ToolOutput,
    UserMessage,
    join_text,
)
from askd.core.pairs import find_faults
from tests.core.histories import BOUNDS, OVERHEAD, History, Step, count_tokens, histories, play


def make_long(turns: int = 12, *, tools: bool = False) -> History:
    history = History()
    for _ in range(turns):
        history.begin(50)
        if tools:
            history.use_tool(150)
        history.end(40)
    return history


def see(history: History) -> list[Item]:
    it = history.conversation
    return list(build_context(it, it.running, system=None).items)


def test_the_order_afterwards() -> None:
    history = make_long()
    history.bodies.append(ItemPinned("t0.last"))
    change = history.compact("The goal is tea.")
    assert change is not None
    history.begin(3)
    items = see(history)
    ids = [item.id for item in items]
    assert ids[0] == "t0.last", "what was pinned is first"
    at = ids.index(change.summary.id) if change.summary else -1
    kept = ids[1:at]
    assert kept == sorted(kept, key=lambda each: int(each.split(".")[0][1:])), "in their order"
    assert kept, "users' own words stay before the summary"
    assert all(each.startswith("t") and ".0" in each for each in kept)
    assert ids[at + 1 :] == ["t10.0", "t10.last", "t11.0", "t11.last", "t12.0"]


def test_the_tokens_that_it_names_are_those_of_the_next_request() -> None:
    history = make_long(tools=True)
    before = history.tokens
    change = history.compact()
    assert change is not None
    assert (change.tokens_before, change.tokens_after) == (before, history.tokens)


def test_users_messages_are_kept_newest_first_and_the_first_that_does_not_fit_is_cut() -> None:
    history = History()
    history.begin(40)
    history.end(500)
    history.begin(300)
    history.end(400)
    for _ in range(3):
        history.begin(50)
        history.end(70)
    change = history.compact()
    assert change is not None
    cut, *whole = change.kept
    assert isinstance(cut, UserMessage)
    assert cut.id == "t1.0~"
    text = join_text(cut.parts)
    assert "characters truncated ...]" in text
    assert text.startswith("ask t1 why")
    assert text.endswith("why ")
    assert [item.id for item in whole] == ["t2.0"], "and nothing before the cut one"
    assert count_tokens(change.kept) <= BOUNDS.user_tokens


def test_nothing_to_gain() -> None:
    history = History()
    assert history.compact() is None
    history.begin(300)
    assert history.compact() is None, "a prompt that waits for its answer is never summarised"
    history.end(1)
    history.begin(1)
    history.end(1)
    assert history.tokens < BOUNDS.compact_above


def test_a_summary_that_is_as_long_as_the_history_is_refused() -> None:
    history = make_long()
    plan = plan_compaction(
        history.conversation, bounds=BOUNDS, count=count_tokens, overhead=OVERHEAD
    )
    assert plan is not None
    room = int(plan.tokens_before * WORTH) - plan.tokens_rest
    frame = count_tokens([Summary("s", f"{PREFIX}\n")])

    def make(tokens: int) -> ViewChanged | None:
        text = "x" * (4 * (tokens - frame))
        return make_change(plan, text, change_id="v", summary_id="s", count=count_tokens)

    assert make(room) is not None
    assert make(room + 2) is None


def test_the_older_exchanges_of_a_turn_that_runs_leave_and_its_prompt_stays() -> None:
    history = History()
    history.begin(10)
    for _ in range(6):
        history.use_tool(300)
    change = history.compact()
    assert change is not None
    assert change.through_turn is None
    items = see(history)
    assert isinstance(items[0], Summary)
    assert [item.id for item in items[1:]] == ["t0.0", "t0.11", "t0.11.0"]
    assert find_faults(items) == []


def test_a_summary_is_summarised_and_never_kept_as_a_users_words() -> None:
    history = make_long()
    first = history.compact("First.")
    for _ in range(8):
        history.begin(70)
        history.end(100)
    plan = plan_compaction(
        history.conversation, bounds=BOUNDS, count=count_tokens, overhead=OVERHEAD
    )
    assert first is not None
    assert first.summary is not None
    assert plan is not None
    assert first.summary in plan.source
    assert first.summary not in plan.kept
    second = history.compact("Second.")
    assert second is not None
    assert [item.id for item in see(history) if isinstance(item, Summary)] == [
        second.summary.id if second.summary else ""
    ]


def test_a_summary_from_elsewhere_that_poses_as_a_user_is_not_kept() -> None:
    history = History()
    history.begin(1)
    posing = UserMessage("t0.0", (Text(f"{PREFIX.replace('to assist', ' to  assist')}\nOld."),))
    history.bodies[1] = PromptAccepted("t0", "k", (posing,))
    history.end(700)
    for _ in range(3):
        history.begin(80)
        history.end(160)
    change = history.compact()
    assert change is not None
    assert "t0.0" not in [item.id.rstrip("~") for item in change.kept]


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        (" The goal. \n", "The goal."),
        ("", UNAVAILABLE),
        (" \n", UNAVAILABLE),
        ("...!?", UNAVAILABLE),
        (f"{PREFIX}\nAgain.", "Again."),
        (PREFIX, UNAVAILABLE),
    ],
)
def test_what_a_model_answers_is_cleaned(text: str, clean: str) -> None:
    assert clean_summary(text) == clean


def test_a_summary_is_found_again_whatever_its_white_space() -> None:
    assert is_summary(f"{PREFIX}\nx")
    assert is_summary("  " + PREFIX.replace(" ", "\n  ") + " x")
    assert not is_summary("Another language model started to solve this problem, I think.")


def test_a_long_source_comes_in_pieces_that_fit() -> None:
    items = see(make_long(tools=True))
    pieces = split_source(items, limit=200, count=count_tokens)
    assert [item for piece in pieces for item in piece] == items
    assert all(count_tokens(piece) <= 200 for piece in pieces)
    assert all(find_faults(piece) == [] for piece in pieces)


def test_one_huge_message_is_cut() -> None:
    history = History()
    history.begin(3000)
    history.use_tool(4000, parallel=True)
    pieces = split_source(see(history), limit=300, count=count_tokens)
    for piece in pieces:
        assert count_tokens(piece) <= 300 + 40, "marks and frames may cost a little"
        assert find_faults(piece) == []


def test_an_item_is_cut_with_its_kind_kept() -> None:
    blob = Blob("a" * 64, 8000, "text/plain", "big.txt")
    user = shorten_item(UserMessage("u", (Text("why " * 900), blob)), 100, count_tokens)
    assert isinstance(user, UserMessage)
    assert "[big.txt, 8000 bytes, left out]" in join_text(user.parts)
    call = ToolCall("c", "f", '{"x": "' + "y" * 4000 + '"}')
    said = AssistantMessage("a", (), (Reasoning("hm" * 900, {"type": "x"}),), (call,))
    shorter = shorten_item(said, 100, count_tokens)
    assert isinstance(shorter, AssistantMessage)
    assert shorter.calls[0].call_id == "c"
    assert shorter.reasoning == ()
    assert count_tokens([shorter]) < 150
    output = ToolOutput("o", "c", "f", (Text("z" * 9000),), is_error=True)
    stub = shorten_item(output, 100, count_tokens)
    assert isinstance(stub, ToolOutput)
    assert (stub.call_id, stub.is_error) == ("c", True)
    small = UserMessage("u", (Text("hi"),))
    assert shorten_item(small, 100, count_tokens) is small


@given(histories(least=3))
def test_whatever_happened_a_compaction_is_sound(steps: list[Step]) -> None:
    history = play(steps)
    it = history.conversation
    before, was = history.tokens, see(history)
    change = history.compact("What was said.")
    if change is None:
        assert history.tokens == before
        return
    items = see(history)
    ids = [item.id for item in items]
    assert len(ids) == len(set(ids)), "nothing is said twice"
    assert find_faults(items) == []
    assert history.tokens == change.tokens_after
    assert change.tokens_after <= before * WORTH
    pinned = {item.id for item in was} & it.pinned
    assert pinned <= set(ids), "what is pinned stays"
    if it.running is not None:
        prompt = it.turns[it.running].prompt.items[0].id
        assert ids.index(prompt) > ids.index(change.summary.id if change.summary else "")
    assert history.undo()
    assert see(history) == was, "undo brings back what was there"


@pytest.mark.parametrize("kept", [0, 2, 500, 10_000])
def test_planning_looks_at_each_item_a_few_times(kept: int) -> None:
    history = make_long(400)
    bounds = replace(history.bounds, min_turns=kept)
    counted = 0

    def count(items: Sequence[Item]) -> int:
        nonlocal counted
        counted += len(items)
        return count_tokens(items)

    plan = plan_compaction(history.conversation, bounds=bounds, count=count, overhead=OVERHEAD)
    assert plan is not None
    assert counted < 15 * len(see(history)), "it takes as long as the history is"


@given(histories(least=3), st.integers(0, 12))
def test_no_more_turns_are_summarised_than_it_takes(steps: list[Step], kept: int) -> None:
    """The search for the plan finds what a look at all of them finds."""
    history = play(steps)
    it, bounds = history.conversation, replace(history.bounds, min_turns=kept)

    def plan(min_turns: int) -> CompactionPlan | None:
        few = replace(bounds, min_turns=min_turns)
        return plan_compaction(it, bounds=few, count=count_tokens, overhead=OVERHEAD)

    found, *fewer = [plan(least) for least in range(kept, -1, -1)]
    room = count_tokens([Summary("", PREFIX)]) + bounds.summary_tokens
    goal = min(history.tokens * 3 // 4, int(bounds.compact_above * GOAL_SHARE))

    def is_enough(each: CompactionPlan | None) -> bool:
        return each is not None and each.tokens_rest + room <= goal

    if not is_enough(found):
        assert not any(is_enough(each) for each in fewer)
        return
    same = [each == found for each in fewer]
    assert same == sorted(same, reverse=True), "fewer turns could have been summarised"


def test_older_messages_make_room_for_a_long_prompt() -> None:
    history = make_long()
    history.begin(1200)
    change = history.compact("Short.")
    assert change is not None
    assert history.tokens <= BOUNDS.budget, "they would not fit beside it"
    assert count_tokens(change.kept) < BOUNDS.user_tokens
    shorter = make_long()
    shorter.begin(10)
    usual = shorter.compact("Short.")
    assert usual is not None
    assert count_tokens(usual.kept) > count_tokens(change.kept)
