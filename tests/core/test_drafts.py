"""A draft becomes the events that our own daemon would have written."""

import itertools

from askd.core.context import build_context
from askd.core.conversation import Conversation, fold
from askd.core.drafts import (
    INTERRUPTED_TEXT,
    KEPT_TOKENS,
    Draft,
    DraftStray,
    DraftSummary,
    DraftTurn,
    number_draft,
)
from askd.core.events import CompletionFinished, Event, ItemAdded, ViewChanged
from askd.core.items import (
    AssistantMessage,
    Snapshot,
    Text,
    ToolCall,
    ToolOutput,
    Unknown,
    UserMessage,
    join_text,
)
from askd.core.outcome import Usage

ANSWER = AssistantMessage("", (Text("yes"),))
ASKS = AssistantMessage("", calls=(ToolCall("a", "f", "{}"), ToolCall("b", "f", "{}")))
STRAY = Unknown({"type": "codex_item", "id": "", "item": {}})


def output(call_id: str) -> ToolOutput:
    return ToolOutput("", call_id, "f", (Text("4"),))


def turn(*said: object, prompt: str = "go", **more: object) -> DraftTurn:
    parts = (Text(prompt),) if prompt else ()
    timed = [(float(at), item) for at, item in enumerate(said, start=2)]
    return DraftTurn(at=1.0, prompt=parts, said=timed, **more)  # type: ignore[arg-type]


def number(
    *entries: DraftTurn | DraftSummary | DraftStray, system: str | None = None
) -> list[Event]:
    ids = itertools.count(1)
    timed = number_draft(Draft(system, 0.5, list(entries)), lambda: f"i{next(ids)}")
    return [Event("c", seq, at, body) for seq, (at, body) in enumerate(timed, start=1)]


def folded(*entries: DraftTurn | DraftSummary | DraftStray) -> Conversation:
    return fold("c", number(*entries))


def test_ids_are_those_of_a_turn_and_unique() -> None:
    events = number(turn(ASKS, output("a"), output("b"), STRAY, ANSWER), DraftStray(9.0, STRAY))
    items = [event.body.item for event in events if isinstance(event.body, ItemAdded)]
    ids = [item.id for item in items]
    assert ids == ["i1.1", "i1.1.1", "i1.1.2", "i1.x1", "i1.2", "i2"]
    assert [event.type for event in events][:3] == ["prompt_accepted", "turn_started", "item_added"]
    assert events[-1].at == 9.0


def test_the_last_answer_carries_what_the_turn_took() -> None:
    events = number(turn(ASKS, output("a"), output("b"), ANSWER, usage=Usage(7)))
    ends = [event.body for event in events if isinstance(event.body, CompletionFinished)]
    assert [(end.completion, end.stop, end.usage) for end in ends] == [
        (1, "calls", None),
        (2, "end", Usage(7)),
    ]


def test_how_turns_end() -> None:
    conversation = folded(
        turn(ANSWER),
        turn(),
        turn(ASKS, output("a")),
        turn(ANSWER, aborted=True),
        turn(failed="No room."),
    )
    ends = [record.finished for record in conversation.turns.values()]
    assert [end and (end.outcome, end.code, end.message) for end in ends] == [
        ("completed", 0, None),
        ("interrupted", 1, INTERRUPTED_TEXT),
        ("interrupted", 1, INTERRUPTED_TEXT),
        ("interrupted", 1, "Interrupted by a person."),
        ("failed", 1, "No room."),
    ]
    assert conversation.unfinished == []


def test_what_was_taken_back_is_in_the_log_and_nowhere_else() -> None:
    conversation = folded(
        turn(ANSWER, prompt="keep"),
        turn(ANSWER, output("x"), STRAY, taken_back=True),
        turn(ANSWER, prompt="", taken_back=True),
    )
    items = build_context(conversation, None, system=None).items
    assert [item.id for item in items] == ["i1.0", "i1.1"]
    assert conversation.message_count == 2
    assert conversation.unfinished == []
    assert sum(len(record.items) for record in conversation.turns.values()) == 5


def test_a_summary_stands_for_the_turns_before_it() -> None:
    events = number(turn(ANSWER), DraftSummary(5.0, "so far"), DraftSummary(6.0, None))
    first, second = [event.body for event in events if isinstance(event.body, ViewChanged)]
    assert (first.kind, first.through_turn) == ("compact", "i1")
    assert first.summary is not None
    assert (first.summary.text, second.summary) == ("so far", None)
    assert [item.id for item in first.kept] == ["i1.0"], "what was asked stays, by Codex's rule"


def test_the_messages_that_a_file_names_stand_before_its_summary() -> None:
    kept = ((Text("one"),), (Text("elsewhere"),))
    events = number(turn(ANSWER, prompt="one"), DraftSummary(5.0, "so far", kept))
    (change,) = [event.body for event in events if isinstance(event.body, ViewChanged)]
    first, second = change.kept
    assert first.id == "i1.0", "a message that the log has is that message"
    assert second == UserMessage(second.id, (Text("elsewhere"),))
    items = build_context(fold("c", events), None, system=None).items
    assert [item.id for item in items] == ["i1.0", second.id, change.summary and change.summary.id]


def test_a_file_that_names_no_messages_keeps_the_latest_that_fit() -> None:
    long = "x" * 4 * (KEPT_TOKENS - 10)
    events = number(
        turn(ANSWER, prompt="first"), turn(ANSWER, prompt=long), turn(ANSWER, prompt="y" * 400),
        DraftSummary(5.0, "so far"),
    )  # fmt: skip
    (change,) = [event.body for event in events if isinstance(event.body, ViewChanged)]
    texts = [join_text(item.parts) for item in change.kept if isinstance(item, UserMessage)]
    assert texts[-1] == "y" * 400
    assert "characters truncated ...]" in texts[0]
    assert len(texts) == 2, "nothing before the one that was cut"


def test_a_system_prompt_is_a_setting_of_the_conversation() -> None:
    conversation = fold("c", number(turn(ANSWER), system="Be brief."))
    assert conversation.settings.system == "Be brief."


def test_a_snapshot_is_no_message() -> None:
    conversation = folded(turn(Snapshot("", "/w", "abc"), ANSWER))
    assert conversation.message_count == 2
