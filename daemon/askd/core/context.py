"""The context: what one completion sees of a conversation.

First the pinned items of what has left the view, then what stands in its place
(kept messages, a summary), then the turns that remain in the order in which they
started, the asking turn last.
What people alone should see (notices), what a later attempt replaced, and what
no provider would take (answers with nothing in them) is left out; calls and
outputs are healed last. Nothing is cut to fit here: a context that is too long
is the shell's to refuse.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from itertools import groupby

from askd.core.conversation import Conversation, TurnRecord
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
from askd.core.pairs import Fault, heal
from askd.core.tokens import ITEM_TOKENS, estimate_tokens
from askd.core.view import View

STDIN = "stdin"
"""The name of an attachment that came through standard input."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a model will see. Blobs are still blobs.

    Attributes:
        tokens: an estimate, system prompt included.
        faults: what was wrong with the calls and outputs before they were healed.
    """

    items: tuple[Item, ...]
    system: str | None
    tokens: int
    faults: tuple[Fault, ...] = ()


def build_context(
    conversation: Conversation, turn_id: str | None, *, system: str | None
) -> Context:
    """What the next completion of this turn sees; None: what a turn to come would see before it.

    The turn itself is there even if it has not started or its view was cleared
    while it ran.
    """
    view = conversation.view
    pinned: list[Item] = []
    remaining: list[Item] = []
    for each in conversation.started:
        record = conversation.turns[each]
        if each == turn_id or _is_void(record):
            continue
        seen = _visible(record)
        if view.holds(record.position):
            remaining += _remain(seen, view, conversation.pinned)
        else:
            pinned += _find_pinned(seen, conversation.pinned)
    asking = conversation.turn_record(turn_id) if turn_id is not None else None
    if asking is not None:
        remaining += _remain(_visible(asking), view, conversation.pinned)
    shown = {item.id for item in (*pinned, *remaining)}
    # A message that was pinned since it was kept, or came back, is not said twice.
    head = [item for item in view.head if item.id not in shown]
    healed, faults = heal([*pinned, *head, *remaining])
    tokens = estimate_tokens(healed)
    if system:
        tokens += ITEM_TOKENS + estimate_tokens(system)
    return Context(items=healed, system=system, tokens=tokens, faults=tuple(faults))


def render_parts(parts: tuple[Part, ...]) -> str:
    """The text of a message as a model reads it.

    Parts with a name are attachments, each in a frame that says where it came
    from: `<stdin>` or `<file path="...">`. Neighbours of one name are pieces of
    one attachment. They stand first and the words last: models answer better
    when the question follows what it is about, and `cat file | ask "..."` reads
    in that order. A blob that was not resolved is named, not shown.
    """
    attachments = []
    words = []
    for name, group in groupby(parts, key=lambda part: part.name):
        text = "".join(_text_of(part) for part in group)
        if name is None:
            words.append(text)
        else:
            attachments.append(_frame(name, text))
    spoken = "".join(words)
    return "\n\n".join([*attachments, spoken] if spoken else attachments)


def _text_of(part: Part) -> str:
    match part:
        case Text(text=text):
            return text
        case Blob(bytes=size, media_type=media_type):
            return f"[{media_type}, {size} bytes, not shown]"


def _frame(name: str, text: str) -> str:
    tag = "stdin" if name == STDIN else "file"
    # Content that holds the closing tag could end its own frame and pose as the words.
    while f"</{tag}>" in text:
        tag += "_"
    opening = tag if name == STDIN else f'{tag} path="{_quote(name)}"'
    ending = "" if text.endswith("\n") else "\n"
    return f"<{opening}>\n{text}{ending}</{tag}>"


def _quote(name: str) -> str:
    """A path inside an attribute: no quote, angle bracket or line end can leave it."""
    safe = "".join(c if c.isprintable() else "?" for c in name)
    return (
        safe.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")
    )


def _is_void(record: TurnRecord) -> bool:
    """A failed turn that brought no answer: whoever asked will have asked again."""
    if record.finished is None or record.finished.outcome != "failed":
        return False
    return not any(isinstance(item, AssistantMessage) for item in _visible(record))


def _visible(record: TurnRecord) -> list[Item]:
    added = [each.item for each in record.items if each.status != "superseded"]
    return [item for item in (*record.prompt.items, *added) if _is_for_models(item)]


def stub_output(output: ToolOutput) -> ToolOutput:
    """What stays of an output that was pruned: that it was there, and how long it was."""
    size = sum(
        part.bytes if isinstance(part, Blob) else len(part.text.encode("utf-8", "replace"))
        for part in output.parts
    )
    return replace(output, parts=(Text(f"[Output of {size} bytes removed to save space.]"),))


def _remain(items: Sequence[Item], view: View, pinned: Set[str]) -> list[Item]:
    """A turn's items without those that were dropped, and stubs in place of pruned outputs."""
    if not (view.dropped or view.stubbed):
        return list(items)
    kept = {item.id for item in _find_pinned(items, pinned)}
    return [
        stub_output(item)
        if isinstance(item, ToolOutput) and item.id in view.stubbed - kept
        else item
        for item in items
        if item.id not in view.dropped or item.id in kept
    ]


def _find_pinned(items: Sequence[Item], pinned: Set[str]) -> list[Item]:
    """The pinned ones of a turn's items; of an exchange all or nothing."""
    kept = {item.id for item in items} & pinned
    if not kept:
        return []
    for message in items:
        if isinstance(message, AssistantMessage) and message.calls:
            calls = {call.call_id for call in message.calls}
            outputs = [o.id for o in items if isinstance(o, ToolOutput) and o.call_id in calls]
            if not kept.isdisjoint({message.id, *outputs}):
                kept.update((message.id, *outputs))
    return [item for item in items if item.id in kept]


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
