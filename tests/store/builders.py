"""Short ways to say what a test writes, and a store that runs for the length of a block."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import trio

from askd.core.events import (
    Body,
    ConversationCreated,
    Event,
    ItemAdded,
    PromptAccepted,
    TurnFinished,
)
from askd.core.items import AssistantMessage, Notice, Text, UserMessage
from askd.store.log import NewJob, PromptKey, Write
from askd.store.queries import Reader
from askd.store.writer import Writer


@dataclass
class Clock:
    """Unix seconds that pass only when a test says so."""

    at: float = 1000.0

    def __call__(self) -> float:
        return self.at


@dataclass
class Store:
    """A running writer, a reader of the same file, and every event that was observed."""

    writer: Writer
    reader: Reader
    clock: Clock
    seen: list[Event] = field(default_factory=list)


@asynccontextmanager
async def open_store(path: Path, *, boot_id: str = "boot-1") -> AsyncIterator[Store]:
    """A store at `path`; closed in order at the end of the block."""
    seen: list[Event] = []
    clock = Clock()
    writer = Writer(path, observe=seen.extend, now=clock, boot_id=boot_id)
    reader = Reader(path)
    # In the nursery: the writer alone; `close` ends it.
    async with trio.open_nursery() as nursery:
        await nursery.start(writer.run)
        try:
            yield Store(writer, reader, clock, seen)
        finally:
            reader.close()
            with trio.CancelScope(shield=True):
                await writer.close()


def create(conversation_id: str, *bodies: Body, name: str | None = None) -> Write:
    """A write that creates a conversation."""
    first = ConversationCreated(conversation_id, name=name)
    return Write(conversation_id=conversation_id, bodies=[first, *bodies], create=True)


def add(conversation_id: str, *bodies: Body) -> Write:
    """A write to one that is there."""
    return Write(conversation_id=conversation_id, bodies=bodies)


def note(text: str = "/help", id: str = "n") -> ItemAdded:
    """A notice outside a turn."""
    return ItemAdded(None, Notice(id, text))


def prompt(turn_id: str, text: str = "hello") -> PromptAccepted:
    """An accepted prompt."""
    return PromptAccepted(turn_id, f"key-{turn_id}", (UserMessage(f"{turn_id}.0", (Text(text),)),))


def answer(turn_id: str, text: str = "hi") -> ItemAdded:
    """A model's answer."""
    return ItemAdded(turn_id, AssistantMessage(f"{turn_id}.1", (Text(text),)), 1)


def finish(turn_id: str) -> TurnFinished:
    """A turn's good end."""
    return TurnFinished(turn_id, "completed", 0)


def key(name: str, turn_id: str, digest: str = "d") -> PromptKey:
    """A prompt's key."""
    return PromptKey(key=name, digest=digest, turn_id=turn_id)


def job(id: str, unique_key: str = "c", *, run_at: float = 0.0, max_attempts: int = 3) -> NewJob:
    """A title job."""
    return NewJob(
        id=id,
        kind="title",
        unique_key=unique_key,
        arguments={"conversation_id": unique_key},
        run_at=run_at,
        max_attempts=max_attempts,
    )


def seqs(events: Sequence[Event]) -> list[int]:
    """The numbers alone."""
    return [event.seq for event in events]
