"""What a watcher sees of a turn: woken by all that happens, present only while it runs."""

import hashlib

import pytest
import trio

from askd.core.conversation import TurnRecord
from askd.core.events import ConversationCreated, ItemAdded, PromptAccepted
from askd.core.items import AssistantMessage, Blob, Text, ToolOutput
from askd.errors import NotFound
from askd.server.mcp.watching import (
    TAIL_CHARACTERS,
    Watch,
    describe_progress,
    find_denied,
    find_record,
    read_answer,
)
from askd.sessions.hub import Hub
from askd.sessions.live import LiveSession
from askd.store.log import Write
from tests.fakes.house import open_server
from tests.fakes.log import FakeStore


def make_record(*added: ItemAdded) -> TurnRecord:
    record = TurnRecord(prompt=PromptAccepted("t", "k", ()), accepted_seq=1, position=0)
    record.items.extend(added)
    record.attempt = 1
    return record


def say(text: str, *, id: str = "t.1", superseded: bool = False) -> ItemAdded:
    item = AssistantMessage(id, (Text(text),))
    return ItemAdded("t", item, 1, "superseded" if superseded else "complete")


def make_session() -> LiveSession:
    return LiveSession("c", log=FakeStore(), hub=Hub(lambda value: b""), ephemeral=False)


async def test_nothing_that_happens_after_a_look_is_missed() -> None:
    session = make_session()
    with Watch(session, "t", can_be_asked=True) as watch:
        moved = watch.moved
        watch.offer(b"", droppable=True)
        assert moved.is_set()
        assert not watch.moved.is_set()
        moved = watch.moved
        watch.break_off()
        assert moved.is_set()
        assert (session.hub.watched, session.hub.attended) == (True, False)
    assert not session.hub.watched


async def test_the_text_so_far_ends_on_one_short_line() -> None:
    session = make_session()
    assert describe_progress(session, "t") == (0, "Waiting for its turn.")
    session.conversation.turns["t"] = make_record(say("one"))
    session.say("t", "t.2", kind="reasoning", text="hm")
    assert describe_progress(session, "t") == (3, "one")
    session.say("t", "t.2", kind="text", text="a\x1bb\n\n" + "c " * 500)
    count, line = describe_progress(session, "t")
    assert count == 3 + 5 + 1000
    assert line.endswith("c c")
    assert len(line) <= TAIL_CHARACTERS
    session.say("u", "u.1", kind="text", text="another turn's")
    assert describe_progress(session, "t") == (count, line)
    session.conversation.turns["t"] = make_record(say(" "))
    session.texts.drop_turn("t")
    assert describe_progress(session, "t") == (1, "At work.")


async def test_an_answer_is_all_that_was_said_and_not_replaced() -> None:
    async with open_server() as server:
        digest = hashlib.sha256(b"from a blob").hexdigest()
        parts = (Blob(digest, 11, "text/plain"), Blob("gone", 1, "text/plain"))
        kept = ItemAdded("t", AssistantMessage("t.3", parts[:1]), 2)
        made = Write(
            conversation_id="c",
            bodies=[ConversationCreated("c"), kept],
            create=True,
            blobs=[(digest, b"from a blob")],
        )
        await server.store.append(made)
        record = make_record(
            say("replaced", superseded=True),
            say("one "),
            ItemAdded("t", ToolOutput("t.2", "c", "x", (Text("output"),)), 1),
            ItemAdded("t", AssistantMessage("t.3", parts), 2),
        )
        answer = await read_answer(server.house, record)
        assert answer.startswith("one\n\nfrom a blob")
        assert "1 bytes" in answer  # what is gone is named


def test_every_call_that_was_denied_has_its_sentence() -> None:
    denied = ToolOutput("t.2", "c", "ring", (Text("Nobody."),), is_error=True, synthetic="denied")
    failed = ToolOutput("t.3", "d", "ring", (Text("Broken."),), is_error=True)
    record = make_record(ItemAdded("t", denied, 1), ItemAdded("t", failed, 1))
    assert find_denied(record) == ["ring: Nobody."]


async def test_a_turn_that_is_gone_is_said_to_be() -> None:
    session = make_session()
    with pytest.raises(NotFound):
        find_record(session, "t")
    session.conversation.turns["t"] = make_record()
    assert find_record(session, "t").accepted_seq == 1
    session.end()
    with pytest.raises(NotFound, match="deleted meanwhile"):
        find_record(session, "t")
    await trio.lowlevel.checkpoint()
