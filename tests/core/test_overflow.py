"""What is done about an overflow, and the words for it, which people search for."""

import itertools
from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.core import overflow
from askd.core.context import build_context
from askd.core.events import ItemAdded, ItemPinned, TurnStarted, ViewChanged
from askd.core.items import AssistantMessage, Summary, Text, ToolCall, ToolOutput, UserMessage
from askd.core.overflow import Policy, choose_policy, make_reset, read_decision
from tests.core.histories import BOUNDS, OVERHEAD, History, count_tokens, histories, play

POLICIES: list[Policy | None] = [None, *get_args(Policy)]


def test_the_words_are_these() -> None:
    lines = [f"{k}. {choice.label}" for k, choice in enumerate(overflow.CHOICES, start=1)]
    assert [overflow.TEXT, "", *lines, "", overflow.PROMPT] == [
        "⚠️  Your conversation history is getting too large.\nChoose how you'd like to proceed:",
        "",
        "1. Compact - Summarize the history and continue",
        "2. Reset - Clear the history and start fresh",
        "3. Continue - Keep the history as is (may cause issues)",
        "",
        "Enter your choice (1-3):",
    ]
    assert overflow.SUMMARIZING == "Summarizing conversation..."
    assert overflow.CLEARING == "Clearing conversation history..."
    assert overflow.HOPELESS == "Cannot compact: history too large even after truncation"


@pytest.mark.parametrize("attended", [True, False])
@pytest.mark.parametrize("detached", [True, False])
def test_nothing_said_asks_a_person_who_is_there_and_else_compacts(
    attended: bool, detached: bool
) -> None:
    expected = "ask" if attended else "compact"
    assert choose_policy(None, None, attended=attended, detached=detached) == expected


def test_the_prompt_goes_before_the_setting() -> None:
    for said, setting in itertools.product(POLICIES[1:], POLICIES):
        assert choose_policy(said, setting, attended=True, detached=False) == said
    for setting in POLICIES[1:]:
        assert choose_policy(None, setting, attended=True, detached=False) == setting


@pytest.mark.parametrize(("said", "setting"), [("ask", None), (None, "ask"), ("ask", "reset")])
def test_asking_needs_somebody_who_hears_it(said: Policy | None, setting: Policy | None) -> None:
    assert choose_policy(said, setting, attended=False, detached=False) is None
    assert choose_policy(said, setting, attended=False, detached=True) == "ask"
    assert choose_policy(said, setting, attended=True, detached=False) == "ask"


def test_only_the_choices_are_decisions() -> None:
    for choices in (overflow.CHOICES, overflow.OUTPUT_CHOICES):
        assert [read_decision(each.decision) for each in choices] == [
            "compact",
            "reset",
            "continue",
        ]
    assert read_decision("expired") is None
    assert read_decision("") is None


# ---- emptying the view ---------------------------------------------------------------


def reset(history: History, *, budget: int = BOUNDS.budget) -> bool:
    """Carry a reset out for the running turn, if there is one to be had."""
    assert history.running is not None
    change = make_reset(
        history.conversation,
        history.running,
        change_id="r",
        summary_id="rs",
        bounds=replace(BOUNDS, budget=budget),
        count=count_tokens,
        overhead=OVERHEAD,
    )
    if change is not None:
        history.bodies.append(change)
    return change is not None


def seen(history: History) -> list[str]:
    it = history.conversation
    return [item.id for item in build_context(it, it.running, system=None).items]


def test_a_reset_leaves_the_prompt_and_a_note_that_says_what_happened() -> None:
    history = History()
    for _ in range(3):
        history.begin(300)
        history.end(200)
    turn_id = history.begin(10)
    before = history.tokens
    assert before > BOUNDS.budget
    assert reset(history)
    note, prompt = build_context(history.conversation, turn_id, system=None).items
    assert isinstance(note, Summary)
    assert note.text.startswith("The conversation before this message was cleared because")
    assert f"about {before} tokens, of {BOUNDS.budget} that fit" in note.text
    assert prompt.id == "t3.0"
    change = history.conversation.views.find_undoable()
    assert change is None  # as a person's own clear
    history.end(5)
    history.begin(1)
    # What was said since is there, and so is the note.
    assert seen(history) == ["rs", "t3.0", "t3.last", "t4.0"]


def test_what_is_pinned_is_counted_once_where_every_turn_has_the_same_call_ids() -> None:
    history = History()
    for turn_id in ("t0", "t1"):
        history.begin(10)
        asks = AssistantMessage(f"{turn_id}.a", calls=(ToolCall("call_0", "f", "{}"),))
        told = ToolOutput(f"{turn_id}.o", "call_0", "f", (Text("out " * 300),))
        history.bodies += [ItemAdded(turn_id, asks, 1), ItemAdded(turn_id, told, 1)]
        history.end(1000)
    history.bodies.append(ItemPinned("t0.o"))
    history.begin(10)
    assert reset(history)
    assert seen(history) == ["t0.a", "t0.o", "rs", "t2.0"]
    change = history.bodies[-1]
    assert isinstance(change, ViewChanged)
    assert change.tokens_after == history.tokens


def test_what_the_turn_has_done_stays_if_it_can() -> None:
    history = History()
    history.begin(300)
    history.end(900)
    history.begin(10)
    history.use_tool(50)
    history.use_tool(50)
    assert reset(history)
    assert len([each for each in seen(history) if each.startswith("t1.")]) == 5


def test_else_its_earlier_exchanges_leave_and_the_latest_stays() -> None:
    history = History()
    history.begin(30)
    history.end(90)
    history.begin(10)
    for _ in range(3):
        history.use_tool(600)
    assert history.tokens > BOUNDS.budget
    assert reset(history)
    kinds = [type(item) for item in build_context(history.conversation, "t1", system=None).items]
    assert kinds == [Summary, UserMessage, AssistantMessage, ToolOutput]


def test_a_first_turn_is_not_hidden_from_those_that_follow() -> None:
    history = History()
    history.begin(10)
    for _ in range(3):
        history.use_tool(600)
    assert reset(history)
    assert seen(history)[:2] == ["rs", "t0.0"]
    history.end(5)
    assert "t0.0" in seen(history)


def test_pinned_items_stay() -> None:
    history = History()
    history.begin(20)
    history.end(900)
    history.bodies.append(ItemPinned("t0.0"))
    history.begin(600)
    assert reset(history)
    assert seen(history) == ["t0.0", "rs", "t1.0"]


def test_nothing_is_cleared_for_a_prompt_that_would_not_fit_all_the_same() -> None:
    history = History()
    history.begin(20)
    history.end(20)
    history.begin(9000)
    bodies = list(history.bodies)
    assert not reset(history)
    assert history.bodies == bodies


def test_a_queued_turn_has_nothing_to_reset_for() -> None:
    history = History()
    history.begin(900)
    assert not reset(history)
    assert isinstance(history.bodies[-1], TurnStarted)


@given(histories(least=2), st.integers(50, 3000))
def test_whatever_was_before_a_reset_request_is_healthy_and_fits(
    steps: list[tuple[str, int, int]], budget: int
) -> None:
    history = play(steps)
    if history.running is None:
        history.begin(10)
    before = history.conversation
    if not reset(history, budget=budget):
        return
    it = history.conversation
    context = build_context(it, history.running, system=None)
    assert context.faults == ()
    assert history.tokens <= budget
    ids = [item.id for item in context.items]
    assert len(ids) == len(set(ids))
    assert "rs" in ids
    assert f"{history.running}.0" in ids
    pinned = {
        item.id
        for item in build_context(before, history.running, system=None).items
        if item.id in before.pinned
    }
    assert pinned <= set(ids)
