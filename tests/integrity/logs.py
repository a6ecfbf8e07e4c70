"""Logs as they could be found: healthy ones, broken ones, and how they come into a store."""

from collections.abc import Iterable, Sequence

from askd.core.blob_parts import find_blobs
from askd.core.events import (
    Body,
    ConversationCreated,
    ItemAdded,
    PromptAccepted,
    TurnFinished,
    TurnStarted,
)
from askd.core.items import (
    AssistantMessage,
    Item,
    Reasoning,
    Text,
    ToolCall,
    ToolOutput,
    UserMessage,
)
from askd.core.outcome import DONE
from askd.store.log import Write
from tests.fakes.log import FakeStore

ID = "c"
"""The conversation of every test here."""


def user(item_id: str, text: str) -> UserMessage:
    """A message of a person."""
    return UserMessage(item_id, (Text(text),))


def say(
    item_id: str,
    text: str = "",
    *calls: ToolCall,
    thoughts: Sequence[Reasoning] = (),
    provider: str | None = None,
    model: str | None = None,
) -> AssistantMessage:
    """An answer, with its calls: there is no other way to have them."""
    return AssistantMessage(
        item_id,
        (Text(text),) if text else (),
        reasoning=tuple(thoughts),
        calls=calls,
        provider=provider,
        model=model,
    )


def call(call_id: str = "call_x", name: str = "calculator", arguments: str = "{}") -> ToolCall:
    """A call."""
    return ToolCall(call_id, name, arguments)


def output(
    call_id: str = "call_x", text: str = "4", *, name: str = "calculator", item_id: str = ""
) -> ToolOutput:
    """What a tool had to say."""
    return ToolOutput(item_id or f"o.{call_id}.{text}", call_id, name, (Text(text),))


def turn(turn_id: str, *items: Item, prompt: str | None = "first") -> list[Body]:
    """A turn that is over. `prompt` None: nobody said anything, as at the start of some imports."""
    said = () if prompt is None else (user(f"{turn_id}.0", prompt),)
    return [
        PromptAccepted(turn_id, f"key-{turn_id}", said),
        TurnStarted(turn_id, 1),
        *(ItemAdded(turn_id, item, 1) for item in items),
        TurnFinished(turn_id, "completed", DONE),
    ]


async def store_with(bodies: Iterable[Body], contents: Sequence[bytes] = ()) -> FakeStore:
    """A store that holds these events, whatever they are; `contents` answer for every blob."""
    store = FakeStore()
    kept = list(bodies)
    blobs = [
        (sha256, contents[place % len(contents)])
        for place, sha256 in enumerate(sorted(find_blobs(kept)))
    ]
    created = ConversationCreated(ID)
    await store.append(Write(conversation_id=ID, bodies=[created, *kept], create=True, blobs=blobs))
    return store
