"""What a model is asked, whatever the log holds."""

import logging
import pickle
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import trio
import trio.testing

from askd.core.events import (
    Body,
    CompletionFinished,
    ConversationCreated,
    ItemAdded,
    PromptAccepted,
    TurnFinished,
    TurnOptions,
    TurnStarted,
)
from askd.core.items import (
    AssistantMessage,
    Blob,
    Item,
    Text,
    ToolCall,
    ToolOutput,
    UserMessage,
    join_text,
)
from askd.core.outcome import CUT, DONE, FAILED, USAGE, Usage
from askd.errors import Refused
from askd.providers.base import CallDelta, Manners, ModelRequest, Price, Stopped
from askd.sessions import schemas
from askd.sessions.hub import Progress
from askd.sessions.targets import Target as At
from askd.store.log import Write
from askd.tools.base import Result, Site
from tests.fakes.log import FakeStore
from tests.fakes.models import ScriptedModels, Step, call_tools, texts_of
from tests.fakes.sessions import Room, Watcher, open_room, to
from tests.fakes.tools import Plain


async def store_with(*items: Item) -> FakeStore:
    """A conversation `c` of one finished turn with these items, whatever they are."""
    store = FakeStore()
    bodies: list[Body] = [
        ConversationCreated("c"),
        PromptAccepted("t", "k", (UserMessage("t.0", (Text("first"),)),)),
        TurnStarted("t", 1),
        *(ItemAdded("t", item, 1) for item in items),
        TurnFinished("t", "completed", DONE),
    ]
    await store.append(Write(conversation_id="c", bodies=bodies, create=True))
    return store


async def test_a_log_with_orphans_is_healed_for_the_model_and_stays_as_it_is() -> None:
    store = await store_with(
        ToolOutput("t.0.1", "call_x", "f", (Text("lost"),)),
        AssistantMessage("t.1", (Text("hm"),), calls=(ToolCall("call_y", "g", "{}"),)),
    )
    before = await store.load("c")
    async with open_room(store=store) as room:
        for words in ("second", "third"):
            accepted = await room.ask(words, target=At("id", "c"))
            assert (await room.finish(accepted)).code == DONE
        assert room.models.rejected == []
        first = room.models.requests[0].items
        assert [type(item).__name__ for item in first] == [
            "UserMessage",
            "AssistantMessage",
            "ToolOutput",
            "UserMessage",
        ]
        # The log still holds what the model does not see.
        assert (await store.load("c"))[: len(before)] == before


async def test_a_providers_refusal_is_not_logged_twice_and_the_prompt_can_be_sent_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    answers: Iterator[list[Step]] = iter(
        [[Refused("messages.3: tool_call_id is not known")], ["fine"]]
    )
    models = ScriptedModels(lambda request: next(answers))
    async with open_room(models=models) as room:
        first = await room.ask("hi")
        end = await room.finish(first)
        assert end.message == "messages.3: tool_call_id is not known"
        assert [r.message for r in caplog.records if r.levelno == logging.ERROR] == []
        again = await room.ask("hi", target=to(first.session))
        assert (await room.finish(again)).code == DONE
        assert texts_of(models.requests[1].items) == ["hi"]


# ---- what a prompt asks for -----------------------------------------------------------

PNG = b"\x89PNG\r\n\x1a\n and so on"
PICTURE = Blob("sha", len(PNG), "image/png", "cat.png")
PERSON = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
AS_PERSON = TurnOptions(answer_schema=PERSON)


def say_in_turn(*texts: str) -> ScriptedModels:
    """Models that give these answers one after the other, and know no other."""
    answers = iter(texts)
    return ScriptedModels(lambda request: [next(answers)])


def completions_of(room: Room) -> list[CompletionFinished]:
    bodies = [body for write in room.store.writes for body in write.bodies]
    return [body for body in bodies if isinstance(body, CompletionFinished)]


async def test_what_was_asked_for_reaches_the_request() -> None:
    async with open_room() as room:
        options = TurnOptions(temperature=0.5, max_output_tokens=9, stop=("END",), effort="low")
        await room.finish(await room.ask(options=options))
    (request,) = room.models.requests
    assert (request.temperature, request.max_output_tokens) == (0.5, 9)
    assert (request.stop, request.effort, request.schema) == (("END",), "low", None)
    assert request.context_window == room.models.window


async def test_an_image_goes_along_and_is_seen_in_later_turns_too() -> None:
    async with open_room() as room:
        first = await room.ask(parts=[Text("what?"), PICTURE], blobs={"sha": PNG})
        await room.finish(first)
        await room.finish(await room.ask("and now?", target=to(first.session)))
        assert room.models.rejected == []
        for request in room.models.requests:
            assert request.images == {"sha": PNG}
            assert request.items[0] == UserMessage(f"{first.turn_id}.0", (Text("what?"), PICTURE))


async def test_a_model_that_cannot_see_is_told_of_earlier_images() -> None:
    async with open_room(models=ScriptedModels(blind=("test/small",))) as room:
        options = TurnOptions(model="test/large")
        first = await room.ask(parts=[PICTURE], blobs={"sha": PNG}, options=options)
        await room.finish(first)
        options = TurnOptions(model="test/small")
        accepted = await room.ask("and now?", target=to(first.session), options=options)
        assert (await room.finish(accepted)).code == DONE
        request = room.models.requests[-1]
        assert request.images == {}
        assert texts_of(request.items)[0] == f"[image/png, {len(PNG)} bytes, not shown]"


async def test_a_model_that_turns_out_not_to_see_fails_the_turn() -> None:
    gate = trio.Event()
    models = ScriptedModels(lambda request: [gate, "yes"])
    async with open_room(models=models) as room:
        first = await room.ask("wait")
        await trio.testing.wait_all_tasks_blocked()
        queued = await room.ask(parts=[PICTURE], blobs={"sha": PNG}, target=to(first.session))
        models.manners = Manners(images=False)
        gate.set()
        end = await room.finish(queued)
        assert (end.outcome, end.code, end.reason) == ("failed", FAILED, "refused")
        assert (end.message or "").startswith("test/small cannot see images.")
        assert models.rejected == []


async def test_an_answer_that_fits() -> None:
    async with open_room(models=say_in_turn('```json\n{"age": 36}\n```')) as room:
        end = await room.finish(await room.ask(options=AS_PERSON))
        assert (end.outcome, end.code) == ("completed", DONE)
    (request,) = room.models.requests
    assert request.schema == PERSON
    assert "JSON" in (request.system or "")


async def test_a_model_that_takes_no_schema_is_told() -> None:
    models = say_in_turn('{"age": 36}')
    models.manners = Manners(schema=False)
    async with open_room(models=models) as room:
        options = TurnOptions(answer_schema=PERSON, system="Be brief.")
        await room.finish(await room.ask(options=options))
    (request,) = models.requests
    assert request.schema is None
    assert (request.system or "").startswith("Be brief.\n\nAnswer with JSON")
    assert '"required": ["age"]' in (request.system or "")


async def test_an_answer_that_does_not_fit_is_asked_for_once_more() -> None:
    async with open_room(models=say_in_turn("36", '{"age": 36}')) as room:
        accepted = await room.ask("how old?", options=AS_PERSON)
        assert (await room.finish(accepted)).code == DONE
        again = room.models.requests[1]
        assert texts_of(again.items) == [
            "how old?",
            "36",
            "The answer does not fit the schema: $: 36 is not of type 'object'. "
            "Answer once more, with nothing but what was asked for.",
        ]
        assert again.schema == PERSON
        # The next prompt has no schema, and sees what was said.
        room.models.script = lambda request: ["fine"]
        await room.finish(await room.ask("thanks", target=to(accepted.session)))
        assert room.models.requests[2].schema is None
        assert room.models.requests[2].system is None


async def test_two_answers_that_do_not_fit_are_a_failure() -> None:
    async with open_room(models=say_in_turn("36", "thirty-six")) as room:
        end = await room.finish(await room.ask(options=AS_PERSON))
    assert (end.outcome, end.code, end.reason) == ("failed", FAILED, "schema_mismatch")
    assert end.message == "The answer is not JSON: Expecting value: line 1 column 1 (char 0)."
    assert len(room.models.requests) == 2


async def test_a_cut_answer_is_not_asked_for_again() -> None:
    models = ScriptedModels(lambda request: ['{"age": ', Stopped("length")])
    async with open_room(models=models) as room:
        end = await room.finish(await room.ask(options=AS_PERSON))
        assert (end.code, end.reason) == (CUT, "length")
        assert len(models.requests) == 1


async def test_an_answer_with_calls_is_not_the_one_that_must_fit() -> None:
    steps: Iterator[list[Step]] = iter([["well", *call_tools("gone")], ['{"age": 1}']])
    async with open_room(models=ScriptedModels(lambda request: next(steps))) as room:
        end = await room.finish(await room.ask(options=AS_PERSON))
        assert end.code == DONE
        assert all("schema" not in text for text in texts_of(room.models.requests[1].items))


async def test_an_answer_that_cannot_be_checked_is_a_failure_that_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(schemas, "CHECK_LIMIT_S", 0.05)
    evil = TurnOptions(answer_schema={"type": "string", "pattern": "^(a+)+$"})
    async with open_room(models=say_in_turn(f'"{"a" * 60}b"')) as room:
        accepted = await room.ask(options=evil)
        end = await room.finish(accepted)
        assert (end.outcome, end.code, end.reason) == ("failed", USAGE, "bad_schema")
        record = accepted.session.conversation.turns[accepted.turn_id]
        assert any(isinstance(added.item, AssistantMessage) for added in record.items)


async def test_a_paused_answer_is_gone_on_with() -> None:
    steps: Iterator[list[Step]] = iter([["one,", Stopped("pause")], ["two"]])
    async with open_room(models=ScriptedModels(lambda request: next(steps))) as room:
        assert (await room.finish(await room.ask("count"))).code == DONE
        assert texts_of(room.models.requests[1].items) == ["count", "one,"]


@pytest.mark.parametrize(("said", "cost"), [(None, 12.5e-6), (0.25, 0.25)])
async def test_what_an_answer_cost(said: float | None, cost: float) -> None:
    models = ScriptedModels(price=Price(input=0.5, output=3.0))
    models.usage = Usage(7, 3, cost_usd=said)
    async with open_room(models=models) as room:
        end = await room.finish(await room.ask())
        assert end.usage is not None
        assert end.usage.cost_usd == pytest.approx(cost)
        assert [each.usage for each in completions_of(room)] == [end.usage]


async def test_a_guessed_window_is_said_once() -> None:
    async with open_room(models=ScriptedModels(guessed=True)) as room:
        watcher = Watcher()
        first = await room.ask()
        first.session.subscribe(watcher)
        await room.finish(first)
        await room.finish(await room.ask(target=to(first.session)))
        other = await room.ask()
        other.session.subscribe(watcher)
        await room.finish(other)
        said = [value for value in watcher.values if isinstance(value, Progress)]
        assert [(each.kind, each.text) for each in said if each.kind == "warning"] == [
            (
                "warning",
                "Nobody says how much test/small can read; 100000 tokens are assumed. "
                'If that is wrong, set context_window under [models."test/small"].',
            )
        ]


async def test_what_is_waited_for_is_passed_on() -> None:
    models = ScriptedModels(said={"waiting": "Waiting 3 s for test."})
    async with open_room(models=models) as room:
        watcher = Watcher()
        accepted = await room.ask()
        accepted.session.subscribe(watcher)
        await room.finish(accepted)
        said = [value for value in watcher.values if isinstance(value, Progress)]
        assert ("waiting", "Waiting 3 s for test.") in [(each.kind, each.text) for each in said]


class Untouched(Plain):
    """A tool that is called and never to be run."""

    name = "write_file"
    description = "Writes."
    effects = True
    schema: Mapping[str, Any] = {"type": "object"}

    async def run(self, arguments: Mapping[str, Any], site: Site) -> Result:
        raise AssertionError("it ran")


async def test_five_megabytes_of_arguments_are_answered_and_stored_small() -> None:
    def script(request: ModelRequest) -> Iterator[Step]:
        if any(isinstance(item, ToolOutput) for item in request.items):
            yield "I see."
            return
        for _ in range(80):
            yield CallDelta(0, "call_1", "write_file", "x" * 65_536)
        yield Stopped("calls")

    models = ScriptedModels(script)
    async with open_room(models=models, tools=[Untouched()]) as room:
        watcher = Watcher()
        accepted = await room.ask()
        accepted.session.subscribe(watcher)
        assert (await room.finish(accepted)).code == DONE
        said = [value for value in watcher.values if isinstance(value, Progress)]
        assert any("5,242,880 bytes of arguments" in each.text for each in said)
        (output,) = [item for item in models.requests[1].items if isinstance(item, ToolOutput)]
        assert output.is_error
        assert "5,242,880 bytes" in join_text(output.parts)
        # What another daemon reads of it, and what goes over the wire, is small.
        assert sum(len(pickle.dumps(event)) for event in watcher.events) < 64 * 1024
