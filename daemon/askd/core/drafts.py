"""Drafts: a conversation from elsewhere, as turns, before it has ids and events of its own.

A reader of a foreign file fills one; `number_draft` makes the events that our own
daemon would have written, so that nothing after it knows where they came from.
A turn that was taken back keeps its place in the log and leaves history and view.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from askd.core.compaction import keep_messages
from askd.core.events import (
    Body,
    CompletionFinished,
    HeadItem,
    ItemAdded,
    PromptAccepted,
    PromptWithdrawn,
    SettingsChanged,
    TurnFinished,
    TurnStarted,
    ViewChanged,
)
from askd.core.items import (
    AssistantMessage,
    Item,
    Part,
    Summary,
    Text,
    ToolOutput,
    UserMessage,
)
from askd.core.outcome import DONE, FAILED, Stop, Usage

KEPT_TOKENS = 20_000
"""Of users' messages, Codex keeps so much when it compacts."""
INTERRUPTED_TEXT = "The file it was imported from has no end of this turn."

Timed = tuple[float, Body]
"""A body, and when it happened in unix seconds."""


@dataclass(slots=True, kw_only=True)
class DraftTurn:
    """One turn. Items have no ids yet; `prompt` is empty where a model went on by itself.

    Attributes:
        said: what came after the prompt, each with its time.
        failed: why it failed, a sentence.
        aborted: a person stopped it.
        taken_back: it was undone; nobody sees it.
    """

    at: float
    prompt: tuple[Part, ...] = ()
    cwd: str | None = None
    model: str | None = None
    said: list[tuple[float, Item]] = field(default_factory=list)
    usage: Usage | None = None
    failed: str | None = None
    aborted: bool = False
    taken_back: bool = False

    @property
    def ended_at(self) -> float:
        """When the last of it happened."""
        return self.said[-1][0] if self.said else self.at


@dataclass(frozen=True, slots=True)
class DraftSummary:
    """All that was said before is out of the view; this text stands for it, if there is one.

    `kept`: users' messages that stand before the text; None: the file does not say which.
    """

    at: float
    text: str | None
    kept: tuple[tuple[Part, ...], ...] | None = None


@dataclass(frozen=True, slots=True)
class DraftStray:
    """An item of no turn."""

    at: float
    item: Item


@dataclass(slots=True)
class Draft:
    """The whole conversation so far, in the order of the file."""

    system: str | None = None
    system_at: float = 0.0
    entries: list[DraftTurn | DraftSummary | DraftStray] = field(default_factory=list)

    def take_back(self, count: int) -> None:
        """Take back the last `count` turns that a person began, and all that followed them."""
        for index in range(len(self.entries) - 1, -1, -1):
            entry = self.entries[index]
            if count <= 0:
                return
            if isinstance(entry, DraftTurn) and not entry.taken_back:
                entry.taken_back = True
                count -= bool(entry.prompt)
            elif isinstance(entry, DraftSummary):
                del self.entries[index]


def number_draft(draft: Draft, new_id: Callable[[], str]) -> Iterator[Timed]:
    """The events of a draft, all but the first, which is the conversation's own."""
    if draft.system is not None:
        yield draft.system_at, SettingsChanged(system=draft.system)
    last_turn: str | None = None
    said: list[UserMessage] = []
    for entry in draft.entries:
        match entry:
            case DraftTurn(taken_back=True):
                yield from _withdraw(entry, new_id())
            case DraftTurn():
                last_turn = new_id()
                said += [UserMessage(f"{last_turn}.0", entry.prompt)] if entry.prompt else []
                yield from _number_turn(entry, last_turn)
            case DraftSummary(at=at, text=text):
                summary = None if text is None else Summary(new_id(), text)
                kept = _find_kept(entry, said, new_id)
                yield at, ViewChanged(new_id(), "compact", last_turn, summary=summary, kept=kept)
            case DraftStray(at=at, item=item):
                yield at, ItemAdded(None, give_id(item, new_id()))


def _find_kept(
    entry: DraftSummary, said: Sequence[UserMessage], new_id: Callable[[], str]
) -> tuple[HeadItem, ...]:
    """The messages before a summary; where the file does not name them, by Codex's own rule."""
    if entry.kept is None:
        return keep_messages(said, limit=KEPT_TOKENS, count=_count)
    known = {message.parts: message for message in said}
    return tuple(known.get(parts) or UserMessage(new_id(), parts) for parts in entry.kept)


def _count(items: Sequence[Item]) -> int:
    """Tokens as Codex counts them: a quarter of the bytes."""
    parts = [part for item in items if isinstance(item, UserMessage) for part in item.parts]
    texts = "".join(part.text for part in parts if isinstance(part, Text))
    return -(-len(texts.encode("utf-8", "replace")) // 4)


def _number_turn(turn: DraftTurn, turn_id: str) -> Iterator[Timed]:
    yield turn.at, _accept(turn, turn_id)
    yield turn.at, TurnStarted(turn_id, 1, turn.model)
    completions = sum(isinstance(item, AssistantMessage) for _, item in turn.said)
    completion = outputs = others = 0
    open_calls: set[str] = set()
    for at, item in turn.said:
        if isinstance(item, AssistantMessage):
            completion, outputs = completion + 1, 0
            open_calls |= {call.call_id for call in item.calls}
            named = replace(item, id=f"{turn_id}.{completion}")
            yield at, ItemAdded(turn_id, named, completion)
            # Only sums are known of the whole turn; its last answer carries them.
            usage = turn.usage if completion == completions else None
            stop: Stop = "calls" if item.calls else "end"
            yield at, CompletionFinished(turn_id, completion, stop, usage)
        elif isinstance(item, ToolOutput):
            outputs += 1
            open_calls.discard(item.call_id)
            item_id = f"{turn_id}.{completion}.{outputs}"
            yield at, ItemAdded(turn_id, replace(item, id=item_id), completion or None)
        else:
            others += 1
            yield at, ItemAdded(turn_id, give_id(item, f"{turn_id}.x{others}"))
    yield turn.ended_at, _finish(turn, turn_id, is_whole=bool(completion) and not open_calls)


def _finish(turn: DraftTurn, turn_id: str, *, is_whole: bool) -> TurnFinished:
    if turn.failed is not None:
        return TurnFinished(
            turn_id, "failed", FAILED, turn.usage, reason="turn_failed", message=turn.failed
        )
    if turn.aborted or not is_whole:
        message = "Interrupted by a person." if turn.aborted else INTERRUPTED_TEXT
        return TurnFinished(
            turn_id, "interrupted", FAILED, turn.usage, reason="interrupted", message=message
        )
    return TurnFinished(turn_id, "completed", DONE, turn.usage)


def _withdraw(turn: DraftTurn, turn_id: str) -> Iterator[Timed]:
    yield turn.at, _accept(turn, turn_id)
    for number, (at, item) in enumerate(turn.said, start=1):
        named = give_id(item, f"{turn_id}.{number}")
        yield at, ItemAdded(turn_id, named, status="superseded")
    if turn.prompt:
        yield turn.ended_at, PromptWithdrawn(turn_id)
    yield turn.ended_at, TurnFinished(turn_id, "withdrawn", FAILED, reason="withdrawn")


def _accept(turn: DraftTurn, turn_id: str) -> PromptAccepted:
    items: Sequence[UserMessage] = [UserMessage(f"{turn_id}.0", turn.prompt)] if turn.prompt else ()
    return PromptAccepted(turn_id, key=turn_id, items=tuple(items), cwd=turn.cwd)


def give_id(item: Any, item_id: str) -> Any:
    """The same item with an id of this conversation."""
    if item.TYPE == "unknown":
        return replace(item, raw={**item.raw, "id": item_id})
    return replace(item, id=item_id)
