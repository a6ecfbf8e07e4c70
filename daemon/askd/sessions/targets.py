"""Which conversation is meant: by id, by name, by the start of an id, by terminal.

Conversations in memory only are looked at first; the stored ones are the log
reader's to find. It creates nothing: it says when a new one is to be made.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from askd.errors import NotFound, RequestError
from askd.sessions.live import LiveSession
from askd.sessions.needs import LogReader
from askd.store import refusals

NAME_CHARACTERS = 64
"""A name fits a line of a listing beside the rest, and a shell's prompt."""
PREFIX = re.compile(r"[0-9a-fA-F-]{4,}")
"""What could be the start of an id; it never becomes a name by accident."""

TargetKind = Literal["new", "id", "session", "terminal"]


@dataclass(frozen=True, slots=True)
class Target:
    """Which conversation is meant.

    Attributes:
        kind: `new`: one to be created; `id`: exactly this; `session`: exact id, else exact name,
            else the start of an id; `terminal`: the one that this terminal used last.
        value: the id, name, prefix or terminal; for `new` its name, or None.
        create: with `session`: a name that is not there yet is to be created.
    """

    kind: TargetKind
    value: str | None = None
    create: bool = False


@dataclass(frozen=True, slots=True)
class ToCreate:
    """Nothing is there: a conversation of this name, or without one, is to be created."""

    name: str | None


INVISIBLE = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and symbols that show nothing: fillers of Hangul, a Braille cell without dots."""


def check_name(name: str) -> str:
    """The name, if it can be one; raise `RequestError` (bad_name) saying what names are."""
    controls = any(unicodedata.category(character) in ("Cc", "Cs") for character in name)
    if not 1 <= len(name) <= NAME_CHARACTERS or name.startswith("-") or "/" in name or controls:
        raise RequestError(
            f"Not a name for a conversation: {name!r}. Names have 1 to {NAME_CHARACTERS} "
            "characters, no leading '-', no '/' and no control characters.",
            reason="bad_name",
        )
    if not any(map(_is_visible, name)):
        raise RequestError("A name needs a character that can be seen.", reason="bad_name")
    return name


def _is_visible(character: str) -> bool:
    return unicodedata.category(character)[0] not in "CMZ" and character not in INVISIBLE


async def check_new_name(name: str, *, reader: LogReader, memory: Iterable[LiveSession]) -> str:
    """The name, if a conversation can be given it.

    An exact name comes before the beginning of an id: one that looks like such a
    beginning would hide the conversation that is named by it now.

    Raises:
        RequestError: it cannot be one, or the id of a conversation begins with it (bad_name).
    """
    check_name(name)
    if not PREFIX.fullmatch(name):
        return name
    hidden = any(session.id.startswith(name.lower()) for session in memory)
    try:
        row = await reader.find(name)
        hidden = hidden or row.id.startswith(name.lower())
    except NotFound as error:
        hidden = hidden or error.reason == "conversation_ambiguous"
    if hidden:
        raise RequestError(
            f"The id of a conversation begins with {name}, so it cannot be a name.",
            reason="bad_name",
        )
    return name


async def find_target(
    target: Target,
    *,
    reader: LogReader,
    memory: Iterable[LiveSession],
    terminals: Mapping[str, str],
) -> str | ToCreate:
    """The id of the conversation that is meant, or what to create.

    Args:
        memory: the sessions of ephemeral conversations.
        terminals: the ephemeral conversation that each terminal used last, by terminal.

    Raises:
        NotFound: no such conversation, or several; the message names the candidates.
        RequestError: a name that cannot be one.
    """
    match target.kind:
        case "new":
            if target.value is None:
                return ToCreate(None)
            return ToCreate(await check_new_name(target.value, reader=reader, memory=memory))
        case "terminal":
            return await _find_by_terminal(target.value, reader, terminals)
        case "id":
            return await _find_by_id(target.value or "", reader, memory)
        case "session":
            return await _find_session(target, reader, list(memory))


async def _find_by_terminal(
    terminal: str | None, reader: LogReader, terminals: Mapping[str, str]
) -> str:
    if not terminal:
        raise NotFound(
            "There is no terminal to continue in; name the conversation with -s.",
            reason="no_terminal",
        )
    if terminal in terminals:
        return terminals[terminal]
    row = await reader.find_terminal(terminal)
    if row is None:
        raise NotFound(
            'This terminal has no conversation yet. Start one: ask "..."', reason="no_terminal"
        )
    return row.id


async def _find_by_id(text: str, reader: LogReader, memory: Iterable[LiveSession]) -> str:
    if any(session.id == text for session in memory):
        return text
    if await reader.get(text) is None:
        raise refusals.conversation_not_found(text)
    return text


async def _find_session(
    target: Target, reader: LogReader, memory: list[LiveSession]
) -> str | ToCreate:
    text = target.value or ""
    for session in memory:
        if text and text in (session.id, session.conversation.name):
            return session.id
    candidates: list[tuple[str, str | None]] = []
    try:
        row = await reader.find(text)
    except NotFound as error:
        if error.reason != "conversation_not_found":
            raise
    else:
        if row.name == text or row.id == text.lower():
            return row.id
        candidates.append((row.id, row.name))
    if PREFIX.fullmatch(text):
        candidates += [
            (session.id, session.conversation.name)
            for session in memory
            if session.id.startswith(text.lower())
        ]
        if len(candidates) > 1:
            raise refusals.conversation_ambiguous(text, candidates)
        if not candidates:
            raise refusals.conversation_not_found(text)
        return candidates[0][0]
    if not target.create:
        raise refusals.conversation_not_found(text)
    return ToCreate(check_name(text))
