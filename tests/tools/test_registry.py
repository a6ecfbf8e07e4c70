"""Every call gets an output, whatever the tool does."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
import trio
import trio.testing

from askd.core.items import Text, ToolCall, ToolOutput, join_text
from askd.core.pairs import fit_name
from askd.tools.base import Result, Tool
from askd.tools.registry import Registry


@dataclass
class Adder:
    """Adds `a` and `b`; fails on `a` = 0; hangs on `a` = 1."""

    name: str = "add"
    description: str = "Adds two numbers."
    effects: bool = True

    @property
    def schema(self) -> Mapping[str, Any]:
        return {"type": "object", "properties": {"a": {"type": "number"}}}

    async def run(self, arguments: Mapping[str, Any]) -> Result:
        if arguments["a"] == 0:
            raise RuntimeError("no zeros")
        if arguments["a"] == 1:
            await trio.sleep_forever()
        return Result((Text(str(arguments["a"] + arguments["b"])),))


ADDER: Tool = Adder()


async def run(arguments: str, name: str = "add") -> ToolOutput:
    return await Registry([ADDER]).run(ToolCall("call_1", name, arguments), item_id="t.1.1")


async def test_a_call_is_answered_under_its_ids() -> None:
    assert await run('{"a": 2, "b": 3}') == ToolOutput("t.1.1", "call_1", "add", (Text("5"),))


async def test_an_unknown_tool_is_an_error_output_that_says_so() -> None:
    output = await Registry().run(ToolCall("call_1", "dig", "{}"), item_id="t.1.1")
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
    output = await neighbour.run(ToolCall("call_1", name, '{"a": 2, "b": 3}'), item_id="t.1.1")
    assert (output.synthetic, output.name) == ("unknown_tool", name)
    assert join_text(output.parts).isprintable()
