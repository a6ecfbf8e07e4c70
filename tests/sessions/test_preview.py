"""What is shown is what is sent: every preview is held against the request that follows it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import pytest
import trio
import trio.testing

from askd.core.events import TurnOptions
from askd.core.items import AssistantMessage, Blob, Item, Text, ToolCall, ToolOutput
from askd.core.outcome import Usage
from askd.core.tokens import BASE_TOKENS, ITEM_TOKENS, Size, measure, measure_system
from askd.providers.base import Caller, Manners
from askd.sessions import preview as of_session
from askd.sessions.live import LiveSession
from askd.sessions.preview import Preview, preview
from askd.sessions.rules import ToolRules
from askd.tools.base import Result, Site, say
from tests.fakes.models import ScriptedModels
from tests.fakes.sessions import Room, open_room, to
from tests.fakes.tools import Plain
from tests.sessions.test_completion import store_with

CALLER = Caller(env={}, secrets={})
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


@dataclass
class Reads(Plain):
    """A tool that takes many words to tell of."""

    name: str = "reads"
    description: str = "Reads what is there. " * 50
    effects: bool = False
    schema: Mapping[str, Any] = field(default_factory=dict)

    async def run(self, arguments: Mapping[str, Any], site: Site) -> Result:
        return say("read")


async def look(room: Room, session: LiveSession) -> Preview:
    return await preview(session, CALLER, room.sessions.means)


def shown(found: Preview) -> Sequence[Item]:
    return [seen.item for seen in found.look()]


async def test_at_rest_it_is_what_the_next_prompt_finds() -> None:
    async with open_room(title="off") as room:
        accepted = await room.ask("one", options=TurnOptions(system="Be brief."))
        await room.finish(accepted)
        found = await look(room, accepted.session)
        await room.finish(await room.ask("two", target=to(accepted.session)))
        request = room.models.requests[-1]
        assert shown(found) == list(request.items[:-1])
        assert found.context.system == request.system == "Be brief."
        assert found.system_tokens == measure_system("Be brief.").tokens > ITEM_TOKENS
        parts = found.system_tokens + sum(seen.tokens for seen in found.look())
        assert parts <= found.tokens <= parts + BASE_TOKENS
        assert found.model is not None
        assert (found.model.name, found.note) == ("test/small", None)


async def test_while_a_turn_runs_it_is_that_turns_request() -> None:
    async with open_room(title="off") as room:
        room.models.script = lambda request: ["half", 3600.0]
        running = await room.ask("one")
        await room.ask("two", target=to(running.session))
        await trio.testing.wait_all_tasks_blocked()
        found = await look(room, running.session)
        assert shown(found) == list(room.models.requests[-1].items)


async def test_a_prompt_that_waits_is_in_it() -> None:
    async with open_room(title="off", turns=1) as room:
        go_on = trio.Event()
        room.models.script = lambda request: ["said", go_on]
        first = await room.ask("busy")
        waiting = await room.ask("waits", options=TurnOptions(model="test/large"))
        await trio.testing.wait_all_tasks_blocked()
        assert waiting.session.queue == [waiting.turn_id]
        found = await look(room, waiting.session)
        go_on.set()
        await room.finish(first)
        await room.finish(waiting)
        assert shown(found) == list(room.models.requests[-1].items)
        assert found.model is not None
        assert found.model.name == "test/large"


async def test_a_prompt_to_come_may_ask_for_another_model_and_one_that_waits_has_asked() -> None:
    async with open_room(title="off") as room:
        accepted = await room.ask("one")
        await room.finish(accepted)
        means = room.sessions.means
        found = await preview(accepted.session, CALLER, means, model="test/large")
        assert found.model is not None
        assert found.model.name == "test/large"
        room.models.script = lambda request: ["half", 3600.0]
        await room.ask("two", target=to(accepted.session))
        found = await preview(accepted.session, CALLER, means, model="test/large")
        assert found.model is not None
        assert found.model.name == "test/small"


async def test_what_is_healed_is_shown_healed() -> None:
    store = await store_with(
        ToolOutput("t.0.1", "call_x", "f", (Text("lost"),)),
        AssistantMessage("t.1", (Text("hm"),), calls=(ToolCall("call_y", "g", "{}"),)),
    )
    async with open_room(store=store, title="off") as room:
        session = await room.sessions.get("c")
        found = await look(room, session)
        await room.finish(await room.ask("two", target=to(session)))
        assert shown(found) == list(room.models.requests[-1].items[:-1])
        assert [type(item).__name__ for item in shown(found)] == [
            "UserMessage",
            "AssistantMessage",
            "ToolOutput",
        ]
        assert len(found.context.faults) == 2


async def test_a_model_that_cannot_see_is_shown_as_one() -> None:
    models = ScriptedModels(blind=("test/large",))
    async with open_room(models=models, title="off") as room:
        digest = sha256(PNG).hexdigest()
        image = Blob(digest, len(PNG), "image/png", "cat.png")
        accepted = await room.ask("see", parts=[Text("see"), image], blobs={digest: PNG})
        await room.finish(accepted)
        assert image in shown(await look(room, accepted.session))[0].parts  # type: ignore[union-attr]
        await room.ask(
            "and now", target=to(accepted.session), options=TurnOptions(model="test/large")
        )
        found = await look(room, accepted.session)
        await trio.testing.wait_all_tasks_blocked()
        assert shown(found) == list(room.models.requests[-1].items)


async def test_without_a_model_the_items_are_shown_all_the_same() -> None:
    models = ScriptedModels()
    async with open_room(models=models, title="off") as room:
        accepted = await room.ask("one", options=TurnOptions(system="Be brief."))
        await room.finish(accepted)
        models.key_needed = "KEY"
        found = await look(room, accepted.session)
        assert (found.model, found.note) == (None, "No key: set KEY.")
        assert found.count == 2
        assert found.context.system == "Be brief."
        learned = room.sessions.means.rates
        assert found.tokens == learned.estimate("test/small", found.context.measure())
        room.sessions.means.rates.learn("test/small", {"words": 9, "base": 8}, Usage(60))
        assert (await look(room, accepted.session)).tokens > found.tokens


async def test_a_model_that_takes_no_schema_is_told_of_it() -> None:
    models = ScriptedModels(manners=Manners(schema=False))
    async with open_room(models=models, title="off") as room:
        models.script = lambda request: ["{}", 3600.0]
        accepted = await room.ask("one", options=TurnOptions(answer_schema={"type": "object"}))
        await trio.testing.wait_all_tasks_blocked()
        found = await look(room, accepted.session)
        assert found.context.system == models.requests[-1].system
        assert "object" in str(found.context.system)


async def test_tools_that_are_not_offered_are_not_measured() -> None:
    models = ScriptedModels(manners=Manners(tools="schema"))
    everything = ToolRules(enabled=("all",))
    async with open_room(models=models, tools=[Reads()], toolbox=everything, title="off") as room:
        accepted = await room.ask("one")
        await room.finish(accepted)
        assert not room.models.requests[-1].tools
        found = await look(room, accepted.session)
        parts = sum(seen.tokens for seen in found.look())
        assert parts <= found.tokens <= parts + BASE_TOKENS


async def test_only_what_is_looked_at_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_room(title="off") as room:
        first = await room.ask("one")
        await room.finish(first)
        for text in ("two", "three"):
            await room.finish(await room.ask(text, target=to(first.session)))
        found = await look(room, first.session)
        everything = list(found.look())
        measured: list[Item] = []

        def note(item: Item) -> Size:
            measured.append(item)
            return measure(item)

        monkeypatch.setattr(of_session, "measure", note)
        assert list(found.look(2, 4)) == everything[2:4]
        assert measured == [seen.item for seen in everything[2:4]]
        assert (found.count, list(found.look(6))) == (6, [])
