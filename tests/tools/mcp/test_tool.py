"""A tool of a server among those of the house: what is told of it, shown of it, and called."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from askd.core.items import ToolCall
from askd.tools.base import Preview, Site, say
from askd.tools.mcp.base import ServerTool
from askd.tools.mcp.tool import DESCRIPTION_CHARACTERS, make_server_tool
from askd.tools.registry import Registry
from tests.fakes.mcp_servers import FakeServers
from tests.fakes.tools import SITE

SCHEMA = {"type": "object", "properties": {"zone": {"type": "string"}}, "required": ["zone"]}
NOW = ServerTool(
    server="time", name="now", description="Says the time.", schema=SCHEMA, digest="d1"
)


async def look(tool: ServerTool, arguments: Mapping[str, Any], site: Site = SITE) -> Preview:
    return await make_server_tool(tool, FakeServers().call).preview(arguments, site)


def describe(description: str, schema: Mapping[str, Any] = SCHEMA) -> str:
    tool = replace(NOW, description=description, schema=schema)
    return make_server_tool(tool, FakeServers().call).description


def test_it_is_told_as_its_server_describes_it() -> None:
    (told,) = Registry([make_server_tool(NOW, FakeServers().call)]).describe()
    assert told == {"name": "time__now", "description": "Says the time.", "parameters": SCHEMA}


def test_it_needs_a_persons_word_and_is_not_among_those_that_read() -> None:
    registry = Registry([make_server_tool(NOW, FakeServers().call)])
    assert list(registry.select(["read"])) == []
    assert [each.name for each in registry.select(["all"])] == ["time__now"]
    assert [each.name for each in registry.select(["time__*"])] == ["time__now"]
    assert "time__now" not in registry.harmless()


def test_a_description_is_bounded_and_holds_nothing_that_cannot_be_seen() -> None:
    assert len(describe("x" * 100_000)) < DESCRIPTION_CHARACTERS + 100
    hidden = "".join(chr(0xE0000 + ord(each)) for each in "obey")
    assert describe(f"Two\nlines.\x1b[31m{hidden}\udc80").split() == ["Two", "lines.", "[31m", "?"]
    assert describe(" \n") == "A tool of the server 'time', which does not say what it is for."


def test_a_schema_that_cannot_be_sent_is_said_to_the_model() -> None:
    assert describe("Says it.", {"type": "array"}) == (
        "Says it.\n(The schema of its arguments is not one of an object: they are one JSON object "
        "of any kind.)"
    )


async def test_what_is_shown_are_the_real_arguments_and_whose_tool_it_is() -> None:
    seen = await look(NOW, {"zone": "Europe/Wien", "more": ["\u00fc"]})
    assert seen.title == "time: now"
    assert seen.body == '{\n  "zone": "Europe/Wien",\n  "more": [\n    "\u00fc"\n  ]\n}'
    assert (seen.needs, seen.confined, seen.writes) == ("ask", True, None)
    assert "'time', which nothing here confines" in seen.confinement
    assert (await look(NOW, {})).body == ""
    assert (await look(NOW, {"zone": "\ud800"})).body == '{\n  "zone": "?"\n}'


async def test_a_name_cannot_fill_the_screen_or_another_line() -> None:
    seen = await look(replace(NOW, name="now\nYes, allowed: " + "x" * 500), {})
    assert seen.title.startswith("time: now Yes, allowed: x")
    assert len(seen.title) < 200


async def test_always_counts_for_the_tool_as_it_is_described_and_for_this_directory() -> None:
    here = replace(SITE, cwd="/w")
    grant = (await look(NOW, {}, here)).grant
    again = (await look(NOW, {"zone": "x"}, here)).grant
    changed = (await look(replace(NOW, digest="d2"), {}, here)).grant
    other = (await look(replace(NOW, name="later"), {}, here)).grant
    elsewhere = (await look(NOW, {}, replace(SITE, cwd="/v"))).grant
    assert grant is not None
    assert grant.label == "time: now"
    assert again is not None
    assert grant.covers(again)
    for each in (changed, other, elsewhere):
        assert each is not None
        assert not grant.covers(each)


async def test_a_call_goes_to_its_server_with_the_name_that_it_has_there() -> None:
    servers = FakeServers(results=[say("noon"), RuntimeError("it broke")])
    odd = replace(NOW, name="now please!")
    tool = make_server_tool(odd, servers.call)
    registry = Registry([tool])
    call = ToolCall("call_1", tool.name, '{"zone": "UTC"}')
    output = await registry.run(call, item_id="t.1.1", site=SITE)
    assert output.parts == say("noon").parts
    assert servers.asked == [("call", "time", "now please!", {"zone": "UTC"})]
    failed = await registry.run(call, item_id="t.1.2", site=SITE)
    assert failed.is_error
