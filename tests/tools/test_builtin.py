"""All tools together: their names, their groups, and schemas that providers take."""

import json

import pytest

from askd.core.pairs import NAMES
from askd.settings.tools import HOUSE
from askd.tools.base import Tool
from askd.tools.builtin import make_tools
from askd.tools.registry import Registry
from askd.tools.shell import CommandRules
from tests.fakes.sandboxes import Bare

NEEDING = {"write_file", "edit_file", "run_command", "fetch_url", "search_history"}
READING = {"read_file", "list_directory", "search_files"}


async def search_nothing(text: str, /, **more: object) -> object:
    raise AssertionError("nobody asked")


@pytest.fixture(scope="module")
def tools() -> list[Tool]:
    return make_tools(
        sandbox=Bare,
        commands=CommandRules,
        search_history=search_nothing,  # type: ignore[arg-type]  # it is not called
        is_offline=lambda: True,
    )


def test_these_and_no_others(tools: list[Tool]) -> None:
    registry = Registry(tools)
    assert {tool.name for tool in registry} == NEEDING | READING == HOUSE - {"read_output"}
    assert {tool.name for tool in registry.select(["read"])} == READING
    assert {tool.name for tool in tools if tool.needs == "ask"} == NEEDING


def test_what_could_be_run_twice_is_what_changes_nothing(tools: list[Tool]) -> None:
    harmless = Registry(tools).harmless()
    assert harmless >= READING
    assert not harmless & {"write_file", "edit_file", "run_command", "fetch_url"}


def test_providers_can_be_told_of_each(tools: list[Tool]) -> None:
    for tool in tools:
        assert NAMES.fullmatch(tool.name)
        assert 20 < len(tool.description) < 1024
        schema = tool.schema
        assert schema["type"] == "object"
        # What is not described is guessed at; what is not closed is made up.
        assert schema["additionalProperties"] is False
        for name, each in schema["properties"].items():
            assert each.get("description"), (tool.name, name)
        # References and definitions are more than some providers understand.
        assert "$ref" not in json.dumps(schema), tool.name


def test_a_schema_is_made_once(tools: list[Tool]) -> None:
    """Requests are measured again and again in a turn, with all that they tell of tools."""
    assert all(tool.schema is tool.schema for tool in tools)
