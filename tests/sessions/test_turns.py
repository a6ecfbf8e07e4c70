"""One turn run to its end: what is appended, said, kept, when all goes well and when not."""

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
import trio
import trio.testing

from askd.core.events import (
    CompletionFinished,
    ItemAdded,
    ItemPinned,
    SettingsChanged,
    Titled,
    TurnFinished,
    TurnOptions,
    TurnStarted,
)
from askd.core.items import AssistantMessage, Text, ToolOutput, join_text
from askd.core.outcome import CUT, DONE, FAILED, OVERFLOW, STORAGE, TIME_LIMIT, Failure
from askd.core.sight import find_sight
from askd.core.tokens import encode_size
from askd.errors import Overflowed, Unavailable
from askd.providers.base import (
    CallDelta,
    Caller,
    Failed,
    Model,
    ModelRequest,
    ReasoningDelta,
    Stopped,
)
from askd.sessions.budget import size_request
from askd.sessions.hub import Progress, TurnUnsaved
from askd.sessions.live import LiveSession
from askd.sessions.turns import TurnRun
from askd.tools.base import Result, Site
from tests.fakes.garbage import uncollected
from tests.fakes.log import FakeStore
from tests.fakes.models import USAGE, ScriptedModels, Step, call_tools, texts_of
from tests.fakes.sessions import Watcher, ends_of, open_room, to
from tests.fakes.tools import Plain


def say(*steps: Step) -> ScriptedModels:
    """Models that always answer with these steps."""
    return ScriptedModels(lambda request: steps)


def take_turns(*answers: Iterable[Step]) -> ScriptedModels:
    """Models that give these answers, one after the other."""
    left = iter(answers)
    return ScriptedModels(lambda request: next(left))


@dataclass
class Clock(Plain):
    """A tool that says what time it is, or takes for ever."""

    name: str = "clock"
    description: str = "Says the time."
    effects: bool = False
    slow: bool = False
    ran: int = 0
    schema: Mapping[str, Any] = field(default_factory=dict)

    async def run(self, arguments: Mapping[str, Any], site: Site) -> Result:
        self.ran += 1
        if self.slow:
            await trio.sleep_forever()
        return Result((Text("noon"),))


async def test_a_turn_is_started_answered_and_finished_in_this_order() -> None:
    async with open_room() as room:
        accepted = await room.ask("hi", options=TurnOptions(system="Be brief."))
        await room.finish(accepted)
        turn = accepted.turn_id
        (message,) = [
            event.body.item
            for event in await room.store.load(accepted.session.id)
            if isinstance(event.body, ItemAdded)
        ]
        bodies = [event.body for event in await room.store.load(accepted.session.id)][2:]
        measured = encode_size(size_request(room.models.requests[0]))
        assert bodies == [
            SettingsChanged("test/small", "Be brief."),
            TurnStarted(turn, 1, "test/small"),
            ItemAdded(turn, message, 1),
            CompletionFinished(turn, 1, "end", USAGE, measured),
            TurnFinished(turn, "completed", DONE, USAGE),
            Titled("hi"),
        ]
        assert message == AssistantMessage(
            f"{turn}.1", (Text("echo: hi"),), provider="test", model="test/small"
        )
        # The answer, the end and the title are one transaction.
        assert [len(write.bodies) for write in room.store.writes] == [2, 2, 4]
        assert [len(write.jobs) for write in room.store.writes] == [0, 0, 0]


async def test_settings_of_the_first_turn_stay_and_later_options_hold_for_their_turn() -> None:
    async with open_room() as room:
        first = await room.ask("a", options=TurnOptions(model="test/large", system="One."))
        await room.finish(first)
        second = await room.ask(
            "b", target=to(first.session), options=TurnOptions(model="test/small", system="Two.")
        )
        await room.finish(second)
        third = await room.ask("c", target=to(first.session))
        await room.finish(third)
        asked = [(request.model, request.system) for request in room.models.requests]
        assert asked == [("large", "One."), ("small", "Two."), ("large", "One.")]
        changes = [
            event
            for event in await room.store.load(first.session.id)
            if isinstance(event.body, SettingsChanged)
        ]
        assert len(changes) == 1


async def test_options_and_context_reach_the_model() -> None:
    async with open_room() as room:
        first = await room.ask("one two", options=TurnOptions(temperature=0.5, max_output_tokens=9))
        await room.finish(first)
        second = await room.ask("three", target=to(first.session))
        await room.finish(second)
        assert (room.models.requests[0].temperature, room.models.requests[0].max_output_tokens) == (
            0.5,
            9,
        )
        assert texts_of(room.models.requests[1].items) == ["one two", "echo: one two", "three"]


async def test_a_title_is_wanted_once_and_only_where_it_makes_sense() -> None:
    async with open_room(title="off") as room:
        first = await room.ask("hi")
        await room.finish(first)
        assert room.store.jobs == {}
        assert first.session.conversation.title is None
    async with open_room(title="model") as room:
        await room.finish(await room.ask("hi", ephemeral=True))
        assert room.store.writes == []
        first = await room.ask("hi")
        await room.finish(first)
        await room.finish(await room.ask("ho", target=to(first.session)))
        (job,) = room.store.jobs.values()
        assert (job.job.kind, job.job.unique_key) == ("title", first.session.id)


async def test_the_choice_of_a_model_nobody_chose_is_told_once_after_the_start() -> None:
    models = ScriptedModels(said={"model_loading": "one moment"})
    async with open_room(models=models) as room:
        accepted = await room.ask("hi")
        watcher = Watcher()
        accepted.session.subscribe(watcher)
        await room.finish(accepted)
        await room.finish(await room.ask("ho", target=to(accepted.session)))
        told = [(v.kind, v.text) for v in watcher.values if isinstance(v, Progress)]
        assert told == [
            ("model_chosen", "the only one there is"),
            ("model_loading", "one moment"),
            ("model_loading", "one moment"),
        ]
        assert isinstance(watcher.events[1].body, TurnStarted)
        assert watcher.values.index(watcher.events[1]) < watcher.values.index(
            next(v for v in watcher.values if isinstance(v, Progress))
        )


# ---- what goes wrong with a model ----------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "outcome", "code", "reason", "kept"),
    [
        (["half", Unavailable("The line broke.")], "failed", FAILED, "unavailable", "half"),
        ([Unavailable("Nobody there.")], "failed", FAILED, "unavailable", None),
        ([Failed(Failure(5, "rate_limited", "Slow."))], "failed", 5, "rate_limited", None),
        (["half", Stopped("length")], "completed", CUT, "length", "half"),
        (["no", Stopped("refusal")], "failed", FAILED, "refused", "no"),
        ([KeyError("bug")], "failed", FAILED, "internal", None),
        (
            [ExceptionGroup("nursery", [Unavailable("Deep down.")])],
            "failed",
            FAILED,
            "unavailable",
            None,
        ),
    ],
)
async def test_how_answers_end(
    steps: list[Step], outcome: str, code: int, reason: str, kept: str | None
) -> None:
    async with open_room(models=say(*steps)) as room:
        accepted = await room.ask()
        end = await room.finish(accepted)
        assert (end.outcome, end.code, end.reason) == (outcome, code, reason)
        items = accepted.session.conversation.turns[accepted.turn_id].items
        assert [join_text(added.item.parts) for added in items] == ([kept] if kept else [])  # type: ignore[union-attr]
        assert accepted.session.texts.snapshot() == []
        # The next one is not disturbed by it.
        room.models.script = lambda request: ["fine"]
        assert (await room.finish(await room.ask(target=to(accepted.session)))).code == DONE


async def test_a_model_that_is_gone_when_the_turn_starts_fails_the_turn(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_room() as room:
        first = await room.ask("a")
        await room.finish(first)
        room.models.key_needed = "KEY"
        second = await room.ask("b", target=to(first.session), secrets={"KEY": "s"})
        second.session.callers.clear()
        end = await room.finish(second)
        assert (end.outcome, end.code, end.reason) == ("failed", 4, "not_configured")
        assert "No key: set KEY." in (end.message or "")


async def pin_items(session: LiveSession) -> None:
    """Pin all that was said: none of it may leave the view."""
    said = find_sight(session.conversation, None).items
    await session.append([ItemPinned(item.id) for item in said])


async def test_a_conversation_that_outgrew_its_window_names_tokens_window_and_ways_out(
    autojump_clock: trio.testing.MockClock,
) -> None:
    models = ScriptedModels(window=1000, reserved=200)
    # Nothing may be made of it but what was said: a person is to decide, and none is there.
    async with open_room(models=models, overflow="ask") as room:
        accepted = await room.ask(
            "word " * 400
        )  # the prompt fits, prompt and answer do not fit twice
        await room.finish(accepted)
        await pin_items(accepted.session)
        again = await room.ask("more " * 100, target=to(accepted.session))
        end = await room.finish(again)
        assert (end.outcome, end.code, end.reason) == ("failed", OVERFLOW, "overflow")
        assert end.message is not None
        assert "about 922 tokens" in end.message
        assert "1000" in end.message
        assert "`ask clear`" in end.message
        assert "`ask new`" in end.message
        assert len(room.models.requests) == 1


async def test_an_overflow_that_only_the_server_sees_names_the_ways_out_too() -> None:
    async with open_room(models=say(Overflowed("Too long for me."))) as room:
        end = await room.finish(await room.ask())
        assert end.code == OVERFLOW
        assert end.message is not None
        assert end.message.startswith("Too long for me. ")
        assert "`ask clear`" in end.message


async def test_the_model_is_asked_while_the_start_is_committed_and_heard_after() -> None:
    store, models = FakeStore(), ScriptedModels(said={"model_loading": "one moment"})
    store.slow[TurnStarted] = trio.Event()
    async with open_room(store=store, models=models) as room:
        accepted = await room.ask("hi")
        watcher = Watcher()
        accepted.session.subscribe(watcher)
        await trio.testing.wait_all_tasks_blocked()
        assert len(models.requests) == 1
        assert watcher.values == []
        assert accepted.session.texts.snapshot() == []
        store.slow[TurnStarted].set()
        await room.finish(accepted)
    kinds = [type(value).__name__ for value in watcher.values]
    assert kinds.index("Event") < kinds.index("Progress") < kinds.index("Delta")


async def test_reasoning_is_streamed_and_kept() -> None:
    async with open_room(models=say(ReasoningDelta("hm"), "yes")) as room:
        accepted = await room.ask()
        watcher = Watcher()
        accepted.session.subscribe(watcher)
        await room.finish(accepted)
        assert [(d.kind, d.text) for d in watcher.deltas] == [("reasoning", "hm"), ("text", "yes")]
        item = accepted.session.conversation.turns[accepted.turn_id].items[0].item
        assert isinstance(item, AssistantMessage)
        assert item.reasoning[0].text == "hm"


# ---- tools ---------------------------------------------------------------------------


async def test_calls_are_run_and_answered() -> None:
    models = take_turns(call_tools("clock", "nothing"), ["It is noon."])
    tool = Clock()
    async with open_room(models=models, tools=[tool]) as room:
        accepted = await room.ask()
        assert (await room.finish(accepted)).code == DONE
        record = accepted.session.conversation.turns[accepted.turn_id]
        outputs = [each.item for each in record.items if isinstance(each.item, ToolOutput)]
        assert {(o.id, join_text(o.parts), o.synthetic) for o in outputs} == {
            (f"{accepted.turn_id}.1.1", "noon", None),
            (f"{accepted.turn_id}.1.2", "There is no tool named 'nothing'.", "unknown_tool"),
        }
        assert tool.ran == 1
        assert [each["name"] for each in room.models.requests[0].tools] == ["clock"]
    assert models.rejected == []


async def test_an_interrupt_stops_tools_and_answers_their_calls() -> None:
    models = take_turns(call_tools("clock", "clock"), ["fine"])
    async with open_room(models=models, tools=[Clock(slow=True)]) as room:
        accepted = await room.ask()
        await trio.testing.wait_all_tasks_blocked()
        await accepted.session.interrupt(accepted.turn_id, "tests")
        end = await room.finish(accepted)
        assert (end.outcome, end.code) == ("interrupted", FAILED)
        record = accepted.session.conversation.turns[accepted.turn_id]
        outputs = [each.item for each in record.items if isinstance(each.item, ToolOutput)]
        assert [output.synthetic for output in outputs] == ["interrupted", "interrupted"]
        assert (await room.finish(await room.ask(target=to(accepted.session)))).code == DONE
    assert models.rejected == []


# ---- interrupts and limits -----------------------------------------------------------


async def test_an_interrupt_keeps_what_was_said() -> None:
    never = trio.Event()
    async with open_room(models=say("half an ", "answer", never)) as room:
        accepted = await room.ask()
        await trio.testing.wait_all_tasks_blocked()
        status = await accepted.session.interrupt(accepted.turn_id, "a test")
        assert status.state in ("running", "finished")
        end = await room.finish(accepted)
        assert (end.outcome, end.code, end.reason) == ("interrupted", FAILED, "interrupted")
        assert end.message == "Interrupted by a test."
        (added,) = accepted.session.conversation.turns[accepted.turn_id].items
        assert added.status == "interrupted"
        assert isinstance(added.item, AssistantMessage)
        assert join_text(added.item.parts) == "half an answer"


async def test_a_time_limit_ends_a_turn_with_its_own_code(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_room(models=say("so", 100.0, "late")) as room:
        accepted = await room.ask(options=TurnOptions(timeout_s=5))
        end = await room.finish(accepted)
        assert trio.current_time() < 6
        assert (end.outcome, end.code, end.reason) == ("interrupted", TIME_LIMIT, "time_limit")
        assert end.message == "The time limit of 5 s was reached."
        quick = await room.ask(target=to(accepted.session), options=TurnOptions(timeout_s=500))
        assert (await room.finish(quick)).code == DONE


async def test_partial_text_is_saved_after_a_while_and_when_it_is_much(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_room(models=say("a", 10.0, "b" * 5000, trio.Event())) as room:
        accepted = await room.ask()
        await trio.sleep(1)
        assert [each.text for each in room.store.saved] == ["a"]
        await trio.sleep(9.01)
        assert [each.text for each in room.store.saved] == ["a", "a" + "b" * 5000]
        assert room.store.saved[0].item_id == f"{accepted.turn_id}.1"


# ---- storage -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [TurnStarted, ItemAdded, TurnFinished])
async def test_when_storage_fails_the_answer_goes_on_and_the_end_is_unsaved(kind: type) -> None:
    go_on = trio.Event()
    store = FakeStore()
    store.fail_if = lambda write: any(isinstance(body, kind) for body in write.bodies)
    async with open_room(store=store, models=say("one ", go_on, "two")) as room:
        accepted = await room.ask()
        watcher = Watcher()
        accepted.session.subscribe(watcher)
        go_on.set()
        status = await accepted.session.wait_finished(accepted.turn_id)
        assert (status.state, status.code) == ("finished", STORAGE)
        assert "".join(delta.text for delta in watcher.deltas) == "one two"
        (unsaved,) = [v for v in watcher.values if isinstance(v, TurnUnsaved)]
        assert (unsaved.outcome, unsaved.code) == ("completed", STORAGE)
        assert unsaved.reason == "The disk is full."
        assert ends_of(accepted.session) == {}
        assert accepted.session.texts.snapshot() == []


async def test_without_storage_a_turn_with_tools_goes_on_from_what_it_knows() -> None:
    store = FakeStore()
    models = take_turns(call_tools("clock"), ["noon it is"])
    async with open_room(store=store, models=models, tools=[Clock()]) as room:
        store.fail_if = lambda write: any(isinstance(body, TurnStarted) for body in write.bodies)
        accepted = await room.ask("when?")
        await accepted.session.wait_finished(accepted.turn_id)
        assert len(models.requests) == 2
        assert texts_of(models.requests[1].items) == ["when?", "", "noon"]
        assert accepted.session.conversation.turns[accepted.turn_id].items == []
    assert models.rejected == []


async def test_large_answers_are_stored_beside_the_log_and_read_back() -> None:
    long = "word " * 100_000
    models = take_turns([long], ["short"])
    async with open_room(models=models) as room:
        models.window = 10_000_000
        accepted = await room.ask()
        await room.finish(accepted)
        (added,) = accepted.session.conversation.turns[accepted.turn_id].items
        assert isinstance(added.item, AssistantMessage)
        assert not isinstance(added.item.parts[0], Text)
        await room.finish(await room.ask("and?", target=to(accepted.session)))
        assert texts_of(models.requests[1].items) == ["hello", long, "and?"]


async def test_more_turns_than_there_is_room_for_wait_their_turn() -> None:
    gates = [trio.Event(), trio.Event()]
    counter = itertools.count()

    def script(request: ModelRequest) -> Iterable[Step]:
        return ["a", gates[next(counter)]]

    async with open_room(models=ScriptedModels(script), turns=1) as room:
        one = await room.ask()
        two = await room.ask()
        await trio.testing.wait_all_tasks_blocked()
        assert len(room.models.requests) == 1
        first, second = (one, two) if one.session.running else (two, one)
        assert second.session.status(second.turn_id).state == "queued"
        gates[0].set()
        await room.finish(first)
        gates[1].set()
        await room.finish(second)


async def test_half_a_call_is_not_run() -> None:
    tool = Clock()
    cut: list[Step] = [CallDelta(0, "c", "clock", '{"a'), Unavailable("The line broke.")]
    async with open_room(models=say(*cut), tools=[tool]) as room:
        accepted = await room.ask()
        assert (await room.finish(accepted)).code == FAILED
        assert tool.ran == 0


async def test_a_turn_that_is_over_is_freed_at_once_and_not_by_the_collector() -> None:
    """What a run has kept, its session among it, would else stay for thousands of turns."""
    models = take_turns(["warm"], call_tools("clock"), ["noon it is"])
    async with open_room(models=models, tools=[Clock()]) as room:
        await room.finish(await room.ask("hello"))
        with uncollected(TurnRun):
            await room.finish(await room.ask("when?"))
            await trio.testing.wait_all_tasks_blocked()


async def test_the_model_of_a_turn_that_begins_at_once_is_looked_up_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By the one who accepts its prompt; a turn that had to wait looks again."""
    go_on = trio.Event()
    models = ScriptedModels(lambda request: [go_on, "done"])
    resolved: list[str | None] = []
    resolve = models.resolve

    async def note(name: str | None, caller: Caller) -> Model:
        resolved.append(name)
        return await resolve(name, caller)

    monkeypatch.setattr(models, "resolve", note)
    async with open_room(models=models) as room:
        first = await room.ask("hello")
        await trio.testing.wait_all_tasks_blocked()
        assert len(resolved) == 1
        waiting = await room.ask("again", target=to(first.session))
        assert len(resolved) == 2
        go_on.set()
        await room.finish(waiting)
        assert len(resolved) == 3
