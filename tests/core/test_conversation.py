"""The fold says what the log says, costs the same for each event, and never raises."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given

from askd.core.conversation import Conversation, count_messages, fold
from askd.core.events import (
    Body,
    CompletionFinished,
    ConversationCreated,
    Event,
    ItemAdded,
    ItemPinned,
    ItemUnpinned,
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
from askd.core.items import (
    AssistantMessage,
    Notice,
    Snapshot,
    Summary,
    Text,
    ToolOutput,
    Unknown,
    UserMessage,
)
from askd.core.outcome import Usage
from askd.core.standing import Settings
from tests.core.turn_world import accept, record
from tests.core.values import logs
from tests.fakes.growth import LINEAR, find_growth

CREATED = ConversationCreated("c", "work")
ANSWER = AssistantMessage("t.1", (Text("Blue."),))
QUESTION = QuestionAsked("t", "q", "approval", "d", {}, 9.0)


def tell(*bodies: Body) -> Conversation:
    return fold("c", record([CREATED, *bodies]))


def test_what_was_said_to_a_turn_waits_until_it_joins() -> None:
    one, two = (UserMessage(id, (Text(id),)) for id in ("s1", "s2"))
    said = [PromptSteered("t", each.id, (each,)) for each in (one, two)]
    it = tell(accept(), TurnStarted("t", 1), said[0], PromptSteered("nobody", "k", (one,)), said[1])
    assert it.turns["t"].waiting == [one, two]
    assert isinstance(it.turns["t"].last, TurnStarted)
    assert it.message_count == 1
    joined = ItemAdded("t", one)
    it = tell(accept(), TurnStarted("t", 1), *said, joined)
    assert (it.turns["t"].waiting, it.turns["t"].steered) == ([two], said)
    assert it.message_count == 2


def test_a_conversation_is_named_titled_and_set() -> None:
    it = tell(
        Titled("Blue skies"),
        SettingsChanged(model="p/m"),
        SettingsChanged(system="Be brief."),
        ConversationCreated("c", "work", forked_from="d"),
    )
    assert (it.id, it.name, it.title, it.forked_from) == ("c", "work", "Blue skies", "d")
    assert it.settings == Settings("p/m", "Be brief.")
    assert (it.created_at, it.updated_at, it.last_seq) == (1.0, 5.0, 5)
    it.apply(Event("c", 6, 9.5, Renamed(None)))
    assert (it.name, it.updated_at, it.created_at) == (None, 9.5, 1.0)


def test_a_turn_from_queue_to_end() -> None:
    it = tell(accept("t"), accept("u"))
    assert (it.queue, it.running, it.unfinished) == (["t", "u"], None, ["t", "u"])
    assert it.turns["t"].attempt == 0
    for body in (
        TurnStarted("t", 1, "p/m"),
        ItemAdded("t", ANSWER, 1),
        CompletionFinished("t", 1, "end", Usage(1, 2)),
    ):
        it.apply(Event("c", it.last_seq + 1, 0.0, body))
    assert (it.queue, it.running, it.unfinished) == (["u"], "t", ["t", "u"])
    turn = it.turn_record("t")
    assert turn is not None
    assert turn.prompt == accept("t")
    assert (turn.accepted_seq, turn.position, turn.attempt, turn.model) == (2, 0, 1, "p/m")
    assert (turn.completions, turn.stopped, turn.stop) == (1, 1, "end")
    assert turn.usage == Usage(1, 2)
    assert turn.items == [ItemAdded("t", ANSWER, 1)]
    assert it.finished("t") is None
    end = TurnFinished("t", "completed", 0)
    it.apply(Event("c", it.last_seq + 1, 0.0, end))
    assert (it.queue, it.running) == (["u"], None)
    assert it.finished("t") == end == turn.last
    assert it.started == ["t"]


def test_usage_adds_up_and_the_latest_end_counts() -> None:
    it = tell(
        accept(),
        TurnStarted("t", 1),
        CompletionFinished("t", 1, "calls", Usage(1, 1)),
        CompletionFinished("t", 2, "unknown"),
        CompletionFinished("t", 3, "length", Usage(2, 2)),
    )
    turn = it.turns["t"]
    assert (turn.usage, turn.stopped, turn.stop) == (Usage(3, 3), 3, "length")


def test_a_second_attempt_keeps_its_place() -> None:
    it = tell(
        accept("t"), accept("u"), TurnStarted("t", 1), TurnStarted("u", 1), TurnStarted("t", 2)
    )
    assert it.started == ["t", "u"]
    assert it.turns["t"].attempt == 2


def test_a_withdrawn_prompt_leaves_the_queue() -> None:
    it = tell(accept("t"), accept("u"), PromptWithdrawn("t"))
    assert (it.queue, it.message_count) == (["u"], 1)
    it = tell(accept("t"), PromptWithdrawn("t"))
    assert (it.queue, it.turns["t"].withdrawn) == ([], True)
    it.apply(Event("c", it.last_seq + 1, 0.0, TurnFinished("t", "withdrawn", 1)))
    assert it.finished("t") is not None
    assert it.started == []


def test_questions_are_open_until_answered_or_outlived() -> None:
    other = replace(QUESTION, question_id="r")
    it = tell(accept(), TurnStarted("t", 1), QUESTION, other)
    assert it.open_questions == {"q": QUESTION, "r": other}
    it.apply(Event("c", it.last_seq + 1, 0.0, QuestionAnswered("t", "q", "tty", "yes")))
    assert it.open_questions == {"r": other}
    it.apply(Event("c", it.last_seq + 1, 0.0, TurnFinished("t", "interrupted", 1)))
    assert it.open_questions == {}


def test_pins() -> None:
    assert tell(ItemPinned("x"), ItemPinned("y"), ItemUnpinned("x")).pinned == {"y"}
    assert not tell(ItemPinned("x")).is_pinned, "a message is not the conversation"
    assert tell(ItemPinned()).is_pinned
    assert not tell(ItemPinned(), ItemUnpinned("x"), ItemUnpinned()).is_pinned


def test_what_was_copied_does_not_make_a_conversation_old() -> None:
    it = fold("c", [Event("c", 1, 9.0, CREATED), Event("c", 2, 5.0, accept("t"))])
    assert (it.created_at, it.updated_at) == (9.0, 9.0)


def in_view(it: Conversation) -> list[str]:
    return [turn_id for turn_id, turn in it.turns.items() if it.view.holds(turn.position)]


def test_clear_takes_turns_out_of_the_view_and_undo_brings_them_back() -> None:
    turns = [accept(t) for t in "tuv"]
    clear = ViewChanged("x", "clear", through_turn="t")
    assert in_view(tell(*turns)) == ["t", "u", "v"]
    assert in_view(tell(*turns, clear)) == ["u", "v"]
    further = ViewChanged("y", "clear", through_turn="u")
    assert in_view(tell(*turns, clear, further)) == ["v"]
    assert in_view(tell(*turns, further, clear)) == ["v"]
    undone = ViewChanged("z", "undo", restored="y")
    assert in_view(tell(*turns, clear, further, undone)) == ["u", "v"]
    assert in_view(tell(*turns, ViewChanged("z", "undo"), clear)) == ["u", "v"]


def test_clear_that_names_no_turn_means_all_that_has_started() -> None:
    clear = ViewChanged("x", "clear")
    it = tell(
        accept("t"), TurnStarted("t", 1), TurnFinished("t", "completed", 0), accept("u"), clear
    )
    assert in_view(it) == ["u"]
    assert in_view(tell(accept("t"), clear)) == ["t"]
    unknown = ViewChanged("x", "clear", through_turn="nobody")
    assert in_view(tell(accept("t"), TurnStarted("t", 1), unknown)) == []


def test_messages_are_counted_as_they_are_shown() -> None:
    user = UserMessage("s", (Text("rather this"),))
    it = tell(
        accept(),
        TurnStarted("t", 1),
        ItemAdded("t", ANSWER, 1),
        ItemAdded("t", ToolOutput("o", "nobody", "f", ())),
        ItemAdded("t", user),
        ItemAdded("t", replace(ANSWER, id="t.2"), 2, "interrupted"),
        ItemAdded("t", replace(ANSWER, id="t.3"), 3, "superseded"),
        ItemAdded("t", Summary("x", "s")),
        ItemAdded("t", Snapshot("y", "/w", "abc")),
        ItemAdded("t", Unknown({"type": "dream"})),
        ItemAdded(None, Notice("n", "/models")),
    )
    assert it.message_count == 6
    assert [each.item.id for each in it.strays] == ["n"]


def test_an_event_that_was_applied_is_not_applied_again() -> None:
    log = record([CREATED, accept(), TurnStarted("t", 1), ItemAdded("t", ANSWER, 1)])
    it = fold("c", [*log, *log])
    assert len(it.turns["t"].items) == 1
    assert it.message_count == 2


@pytest.mark.parametrize(
    "body",
    [
        TurnStarted("nobody", 1),
        TurnFinished("nobody", "completed", 0),
        CompletionFinished("nobody", 1, "end"),
        PromptWithdrawn("nobody"),
        replace(QUESTION, turn_id="nobody"),
        QuestionAnswered("nobody", "q", "tty", "yes"),
        QuestionAnswered("t", "nothing", "tty", "yes"),
        UnknownBody({"type": "from_tomorrow"}),
        ViewChanged("x", "prune", dropped_items=("t.1",)),
    ],
)
def test_odd_events_change_nothing(body: Body) -> None:
    it = tell(accept(), body)
    assert (it.queue, it.running, it.open_questions, it.view.floor) == (["t"], None, {}, -1)
    assert it.started == []
    assert it.last_seq == 3


def test_items_of_unknown_turns_are_strays_and_count() -> None:
    it = tell(ItemAdded("nobody", ANSWER, 1))
    assert [each.item for each in it.strays] == [ANSWER]
    assert it.message_count == 1


def test_a_turn_ends_once_and_is_accepted_once() -> None:
    first = TurnFinished("t", "completed", 0)
    it = tell(
        accept(), TurnStarted("t", 1), first, TurnFinished("t", "failed", 1), TurnStarted("t", 2),
        QUESTION, accept(text="again"),
    )  # fmt: skip
    assert it.finished("t") == first
    assert (it.running, it.queue, it.open_questions) == (None, [], {})
    assert it.turns["t"].prompt == accept()
    assert it.turns["t"].attempt == 1


def test_an_attempt_counts_from_one() -> None:
    assert tell(accept(), TurnStarted("t", 0)).turns["t"].attempt == 1


@given(logs())
def test_no_log_makes_it_raise(log: list[Event]) -> None:
    it = fold("c", log)
    assert it.last_seq == len(log)
    assert it.message_count == sum(count_messages(event.body) for event in log)
    assert set(it.queue).isdisjoint(it.started)
    assert all(it.turns[each].finished is None for each in it.unfinished)
    assert it.running is None or it.running in it.unfinished


def test_a_long_log_folds_in_proportion() -> None:
    def prepare(turns: int) -> Callable[[], Conversation]:
        bodies: list[Body] = [CREATED]
        for n in range(turns):
            bodies += [
                accept(f"t{n}"),
                TurnStarted(f"t{n}", 1),
                ItemAdded(f"t{n}", replace(ANSWER, id=f"t{n}.1"), 1),
                CompletionFinished(f"t{n}", 1, "end", Usage(1, 1)),
                TurnFinished(f"t{n}", "completed", 0),
            ]
        log = record(bodies)
        return lambda: fold("c", log)

    assert prepare(2000)().message_count == 4000
    assert find_growth(prepare, 250) < LINEAR
