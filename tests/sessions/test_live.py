"""A live session is the fold of what was committed, and hands it on in order."""

from collections.abc import Sequence

import pytest
import trio
import trio.testing

from askd.core.events import (
    Body,
    ConversationCreated,
    Event,
    ItemAdded,
    PromptAccepted,
    QuestionAsked,
    Renamed,
    TurnFinished,
    TurnStarted,
)
from askd.core.items import AssistantMessage, Text, ToolCall, ToolOutput, UserMessage
from askd.core.outcome import FAILED
from askd.errors import NotFound
from askd.sessions import live
from askd.sessions.hub import Hub, TurnUnsaved
from askd.sessions.live import LiveSession
from askd.sessions.streaming import LiveText
from askd.sessions.turn_status import RunningTurn, TurnStatus
from askd.store.log import Committed, Write
from askd.store.memory import MemoryLog
from tests.fakes.sessions import Watcher, encode


def number(bodies: Sequence[Body], start: int = 1) -> list[Event]:
    """The bodies as committed events."""
    return [Event("c", seq, 100.0 + seq, body) for seq, body in enumerate(bodies, start)]


def prompt(turn_id: str) -> PromptAccepted:
    return PromptAccepted(turn_id, f"key-{turn_id}", (UserMessage(f"{turn_id}.0", (Text("hi"),)),))


async def make_session(*bodies: Body) -> LiveSession:
    """A session on a log in memory, which has seen these events committed."""
    memory = MemoryLog(observe=lambda events: session.observe(events), now=lambda: 100.0)
    session = LiveSession("c", log=memory, hub=Hub(encode), ephemeral=False)
    created = [ConversationCreated("c", "work"), *bodies]
    await memory.append(Write(conversation_id="c", bodies=created, create=True))
    return session


async def test_events_are_folded_and_published_once_and_in_order() -> None:
    session = await make_session()
    watcher = Watcher()
    session.subscribe(watcher)
    await session.append([prompt("a"), prompt("b")])
    session.observe(watcher.events)  # again: already known
    assert [event.seq for event in watcher.events] == [2, 3]
    assert session.queue == ["a", "b"]
    session.unsubscribe(watcher)
    await session.append([Renamed("x")])
    assert len(watcher.events) == 2
    assert session.conversation.name == "x"


async def test_a_snapshot_says_what_came_after_and_what_is_being_said() -> None:
    session = await make_session(prompt("a"), TurnStarted("a", 1))
    session.say("a", "a.1", kind="text", text="so ")
    session.say("a", "a.1", kind="text", text="far")
    snapshot = session.snapshot(1)
    assert snapshot is not None
    assert [event.seq for event in snapshot.events] == [2, 3]
    assert snapshot.live == [LiveText("a", "a.1", "text", "so far")]
    await session.append([ItemAdded("a", AssistantMessage("a.1", (Text("so far"),)), 1)])
    after = session.snapshot(3)
    assert after is not None
    assert [event.seq for event in after.events] == [4]
    assert after.live == []


async def test_older_events_than_are_kept_must_be_read_from_the_log() -> None:
    log = MemoryLog(observe=print, now=lambda: 0.0)
    session = LiveSession("c", log=log, hub=Hub(encode), ephemeral=False)
    session.restore(number([Renamed(str(n)) for n in range(live.RECENT_EVENTS + 5)]))
    assert session.snapshot(4) is None
    snapshot = session.snapshot(5)
    assert snapshot is not None
    assert [event.seq for event in snapshot.events][:2] == [6, 7]
    assert len(snapshot.events) == live.RECENT_EVENTS


async def test_an_empty_session_has_an_empty_snapshot() -> None:
    log = MemoryLog(observe=print, now=lambda: 0.0)
    session = LiveSession("c", log=log, hub=Hub(encode), ephemeral=False)
    snapshot = session.snapshot(0)
    assert snapshot is not None
    assert (snapshot.events, snapshot.live) == ([], [])


async def test_where_a_turn_is() -> None:
    session = await make_session(prompt("a"), prompt("b"), prompt("c"), TurnStarted("a", 1))
    assert session.status("a") == TurnStatus("a", "running")
    assert session.status("b") == TurnStatus("b", "queued")
    assert [session.position(turn) for turn in "abc"] == [0, 1, 2]
    assert session.state == "working"
    await session.append([TurnFinished("a", "completed", 0)])
    assert session.status("a") == TurnStatus("a", "finished", "completed", 0)
    assert [session.position(turn) for turn in "abc"] == [0, 0, 1]
    with pytest.raises(NotFound, match="Turn not found: id=d") as caught:
        session.status("d")
    assert caught.value.reason == "turn_not_found"


async def test_a_turn_in_hand_is_running_whatever_the_log_says() -> None:
    session = await make_session(prompt("a"), prompt("b"))
    heard: list[object] = []
    session.running = RunningTurn("a", heard.append, lambda: True)
    assert (session.status("a").state, session.queue) == ("running", ["b"])
    assert (await session.withdraw("a")).state == "running"
    assert (await session.interrupt("a", "me")).state == "running"
    assert len(heard) == 1
    assert session.conversation.queue == ["a", "b"]


async def test_a_turn_that_has_its_end_is_over_though_it_is_still_in_hand() -> None:
    session = await make_session(prompt("a"), TurnStarted("a", 1), prompt("b"))
    session.running = RunningTurn("a", lambda happened: None, lambda: True)
    await session.append([TurnFinished("a", "completed", 0)])
    assert (session.active_turn, session.queue, session.position("b")) == (None, ["b"], 0)
    await session.withdraw("b")
    assert (session.state, session.is_idle()) == ("idle", False)
    session.running = None
    assert session.is_idle()


async def test_an_unsaved_end_is_an_end_for_those_who_wait() -> None:
    session = await make_session(prompt("a"), TurnStarted("a", 1))
    watcher = Watcher()
    session.subscribe(watcher)
    session.say("a", "a.1", kind="text", text="x")
    end = TurnFinished("a", "interrupted", 74, message="Failed to save turn: full")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(session.wait_finished, "a")
        await trio.testing.wait_all_tasks_blocked()
        session.report_unsaved(end, outcome="completed")
    assert watcher.values[-1] == TurnUnsaved(
        conversation_id="c",
        turn_id="a",
        outcome="completed",
        code=74,
        reason="full",
    )
    assert (session.state, session.active_turn, session.queue) == ("idle", None, [])
    assert session.texts.snapshot() == []
    session.unsubscribe(watcher)
    assert not session.is_idle()
    await session.append([end])
    assert session.is_idle()


async def test_a_parked_turn_needs_a_person_and_can_be_interrupted() -> None:
    call = AssistantMessage("a.1", calls=(ToolCall("call", "rm", "{}"),))
    question = QuestionAsked("a", "q", "approval", "digest", {}, 9e9)
    session = await make_session(
        prompt("a"), TurnStarted("a", 1), ItemAdded("a", call, 1), question
    )
    assert session.state == "needs_you"
    status = await session.interrupt("a", "me")
    assert status == TurnStatus("a", "finished", "interrupted", FAILED)
    assert session.is_idle()
    last = session.conversation.turns["a"].items[-1].item
    assert isinstance(last, ToolOutput)
    assert last.synthetic == "interrupted"


class QueuedLog(MemoryLog):
    """Commits as the disk does: what was asked for is committed, whoever still waits for it."""

    nursery: trio.Nursery

    async def append(self, write: Write) -> Committed:
        found: list[Committed] = []
        done = trio.Event()

        async def commit() -> None:
            await trio.testing.wait_all_tasks_blocked()
            found.append(await MemoryLog.append(self, write))
            done.set()

        self.nursery.start_soon(commit)
        await done.wait()
        return found[0]


async def test_who_leaves_while_a_prompt_is_taken_back_leaves_no_second_end() -> None:
    memory = QueuedLog(observe=lambda events: session.observe(events), now=lambda: 100.0)
    session = LiveSession("c", log=memory, hub=Hub(encode), ephemeral=False)
    created: list[Body] = [ConversationCreated("c", "work"), prompt("a")]
    async with trio.open_nursery() as nursery:
        memory.nursery = nursery
        await memory.append(Write(conversation_id="c", bodies=created, create=True))
        async with trio.open_nursery() as leaving:
            leaving.start_soon(session.withdraw, "a")
            await trio.lowlevel.checkpoint()
            await trio.lowlevel.checkpoint()
            leaving.cancel_scope.cancel()
        assert (await session.withdraw("a")).outcome == "withdrawn"
    bodies = [event.body for event in await memory.load("c")]
    assert sum(isinstance(body, TurnFinished) for body in bodies) == 1


async def test_waiting_ends_with_the_conversation() -> None:
    session = await make_session(prompt("a"))

    async def wait() -> None:
        with pytest.raises(NotFound):
            await session.wait_finished("a")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        session.end()


async def test_who_gives_up_waiting_is_forgotten(autojump_clock: trio.testing.MockClock) -> None:
    session = await make_session(prompt("a"), TurnStarted("a", 1))
    with trio.move_on_after(1) as scope:
        await session.wait_finished("a")
    assert scope.cancelled_caught
    await session.append([TurnFinished("a", "completed", 0)])
    assert session.is_idle()


async def test_watched_sessions_and_those_at_work_are_not_idle() -> None:
    session = await make_session()
    assert session.is_idle()
    watcher = Watcher()
    session.subscribe(watcher)
    assert not session.is_idle()
    session.unsubscribe(watcher)
    async with session.admission:
        assert not session.is_idle()
    await session.append([prompt("a")])
    assert not session.is_idle()


async def test_a_row_says_what_the_fold_says() -> None:
    session = await make_session(prompt("a"))
    row = session.row()
    assert (row.id, row.name, row.title, row.model) == ("c", "work", None, None)
    assert (row.message_count, row.last_seq, row.created_at) == (1, 2, 100.0)


async def test_a_gap_is_noticed_and_mended_without_saying_anything_twice() -> None:
    session = await make_session()
    watcher = Watcher()
    session.subscribe(watcher)
    events = number([ConversationCreated("c", "work"), Renamed("b"), Renamed("c"), Renamed("d")])
    session.observe(events[2:3])
    session.observe(events[3:])
    assert session.is_stale
    assert watcher.events == []
    assert not session.is_idle()
    session.rebuild(events[:3])
    assert [event.seq for event in watcher.events] == [2, 3, 4]
    assert session.conversation.name == "d"
    assert not session.is_stale


async def test_what_is_committed_while_the_log_is_read_again_is_not_missed() -> None:
    session = await make_session()
    session.make_stale()
    session.make_stale()
    events = number([ConversationCreated("c", "work"), Renamed("b")])
    session.observe(events[1:])
    assert session.conversation.name == "b"  # in order: it is not held up
    session.rebuild(events[:1])
    assert session.conversation.name == "b"
    assert session.conversation.last_seq == 2


async def test_waiting_for_a_turn_that_is_not_folded_yet(
    autojump_clock: trio.testing.MockClock,
) -> None:
    session = await make_session()
    await session.wait_known("nothing is missing")
    session.make_stale()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(session.wait_known, "a")
        await trio.testing.wait_all_tasks_blocked()
        session.rebuild(number([ConversationCreated("c"), prompt("a")]))
    session.make_stale()
    await session.wait_known("b")
    assert trio.current_time() >= live.CATCH_UP_S
