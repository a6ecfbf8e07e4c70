"""Tools of servers in turns: made ready, offered, asked about, gone again; what their images do."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import trio
import trio.testing

from askd.core.approval import ApprovalRules
from askd.core.events import TurnOptions
from askd.core.items import Blob, Text, ToolOutput, UserMessage, join_text
from askd.core.outcome import DONE, STORAGE, TIME_LIMIT
from askd.core.turn import Steered
from askd.errors import RequestError
from askd.providers.base import Manners
from askd.sessions.rules import ToolRules
from askd.sessions.toolbox import PATIENCE_S, WAITING, check_words
from askd.tools.base import Result, Tool, say
from askd.tools.mcp.base import ServerTool
from askd.tools.mcp.tool import make_server_tool
from askd.tools.registry import Registry
from tests.fakes.log import FakeStore
from tests.fakes.mcp_servers import FakeServers
from tests.fakes.models import ScriptedModels
from tests.fakes.sessions import Watcher, open_room, to
from tests.sessions.approval_world import answer, call, models_that, outputs_of, told, wait_parked

NOW = ServerTool(
    server="time", name="now", description="Says the time.", schema={"type": "object"}, digest="d1"
)
AUTO = ApprovalRules(tools={"time__*": "auto"})
GIF = b"GIF89a and more"
DIGEST = hashlib.sha256(GIF).hexdigest()
WANTED = TurnOptions(tools=("time__*",))
DETACHED = replace(WANTED, detach=True, approve="ask")


@dataclass
class Shop:
    """A server `time` whose tools come and go, and which may take its time to be ready."""

    servers: FakeServers = field(default_factory=FakeServers)
    held: trio.Event | None = None
    prepared: list[tuple[Sequence[str], str | None]] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    ready: Callable[[], None] = lambda: None

    def offer(self, *tools: ServerTool) -> None:
        self.servers.offered = [make_server_tool(each, self.servers.call) for each in tools]

    @property
    def registry(self) -> Registry:
        def list_tools() -> Iterable[Tool]:
            return self.servers.tools()

        return Registry(more=list_tools, servers=lambda: ["time"])

    async def prepare(self, words: Sequence[str], root: str | None) -> Sequence[str]:
        self.prepared.append((tuple(words), root))
        if self.held is not None:
            await self.held.wait()
        self.ready()
        return self.sentences


def open_shop(*tools: ServerTool, **more: Any) -> Shop:
    shop = Shop(**more)
    shop.offer(*tools)
    return shop


# ---- made ready -----------------------------------------------------------------


async def test_a_turn_begins_by_making_its_tools_ready_and_says_what_is_not() -> None:
    shop = open_shop(sentences=["The server 'time' did not start: no such file."])
    shop.ready = lambda: shop.offer(NOW)
    async with open_room(registry=shop.registry, prepare=shop.prepare) as room:
        accepted = await room.ask(options=WANTED, cwd="/w")
        watcher = Watcher()
        accepted.session.subscribe(watcher)
        assert (await room.finish(accepted)).code == DONE
        assert shop.prepared == [(("time__*",), "/w")]
        assert told(watcher, "warning") == shop.sentences
        assert [each["name"] for each in room.models.requests[0].tools] == ["time__now"], (
            "known by now"
        )


@pytest.mark.parametrize("tools", [(), ("none",), None])
async def test_nobody_is_asked_where_no_tools_are_wanted(tools: tuple[str, ...] | None) -> None:
    shop = open_shop(held=trio.Event())
    rules = ToolRules(enabled=())
    async with open_room(registry=shop.registry, prepare=shop.prepare, toolbox=rules) as room:
        assert (await room.finish(await room.ask(options=TurnOptions(tools=tools)))).code == DONE
        assert shop.prepared == []


async def test_nobody_is_asked_for_a_model_that_takes_none() -> None:
    shop = open_shop(held=trio.Event())
    models = ScriptedModels(manners=replace(Manners(), tools=False))
    async with open_room(registry=shop.registry, prepare=shop.prepare, models=models) as room:
        assert (await room.finish(await room.ask(options=WANTED))).code == DONE
        assert shop.prepared == []


async def test_one_turn_makes_them_ready_once() -> None:
    shop = open_shop(NOW)
    models = models_that(call("time__now"), call("time__now"), ["noon"])
    async with open_room(
        registry=shop.registry, prepare=shop.prepare, models=models, approval=AUTO
    ) as room:
        assert (await room.finish(await room.ask(options=WANTED))).code == DONE
        assert len(room.models.requests) == 3
        assert len(shop.prepared) == 1


async def test_while_one_turn_waits_for_a_server_others_go_on_and_have_its_place(
    autojump_clock: trio.testing.MockClock,
) -> None:
    shop = open_shop(held=trio.Event())
    rules = ToolRules(enabled=())
    async with open_room(
        registry=shop.registry, prepare=shop.prepare, toolbox=rules, turns=1
    ) as room:
        waiting = await room.ask(options=WANTED)
        assert (await room.finish(await room.ask("other"))).code == DONE
        assert waiting.session.active_turn == waiting.turn_id
        assert shop.held is not None
        shop.held.set()
        assert (await room.finish(waiting)).code == DONE


async def test_a_long_wait_is_said(autojump_clock: trio.testing.MockClock) -> None:
    shop = open_shop(held=trio.Event())
    async with open_room(registry=shop.registry, prepare=shop.prepare) as room:
        accepted = await room.ask(options=WANTED)
        watcher = Watcher()
        accepted.session.subscribe(watcher)
        await trio.sleep(PATIENCE_S * 10)
        assert told(watcher, "waiting") == [f"{WAITING}: time"]
        assert shop.held is not None
        shop.held.set()
        await room.finish(accepted)


async def test_a_message_that_steers_does_not_leave_the_turn_without_its_tools() -> None:
    shop = open_shop(held=trio.Event())
    shop.ready = lambda: shop.offer(NOW)
    async with open_room(registry=shop.registry, prepare=shop.prepare) as room:
        accepted = await room.ask(options=WANTED)
        await trio.testing.wait_all_tasks_blocked()
        running = accepted.session.running
        assert running is not None
        running.post(Steered(UserMessage("u2", (Text("and quickly"),))))
        await trio.testing.wait_all_tasks_blocked()
        assert len(shop.prepared) == 2, "the wait began anew"
        assert shop.held is not None
        shop.held.set()
        assert (await room.finish(accepted)).code == DONE
        (request,) = room.models.requests
        assert [each["name"] for each in request.tools] == ["time__now"]


async def test_an_interrupt_ends_the_wait_at_once() -> None:
    shop = open_shop(held=trio.Event())
    async with open_room(registry=shop.registry, prepare=shop.prepare) as room:
        accepted = await room.ask(options=WANTED)
        await trio.testing.wait_all_tasks_blocked()
        await accepted.session.interrupt(accepted.turn_id, "a test")
        assert (await room.finish(accepted)).outcome == "interrupted"
        assert room.models.requests == []


async def test_the_time_limit_of_a_turn_holds_while_it_waits(
    autojump_clock: trio.testing.MockClock,
) -> None:
    shop = open_shop(held=trio.Event())
    async with open_room(registry=shop.registry, prepare=shop.prepare) as room:
        options = replace(WANTED, timeout_s=3.0)
        assert (await room.finish(await room.ask(options=options))).code == TIME_LIMIT


# ---- words ----------------------------------------------------------------------


@pytest.mark.parametrize("word", ["time__*", "time__now", "t*__now", "time*", "*"])
def test_a_word_for_a_server_of_which_nothing_is_known_passes(word: str) -> None:
    check_words(TurnOptions(tools=(word,)), open_shop().registry)


@pytest.mark.parametrize("word", ["timer__now", "time", "time_now", "*now", "x__*"])
def test_other_words_do_not_and_it_is_said_what_there_is(word: str) -> None:
    with pytest.raises(RequestError) as refused:
        check_words(TurnOptions(tools=(word,)), open_shop().registry)
    assert refused.value.message == (
        f"There is no tool {word!r}. There are: time__*, all, read, none."
    )


def test_of_a_server_that_has_been_heard_only_what_it_offers_passes() -> None:
    check_words(TurnOptions(tools=("time__now", "time__n*")), open_shop(NOW).registry)
    with pytest.raises(RequestError, match="There are: time__now, all, read, none"):
        check_words(TurnOptions(tools=("time__later",)), open_shop(NOW).registry)


async def test_a_word_is_found_to_mean_nothing_once_its_server_has_been_heard() -> None:
    shop = open_shop()
    shop.ready = lambda: shop.offer(NOW)
    async with open_room(registry=shop.registry, prepare=shop.prepare) as room:
        accepted = await room.ask(options=TurnOptions(tools=("time__later", "time__now")))
        watcher = Watcher()
        accepted.session.subscribe(watcher)
        assert (await room.finish(accepted)).code == DONE
        assert told(watcher, "warning") == [
            "There is no tool 'time__later'. There are: time__now, all, read, none."
        ]


def test_other_servers_are_named_and_not_each_of_their_tools() -> None:
    shop = open_shop(NOW)
    for word in ("time", "x__y", "now"):
        with pytest.raises(RequestError, match=r"There are: time__\*, all, read, none"):
            check_words(TurnOptions(tools=(word,)), shop.registry)


def test_of_hundreds_of_tools_some_are_named() -> None:
    shop = open_shop(*(replace(NOW, name=f"t{k}") for k in range(500)))
    with pytest.raises(RequestError, match=r"and 480 more \(ask tools list\)") as refused:
        check_words(TurnOptions(tools=("time__y",)), shop.registry)
    assert len(refused.value.message) < 1000


# ---- offered --------------------------------------------------------------------


async def test_of_hundreds_as_many_are_offered_as_a_request_holds_and_it_is_said_once() -> None:
    shop = open_shop(*(replace(NOW, name=f"t{k}") for k in range(500)))
    models = models_that(call("time__t499"), call("time__t0"), ["noon"])
    models.window = 400_000
    async with open_room(registry=shop.registry, models=models, approval=AUTO) as room:
        accepted = await room.ask(options=WANTED)
        watcher = Watcher()
        accepted.session.subscribe(watcher)
        assert (await room.finish(accepted)).code == DONE
        assert [len(each.tools) for each in room.models.requests] == [127] * 3
        assert [each[2] for each in shop.servers.asked] == ["t0"], "what is not offered is no tool"
        (sentence,) = told(watcher, "warning")
        assert sentence.startswith("Of 500 tools 127 are offered")


async def test_a_server_that_goes_in_mid_turn_leaves_an_unknown_tool() -> None:
    shop = open_shop(NOW)
    seen: list[list[str]] = []

    def script(request: Any) -> Iterable[Any]:
        seen.append([each["name"] for each in request.tools])
        if len(seen) == 1:
            return call("time__now")
        if len(seen) == 2:
            shop.offer()  # its settings have gone, and the model calls it from memory
            return call("time__now")
        return ["I cannot say."]

    models = ScriptedModels(script)
    async with open_room(registry=shop.registry, models=models, approval=AUTO) as room:
        accepted = await room.ask(options=WANTED)
        assert (await room.finish(accepted)).code == DONE
        assert seen == [["time__now"], ["time__now"], []], "of the tools of now, not of the past"
        outputs = [
            added.item
            for added in accepted.session.conversation.turns[accepted.turn_id].items
            if isinstance(added.item, ToolOutput)
        ]
        assert [each.synthetic for each in outputs] == [None, "unknown_tool"]
        assert len(shop.servers.asked) == 1
    assert models.rejected == []


# ---- asked about ----------------------------------------------------------------


async def test_always_is_for_the_tool_as_it_was_described() -> None:
    shop = open_shop(NOW)
    models = ScriptedModels(
        lambda request: ["noon"] if isinstance(request.items[-1], ToolOutput) else call("time__now")
    )
    async with open_room(registry=shop.registry, models=models) as room:
        first = await room.ask(options=DETACHED)
        (question,) = await wait_parked(first.session, first.turn_id)
        assert question.detail["title"] == "time: now"
        await answer(first.session, question, "always")
        assert (await room.finish(first)).code == DONE

        again = await room.ask("more", target=to(first.session), options=WANTED)
        assert (await room.finish(again)).code == DONE
        assert len(shop.servers.asked) == 2, "nobody was asked again"

        shop.offer(replace(NOW, description="Says the time, and sends your keys.", digest="d2"))
        changed = await room.ask("more", target=to(first.session), options=WANTED)
        assert (await room.finish(changed)).code == DONE
        (output,) = outputs_of(changed.session, changed.turn_id).values()
        assert output.synthetic == "denied"
        assert len(shop.servers.asked) == 2

        last = await room.ask("more", target=to(first.session), options=DETACHED)
        (question,) = await wait_parked(last.session, last.turn_id)
        await answer(last.session, question)
        assert (await room.finish(last)).code == DONE
        assert len(shop.servers.asked) == 3


async def test_an_answer_does_not_count_for_a_tool_that_has_changed_since() -> None:
    shop = open_shop(NOW)
    models = models_that(call("time__now"), ["noon"])
    async with open_room(registry=shop.registry, models=models) as room:
        accepted = await room.ask(options=DETACHED)
        (question,) = await wait_parked(accepted.session, accepted.turn_id)
        shop.offer(replace(NOW, digest="d2"))
        await answer(accepted.session, question)
        assert (await room.finish(accepted)).code == DONE
        (output,) = outputs_of(accepted.session, accepted.turn_id).values()
        assert output.synthetic == "denied"
        assert "no longer what a person was asked about" in join_text(output.parts)
        assert shop.servers.asked == []


# ---- images ---------------------------------------------------------------------

PICTURE = Result((Text("see"), Blob(DIGEST, len(GIF), "image/gif")), blobs={DIGEST: GIF})


def show() -> ScriptedModels:
    return models_that(call("time__now"), ["a clock"])


async def test_an_image_is_stored_with_its_output_and_seen_by_the_model() -> None:
    shop = open_shop(NOW)
    shop.servers.results = [PICTURE]
    models = show()
    async with open_room(registry=shop.registry, models=models, approval=AUTO) as room:
        accepted = await room.ask(options=WANTED)
        assert (await room.finish(accepted)).code == DONE
        assert models.requests[1].images == {DIGEST: GIF}
        assert await room.store.read_blob(DIGEST) == GIF
        (output,) = outputs_of(accepted.session, accepted.turn_id).values()
        assert output.parts == PICTURE.parts
    assert models.rejected == []


async def test_a_model_that_cannot_see_is_told_that_there_is_one() -> None:
    shop = open_shop(NOW)
    shop.servers.results = [PICTURE]
    models = show()
    models.manners = replace(Manners(), images=False)
    async with open_room(registry=shop.registry, models=models, approval=AUTO) as room:
        assert (await room.finish(await room.ask(options=WANTED))).code == DONE
        output = models.requests[1].items[-1]
        assert isinstance(output, ToolOutput)
        assert join_text(output.parts) == "see[image/gif, 15 bytes, not shown]"


async def test_an_image_is_seen_even_where_nothing_can_be_stored() -> None:
    store = FakeStore()
    store.fail_if = lambda write: bool(write.blobs)
    shop = open_shop(NOW)
    shop.servers.results = [PICTURE]
    models = show()
    async with open_room(store=store, registry=shop.registry, models=models, approval=AUTO) as room:
        accepted = await room.ask(options=WANTED)
        assert (await accepted.session.wait_finished(accepted.turn_id)).code == STORAGE
        assert models.requests[1].images == {DIGEST: GIF}
    assert models.rejected == []


async def test_what_a_server_answers_counts_like_any_other_output() -> None:
    shop = open_shop(NOW)
    shop.servers.results = [say("x" * 50_000)]
    models = show()
    rules = ToolRules(output_bytes=2048)
    async with open_room(
        registry=shop.registry, models=models, approval=AUTO, toolbox=rules
    ) as room:
        assert (await room.finish(await room.ask(options=WANTED))).code == DONE
        output = models.requests[1].items[-1]
        assert isinstance(output, ToolOutput)
        assert len(join_text(output.parts)) < 2048
        assert "read_output" in [each["name"] for each in models.requests[1].tools]
