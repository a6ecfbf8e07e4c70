"""A fork has the past of its source: every finished turn whole, and nothing that was open."""

from hypothesis import given
from hypothesis import strategies as st

from askd.core.context import build_context
from askd.core.conversation import Conversation, fold
from askd.core.events import (
    Body,
    ConversationCreated,
    Event,
    ItemAdded,
    ItemPinned,
    PromptSteered,
    PromptWithdrawn,
    QuestionAnswered,
    QuestionAsked,
    Renamed,
    SettingsChanged,
    Titled,
    TurnFinished,
    TurnStarted,
    UnknownBody,
    ViewChanged,
)
from askd.core.forks import plan_fork
from askd.core.items import AssistantMessage, Notice, Text, UserMessage
from tests.core.turn_world import accept, record
from tests.core.values import logs


def continue_with(copies: list[Event], *, id: str = "f") -> Conversation:
    """The fork as the store would number it."""
    created = Event(id, 1, 9e9, ConversationCreated(id, forked_from="c"))
    numbered = [Event(id, seq, each.at, each.body) for seq, each in enumerate(copies, start=2)]
    return fold(id, [created, *numbered])


def turn(turn_id: str) -> list[Body]:
    answer = AssistantMessage(f"{turn_id}.1", (Text(f"answer {turn_id}"),))
    return [
        accept(turn_id, text=f"ask {turn_id}"),
        TurnStarted(turn_id, 1),
        ItemAdded(turn_id, answer, 1),
        TurnFinished(turn_id, "completed", 0),
    ]


SOURCE = record(
    [
        ConversationCreated("c", "work"),
        SettingsChanged(model="a/b", system="Be brief."),
        *turn("t"),  # seq 3 to 6
        Titled("A title"),
        accept("u", text="ask u"),  # 8
        accept("q", text="waits"),
        TurnStarted("u", 1),
        QuestionAsked("u", "?", "approval", "d", {}, 5.0),
        QuestionAnswered("u", "?", "tty", "yes"),
        ItemAdded("u", AssistantMessage("u.1", (Text("answer u"),)), 1),
        TurnFinished("u", "completed", 0),  # 14
        Renamed("other"),
        ItemAdded(None, Notice("n", "/models")),
        ItemPinned("t.0"),
        ItemPinned("q.0"),
        TurnStarted("q", 1),  # 19
        ItemAdded("q", AssistantMessage("q.1", (Text("half"),)), 1),
    ]
)


def test_a_fork_goes_on_from_the_last_finished_turn() -> None:
    fork = continue_with(plan_fork(SOURCE))
    assert list(fork.turns) == fork.started == ["t", "u"]
    assert (fork.unfinished, fork.open_questions) == ([], {})
    assert (fork.name, fork.title, fork.forked_from) == (None, "A title", "c")
    assert (fork.settings.model, fork.settings.system) == ("a/b", "Be brief.")
    assert fork.pinned == {"t.0"}
    assert [each.item.id for each in fork.strays] == ["n"]
    assert {record.prompt.key for record in fork.turns.values()} == {""}
    seen = build_context(fork, None, system=None).items
    whole = build_context(fold("c", SOURCE), None, system=None).items
    assert seen == whole[:4], "all but the turn that runs"


def test_each_event_keeps_its_time() -> None:
    copies = plan_fork(SOURCE)
    times = {event.seq: event.at for event in SOURCE}
    assert [each.at for each in copies] == [times[each.seq] for each in copies]


def test_a_fork_at_an_event_knows_nothing_of_what_came_later() -> None:
    assert list(continue_with(plan_fork(SOURCE, at_seq=6)).turns) == ["t"]
    assert continue_with(plan_fork(SOURCE, at_seq=6)).title is None
    in_the_middle = continue_with(plan_fork(SOURCE, at_seq=13))
    assert (list(in_the_middle.turns), in_the_middle.title) == (["t"], "A title")
    assert continue_with(plan_fork(SOURCE, at_seq=5)).turns == {}
    assert plan_fork(SOURCE, at_seq=1) == []


def test_what_was_said_to_a_turn_is_copied_with_it_and_without_its_key() -> None:
    message = UserMessage("s", (Text("no"),))
    said: list[Body] = [PromptSteered("t", "k", (message,)), ItemAdded("t", message)]
    *begun, end = turn("t")
    fork = continue_with(plan_fork(record([ConversationCreated("c"), *begun, *said, end])))
    assert fork.turns["t"].steered == [PromptSteered("t", "", (message,))]
    assert (fork.turns["t"].waiting, fork.message_count) == ([], 3)


def test_what_was_cleared_stays_cleared() -> None:
    cleared = record([ConversationCreated("c"), *turn("t"), ViewChanged("v", "clear")])
    assert build_context(continue_with(plan_fork(cleared)), None, system=None).items == ()


def test_a_prompt_that_was_taken_back_stays_taken_back() -> None:
    withdrawn: list[Body] = [
        accept("w", text="never"),
        PromptWithdrawn("w"),
        TurnFinished("w", "withdrawn", 1),
    ]
    fork = continue_with(plan_fork(record([ConversationCreated("c"), *turn("t"), *withdrawn])))
    assert (fork.message_count, fork.unfinished) == (2, [])


def test_what_only_a_later_version_can_read_is_not_copied() -> None:
    """It would be written as an event of this version, which it is none of."""
    later = Event("c", 2, 1.0, UnknownBody(raw={"type": "titled", "title": [1]}), version=99)
    strange = Event("c", 3, 1.0, UnknownBody(raw={"type": "from_tomorrow"}))
    of_a_turn = Event("c", 4, 1.0, UnknownBody(raw={"type": "x", "turn_id": "q"}))
    open_turn = Event("c", 5, 1.0, accept("q", text="waits"))
    first = Event("c", 1, 1.0, ConversationCreated("c"))
    assert plan_fork([first, later, strange, of_a_turn, open_turn]) == [strange]


def test_an_id_that_comes_again_opens_no_turn_anew() -> None:
    """Nobody writes that; a log that was put together badly may have it."""
    twice = record([ConversationCreated("c"), *turn("t"), accept("t", text="again")])
    assert list(continue_with(plan_fork(twice)).turns) == ["t"]


@given(logs(), st.integers(0, 31))
def test_any_log_can_be_forked_anywhere(events: list[Event], at_seq: int) -> None:
    copies = plan_fork(events, at_seq=at_seq)
    assert copies == plan_fork(events[:at_seq])
    fork = continue_with(copies)
    assert (fork.unfinished, fork.open_questions, fork.name) == ([], {}, None)
    past = fold("c", [each for each in events[:at_seq] if each.version == 1])
    finished = [id for id, record in past.turns.items() if record.finished is not None]
    assert list(fork.turns) == finished
    for turn_id in finished:
        assert fork.turns[turn_id].items == past.turns[turn_id].items
        assert fork.turns[turn_id].prompt.items == past.turns[turn_id].prompt.items


@given(logs())
def test_a_fork_of_a_fork_is_the_same(events: list[Event]) -> None:
    copies = plan_fork(events)
    numbered = [Event("f", seq, each.at, each.body) for seq, each in enumerate(copies, start=1)]
    assert [each.body for each in plan_fork(numbered)] == [each.body for each in copies]
