"""The log in memory keeps the promises of the one on the disk."""

from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from askd.core.events import Body, ConversationCreated, ItemAdded, Renamed
from askd.core.items import Blob, UserMessage
from askd.errors import NotFound
from askd.store.log import KnownKey, Log, Partial, Write
from askd.store.memory import MemoryLog
from tests.store.builders import (
    Clock,
    add,
    answer,
    create,
    finish,
    key,
    note,
    open_store,
    prompt,
)

IDS = ("c", "d")
NAMES = (None, "work", "play")


def blob_note(sha256: str) -> ItemAdded:
    return ItemAdded(None, UserMessage("u", (Blob(sha256, 1, "text/plain"),)))


bodies: st.SearchStrategy[Body] = st.one_of(
    st.just(note()),
    st.sampled_from(["t", "u"]).flatmap(
        lambda turn: st.sampled_from([prompt(turn), answer(turn), finish(turn)])
    ),
    st.sampled_from(NAMES).map(Renamed),
    st.sampled_from(["b1", "b2"]).map(blob_note),
)
keys = st.none() | st.builds(
    key, st.sampled_from(["k1", "k2"]), st.sampled_from(["t", "u"]), st.sampled_from(["d1", "d2"])
)


@st.composite
def writes(draw: st.DrawFn) -> Write:
    id = draw(st.sampled_from(IDS))
    creates = draw(st.booleans())
    content: list[Body] = draw(st.lists(bodies, max_size=3))
    if creates:
        content = [ConversationCreated(id, name=draw(st.sampled_from(NAMES))), *content]
    return Write(
        conversation_id=id,
        bodies=content,
        create=creates,
        key=draw(keys),
        blobs=draw(st.lists(st.sampled_from([("b1", b"1"), ("b2", b"2")]), unique=True)),
    )


partials = st.builds(
    Partial,
    st.sampled_from(IDS),
    st.sampled_from(["t", "u"]),
    st.sampled_from(["t.1", "u.1", "t.2"]),
    st.sampled_from(["text", "reasoning"]),
    st.text(max_size=3).filter(str.isascii),
)
deletions = st.sampled_from(IDS).map(lambda id: ("delete", id))
steps = st.lists(st.one_of(writes(), writes(), writes(), partials, deletions), max_size=40)


async def play(log: Log, asked: list[Any], settle: Any) -> list[Any]:
    """What each step came to: its value, or its refusal in words."""
    results: list[Any] = []
    for step in asked:
        try:
            match step:
                case Write():
                    results.append(await log.append(step))
                case Partial():
                    log.save_partial(step)
                    await settle()
                case _:
                    await log.delete(step[1])
                    results.append("deleted")
        except Exception as error:
            results.append((type(error), str(error), getattr(error, "reason", None)))
    return results


@settings(max_examples=25, deadline=None)
@given(steps=steps)
def test_both_logs_do_the_same(tmp_path_factory: pytest.TempPathFactory, steps: list[Any]) -> None:
    path = tmp_path_factory.mktemp("both") / "ask.db"

    async def both() -> None:
        heard: list[Any] = []
        memory = MemoryLog(observe=heard.extend, now=Clock())

        async def nothing() -> None:
            await trio.lowlevel.checkpoint()

        in_memory = await play(memory, steps, nothing)
        async with open_store(path) as store:
            on_disk = await play(store.writer, steps, store.writer.flush)
            assert in_memory == on_disk
            assert heard == store.seen
            for id in IDS:
                assert await memory.load(id) == await store.reader.load(id)
                assert await memory.get(id) == await store.reader.get(id)
                kept = sorted(await memory.partials(id), key=lambda each: (each.item_id, each.kind))
                assert kept == await store.reader.partials(id)
            for name in ("k1", "k2"):
                assert await memory.find_key(name) == await store.reader.find_key(name)
            for sha256 in ("b1", "b2"):
                assert await content(memory, sha256) == await content(store.reader, sha256)

    trio.run(both)


async def content(source: Any, sha256: str) -> bytes | None:
    try:
        found: bytes = await source.read_blob(sha256)
    except NotFound:
        return None
    return found


async def test_events_are_observed_before_the_caller_hears(path: Path) -> None:
    order: list[str] = []
    log = MemoryLog(observe=lambda events: order.append(f"seen {len(events)}"), now=Clock())
    await log.append(create("c", note()))
    order.append("answered")
    assert order == ["seen 2", "answered"]
    await log.append(Write(conversation_id="c", bodies=[], terminal="tty"))
    assert order == ["seen 2", "answered"], "no events, nothing to see"
    assert not path.parent.exists()


async def test_an_observer_that_fails_costs_no_write(caplog: pytest.LogCaptureFixture) -> None:
    def fail(events: object) -> None:
        raise RuntimeError("observer")

    log = MemoryLog(observe=fail, now=Clock())
    await log.append(create("c"))
    assert len(await log.load("c")) == 1
    assert "observer" in caplog.text


async def test_a_cancelled_caller_has_written_all_the_same() -> None:
    log = MemoryLog(observe=lambda events: None, now=Clock())
    with trio.CancelScope() as scope:
        scope.cancel()
        await log.append(create("c"))
    assert scope.cancelled_caught
    assert len(await log.load("c")) == 1


async def test_a_deleted_conversations_key_is_remembered() -> None:
    log = MemoryLog(observe=lambda events: None, now=Clock())
    write = create("c", prompt("t"))
    await log.append(
        Write(conversation_id="c", bodies=write.bodies, create=True, key=key("k", "t"))
    )
    await log.append(add("c", note()))
    await log.delete("c")
    assert await log.find_key("k") == KnownKey("k", "d", "c", "t", 0)
    assert await log.get("c") is None


async def test_memory_has_no_index_to_mend() -> None:
    log = MemoryLog(observe=lambda events: None, now=lambda: 1.0)
    await log.append(create("c", note()))
    await log.mend_search()
    assert len(await log.load("c")) == 2
