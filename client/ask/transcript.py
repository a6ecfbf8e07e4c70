"""Events to the messages that people read: `history show`, `attach`, `chat`.

Pure: events in (maps as they come over the wire), messages out. It fetches no
blob, prints nothing, and knows nothing of what a model may see. An event or an
item of a kind that it does not know is passed over.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

Map = Mapping[str, Any]
Role = Literal["user", "assistant", "tool", "system"]

ReadBlob = Callable[[Map], str]
"""A blob part to its text: `{sha256, bytes, media_type, name?}`."""

ROLES: dict[str, Role] = {
    "user_message": "user",
    "assistant_message": "assistant",
    "tool_output": "tool",
    "notice": "system",
}
"""The kinds of items that are messages. The daemon counts the same (`message_count`)."""

CHANGES = ("compact", "prune", "undo")
"""Changes of the view that are shown where they were made."""


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call of an assistant message; `arguments` is JSON as text."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message. `parts` are text and blob parts as they are on the wire; `at` unix seconds."""

    role: Role
    at: float
    item_id: str
    turn_id: str | None = None
    parts: tuple[Map, ...] = ()
    calls: tuple[Call, ...] = ()
    call_id: str | None = None
    interrupted: bool = False
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A record of the log that says nothing any more: what it was, and why, in words."""

    seq: int
    of_type: str
    why: str


@dataclass(frozen=True, slots=True)
class Change:
    """What a model sees has become less, or more again; or files were recorded.

    Attributes:
        kind: `compact`, `prune`, `undo` or `snapshot`.
        text: the summary, what is told of what left, the snapshot's id and directory.
        tokens: of the next request, before and after, if that is known.
    """

    seq: int
    kind: str
    text: str = ""
    tokens: tuple[int, int] | None = None
    model: str | None = None


Entry = Message | Unreadable | Change


@dataclass(slots=True)
class Block:
    """A turn, or what stands outside one, and where it stands: at the seq where it began."""

    seq: int
    entries: list[Entry]


def read_messages(events: Iterable[Map]) -> list[Message]:
    """The messages of a whole conversation, in the order of its turns.

    A queued prompt stands behind what is running, with its own answer after it.
    Left out are a prompt that was withdrawn, for it was never said to a model, and a
    text that a new attempt replaced.
    """
    return [entry for entry in read_entries(events) if isinstance(entry, Message)]


def read_entries(events: Iterable[Map]) -> list[Entry]:
    """The same, and amid them what cannot be read, in the turn that ran then, and changes of
    what a model sees."""
    blocks: dict[str, Block] = {}
    pinned: set[str] = set()
    running: str | None = None
    for event in events:
        turn_id = event.get("turn_id")
        match event.get("type"):
            case "prompt_accepted":
                items = event.get("items", [find_stand_in(event)])
                prompt = [read_item(item, event) for item in items]
                kept: list[Entry] = [message for message in prompt if message is not None]
                blocks[str(turn_id)] = Block(event["seq"], kept)
            case "prompt_withdrawn":
                blocks.pop(str(turn_id), None)
            case "turn_started" if turn_id in blocks:
                running = turn_id
                if event.get("attempt", 1) <= 1:
                    blocks[turn_id].seq = event["seq"]
            case "turn_finished" if turn_id == running:
                running = None
            case "unreadable":
                block = blocks.get(running or "") or blocks.setdefault(
                    f"seq {event['seq']}", Block(event["seq"], [])
                )
                block.entries.append(read_unreadable(event))
            case "item_added":
                _add_item(blocks, event)
            case "view_changed" if event.get("kind") in CHANGES:
                blocks[f"seq {event['seq']}"] = Block(event["seq"], [read_change(event)])
            case "item_pinned":
                pinned.add(str(event.get("item_id")))
            case "item_unpinned":
                pinned.discard(str(event.get("item_id")))
            case _:
                continue
    ordered = sorted(blocks.values(), key=lambda block: block.seq)
    entries = [each for block in ordered for each in block.entries]
    return [
        replace(each, pinned=True) if isinstance(each, Message) and each.item_id in pinned else each
        for each in entries
    ]


def read_change(event: Map) -> Change:
    """A change of the view; of a summary what it says, without the frame for models."""
    summary = event.get("summary") or {}
    text = str(summary.get("text", ""))
    if event.get("kind") == "compact":
        _, _, text = text.partition("\n")
    before, after = event.get("tokens_before"), event.get("tokens_after")
    tokens = None if before is None or after is None else (int(before), int(after))
    return Change(event["seq"], str(event["kind"]), text, tokens, event.get("model"))


def read_unreadable(event: Map) -> Unreadable:
    """What is known of a record that cannot be read."""
    return Unreadable(event["seq"], str(event.get("of_type")), str(event.get("why")))


def read_item(item: Map, event: Map) -> Message | None:
    """One item of an event as a message; None if it is nothing that was said."""
    role = ROLES.get(str(item.get("type")))
    if role is None:
        return None
    return Message(
        role=role,
        at=float(event.get("at", 0.0)),
        item_id=str(item.get("id", "")),
        turn_id=event.get("turn_id"),
        parts=_read_parts(item),
        calls=tuple(
            Call(str(call.get("call_id", "")), str(call.get("name", "")), call.get("arguments", ""))
            for call in item.get("calls", ())
        ),
        call_id=item.get("call_id"),
        interrupted=event.get("status") == "interrupted",
    )


def is_message(event: Map) -> bool:
    """Whether an event is something that was said, as far as it tells by itself."""
    match event.get("type"):
        case "prompt_accepted":
            return True
        case "item_added" if event.get("status") != "superseded":
            return read_item(event.get("item", find_stand_in(event)), event) is not None
        case _:
            return False


def find_stand_in(event: Map) -> Map:
    """What stands for the content of an event that the daemon could not send: a notice why."""
    if "left_out" not in event:
        return {}
    return {"type": "notice", "id": f"seq {event['seq']}", "text": event["left_out"]}


def read_content(message: Message, read_blob: ReadBlob) -> str:
    """The text of a message, its parts set apart by an empty line."""
    texts = [
        read_blob(part) if part.get("type") == "blob" else str(part.get("text", ""))
        for part in message.parts
    ]
    return "\n\n".join(text.strip("\n") for text in texts) if len(texts) > 1 else "".join(texts)


def describe_blob(part: Map) -> str:
    """A blob in few words, for where its content would be too much."""
    name = f"{part['name']}, " if part.get("name") else ""
    kind = "image" if str(part.get("media_type")).startswith("image/") else "file"
    return f"[{kind} {name}{part.get('media_type', 'unknown')}, {part.get('bytes', 0)} bytes]"


def encode_message(message: Message, content: str) -> dict[str, Any]:
    """A message as scripts get it: `{role, content, tool_calls?, tool_call_id?, pinned?, at}`."""
    record: dict[str, Any] = {"role": message.role, "content": content}
    if message.calls:
        record["tool_calls"] = [
            {"id": call.id, "name": call.name, "arguments": call.arguments}
            for call in message.calls
        ]
    if message.call_id is not None:
        record["tool_call_id"] = message.call_id
    if message.pinned:
        record["pinned"] = True
    record["at"] = message.at
    return record


def _read_parts(item: Map) -> tuple[Map, ...]:
    if "text" in item:  # a notice is one text
        return ({"type": "text", "text": item["text"]},)
    return tuple(item.get("parts", ()))


def _add_item(blocks: dict[str, Block], event: Map) -> None:
    item = event.get("item", find_stand_in(event))
    entry: Entry | None = read_item(item, event)
    if entry is None and item.get("type") == "snapshot":
        text = f"{item.get('id')} of {item.get('worktree')}"
        entry = Change(event["seq"], "snapshot", text)
    if entry is None or event.get("status") == "superseded":
        return
    turn_id = event.get("turn_id")
    if turn_id is None:
        blocks[f"seq {event['seq']}"] = Block(event["seq"], [entry])
        return
    block = blocks.setdefault(turn_id, Block(event["seq"], []))
    block.entries.append(entry)
