"""Tools over the wire: what there is, what is offered and why, and what confines commands."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from askd.core.approval import Approval, ApprovalRules
from askd.core.events import SettingsChanged
from askd.sessions.rules import ToolRules
from askd.tools.base import Result, Site, say
from tests.fakes.house import Refused, open_server
from tests.fakes.tools import Plain


@dataclass
class Named(Plain):
    """A tool of any name that is never run here."""

    name: str
    needs: Approval = "auto"
    effects: bool = False
    description: str = "Says its name."
    schema: Mapping[str, Any] = field(default_factory=dict)

    async def run(self, arguments: Mapping[str, Any], site: Site) -> Result:
        return say(self.name)


TOOLS = (Named("read_file"), Named("run_command", "ask", effects=True))


async def test_every_tool_is_listed_with_what_it_needs() -> None:
    async with open_server(tools=TOOLS) as server:
        peer = await server.greet()
        page = await peer.call("tool/list")
    assert page["data"] == [
        {
            "name": "read_file",
            "description": "Says its name.",
            "effects": False,
            "needs": "auto",
            "policy": None,
            "enabled": True,
        },
        {
            "name": "run_command",
            "description": "Says its name.",
            "effects": True,
            "needs": "ask",
            "policy": None,
            "enabled": True,
        },
    ]
    assert page["confinement"] == {"kind": "landlock", "text": "Confined by Landlock."}


async def test_what_the_settings_say_of_tools_is_told_with_it() -> None:
    rules = ApprovalRules(
        policy="ask",
        tools={"run_command": "deny", "time__now": "auto"},
        commands={"git status": "auto"},
    )
    async with open_server(tools=TOOLS, approval=rules) as server:
        peer = await server.greet()
        page = await peer.call("tool/list")
    assert [row["policy"] for row in page["data"]] == [None, "deny"]
    assert page["policy"] == "ask"
    assert page["tools"] == {"run_command": "deny", "time__now": "auto"}, "of tools to come, too"
    assert page["commands"] == {"git status": "auto"}


@pytest.mark.parametrize(
    ("enabled", "offered"), [((), []), (("read",), ["read_file"]), (("run_*",), ["run_command"])]
)
async def test_without_a_conversation_the_settings_say_what_is_offered(
    enabled: tuple[str, ...], offered: list[str]
) -> None:
    async with open_server(tools=TOOLS, toolbox=ToolRules(enabled=enabled)) as server:
        peer = await server.greet()
        page = await peer.call("tool/list")
    assert [row["name"] for row in page["data"] if row["enabled"]] == offered
    assert (page["enabled"], page["enabled_by"]) == (list(enabled), "settings")


async def test_a_conversation_has_its_own() -> None:
    async with open_server(tools=TOOLS, toolbox=ToolRules(enabled=("all",))) as server:
        peer = await server.greet()
        conversation = await peer.call("conversation/create", {})
        id = conversation["id"]
        before = await peer.call("tool/list", {"conversation_id": id})
        session = await server.house.sessions.get(id)
        await session.append([SettingsChanged(tools=("read_file",))])
        after = await peer.call("tool/list", {"conversation_id": id})
        elsewhere = await peer.call("tool/list")
    assert (before["enabled"], before["enabled_by"]) == (["all"], "settings")
    assert (after["enabled"], after["enabled_by"]) == (["read_file"], "conversation")
    assert [row["enabled"] for row in after["data"]] == [True, False]
    assert [row["enabled"] for row in elsewhere["data"]] == [True, True]


async def test_a_conversation_that_is_not_there_is_said_to_be_so() -> None:
    async with open_server(tools=TOOLS) as server:
        peer = await server.greet()
        with pytest.raises(Refused) as refused:
            await peer.call("tool/list", {"conversation_id": "nobody"})
    assert refused.value.reason == "conversation_not_found"


async def test_a_rule_for_a_whole_server_is_told_of_each_of_its_tools() -> None:
    tools = (Named("time__now", "ask"), Named("time__later", "ask"), Named("docs__find", "ask"))
    rules = ApprovalRules(tools={"time__*": "auto", "time__later": "ask"})
    async with open_server(tools=tools, approval=rules) as server:
        peer = await server.greet()
        page = await peer.call("tool/list")
    assert [row["policy"] for row in page["data"]] == ["auto", "ask", None]


async def test_a_list_of_hundreds_of_long_descriptions_is_one_message() -> None:
    tools = [Named(f"big__t{k}", "ask", description="\u00fc" * 4000) for k in range(500)]
    async with open_server(tools=tools) as server:
        peer = await server.greet()
        page = await peer.call("tool/list")
    assert len(page["data"]) == 500
    assert {len(row["description"]) for row in page["data"]} == {320}
