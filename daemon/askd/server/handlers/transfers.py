"""Conversations as files: read out whole, and made from what comes from elsewhere.

A file that was imported is known again by its content: the same one does not
make a second conversation while the first is there.
"""

import logging
from functools import partial
from itertools import count
from typing import assert_never

import trio

import askd
from ask.protocol.messages import (
    ConversationExport,
    ConversationImport,
    ExportChunk,
    ImportResult,
)
from askd.core.codex_export import CodexExport
from askd.core.conversation import fold
from askd.core.events import Event
from askd.core.imports import Empty, Import, Unreadable, drop_names, plan_import
from askd.core.markdown import MarkdownExport
from askd.core.portable import JsonExport
from askd.errors import RequestError
from askd.server.handlers.blobs import read_stored
from askd.server.house import House
from askd.server.peer import Peer
from askd.server.transfers import Export, Exporter, Incoming
from askd.sessions.offload import offload_bodies
from askd.store.log import Committed, KnownKey, PromptKey, Write
from askd.store.projection import ConversationRow
from askd.store.refusals import conversation_not_found

log = logging.getLogger(__name__)

SKIPPED_SHOWN = 20
"""Lines that are named one by one; of the rest the number is enough."""
LABEL_CHARACTERS = 300
"""Of a file's name in a sentence."""


async def export_chunk(house: House, peer: Peer, params: ConversationExport) -> ExportChunk:
    """The next chunk of a conversation as a file; offset 0 begins, also anew."""
    if params.offset == 0:
        peer.export = await _open_export(house, params)
    export = peer.export
    if export is None or export.conversation_id != params.conversation_id:
        raise RequestError("conversation/export: begin with offset 0.")
    chunk, next_offset = await export.read(params.offset)
    if next_offset is None:
        peer.export = None
    return ExportChunk(bytes=chunk, next_offset=next_offset)


async def _open_export(house: House, params: ConversationExport) -> Export:
    conversation_id = params.conversation_id
    events = await load_events(house, conversation_id)
    if not events:
        raise conversation_not_found(conversation_id)
    conversation = fold(conversation_id, events)
    exporter: Exporter
    match params.format:
        case "json":
            exporter = JsonExport(conversation)
        case "markdown":
            exporter = MarkdownExport(conversation)
        case "codex":
            exporter = CodexExport(conversation, version=askd.__version__)
        case _:
            assert_never(params.format)
    return Export(conversation_id, events, exporter=exporter, read_blob=partial(read_stored, house))


async def load_events(house: House, conversation_id: str) -> list[Event]:
    """Every event of a conversation, in order; none: there is no such one."""
    session = house.sessions.find_live(conversation_id)
    if session is not None and session.ephemeral:
        return await house.sessions.memory.load(conversation_id)
    return await house.reader.load(conversation_id)


async def import_chunk(house: House, peer: Peer, params: ConversationImport) -> ImportResult:
    """Take a chunk of a file; with the last one the conversation is made, in one transaction."""
    if params.offset == 0:
        peer.incoming = Incoming(params.size)
    incoming = peer.incoming
    if incoming is None:
        raise RequestError("conversation/import: begin with offset 0.")
    try:
        is_whole = incoming.take(params.size, params.offset, params.bytes)
    except RequestError:
        peer.incoming = None
        raise
    if not is_whole:
        return ImportResult(received=len(incoming.content), skipped=[])
    peer.incoming = None
    return await _import(house, incoming, params.label[:LABEL_CHARACTERS])


async def _import(house: House, incoming: Incoming, label: str) -> ImportResult:
    key, known = await _find_key(house, incoming.sha256)
    if known is not None:
        return await _answer_known(house, incoming, known)
    means = house.sessions.means
    conversation_id = means.new_id()
    plan = partial(
        plan_import,
        incoming.content,
        conversation_id=conversation_id,
        new_id=means.new_id,
        at=means.now(),
    )
    try:
        # In a thread: a large file takes a second, and nobody else should.
        found = await trio.to_thread.run_sync(plan)
    except Empty as error:
        name = error.source_id or label
        raise RequestError(f"Conversation {name} has no turns", reason="bad_import") from None
    except Unreadable as error:
        raise RequestError(
            f"{label}: nothing in it can be read: {error}", reason="bad_import"
        ) from None
    committed = await _create(
        house, found, conversation_id, PromptKey(key=key, digest=key, turn_id="")
    )
    if committed.repeated is not None:
        return await _answer_known(house, incoming, committed.repeated)
    conversation = await trio.to_thread.run_sync(fold, conversation_id, committed.events)
    log.info(
        "Imported conversation: id=%s, message_count=%d, skipped=%d",
        conversation_id,
        conversation.message_count,
        len(found.skipped),
    )
    return ImportResult(
        received=incoming.size,
        conversation_id=conversation_id,
        name=conversation.name,
        title=conversation.title,
        message_count=conversation.message_count,
        skipped=[{"line": each.number, "why": each.why} for each in found.skipped[:SKIPPED_SHOWN]],
        skipped_count=len(found.skipped),
    )


async def _find_key(house: House, sha256: str) -> tuple[str, KnownKey | None]:
    """The key of a file, free, or held by a conversation that is there."""
    for number in count(1):
        key = f"import:{sha256}:{number}"
        known = await house.reader.find_key(key)
        if known is None or known.seq:
            return key, known
        # It was deleted since, and keys stay: this file begins anew under the next one.
    raise AssertionError("there is always a next number")


async def _create(house: House, found: Import, conversation_id: str, key: PromptKey) -> Committed:
    timed = found.timed
    if found.name is not None and not await _is_name(house, found.name):
        timed = drop_names(timed)
    while True:
        bodies, blobs = await trio.to_thread.run_sync(offload_bodies, [body for _, body in timed])
        write = Write(
            conversation_id=conversation_id,
            bodies=bodies,
            create=True,
            key=key,
            blobs=list((found.blobs | blobs).items()),
            times=[at for at, _ in timed],
        )
        try:
            # Whoever hangs up now is not told; the conversation is there all the same.
            with trio.CancelScope(shield=True):
                return await house.sessions.log.append(write)
        except RequestError as error:
            if error.reason != "name_taken":
                raise
            timed = drop_names(timed)


async def _is_name(house: House, name: str) -> bool:
    try:
        await house.sessions.check_name(name)
    except RequestError:
        return False
    return True


async def _answer_known(house: House, incoming: Incoming, known: KnownKey) -> ImportResult:
    row = await _find_row(house, known.conversation_id)
    return ImportResult(
        received=incoming.size,
        conversation_id=row.id,
        existed=True,
        name=row.name,
        title=row.title,
        message_count=row.message_count,
        skipped=[],
    )


async def _find_row(house: House, conversation_id: str) -> ConversationRow:
    row = await house.reader.get(conversation_id)
    if row is None:
        raise conversation_not_found(conversation_id)
    return row
