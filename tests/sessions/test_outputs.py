"""Tool outputs that are too large: what the model sees, for good, and how it reads on."""

import hashlib
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import trio
import trio.testing

from askd.core import overflow
from askd.core.events import QuestionAsked, TurnOptions, ViewChanged
from askd.core.items import PART_LIMIT_BYTES, Blob, Part, Text, ToolOutput, join_text
from askd.core.outcome import DONE, OVERFLOW
from askd.core.outputs import READ_OUTPUT
from askd.core.overflow import Policy
from askd.core.tokens import estimate_tokens, measure_request
from askd.providers.base import CallDelta, Manners, ModelRequest, Stopped
from askd.sessions.live import LiveSession
from askd.sessions.prompts import Accepted
from askd.sessions.rules import ContextRules, ToolRules
from askd.tools.base import Result, Site
from tests.fakes.log import FakeStore
from tests.fakes.models import ScriptedModels, Step, call_tools
from tests.fakes.sessions import Room, Watcher, open_room, to
from tests.fakes.tools import Plain
from tests.sessions.test_driver import check_log
from tests.sessions.test_overflow import BY_HAND, answer, told, wait_asked

WINDOW, RESERVED = 9000, 1000
CAP = (WINDOW - RESERVED) // 4
UNCUT = ToolRules(output_bytes=1 << 30)
"""Where it is the model's window alone that makes an output too large."""


@dataclass
class Dump(Plain):
    """A tool that says a lot. `lines`: how much; each has its number."""

    name: str = "dump"
    description: str = "Says a lot."
    effects: bool = True
    lines: int = 4000
    parts: tuple[Part, ...] = ()
    ran: int = 0
    schema: Mapping[str, Any] = field(default_factory=dict)

    async def run(self, arguments: Mapping[str, Any], site: Site) -> Result:
        self.ran += 1
        return Result(self.parts or (Text(self.text),))

    @property
    def text(self) -> str:
        return "".join(f"line {number}\n" for number in range(self.lines))


def outputs_of(request: ModelRequest) -> list[ToolOutput]:
    return [item for item in request.items if isinstance(item, ToolOutput)]


def dump_once(request: ModelRequest) -> Iterable[Step]:
    """The first prompt's answer looks first."""
    return ["I see."] if outputs_of(request) else call_tools("dump")


def read_on(**arguments: Any) -> Callable[[ModelRequest], Iterable[Step]]:
    """Look, then read on, then answer."""

    def script(request: ModelRequest) -> Iterable[Step]:
        match len(outputs_of(request)):
            case 0:
                return call_tools("dump")
            case 1:
                said = json.dumps({"call_id": "call_0", **arguments})
                return [CallDelta(0, "call_r", READ_OUTPUT, said), Stopped("calls")]
            case _:
                return ["I see."]

    return script


@asynccontextmanager
async def dumped(
    tool: Dump,
    script: Callable[[ModelRequest], Iterable[Step]] = dump_once,
    *,
    store: FakeStore | None = None,
    attended: bool = False,
    options: TurnOptions | None = None,
    setting: Policy | None = None,
    rules: ContextRules = BY_HAND,
    output_bytes: int = 1 << 30,
) -> AsyncIterator[tuple[Room, Accepted, Watcher]]:
    """A turn whose model calls the tool."""
    models = ScriptedModels(script, window=WINDOW, reserved=RESERVED)
    async with open_room(
        store=store,
        models=models,
        tools=[tool],
        context=rules,
        overflow=setting,
        toolbox=ToolRules(max_repeats=4, output_bytes=output_bytes),
    ) as room:
        watcher = Watcher()
        gate = trio.Event()
        models.script = lambda request: [gate, *script(request)]
        accepted = await room.ask("look", options=options)
        accepted.session.subscribe(watcher, interactive=attended)
        gate.set()
        yield room, accepted, watcher


def shortened(watcher: Watcher) -> list[ToolOutput]:
    changes = [each.body for each in watcher.events if isinstance(each.body, ViewChanged)]
    assert all(change.kind == "shorten" for change in changes)
    return [output for change in changes for output in change.shortened]


def stored(session: LiveSession, call_id: str = "call_0") -> ToolOutput:
    """The output as the log has it."""
    for record in session.conversation.turns.values():
        for added in record.items:
            if isinstance(added.item, ToolOutput) and added.item.call_id == call_id:
                return added.item
    raise AssertionError("there is none")


# ---- what is seen --------------------------------------------------------------------


async def test_its_middle_is_cut_and_the_log_has_it_whole() -> None:
    tool = Dump()
    async with dumped(tool) as (room, accepted, watcher):
        assert (await room.finish(accepted)).code == DONE
        (seen,) = outputs_of(room.models.requests[1])
        shown = join_text(seen.parts)
        assert shown.startswith("line 0\nline 1\n")
        assert f"line {tool.lines - 1}\n" in shown
        assert "characters truncated ...]" in shown
        assert f"it has {len(tool.text)} characters in all" in shown
        assert f'read_output: {{"call_id": "{seen.call_id}"' in shown
        assert CAP * 0.7 < estimate_tokens(seen) <= CAP
        assert join_text(stored(accepted.session).parts) == tool.text
        assert shortened(watcher) == [seen]
        assert told(watcher) == [overflow.CUTTING.format(tool="dump")]
        assert tool.ran == 1
        await check_log(room.store, accepted.session.id)


async def test_what_the_model_saw_stays_what_it_sees() -> None:
    """Requests begin as those before them did: in later turns, and in another daemon."""
    store = FakeStore()
    async with dumped(Dump(), store=store) as (room, accepted, _):
        await room.finish(accepted)
        later = await room.ask("and?", target=to(accepted.session))
        await room.finish(later)
        first, second = room.models.requests[1], room.models.requests[2]
        assert list(second.items[: len(first.items)]) == list(first.items)
        assert second.tools == first.tools
    models = ScriptedModels(lambda request: ["ok"], window=WINDOW, reserved=RESERVED)
    async with open_room(
        store=store, models=models, tools=[Dump()], context=BY_HAND, toolbox=UNCUT
    ) as room:
        session = await room.sessions.get(accepted.session.id)
        await room.finish(await room.ask("still?", target=to(session)))
        assert list(models.requests[0].items[: len(first.items)]) == list(first.items)
        assert models.requests[0].tools == first.tools


async def test_reset_leaves_a_line() -> None:
    tool = Dump()
    async with dumped(tool, options=TurnOptions(overflow="reset")) as (room, accepted, watcher):
        assert (await room.finish(accepted)).code == DONE
        (seen,) = outputs_of(room.models.requests[1])
        assert join_text(seen.parts) == (
            f"[This output is left out: it has {len(tool.text)} characters. Read any part of it "
            'with read_output: {"call_id": "call_0", "offset": ..., "limit": ...}, in characters.]'
        )
        assert told(watcher) == [overflow.BLANKING.format(tool="dump")]
        assert join_text(stored(accepted.session).parts) == tool.text


async def test_continue_sends_it_whole_if_the_request_fits() -> None:
    tool = Dump(lines=1200)
    async with dumped(tool, setting="continue") as (room, accepted, watcher):
        assert (await room.finish(accepted)).code == DONE
        (seen,) = outputs_of(room.models.requests[1])
        assert estimate_tokens(seen) > CAP
        assert join_text(seen.parts) == tool.text
        assert shortened(watcher) == []


async def test_a_small_output_is_nobodys_business() -> None:
    async with dumped(Dump(lines=20), attended=True) as (room, accepted, watcher):
        assert (await room.finish(accepted)).code == DONE
        assert shortened(watcher) == []
        assert told(watcher) == []
        assert [tool["name"] for tool in room.models.requests[1].tools] == ["dump"]


async def test_one_that_is_kept_as_a_blob_is_read_for_it() -> None:
    tool = Dump(lines=40_000)
    assert len(tool.text) > PART_LIMIT_BYTES
    async with dumped(tool) as (room, accepted, _):
        assert (await room.finish(accepted)).code == DONE
        (whole,) = stored(accepted.session).parts
        assert isinstance(whole, Blob)
        shown = join_text(outputs_of(room.models.requests[1])[0].parts)
        assert shown.startswith("line 0\n")
        assert "line 39999\n" in shown
        assert await room.store.read_blob(whole.sha256) == tool.text.encode()


async def test_several_at_once_share_the_room() -> None:
    def script(request: ModelRequest) -> Iterable[Step]:
        return ["I see."] if outputs_of(request) else call_tools("dump", "dump", "dump", "dump")

    async with dumped(Dump(), script) as (room, accepted, watcher):
        assert (await room.finish(accepted)).code == DONE
        seen = outputs_of(room.models.requests[1])
        assert len(seen) == len(shortened(watcher)) == 4
        budget = WINDOW - RESERVED
        assert budget // 3 < sum(map(estimate_tokens, seen)) <= budget // 2


@pytest.mark.parametrize("words", [10, 4000, 6000, 6500, 7000])
async def test_it_fits_beside_a_long_prompt(words: int) -> None:
    """What cannot leave the request takes its part of the room."""
    models = ScriptedModels(dump_once, window=WINDOW, reserved=RESERVED)
    async with open_room(models=models, tools=[Dump()], context=BY_HAND, toolbox=UNCUT) as room:
        accepted = await room.ask("why " * words)
        assert (await room.finish(accepted)).code == DONE
        request = models.requests[1]
        size = measure_request(request.items, tools=request.tools)
        assert size.tokens <= WINDOW - RESERVED
        (seen,) = outputs_of(request)
        assert estimate_tokens(seen) > min(CAP, WINDOW - RESERVED - words) * 0.6
        await check_log(room.store, accepted.session.id)


# ---- who decides ---------------------------------------------------------------------


async def test_a_person_is_asked_and_nothing_is_lost_meanwhile() -> None:
    store = FakeStore()
    tool = Dump()
    async with dumped(tool, store=store, attended=True) as (room, accepted, _):
        question = await wait_asked(accepted)
        assert question.detail["text"].startswith("⚠️  The output of dump is too large: about ")
        assert question.detail["tool"] == "dump"
        assert [each["decision"] for each in question.detail["choices"]] == [
            *("compact", "reset", "continue"),
        ]
        assert len(room.models.requests) == 1
    again = ScriptedModels(dump_once, window=WINDOW, reserved=RESERVED)
    async with open_room(
        store=store, models=again, tools=[tool], context=BY_HAND, toolbox=UNCUT
    ) as room:
        session = await room.sessions.get(accepted.session.id)
        await trio.testing.wait_all_tasks_blocked()
        assert session.state == "needs_you"
        await answer(session, question, "reset")
        assert (await session.wait_finished(accepted.turn_id)).code == DONE
        assert tool.ran == 1
        (seen,) = outputs_of(again.requests[0])
        assert join_text(seen.parts).startswith("[This output is left out")
        asked = [e for e in await store.load(session.id) if isinstance(e.body, QuestionAsked)]
        assert len(asked) == 1


async def test_each_of_several_is_asked_about() -> None:
    def script(request: ModelRequest) -> Iterable[Step]:
        return ["I see."] if outputs_of(request) else call_tools("dump", "dump")

    async with dumped(Dump(), script, attended=True) as (room, accepted, _):
        first = await wait_asked(accepted)
        await answer(accepted.session, first, "reset")
        second = await wait_asked(accepted)
        assert second.question_id != first.question_id
        await answer(accepted.session, second, "compact")
        assert (await room.finish(accepted)).code == DONE
        one, two = outputs_of(room.models.requests[1])
        assert join_text(one.parts).startswith("[This output is left out")
        assert join_text(two.parts).startswith("line 0")


async def test_continue_with_an_output_is_not_continue_with_a_history() -> None:
    """It is too large for the window, and nothing but it can leave: that is asked anew."""
    async with dumped(Dump(lines=9000), attended=True) as (room, accepted, _):
        first = await wait_asked(accepted)
        await answer(accepted.session, first, "continue")
        second = await wait_asked(accepted)
        assert second.detail["text"] == overflow.TEXT
        await answer(accepted.session, second, "continue")
        assert (await room.finish(accepted)).code == DONE
        (seen,) = outputs_of(room.models.requests[1])
        assert estimate_tokens(seen) > WINDOW


async def test_asking_without_a_terminal_fails_with_7() -> None:
    async with dumped(Dump(), setting="ask") as (room, accepted, _):
        end = await room.finish(accepted)
        assert (end.outcome, end.code) == ("failed", OVERFLOW)
        assert end.message is not None
        assert end.message.startswith("The output of dump has about ")
        assert join_text(stored(accepted.session).parts) == Dump().text
        await check_log(room.store, accepted.session.id)


async def test_a_daemon_that_ends_at_any_moment_costs_no_question_and_no_answer() -> None:
    """A detached turn whose tool may run again; a person decides, in whichever daemon."""
    options = TurnOptions(detach=True, overflow="ask")
    asked = 0
    for moment in range(60):
        store, tool = FakeStore(), Dump(effects=False)
        async with dumped(tool, store=store, options=options) as (_, accepted, _):
            for _ in range(moment):
                await trio.lowlevel.checkpoint()
        models = ScriptedModels(dump_once, window=WINDOW, reserved=RESERVED)
        async with open_room(
            store=store, models=models, tools=[tool], context=BY_HAND, toolbox=UNCUT
        ) as room:
            session = await room.sessions.get(accepted.session.id)
            await trio.testing.wait_all_tasks_blocked()
            record = session.conversation.turns[accepted.turn_id]
            assert isinstance(record.last, QuestionAsked)
            await answer(session, record.last, "reset")
            assert (await session.wait_finished(accepted.turn_id)).code == DONE
            (seen,) = outputs_of(models.requests[-1])
            assert join_text(seen.parts).startswith("[This output is left out")
            await check_log(store, session.id)
            events = await store.load(session.id)
            questions = [each for each in events if isinstance(each.body, QuestionAsked)]
            assert len(questions) == 1
            asked += tool.ran == 1
    assert asked > 10


# ---- more bytes than are allowed -----------------------------------------------------


@pytest.mark.parametrize("setting", ["ask", "reset", "continue", None])
@pytest.mark.parametrize("lines", [400, 4000, 40_000])
async def test_more_bytes_than_allowed_are_cut_without_a_word(
    lines: int, setting: Policy | None
) -> None:
    """A few, more than the model could read, and so many that they stand beside the log."""
    tool = Dump(lines=lines)
    async with dumped(tool, setting=setting, attended=True, output_bytes=2048) as (
        room,
        accepted,
        watcher,
    ):
        assert (await room.finish(accepted)).code == DONE
        (seen,) = outputs_of(room.models.requests[1])
        shown = join_text(seen.parts)
        assert 1024 < len(shown.encode()) <= 2048
        assert shown.startswith("line 0\n")
        assert f"line {lines - 1}\n" in shown
        assert f"it has {len(tool.text)} characters in all" in shown
        assert not any(isinstance(each.body, QuestionAsked) for each in watcher.events)
        assert told(watcher) == []
        assert shortened(watcher) == [seen]
        whole = stored(accepted.session)
        assert whole.parts == (Text(tool.text),) or isinstance(whole.parts[0], Blob)
        await check_log(room.store, accepted.session.id)


async def test_what_has_as_many_as_allowed_is_shown_whole() -> None:
    tool = Dump(parts=(Text("ä" * 1024),))
    async with dumped(tool, output_bytes=2048) as (room, accepted, watcher):
        await room.finish(accepted)
        (seen,) = outputs_of(room.models.requests[1])
        assert join_text(seen.parts) == "ä" * 1024
        assert shortened(watcher) == []


async def test_what_is_left_of_many_bytes_fits_the_model_too() -> None:
    async with dumped(Dump(), output_bytes=32_768, attended=True) as (room, accepted, watcher):
        assert (await room.finish(accepted)).code == DONE
        (seen,) = outputs_of(room.models.requests[1])
        assert estimate_tokens(seen) <= CAP
        assert told(watcher) == []


async def test_the_rest_of_it_can_be_read_in_pieces_that_are_allowed_themselves() -> None:
    tool = Dump(parts=(Text("ä" * 20_000 + "\ud800" + "z" * 20_000),))
    script = read_on(offset=19_000, limit=10**9)
    async with dumped(tool, script, output_bytes=2048) as (room, accepted, watcher):
        await room.finish(accepted)
        said = join_text(outputs_of(room.models.requests[2])[1].parts)
        assert said.startswith("[Characters 19000 to ")
        assert len(said.encode("utf-8", "replace")) <= 2048
        assert [each.call_id for each in shortened(watcher)] == ["call_0"]


# ---- reading on ----------------------------------------------------------------------


async def test_a_range_can_be_read() -> None:
    tool = Dump()
    async with dumped(tool, read_on(offset=7000, limit=50)) as (room, accepted, _):
        assert (await room.finish(accepted)).code == DONE
        names = [[each["name"] for each in request.tools] for request in room.models.requests]
        assert names == [["dump"], ["dump", READ_OUTPUT], ["dump", READ_OUTPUT]]
        text = tool.text
        assert join_text(outputs_of(room.models.requests[2])[1].parts) == (
            f"[Characters 7000 to 7050 of {len(text)}; go on with offset 7050.]\n{text[7000:7050]}"
        )


async def test_to_the_end_of_it() -> None:
    tool = Dump()
    offset = len(tool.text) - 30
    async with dumped(tool, read_on(offset=offset)) as (room, accepted, _):
        await room.finish(accepted)
        said = join_text(outputs_of(room.models.requests[2])[1].parts)
        assert said.startswith(f"[Characters {offset} to {len(tool.text)} of {len(tool.text)}.]\n")
        assert said.endswith(tool.text[-30:])


async def test_a_reading_is_never_too_large_itself() -> None:
    async with dumped(Dump(), read_on(limit=10**9), attended=True) as (room, accepted, _):
        question = await wait_asked(accepted)
        await answer(accepted.session, question, "compact")
        assert (await room.finish(accepted)).code == DONE
        read = outputs_of(room.models.requests[2])[1]
        assert CAP // 5 < estimate_tokens(read) <= CAP
        assert "go on with offset" in join_text(read.parts)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"call_id": "nobody's"}, 'There is no output of a call "nobody\'s".'),
        ({"offset": 10**9}, "there is nothing from 1000000000 on."),
        ({"offset": -1}, "offset is 0 or more"),
        ({"limit": 0}, "limit is 1 or more"),
        ({"limit": True}, "both are whole numbers"),
        ({"call_id": 5}, "takes a JSON object with a call_id"),
    ],
)
async def test_what_cannot_be_read_is_said(arguments: dict[str, Any], sentence: str) -> None:
    async with dumped(Dump(), read_on(**arguments)) as (room, accepted, _):
        assert (await room.finish(accepted)).code == DONE
        output = outputs_of(room.models.requests[2])[1]
        assert output.is_error
        assert sentence in join_text(output.parts)


async def test_it_is_no_tool_where_nothing_was_cut() -> None:
    def script(request: ModelRequest) -> Iterable[Step]:
        return ["I see."] if outputs_of(request) else call_tools(READ_OUTPUT)

    async with dumped(Dump(), script) as (room, accepted, _):
        await room.finish(accepted)
        (output,) = outputs_of(room.models.requests[1])
        assert output.synthetic == "unknown_tool"


async def test_a_tool_of_that_name_is_left_alone() -> None:
    def script(request: ModelRequest) -> Iterable[Step]:
        return ["I see."] if len(outputs_of(request)) > 1 else call_tools(READ_OUTPUT)

    tool = Dump(name=READ_OUTPUT)
    async with dumped(tool, script) as (room, accepted, _):
        await room.finish(accepted)
        assert tool.ran == 2
        assert [len(request.tools) for request in room.models.requests] == [1, 1, 1]


async def test_a_model_that_takes_no_tools_gets_none() -> None:
    store = FakeStore()
    async with dumped(Dump(), store=store) as (room, accepted, _):
        await room.finish(accepted)
    models = ScriptedModels(window=WINDOW, reserved=RESERVED, manners=Manners(tools=False))
    async with open_room(
        store=store, models=models, tools=[Dump()], context=BY_HAND, toolbox=UNCUT
    ) as room:
        session = await room.sessions.get(accepted.session.id)
        assert (await room.finish(await room.ask("hi", target=to(session)))).code == DONE
        assert models.rejected == []


async def test_a_lost_blob_is_named() -> None:
    tool = Dump(lines=40_000)
    async with dumped(tool, read_on(offset=0)) as (room, accepted, _):

        async def read_blob(sha256: str) -> bytes:
            return await original("0" * 64)

        original, room.store.read_blob = room.store.read_blob, read_blob  # type: ignore[method-assign]
        assert (await room.finish(accepted)).code == DONE
        assert "lost]" in join_text(outputs_of(room.models.requests[1])[0].parts)


async def test_pictures_are_left_as_they_are() -> None:
    content = b"\x89PNG\r\n\x1a\n" + b"x" * 100
    picture = Blob(hashlib.sha256(content).hexdigest(), len(content), "image/png")
    tool = Dump(parts=(Text(Dump().text), picture))
    models = ScriptedModels(dump_once, window=WINDOW, reserved=RESERVED)
    async with open_room(models=models, tools=[tool], context=BY_HAND, toolbox=UNCUT) as room:
        # The picture is stored with the prompt.
        accepted = await room.ask(parts=(Text("look"), picture), blobs={picture.sha256: content})
        assert (await room.finish(accepted)).code == DONE
        (seen,) = outputs_of(models.requests[1])
        assert seen.parts[1] == picture
        assert estimate_tokens(seen) <= CAP
