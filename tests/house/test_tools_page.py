"""The page of tools says what the tools themselves say, of all of them."""

from askd.tools.workspace import ENVIRONMENT
from tests.house import tools_page


def test_page_is_current() -> None:
    written = tools_page.PATH.read_text(encoding="utf-8")
    assert written == tools_page.render(), "run: python -m tests.house.tools_page"


def test_every_tool_and_argument_has_its_place() -> None:
    page = tools_page.render()
    tools = tools_page.find_tools()
    assert len(tools) >= 8
    for tool in tools:
        _, _, section = page.partition(f"\n## {tool.name}\n")
        section, _, _ = section.partition("\n## ")
        assert tool.description.split()[0] in section
        for name in tool.schema["properties"]:
            assert f"| `{name}` |" in section, f"{tool.name}: {name}"
    assert all(f"`{name}`" in page for name in ENVIRONMENT)


def test_types_are_said_in_words() -> None:
    assert tools_page.describe_type({"type": "string", "maxLength": 1000}) == (
        "text of at most 1,000 characters"
    )
    optional = {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "null"}]}
    assert tools_page.describe_type(optional) == "number above 0"
    assert tools_page.describe_type({"type": "integer", "minimum": 1, "maximum": 8}) == (
        "whole number from 1 to 8"
    )
