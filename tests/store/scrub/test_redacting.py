"""With the setting on no known credential gets into the database; off, nothing changes."""

import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from askd.core.events import ItemAdded, PromptAccepted
from askd.core.items import AssistantMessage, Blob, Text, ToolCall, UserMessage
from askd.providers.redact import KnownSecrets
from askd.store.log import Partial, Write
from askd.store.scrub.redacting import MANY_BODIES, Hide, RedactingLog, redact
from tests.store.builders import Store, add, answer, create, finish, job, note, open_store, prompt

KEY = 'sk-Zq7"xWv\\1234'
HIDE = KnownSecrets([KEY]).hide


@asynccontextmanager
async def open_redacting(
    path: Path, hide: Hide | None
) -> AsyncIterator[tuple[Store, RedactingLog]]:
    """A store, and the log before it."""
    async with open_store(path) as store:
        yield store, RedactingLog(store.writer, find_hide=lambda: hide)


def everything(path: Path) -> bytes:
    """All bytes of the database."""
    return b"".join(each.read_bytes() for each in sorted(path.parent.iterdir()) if each.is_file())


async def test_what_is_written_and_what_is_published_hold_no_key(path: Path) -> None:
    content = f"the key {KEY}".encode()
    digest = hashlib.sha256(content).hexdigest()
    said = (Text(f"my {KEY}"), Blob(digest, len(content), "text/plain"))
    asked = PromptAccepted("t", "k", (UserMessage("t.0", said),), cwd=f"/home/{KEY}")
    call = ToolCall("call_1", "look", json.dumps({"key": KEY}))
    answered = ItemAdded("t", AssistantMessage("t.1", (Text(KEY),), calls=(call,)), 1)
    async with open_redacting(path, HIDE) as (store, log):
        await log.append(create("c", name=f"n {KEY[:8]}"))
        write = Write(
            conversation_id="c", bodies=[asked], blobs=[(digest, content)], jobs=[job("j")]
        )
        committed = await log.append(write)
        log.save_partial(Partial("c", "t", "t.1", "text", f"so far {KEY}"))
        await store.writer.flush()
        (partial,) = await store.reader.partials("c")
        assert partial.text == "so far ***"
        await log.append(add("c", answered))
        (event,) = committed.events
        assert isinstance(event.body, PromptAccepted)
        text, blob = event.body.items[0].parts
        assert text == Text("my ***")
        assert isinstance(blob, Blob)
        assert await store.reader.read_blob(blob.sha256) == b"the key ***"
        assert (blob.bytes, event.body.cwd) == (len(b"the key ***"), "/home/***")
        assert await store.reader.load("c") == store.seen
    stored = everything(path)
    for spelled in (KEY, json.dumps(KEY)[1:-1], json.dumps(json.dumps(KEY)[1:-1])[1:-1]):
        assert spelled.encode() not in stored


async def test_off_everything_is_as_it_was_said(path: Path) -> None:
    async with open_redacting(path, None) as (store, log):
        await log.append(create("c", prompt("t", KEY), answer("t", KEY), finish("t")))
        log.save_partial(Partial("c", "u", "u.1", "text", KEY))
        await log.mend_search()
        assert KEY in repr(await store.reader.load("c")).replace("\\\\", "\\")
        assert not await log.expire("c", before_at=0.0, archive=False)
        await log.delete("c")
        assert await store.reader.get("c") is None


def test_nothing_but_the_key_changes() -> None:
    picture = b"\xff\xd8 " + KEY.encode()
    digest = hashlib.sha256(picture).hexdigest()
    write = add("c", prompt("t"), note(f"/key {KEY}"))
    write = Write(conversation_id="c", bodies=write.bodies, blobs=[(digest, picture)])
    changed = redact(write, HIDE)
    assert changed.bodies == [write.bodies[0], note("/key ***")]
    assert changed.bodies[0] is write.bodies[0]
    assert list(changed.blobs) == list(write.blobs), "what is no text stays as it is"


async def test_a_whole_conversation_is_looked_through_too(path: Path) -> None:
    async with open_redacting(path, HIDE) as (store, log):
        notes = [note(KEY, id=str(number)) for number in range(MANY_BODIES + 1)]
        await log.append(create("c", *notes))
        assert KEY.encode() not in repr(await store.reader.load("c")).encode()
        assert len(store.seen) == MANY_BODIES + 2
