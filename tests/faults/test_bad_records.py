"""One record of a log is damaged, any record, in any way: the conversation goes on.

It loads, its recovery ends, nothing that had ended runs again, and the next request
is one that a provider takes. The log is one in which everything happens that can,
cut off where a crash may have cut it.
"""

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from askd.core.context import Context, build_context
from askd.core.conversation import fold
from askd.core.events import (
    Body,
    CompletionFinished,
    ConversationCreated,
    Event,
    InstructionsChanged,
    ItemAdded,
    PromptAccepted,
    PromptSteered,
    PromptWithdrawn,
    SettingsChanged,
    Titled,
    TurnFinished,
    TurnOptions,
    TurnStarted,
    Unreadable,
    ViewChanged,
)
from askd.core.instructions import InstructionFile
from askd.core.items import AssistantMessage, Notice, Text, ToolCall, ToolOutput, UserMessage
from askd.core.outcome import Usage
from askd.core.recovery import Close, plan_recovery
from askd.providers.base import ModelRequest
from askd.sessions.targets import Target
from askd.store.bodies import decode_event, encode_text
from tests.fakes.models import ScriptedModels, find_misplaced, last_words, texts_of
from tests.sessions.test_with_store import boot
from tests.store.builders import create, open_store

ID = "c0ffee00-0000-4000-8000-000000000000"


def prompt(turn_id: str, *, detach: bool = False) -> PromptAccepted:
    said = UserMessage(f"{turn_id}.0", (Text(f"prompt {turn_id}"),))
    return PromptAccepted(turn_id, f"key-{turn_id}", (said,), TurnOptions(detach=detach))


def say(turn_id: str, number: int, *calls: ToolCall) -> ItemAdded:
    said = AssistantMessage(f"{turn_id}.{number}", (Text(f"answer {turn_id}"),), calls=calls)
    return ItemAdded(turn_id, said, number)


def done(turn_id: str) -> TurnFinished:
    return TurnFinished(turn_id, "completed", 0, Usage(1, 2))


CALLS = (ToolCall("one", "f", "{}"), ToolCall("two", "f", "{}"))
SAID = PromptSteered("b", "key-s", (UserMessage("s", (Text("prompt s"),)),))
LOG: tuple[Body, ...] = (
    ConversationCreated(ID, "work"),
    SettingsChanged(system="Be brief."),
    InstructionsChanged((InstructionFile("/p/AGENTS.md", "Say hue."),)),
    prompt("a", detach=True),
    TurnStarted("a", 1, "test/small"),
    say("a", 1, *CALLS),
    ItemAdded("a", ToolOutput("a.1.1", "one", "f", (Text("1"),)), 1),
    ItemAdded("a", ToolOutput("a.1.2", "two", "f", (Text("2"),)), 1),
    CompletionFinished("a", 1, "calls", Usage(1, 2)),
    say("a", 2),
    CompletionFinished("a", 2, "end", Usage(1, 2)),
    done("a"),
    Titled("A title"),
    prompt("b"),
    TurnStarted("b", 1, "test/small"),
    prompt("q", detach=True),
    prompt("w"),
    PromptWithdrawn("w"),
    TurnFinished("w", "withdrawn", 1, reason="withdrawn"),
    SAID,
    say("b", 1),
    ItemAdded("b", SAID.items[0]),
    ItemAdded(None, Notice("n", "User viewed help")),
    done("b"),
    ViewChanged("v", "clear", through_turn="a"),
    TurnStarted("q", 1, "test/small"),
    say("q", 1),
    done("q"),
)
ENDS = {body.turn_id: seq for seq, body in enumerate(LOG, 1) if isinstance(body, TurnFinished)}
PLACES = [(length, seq) for length in range(1, len(LOG) + 1) for seq in range(1, length + 1)]
SETTINGS = (
    "body = '{'",
    "body = ''",
    "body = x'00ff'",
    "body = 7",
    "body = replace(body, '\"type\"', '\"tpye\"')",
    'body = replace(body, \'"type":\', \'"type":[],"x":\')',
    "body = CAST(x'7b22ff' || body AS TEXT)",
    "body = replace(body, 'turn_id', 'trun_id')",
    "at = 'noon'",
    "at = 9e999",
    "version = x'00'",
    "version = 4611686018427387904",
    "type = x'ff'",
    "type = 'renamed'",
    "seq = 'last'",
    "seq = 4611686018427387904",
)


def find_ended(length: int) -> set[str]:
    """The turns that had ended when the log was cut off here."""
    return {turn_id for turn_id, seq in ENDS.items() if seq <= length}


@pytest.mark.parametrize("text", ["{", "[]", '{"type":"renamed"}', '{"type":"turn_finished"}'])
def test_whatever_is_lost_the_fold_the_plan_and_the_context_hold(text: str) -> None:
    """Every record of every beginning of the log, without a disk."""
    whole = [Event(ID, seq, float(seq), body) for seq, body in enumerate(LOG, 1)]
    for length, seq in PLACES:
        events = whole[:length]
        bad = decode_event(ID, seq, float(seq), events[seq - 1].type, 1, text)[0]
        assert isinstance(bad.body, Unreadable) or text == '{"type":"renamed"}'
        events[seq - 1] = bad
        conversation = fold(ID, events)
        plans = plan_recovery(conversation)
        ended = find_ended(length)
        for plan in plans:
            assert isinstance(plan, Close) or plan.turn_id not in ended, (length, seq, plan)
        ends = [body for plan in plans if isinstance(plan, Close) for body in plan.bodies]
        after = [Event(ID, length + n, 99.0, body) for n, body in enumerate(ends, 1)]
        recovered = fold(ID, [*events, *after])
        left = {plan.turn_id for plan in plans if not isinstance(plan, Close)}
        assert set(recovered.unfinished) == left
        context = build_context(recovered, None, system=None)
        assert find_misplaced(context.items) is None, (length, seq)
        healthy = build_context(fold(ID, whole[:length]), None, system=None)
        missing = find_said(healthy) - find_said(context)
        if not isinstance(LOG[seq - 1], ViewChanged):
            assert len(missing) <= 1, (length, seq, missing)


def find_said(context: Context) -> set[str]:
    """Prompts and answers, without what stands and falls with a call."""
    return {text for text in texts_of(context.items) if text.startswith(("prompt", "answer"))}


@contextmanager
def open_log(length: int) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as directory:
        yield Path(directory) / "ask.db"


async def write_log(path: Path, length: int) -> None:
    """The first `length` events, and another conversation beside them."""
    async with open_store(path) as store:
        await store.writer.append(create(ID, *LOG[1:length], name="work"))
        await store.writer.append(create("other", prompt("o"), done("o")))


def damage(path: Path, sql: str, *values: object) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(
            f"UPDATE events SET {sql} WHERE conversation_id = '{ID}' AND seq = ?", values
        )


async def go_on(path: Path, length: int) -> ScriptedModels:
    """Start on the log, let everything end that had not, ask once more."""
    models = ScriptedModels(lambda request: [f"echo: {last_words(request)}"])
    with trio.fail_after(20):
        async with boot(path, models) as daemon:
            await daemon.sessions.recover()
            session = await daemon.sessions.get(ID)
            for turn_id in list(session.conversation.turns):
                await session.wait_finished(turn_id)
            accepted = await daemon.ask("and now?", target=Target("id", ID))
            assert (await daemon.finish(accepted)).outcome == "completed"
            assert session.conversation.unfinished == []
            assert not session.needs_recovery
            ends = [
                event.body.turn_id
                for event in await daemon.reader.load(ID)
                if isinstance(event.body, TurnFinished)
            ]
            assert len(ends) == len(set(ends)), "one readable end each"
            assert len(await daemon.reader.load("other")) == 3
    assert models.rejected == []
    assert last_words(models.requests[-1]) == "and now?"
    return models


def find_asked(requests: list[ModelRequest]) -> set[str]:
    return {last_words(request).removeprefix("prompt ") for request in requests}


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(PLACES), st.sampled_from(SETTINGS))
async def test_a_daemon_goes_on_with_any_record_damaged(place: tuple[int, int], sql: str) -> None:
    length, seq = place
    with open_log(length) as path:
        await write_log(path, length)
        damage(path, sql, seq)
        with closing(sqlite3.connect(path)) as connection:
            connection.text_factory = bytes
            before = connection.execute(
                "SELECT seq, at, type, version, body FROM events WHERE conversation_id = ?", (ID,)
            ).fetchall()
        models = await go_on(path, length)
        assert find_asked(models.requests) <= {"and now?", *(ENDS.keys() - find_ended(length))}
        with closing(sqlite3.connect(path)) as connection:
            connection.text_factory = bytes
            after = connection.execute(
                "SELECT seq, at, type, version, body FROM events WHERE conversation_id = ?", (ID,)
            ).fetchall()
        assert set(before) <= set(after), "no record was rewritten"


@settings(max_examples=15, deadline=None)
@given(st.sampled_from(PLACES), st.data())
async def test_a_daemon_goes_on_with_any_bytes_changed(
    place: tuple[int, int], data: st.DataObject
) -> None:
    """Also when what comes of it is a record that can be read, and says something else."""
    length, seq = place
    content = bytearray(encode_text(LOG[seq - 1]).encode())
    start = data.draw(st.integers(0, len(content) - 1))
    patch = data.draw(st.binary(min_size=1, max_size=12))
    content[start : start + len(patch)] = patch
    with open_log(length) as path:
        await write_log(path, length)
        damage(path, "body = CAST(? AS TEXT)", bytes(content), seq)
        await go_on(path, length)
