"""What a file from elsewhere becomes: the events of a conversation that is not there yet.

It takes rollouts of Codex and of ours, lines `{timestamp, items, metadata}`, and
our own JSON export, and tells them apart by their content. What cannot be read is
counted and numbered, never guessed. Every turn gets an end: an import must not
make the daemon ask anything.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Literal

from askd.core.blob_parts import find_blobs, name_missing
from askd.core.conversation import fold
from askd.core.drafts import Timed, number_draft
from askd.core.event_lines import decode_blob, decode_event
from askd.core.events import (
    Body,
    ConversationCreated,
    Event,
    PromptAccepted,
    PromptWithdrawn,
    Renamed,
    Titled,
    TurnFinished,
)
from askd.core.items import join_text
from askd.core.outcome import FAILED
from askd.core.portable import FORMAT, read_export
from askd.core.records import Json
from askd.core.rollout import BLOB_LINE, EVENT_LINE, MARK
from askd.core.rollout_lines import Line, Skipped, read_json, read_lines
from askd.core.rollout_reader import BadShape, RolloutReader
from askd.core.titling import title_from

Kind = Literal["codex", "ask"]

SAID_TWICE = ("response_item", "compacted")
"""Records that say for Codex what our own events say; they are marked as ours."""
BEGINNING = (ConversationCreated, Renamed, Titled)
"""What a conversation of ours can hold before anybody has said anything."""


class Unreadable(ValueError):
    """Nothing in the file could be read; a sentence that names the first bad line."""


class Empty(ValueError):
    """Nobody says anything in the file. `source_id`: the id it names."""

    def __init__(self, source_id: str | None) -> None:
        super().__init__("no turns")
        self.source_id = source_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """A conversation to be created.

    Attributes:
        kind: whose events they were: `ask` are our own, whole.
        timed: all of its events with their times, the first one the creation.
        name: what it was called; the first event has it too.
        blobs: contents that the events name, by SHA-256.
        skipped: lines that could not be read.
    """

    kind: Kind
    timed: list[Timed]
    name: str | None = None
    blobs: dict[str, bytes] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)


@dataclass(slots=True)
class _Found:
    """What the lines of a file hold, sorted by who wrote them."""

    reader: RolloutReader
    events: list[Event] = field(default_factory=list)
    blobs: dict[str, bytes] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)
    marked: bool = False


def plan_import(
    content: bytes | bytearray, *, conversation_id: str, new_id: Callable[[], str], at: float
) -> Import:
    """The events that a file becomes.

    Args:
        conversation_id: of the conversation to be created.
        new_id: makes ids.
        at: now, for what does not say when it happened.

    Raises:
        Empty: there is nothing in it.
        Unreadable: nothing in it can be read.
    """
    found = _sort_lines(content, conversation_id, at)
    draft = found.reader.finish()
    foreign = list(number_draft(draft, new_id)) if found.reader.items else []
    if not (found.events or foreign):
        if found.skipped:
            first = found.skipped[0]
            raise Unreadable(f"line {first.number}: {first.why}")
        raise Empty(found.reader.source_id)
    if found.skipped and not foreign and all(isinstance(e.body, BEGINNING) for e in found.events):
        # Whole, it is a conversation that waits for its first prompt; torn, it had one.
        raise Empty(_find_id(found.events) or found.reader.source_id)
    ours = _take_over(found.events, conversation_id)
    start = min([each for each, _ in (*ours, *foreign)], default=at)
    if not ours or not isinstance(ours[0][1], ConversationCreated):
        ours.insert(0, (start, ConversationCreated(conversation_id)))
    timed = [*ours, *foreign]
    timed += _close_turns(conversation_id, timed)
    if not any(isinstance(body, Titled) for _, body in timed):
        timed += _find_title(timed)
    blobs = found.reader.blobs | found.blobs
    named = set(find_blobs([body for _, body in timed]))
    return Import(
        kind="ask" if found.events else "codex",
        timed=[(each, name_missing(body, blobs)) for each, body in timed],
        name=_find_name(timed),
        blobs={sha256: data for sha256, data in blobs.items() if sha256 in named},
        skipped=found.skipped,
    )


def _read_records(content: bytes | bytearray) -> Iterator[Line | Skipped]:
    """The lines of a file; our JSON export is one value and comes as the lines it stands for."""
    head = bytes(content[:100]).lstrip()
    if head.startswith(b'{"format":') and FORMAT.encode() in head:
        try:
            export = read_json(content)
        except ValueError as error:
            return iter([Skipped(1, f"the export is not whole: {error}")])
        return (Line(number, each) for number, each in enumerate(read_export(export), start=1))
    return read_lines(content)


def _sort_lines(content: bytes | bytearray, conversation_id: str, at: float) -> _Found:
    found = _Found(RolloutReader(at=at))
    for line in _read_records(content):
        if isinstance(line, Skipped):
            found.skipped.append(line)
            continue
        try:
            _take(line.record, found, conversation_id)
        except ValueError as error:
            found.skipped.append(Skipped(line.number, str(error)))
    if found.marked and not found.events:
        # Ours without a single one of its own lines: what was written for Codex is all there is.
        found.reader = RolloutReader(at=at)
        for line in _read_records(content):
            if isinstance(line, Line):
                with suppress(BadShape):  # counted above, where it is not ours
                    found.reader.take(line.record)
    return found


def _take(record: dict[str, Json], found: _Found, conversation_id: str) -> None:
    kind = record.get("type")
    if kind == EVENT_LINE:
        found.events.append(decode_event(conversation_id, record.get("payload")))
    elif kind == BLOB_LINE:
        sha256, content = decode_blob(record.get("payload"))
        found.blobs[sha256] = content
    elif MARK in record and kind in SAID_TWICE:
        found.marked = True
    else:
        found.reader.take(record)


def _find_id(events: list[Event]) -> str | None:
    return next((e.body.id for e in events if isinstance(e.body, ConversationCreated)), None)


def _take_over(events: list[Event], conversation_id: str) -> list[Timed]:
    """Our own events under another id: in order, each once, the creation first or nowhere."""
    taken: dict[int, Timed] = {}
    for event in events:
        body = event.body
        if isinstance(body, ConversationCreated):
            if event.seq != 1:
                continue
            body = replace(body, id=conversation_id)
        taken.setdefault(event.seq, (event.at, body))
    return [taken[seq] for seq in sorted(taken)]


def _close_turns(conversation_id: str, timed: list[Timed]) -> list[Timed]:
    """An end for each turn that has none: it was running, or waiting, when the file was made."""
    numbered = [Event(conversation_id, seq, at, body) for seq, (at, body) in enumerate(timed, 1)]
    conversation = fold(conversation_id, numbered)
    last = numbered[-1].at
    ends: list[Body] = []
    for turn_id in conversation.unfinished:
        record = conversation.turns[turn_id]
        if record.attempt:
            message = "It was running when it was exported."
            end = TurnFinished(turn_id, "interrupted", FAILED, record.usage, "interrupted", message)
            ends.append(end)
        else:
            ends += [] if record.withdrawn else [PromptWithdrawn(turn_id)]
            ends.append(TurnFinished(turn_id, "withdrawn", FAILED, reason="withdrawn"))
    return [(last, body) for body in ends]


def _find_title(timed: list[Timed]) -> list[Timed]:
    for _, body in timed:
        if isinstance(body, PromptAccepted):
            for item in body.items:
                text = join_text(tuple(part for part in item.parts if part.name is None))
                if text.strip():
                    return [(timed[-1][0], Titled(title_from(text)))]
    return []


def _find_name(timed: list[Timed]) -> str | None:
    name = None
    for _, body in timed:
        if isinstance(body, ConversationCreated | Renamed):
            name = body.name
    return name


def drop_names(timed: list[Timed]) -> list[Timed]:
    """The same events, in which the conversation has no name: another one has it already."""
    first_at, first = timed[0]
    assert isinstance(first, ConversationCreated)
    rest = [each for each in timed[1:] if not isinstance(each[1], Renamed)]
    return [(first_at, replace(first, name=None)), *rest]
