"""Every call gets an output, whatever the tool does."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest
import trio
import trio.testing

from askd.core.arguments import leave_out_arguments
from askd.core.items import Blob, Text, ToolCall, ToolOutput, join_text
from askd.core.pairs import fit_name
from askd.tools.base import Preview, Result, Site, Tool
from askd.tools.registry import Registry
from tests.fakes.tools import SITE, Plain


@dataclass
class Adder(Plain):
    """Adds `a` and `b`; fails on `a` = 0; hangs on `a` = 1."""

    name: str = "add"
    description: str = "Adds two numbers."
    effects: bool = True

    @property
    def schema(self) -> Mapping[str, Any]:
        return {"type": "object", "properties": {"a": {"type": "number"}}}

    async def run(self, arguments: Mapping[str, Any], site: Site) -> Result:
        if arguments["a"] == 0:
            raise RuntimeError("no zeros")
        if arguments["a"] == 1:
            await trio.sleep_forever()
        return Result((Text(str(arguments["a"] + arguments["b"])),))


ADDER: Tool = Adder()


async def run(arguments: str, name: str = "add") -> ToolOutput:
    return await Registry([ADDER]).run(
        ToolCall("call_1", name, arguments), item_id="t.1.1", site=SITE
    )


async def test_a_call_is_answered_under_its_ids() -> None:
    assert await run('{"a": 2, "b": 3}') == ToolOutput("t.1.1", "call_1", "add", (Text("5"),))


async def test_an_unknown_tool_is_an_error_output_that_says_so() -> None:
    output = await Registry().run(ToolCall("call_1", "dig", "{}"), item_id="t.1.1", site=SITE)
    assert output.synthetic == "unknown_tool"
    assert output.is_error
    assert join_text(output.parts) == "There is no tool named 'dig'."


@pytest.mark.parametrize("arguments", ["{", "[1]", "7", '{"a": 0}', "{}", "", "[" * 100_000])
async def test_whatever_goes_wrong_becomes_an_error_output(arguments: str) -> None:
    output = await run(arguments)
    assert output.is_error
    assert output.synthetic is None
    assert output.call_id == "call_1"


async def test_cancellation_passes_through(autojump_clock: trio.testing.MockClock) -> None:
    with trio.move_on_after(5) as scope:
        await run('{"a": 1}')
    assert scope.cancelled_caught


def test_a_registry_describes_its_tools_and_knows_which_have_effects() -> None:
    registry = Registry([ADDER])
    assert registry.describe() == [
        {"name": "add", "description": "Adds two numbers.", "parameters": ADDER.schema}
    ]
    assert registry.harmless() == {"read_output"}
    assert Registry([Adder("peek", effects=False), ADDER]).harmless() == {"peek", "read_output"}
    assert Registry([Adder("read_output")]).harmless() == frozenset()
    assert list(Registry().describe()) == []
    assert "add" in registry
    assert "peek" not in registry


def test_a_name_is_taken_once() -> None:
    with pytest.raises(ValueError, match="two tools are named 'add'"):
        Registry([ADDER, ADDER])


@pytest.mark.parametrize("name", ["", "add two", "add\x00", "x" * 65, "é", "functions.add"])
async def test_a_name_that_some_provider_refuses_is_no_tools_name(name: str) -> None:
    with pytest.raises(ValueError, match="no provider takes"):
        Registry([Adder(name)])
    # A call of it runs nothing else, whatever it is called in a request afterwards.
    assert fit_name(name) != name
    neighbour = Registry([Adder(fit_name(name))])
    output = await neighbour.run(
        ToolCall("call_1", name, '{"a": 2, "b": 3}'), item_id="t.1.1", site=SITE
    )
    assert (output.synthetic, output.name) == ("unknown_tool", name)
    assert join_text(output.parts).isprintable()


async def test_arguments_that_were_left_out_run_nothing_and_the_model_is_told_why() -> None:
    stand_in = leave_out_arguments(5_000_000)
    output = await run(stand_in)
    assert output.is_error
    assert "5,000,000 bytes" in join_text(output.parts)
    call = ToolCall("call_1", "add", stand_in)
    looked = await Registry([ADDER]).look(call, item_id=output.id, site=SITE)
    assert looked == output


async def test_a_look_says_what_a_call_would_do_or_why_it_cannot() -> None:
    registry = Registry([ADDER])

    async def look(name: str, arguments: str) -> Preview | ToolOutput:
        return await registry.look(ToolCall("c", name, arguments), item_id="t.1.1", site=SITE)

    assert await look("add", '{"a": 2}') == Preview(title="add", needs="auto")
    for name, arguments, synthetic in (("dig", "{}", "unknown_tool"), ("add", "{", None)):
        output = await look(name, arguments)
        assert isinstance(output, ToolOutput)
        assert (output.id, output.is_error, output.synthetic) == ("t.1.1", True, synthetic)


def test_a_word_for_a_server_is_known_as_long_as_nothing_is_known_of_what_it_offers() -> None:
    known: list[Tool] = []
    registry = Registry([ADDER], more=lambda: known, servers=lambda: ["time", "my_docs"])
    assert registry.find_servers() == ["time", "my_docs"]
    words = ["add", "time__now", "time__*", "my_docs__x", "docs__x", "subtract"]
    assert registry.find_unknown(words) == ["docs__x", "subtract"]
    known.append(Adder(name="time__later"))
    assert registry.find_unlisted() == ["my_docs"]
    assert registry.find_unknown(words) == ["time__now", "docs__x", "subtract"]


async def test_what_an_output_holds_is_kept_before_the_output_is_there() -> None:
    class Camera(Adder):
        async def run(self, arguments: Mapping[str, Any], site: Site) -> Result:
            return Result((Blob("abc", 3, "image/gif"),), blobs={"abc": b"GIF"})

    kept: dict[str, bytes] = {}
    output = await Registry([Camera()]).run(
        ToolCall("call_1", "add", "{}"), item_id="t.1.1", site=replace(SITE, keep=kept.update)
    )
    assert output.parts == (Blob("abc", 3, "image/gif"),)
    assert kept == {"abc": b"GIF"}
