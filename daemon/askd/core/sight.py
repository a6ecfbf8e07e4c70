"""Sight: what of a conversation can be seen by a model, piece by piece and in its order.

Pinned items of what has left the view, what stands in its place, the turns that
remain, the asking turn. What people alone should see (notices), what a later
attempt replaced, and what no provider would take (answers with nothing in them)
is in none of them. Nothing is healed here, and nothing counted.
"""

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace

from askd.core.conversation import Conversation, TurnRecord
from askd.core.events import HeadItem
from askd.core.items import (
    AssistantMessage,
    Blob,
    Item,
    Notice,
    Part,
    Snapshot,
    Text,
    ToolOutput,
    Unknown,
    UserMessage,
)
from askd.core.view import View

CUT = "~"
"""At the end of the id of a message that stands cut in place of the one that has the rest of it."""


@dataclass(frozen=True, slots=True)
class SeenTurn:
    """What can be seen of one turn; `position` as in its record."""

    turn_id: str
    position: int
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """All that can be seen, in the order in which a model sees it.

    Attributes:
        pinned: of turns that left the view.
        head: what stands in their place; nothing that is said elsewhere.
        turns: those that remain, in the order in which they started, but for the asking one.
        asking: the turn whose request it is.
    """

    pinned: tuple[Item, ...]
    head: tuple[HeadItem, ...]
    turns: tuple[SeenTurn, ...]
    asking: SeenTurn | None

    @property
    def items(self) -> list[Item]:
        """All of it."""
        seen: list[Item] = [*self.pinned, *self.head]
        for turn in self.turns:
            seen += turn.items
        return seen if self.asking is None else [*seen, *self.asking.items]


def find_sight(conversation: Conversation, turn_id: str | None) -> Sight:
    """What the next completion of this turn can see; None: what a turn to come could, before it.

    The turn itself is there even if it has not started or its view was cleared
    while it ran.
    """
    view = conversation.view
    pinned: list[Item] = []
    turns: list[SeenTurn] = []
    for each in conversation.started:
        record = conversation.turns[each]
        is_seen = view.holds(record.position)
        # What left the view is looked at for what is pinned, and is most of a long log.
        if each == turn_id or not (is_seen or conversation.pinned) or is_void(record):
            continue
        if is_seen:
            turns.append(_see(each, record, view, conversation.pinned))
        else:
            pinned += _show(find_pinned(find_visible(record), conversation.pinned), view)
    asking = None
    if turn_id is not None and turn_id in conversation.turns:
        asking = _see(turn_id, conversation.turns[turn_id], view, conversation.pinned)
    shown = {item.id for item in pinned}
    for turn in (*turns, *([asking] if asking is not None else [])):
        shown.update(item.id for item in turn.items)
    # A message that was pinned since it was kept, or came back, is not said twice: not cut either.
    head = tuple(i for i in view.head if shown.isdisjoint((i.id, i.id.rstrip(CUT))))
    return Sight(pinned=tuple(pinned), head=head, turns=tuple(turns), asking=asking)


def find_finished(conversation: Conversation, sight: Sight) -> tuple[SeenTurn, ...]:
    """The turns at the beginning that can leave: over, and before all that are not."""
    records = conversation.turns
    ahead = min(
        (record.position for record in records.values() if record.finished is None),
        default=len(records),
    )
    for index, turn in enumerate(sight.turns):
        if records[turn.turn_id].finished is None or turn.position >= ahead:
            return sight.turns[:index]
    return sight.turns


def is_void(record: TurnRecord) -> bool:
    """A failed turn that brought no answer: whoever asked will have asked again."""
    if record.finished is None or record.finished.outcome != "failed":
        return False
    return not any(isinstance(item, AssistantMessage) for item in find_visible(record))


def find_visible(record: TurnRecord) -> list[Item]:
    """What a model may see of a turn, whatever the view is."""
    added = [each.item for each in record.items if each.status != "superseded"]
    return [item for item in (*record.prompt.items, *added) if _is_for_models(item)]


def stub_output(output: ToolOutput) -> ToolOutput:
    """What stays of an output that was pruned: that it was there, and how long it was."""
    size = sum(
        part.bytes if isinstance(part, Blob) else len(part.text.encode("utf-8", "replace"))
        for part in output.parts
    )
    return replace(output, parts=(Text(f"[Output of {size} bytes removed to save space.]"),))


def _see(turn_id: str, record: TurnRecord, view: View, pinned: Set[str]) -> SeenTurn:
    """A turn without what was dropped of it, and with stubs in place of pruned outputs."""
    items: Sequence[Item] = _show(find_visible(record), view)
    if view.dropped or view.stubbed:
        kept = {item.id for item in find_pinned(items, pinned)}
        items = _reduce(items, view, kept=kept)
    return SeenTurn(turn_id, record.position, tuple(items))


def _show(items: list[Item], view: View) -> list[Item]:
    """The items, with what is seen of those outputs that were too large."""
    if not view.shortened:
        return items
    return [
        replace(item, parts=view.shortened[item.id].parts)
        if isinstance(item, ToolOutput) and item.id in view.shortened
        else item
        for item in items
    ]


def _reduce(items: Sequence[Item], view: View, *, kept: Set[str]) -> list[Item]:
    return [
        stub_output(item)
        if isinstance(item, ToolOutput) and item.id in view.stubbed and item.id not in kept
        else item
        for item in items
        if item.id not in view.dropped or item.id in kept
    ]


def find_pinned(items: Sequence[Item], pinned: Set[str]) -> list[Item]:
    """The pinned ones of a turn's items; of an exchange all or nothing."""
    kept = {item.id for item in items} & pinned
    if not kept:
        return []
    outputs: dict[str, list[str]] = {}
    for item in items:
        if isinstance(item, ToolOutput):
            outputs.setdefault(item.call_id, []).append(item.id)
    for message in items:
        if isinstance(message, AssistantMessage) and message.calls:
            answers = [each for call in message.calls for each in outputs.get(call.call_id, ())]
            if not kept.isdisjoint((message.id, *answers)):
                kept.update((message.id, *answers))
    return [item for item in items if item.id in kept]


def find_staying(turns: Iterable[SeenTurn], pinned: Set[str]) -> list[Item]:
    """What stays of turns that leave."""
    # Turn by turn: some servers give the calls of every turn the same ids.
    return [item for turn in turns for item in find_pinned(turn.items, pinned)]


def _is_for_models(item: Item) -> bool:
    match item:
        case Notice() | Snapshot() | Unknown():
            return False
        case AssistantMessage(parts=parts, calls=calls):
            # Reasoning alone is no message to any provider, and white space is refused by some.
            return bool(calls) or any(_says_something(part) for part in parts)
        case UserMessage(parts=parts):
            return bool(parts)
        case _:
            return True


def _says_something(part: Part) -> bool:
    return not isinstance(part, Text) or bool(part.text.strip())
