"""A conversation's row is what the fold of its events says."""

import pytest

from askd.core.conversation import fold
from askd.core.events import (
    Body,
    ConversationCreated,
    ItemAdded,
    ItemPinned,
    ItemUnpinned,
    PromptSteered,
    PromptWithdrawn,
    Renamed,
    SettingsChanged,
    Titled,
    TurnStarted,
)
from askd.core.items import Summary
from askd.store.log import Write
from askd.store.projection import (
    advance_row,
    check_write,
    empty_row,
    find_key_seq,
    number_events,
)
from tests.store.builders import add, answer, create, note, prompt


def test_a_row_agrees_with_the_fold() -> None:
    bodies: list[Body] = [
        ConversationCreated("c", name="work"),
        SettingsChanged(model="openai/a"),
        prompt("t1"),
        TurnStarted("t1", 1, "openai/b"),
        ItemAdded("t1", answer("t1").item, 1, "superseded"),
        answer("t1"),
        ItemAdded("t1", Summary("s", "so far")),
        note(),
        prompt("t2"),
        PromptWithdrawn("t2"),
        Titled("Greetings"),
        SettingsChanged(system="be brief"),
        Renamed(None),
        ItemPinned("t1.1"),
    ]
    events = number_events(empty_row("c", at=5.0), bodies, at=7.0)
    row = advance_row(empty_row("c", at=5.0), events)
    folded = fold("c", events)
    assert (row.name, row.title, row.model) == (None, "Greetings", "openai/a")
    assert row.message_count == folded.message_count == 3
    assert row.last_seq == folded.last_seq == 14
    assert (row.created_at, row.updated_at) == (5.0, 7.0)
    assert folded.settings.model == row.model


def test_the_model_of_a_turn_is_shown_only_while_no_setting_says_one() -> None:
    row = empty_row("c", at=1.0)
    row = advance_row(row, number_events(row, [TurnStarted("t", 1, "a/b")], at=1.0))
    assert row.model == "a/b"
    row = advance_row(row, number_events(row, [TurnStarted("u", 1, "c/d")], at=1.0))
    assert row.model == "a/b"


@pytest.mark.parametrize(
    "write",
    [
        Write(conversation_id="c", bodies=[], create=True),
        Write(conversation_id="c", bodies=[note(), ConversationCreated("c")], create=True),
        Write(conversation_id="c", bodies=[ConversationCreated("d")], create=True),
        Write(conversation_id="c", bodies=[ConversationCreated("c")] * 2, create=True),
        Write(conversation_id="c", bodies=[ConversationCreated("c")]),
    ],
)
def test_a_creation_is_seq_1_and_nothing_else(write: Write) -> None:
    with pytest.raises(ValueError, match="conversation"):
        check_write(write)


def test_writes_that_may_be_asked() -> None:
    check_write(create("c", note()))
    check_write(add("c", note()))
    check_write(add("c"))


def test_a_key_stands_for_the_acceptance_or_for_the_first_event() -> None:
    events = number_events(empty_row("c", at=1.0), [note(), note(), prompt("t")], at=1.0)
    assert find_key_seq(events, "t") == 3
    assert find_key_seq(events, "another") == 1
    assert find_key_seq([], "t") == 0


def test_the_key_of_a_message_that_steers_stands_for_its_own_event() -> None:
    row = empty_row("c", at=1.0)
    events = number_events(row, [Titled("x"), PromptSteered("t", "k", ())], at=1.0)
    assert find_key_seq(events, "t") == 2


def test_only_the_conversations_own_pin_marks_it() -> None:
    row = empty_row("c", at=1.0)
    for body, pinned in (
        (ItemPinned("i"), False),
        (ItemPinned(), True),
        (ItemUnpinned("i"), True),
        (ItemUnpinned(), False),
    ):
        row = advance_row(row, number_events(row, [body], at=1.0))
        assert row.pinned is pinned


def test_copies_of_older_events_do_not_make_a_row_old() -> None:
    bodies: list[Body] = [
        ConversationCreated("c", forked_from="d"),
        prompt("t"),
        answer("t"),
    ]
    events = number_events(empty_row("c", at=9.0), bodies, at=9.0, times=[8.0, 3.0, 4.0])
    row = advance_row(empty_row("c", at=9.0), events)
    assert row.updated_at == fold("c", events).updated_at == 8.0
