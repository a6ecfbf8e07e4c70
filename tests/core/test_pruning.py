"""Pruning leaves out what is old, in order, no more than it must, and says what went."""

import math
from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given

from askd.core.context import build_context
from askd.core.events import ItemPinned
from askd.core.items import AssistantMessage, Item, Summary, ToolOutput, UserMessage, join_text
from askd.core.pairs import find_faults
from askd.core.pruning import is_note, plan_pruning
from tests.core.histories import BOUNDS, OVERHEAD, History, Step, count_tokens, histories, play


def see(history: History) -> list[Item]:
    it = history.conversation
    return list(build_context(it, it.running, system=None).items)


def make_turns(count: int, *, tool: int = 0, size: int = 20) -> History:
    history = History()
    for _ in range(count):
        history.begin(size)
        if tool:
            history.use_tool(tool)
        history.end(size)
    return history


def test_the_text_of_old_outputs_leaves_first() -> None:
    history = make_turns(4, tool=420, size=5)
    change = history.prune()
    assert change is not None
    assert (change.through_turn, change.dropped_items, change.summary) == (None, (), None)
    outputs = [item for item in see(history) if isinstance(item, ToolOutput)]
    lengths = [len(join_text(item.parts)) for item in outputs]
    assert lengths == [45, 45, 1680, 1680], "the last two turns are whole"
    assert history.tokens == change.tokens_after


def test_then_exchanges_then_turns() -> None:
    history = make_turns(30, tool=1, size=25)
    history.bounds = replace(BOUNDS, summary_tokens=500)
    change = history.prune()
    assert change is not None
    assert change.through_turn is not None
    assert change.summary is not None
    assert change.summary.text.splitlines()[0].endswith("tokens) were summarized:")
    assert all(line.startswith("- ask t") for line in change.summary.text.splitlines()[1:])
    items = see(history)
    assert isinstance(items[0], Summary)
    assert isinstance(items[1], UserMessage)
    assert find_faults(items) == []


def test_the_last_turns_stay_though_they_are_too_much() -> None:
    history = make_turns(2, size=1500)
    assert history.prune() is None, "nothing may leave: somebody else must decide"


def test_no_more_than_is_needed() -> None:
    history = make_turns(12, size=70)
    change = history.prune()
    assert change is not None
    assert change.through_turn is not None
    last = int(change.through_turn.removeprefix("t"))
    fewer = replace(change, through_turn=f"t{last - 1}")
    history.bodies[-1] = fewer
    assert history.tokens > BOUNDS.compact_above * 0.9


def test_a_note_takes_no_more_than_a_summary_may() -> None:
    history = make_turns(30, size=40)
    change = history.prune()
    assert change is not None
    assert change.summary is not None
    assert count_tokens([change.summary]) <= BOUNDS.summary_tokens
    last = int((change.through_turn or "t0").removeprefix("t"))
    assert change.summary.text.splitlines()[-1].startswith(f"- ask t{last} "), "the oldest leave it"


def test_a_note_tells_of_what_an_earlier_one_told() -> None:
    history = make_turns(12, size=70)
    history.bounds = replace(BOUNDS, summary_tokens=700)
    history.prune()
    for _ in range(8):
        history.begin(70)
        history.end(70)
    change = history.prune()
    assert change is not None
    assert change.summary is not None
    assert is_note(change.summary)
    told = change.summary.text
    assert "- ask t0 why" in told
    assert sum(isinstance(item, Summary) for item in see(history)) == 1


def test_a_models_summary_stays() -> None:
    history = make_turns(12, size=70)
    compacted = history.compact("It is about tea.")
    for _ in range(10):
        history.begin(70)
        history.end(70)
    change = history.prune()
    assert compacted is not None
    assert compacted.summary is not None
    assert change is not None
    assert compacted.summary in see(history)
    assert not is_note(compacted.summary)


def test_a_limit_of_messages_counts_the_coming_ones() -> None:
    history = make_turns(5, size=1)
    history.bounds = replace(BOUNDS, max_messages=8)
    change = history.prune()
    assert change is not None
    said = [item for item in see(history) if isinstance(item, UserMessage | AssistantMessage)]
    assert len(said) == 6


def test_what_is_pinned_stays() -> None:
    history = make_turns(14, size=70)
    history.bodies.append(ItemPinned("t1.last"))
    change = history.prune()
    assert change is not None
    assert "t1.last" in [item.id for item in see(history)]


@given(histories(least=3))
def test_whatever_happened_a_pruning_is_sound(steps: list[Step]) -> None:
    history = play(steps)
    it = history.conversation
    was = see(history)
    change = history.prune()
    if change is None:
        return
    items = see(history)
    ids = [item.id for item in items]
    assert len(ids) == len(set(ids))
    assert find_faults(items) == []
    assert history.tokens == change.tokens_after
    assert change.tokens_after is not None
    assert change.tokens_after <= BOUNDS.budget
    assert {item.id for item in was} & it.pinned <= set(ids)
    finished = [each for each in it.started if it.view.holds(it.turns[each].position)]
    for turn_id in [each for each in finished if it.turns[each].finished][-BOUNDS.min_turns :]:
        shown = [item.id for item in was if item.id.startswith(f"{turn_id}.")]
        assert set(shown) <= set(ids), "the last turns are whole"
    for item in was:
        if isinstance(item, Summary) and not is_note(item):
            assert item in items, "a model's summary stays"
    assert history.undo()
    assert see(history) == was


def test_planning_looks_at_each_item_a_few_times() -> None:
    history = make_turns(400, tool=60)
    counted = 0

    def count(items: Sequence[Item]) -> int:
        nonlocal counted
        counted += len(items)
        return count_tokens(items)

    change = plan_pruning(
        history.conversation,
        change_id="v",
        summary_id="s",
        bounds=BOUNDS,
        count=count,
        overhead=OVERHEAD,
    )
    assert change is not None
    assert counted < 6 * len(see(history)), "it takes as long as the history is"


def test_the_tokens_that_it_names_are_not_a_sum_of_roundings() -> None:
    """Estimates of single items are rounded up; what is left is counted as a whole."""
    history = make_turns(60, size=12)

    def count(items: Sequence[Item]) -> int:
        return math.ceil(count_tokens(items) * 0.9)

    it = history.conversation
    change = plan_pruning(
        it, change_id="v", summary_id="s", bounds=BOUNDS, count=count, overhead=OVERHEAD
    )
    assert change is not None
    history.bodies.append(change)
    assert change.tokens_after == OVERHEAD + count(see(history))


def test_what_is_told_of_what_left_is_not_what_makes_it_too_much() -> None:
    history = make_turns(12, size=70)
    plain = history.prune()
    assert plain is not None
    assert plain.summary is not None
    told = len(plain.summary.text.splitlines())
    history.undo()
    history.begin(980)
    change = history.prune()
    assert change is not None
    assert change.summary is not None
    assert history.tokens <= BOUNDS.budget
    assert len(change.summary.text.splitlines()) < told, "fewer lines are told"
