"""Which tools a turn has: the prompt says it, else the conversation, else the settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from askd.core.events import SettingsChanged, TurnOptions
from askd.core.outcome import DONE, USAGE
from askd.errors import RequestError
from askd.providers.base import Manners
from askd.sessions.rules import ToolRules
from askd.sessions.toolbox import check_words
from askd.tools.base import Result, Site, say
from askd.tools.registry import Registry
from tests.fakes.models import ScriptedModels
from tests.fakes.sessions import Room, Watcher, open_room, to
from tests.fakes.tools import Plain
from tests.sessions.approval_world import told


@dataclass
class Named(Plain):
    """A tool of that name."""

    name: str = "one"
    description: str = "Does something."
    effects: bool = False
    schema: Mapping[str, Any] = field(default_factory=dict)

    async def run(self, arguments: Mapping[str, Any], site: Site) -> Result:
        return say("done")


TOOLS = [Named("read_file"), Named("run_command", effects=True), Named("list_directory")]


def offered(room: Room) -> list[list[str]]:
    return [[each["name"] for each in request.tools] for request in room.models.requests]


async def test_a_model_that_is_forced_to_call_gets_what_was_asked_for_here_alone() -> None:
    models = ScriptedModels(manners=Manners(tools="schema"))
    async with open_room(models=models, tools=TOOLS, toolbox=ToolRules(enabled=("all",))) as room:
        first = await room.ask()
        await room.finish(first)
        said = TurnOptions(tools=("read_file",))
        await room.finish(await room.ask("more", target=to(first.session), options=said))
        asked = await room.ask(options=said)
        await room.finish(asked)
        await room.finish(await room.ask("more", target=to(asked.session)))
        assert offered(room) == [[], ["read_file"], ["read_file"], ["read_file"]]


async def test_a_prompt_says_it_for_its_turn_and_the_first_one_for_its_conversation() -> None:
    async with open_room(tools=TOOLS, toolbox=ToolRules(enabled=())) as room:
        plain = await room.ask()
        await room.finish(plain)
        first = await room.ask(options=TurnOptions(tools=("read_file", "list_*")))
        await room.finish(first)
        for tools in (None, ("all",), ("none",), None):
            options = TurnOptions(tools=tools)
            await room.finish(await room.ask("more", target=to(first.session), options=options))
        reading = ["read_file", "list_directory"]
        all_of_them = [each.name for each in TOOLS]
        assert offered(room) == [[], reading, reading, all_of_them, [], reading]
        changes = [
            event.body
            for event in await room.store.load(first.session.id)
            if isinstance(event.body, SettingsChanged)
        ]
        assert changes == [SettingsChanged("test/small", tools=("read_file", "list_*"))]


async def test_a_turn_without_tools_leaves_its_conversation_what_it_has() -> None:
    async with open_room(tools=TOOLS, toolbox=ToolRules(enabled=("read_file",))) as room:
        first = await room.ask(options=TurnOptions(tools=("list_*",), toolless=True))
        await room.finish(first)
        await room.finish(await room.ask("more", target=to(first.session)))
        other = await room.ask(options=TurnOptions(toolless=True))
        await room.finish(other)
        await room.finish(await room.ask("more", target=to(other.session)))
        assert offered(room) == [[], ["list_directory"], [], ["read_file"]]


@pytest.mark.parametrize(
    ("enabled", "names"),
    [
        ((), []),
        (("read",), ["read_file", "list_directory"]),
        (("run_*",), ["run_command"]),
        (("all",), ["read_file", "run_command", "list_directory"]),
        (("gone", "run_command"), ["run_command"]),
    ],
)
async def test_the_settings_say_it_where_nobody_else_does(
    enabled: tuple[str, ...], names: list[str]
) -> None:
    async with open_room(tools=TOOLS, toolbox=ToolRules(enabled=enabled)) as room:
        await room.finish(await room.ask())
        assert offered(room) == [names]


async def test_a_conversation_without_tools_keeps_none_whatever_the_settings_say() -> None:
    async with open_room(tools=TOOLS) as room:
        first = await room.ask(options=TurnOptions(tools=()))
        await room.finish(first)
        await room.finish(await room.ask("more", target=to(first.session)))
        assert offered(room) == [[], []]


@pytest.mark.parametrize(
    ("tools", "warned"), [(None, False), ((), False), (("none",), False), (("read",), True)]
)
async def test_who_asked_for_tools_of_a_model_that_takes_none_is_told_once(
    tools: tuple[str, ...] | None, warned: bool
) -> None:
    models = ScriptedModels(manners=replace(Manners(), tools=False))
    async with open_room(models=models, tools=TOOLS) as room:
        accepted = await room.ask(options=TurnOptions(tools=tools))
        watcher = Watcher()
        accepted.session.subscribe(watcher)
        assert (await room.finish(accepted)).code == DONE
        assert offered(room) == [[]]
        sentence = "test/small takes no tools: it is asked without them."
        assert told(watcher, "warning") == ([sentence] if warned else [])
    assert models.rejected == []


async def test_a_word_that_means_no_tool_is_refused_and_nothing_is_stored() -> None:
    async with open_room(tools=TOOLS) as room:
        with pytest.raises(RequestError) as refused:
            await room.ask(options=TurnOptions(tools=("read_file", "fly", "x*")))
        assert refused.value.code == USAGE
        assert refused.value.message == (
            "There is no tool 'fly', 'x*'. "
            "There are: read_file, run_command, list_directory, all, read, none."
        )
        assert room.store.writes == []


def test_of_many_such_words_some_are_named() -> None:
    with pytest.raises(RequestError) as refused:
        check_words(TurnOptions(tools=tuple(f"no{n}" for n in range(99))), Registry())
    assert len(refused.value.message) < 200
    check_words(TurnOptions(tools=("all", "read", "none")), Registry())
    check_words(TurnOptions(), Registry())
