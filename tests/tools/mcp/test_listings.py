"""Listings: page by page, and over when enough was seen."""

from typing import Any

import pytest
from mcp import MCPError

from askd.tools.mcp.base import Resource, ServerPrompt
from askd.tools.mcp.listings import (
    LISTING_BYTES,
    MOST_PAGES,
    MOST_THINGS,
    SAID_CHARACTERS,
    list_prompts,
    list_resources,
    list_tools,
)

Map = dict[str, Any]


class Pages:
    """A session that answers listings as a test says, by the SDK's own models."""

    def __init__(self, **pages: Any) -> None:
        self.pages = pages
        self.cursors: list[str | None] = []

    async def send_request(self, request: Any, result: Any) -> Any:
        cursor = request.params.cursor if request.params else None
        self.cursors.append(cursor)
        answer = self.pages.get(type(request).__name__)
        if answer is None:
            raise MCPError(-32601, "no such method")
        return result.model_validate(answer(cursor))


def tool(name: str, **more: Any) -> Map:
    return {"name": name, "inputSchema": {"type": "object"}, **more}


async def list_names(session: Any, said: list[str] | None = None) -> list[str]:
    found = await list_tools(session, "fake", (said if said is not None else []).append)
    return [each.name for each in found]


async def test_every_page_in_its_order() -> None:
    def answer(cursor: str | None) -> Map:
        k = int(cursor or 0)
        more = {"nextCursor": str(k + 1)} if k < 3 else {}
        return {"tools": [tool(f"tool_{k}")], **more}

    session = Pages(ListToolsRequest=answer)
    assert await list_names(session) == ["tool_0", "tool_1", "tool_2", "tool_3"]
    assert session.cursors == [None, "1", "2", "3"]


@pytest.mark.parametrize("cursor", ["", None])
async def test_an_empty_cursor_is_the_end(cursor: str | None) -> None:
    session = Pages(ListToolsRequest=lambda _: {"tools": [tool("a")], "nextCursor": cursor})
    assert await list_names(session) == ["a"]
    assert len(session.cursors) == 1


async def test_a_cursor_that_leads_to_itself_is_the_end() -> None:
    session = Pages(ListToolsRequest=lambda _: {"tools": [tool("a")], "nextCursor": "again"})
    assert await list_names(session) == ["a"]
    assert len(session.cursors) == 2


async def test_a_listing_without_end_has_one() -> None:
    def answer(cursor: str | None) -> Map:
        return {"tools": [], "nextCursor": str(int(cursor or 0) + 1)}

    session = Pages(ListToolsRequest=answer)
    assert await list_names(session) == []
    assert len(session.cursors) == MOST_PAGES


async def test_so_many_tools_and_no_more() -> None:
    said: list[str] = []
    many = [tool(f"tool_{k}") for k in range(MOST_THINGS + 5)]
    session = Pages(ListToolsRequest=lambda _: {"tools": many, "nextCursor": "more"})
    assert await list_names(session, said) == [f"tool_{k}" for k in range(MOST_THINGS)]
    assert said == ["It offers more tools than are of use: 1,000 of them are taken."]
    assert len(session.cursors) == 1


async def test_so_many_words_and_no_more() -> None:
    said: list[str] = []
    long = [tool(f"tool_{k}", description="x" * (LISTING_BYTES // 4)) for k in range(10)]
    session = Pages(ListToolsRequest=lambda _: {"tools": long})
    assert len(await list_names(session, said)) == 3
    assert len(said) == 1


async def test_of_two_by_one_name_the_first_counts() -> None:
    twice = [tool("a", description="first"), tool("a", description="second")]
    session: Any = Pages(ListToolsRequest=lambda _: {"tools": twice})
    (found,) = await list_tools(session, "fake", print)
    assert found.description == "first"


async def test_resources_and_templates() -> None:
    resource = {"uri": "note://one", "name": "one", "mimeType": "text/plain"}
    template = {"uriTemplate": "note://{name}", "name": "any", "description": "a note"}
    session: Any = Pages(
        ListResourcesRequest=lambda _: {"resources": [resource]},
        ListResourceTemplatesRequest=lambda _: {"resourceTemplates": [template]},
    )
    one = Resource(server="fake", uri="note://one", name="one", media_type="text/plain")
    some = Resource(server="fake", uri="note://{name}", name="any", description="a note")
    assert await list_resources(session, "fake") == [one, some]
    del session.pages["ListResourceTemplatesRequest"]
    assert await list_resources(session, "fake") == [one]
    del session.pages["ListResourcesRequest"]
    with pytest.raises(MCPError):
        await list_resources(session, "fake")


async def test_prompts() -> None:
    argument = {"name": "who", "description": "whom", "required": True}
    greet = {"name": "greet", "arguments": [argument, {"name": "how"}]}
    session: Any = Pages(ListPromptsRequest=lambda _: {"prompts": [greet, {"name": "plain"}]})
    assert await list_prompts(session, "fake") == [
        ServerPrompt(
            server="fake", name="greet", arguments=[("who", "whom", True), ("how", "", False)]
        ),
        ServerPrompt(server="fake", name="plain", arguments=[]),
    ]


@pytest.mark.parametrize(
    ("listing", "request_name", "name"),
    [
        (list_resources, "ListResourcesRequest", "resources"),
        (list_prompts, "ListPromptsRequest", "prompts"),
    ],
)
async def test_what_is_listed_is_bounded_while_it_comes(
    listing: Any, request_name: str, name: str
) -> None:
    long = "x" * (LISTING_BYTES // 8)

    def answer(cursor: str | None) -> Map:
        k = int(cursor or 0)
        return {name: [{"name": f"{k}{long}", "uri": "a:b"}], "nextCursor": str(k + 1)}

    session = Pages(**{request_name: answer})
    assert len(await listing(session, "fake")) == 7
    assert len(session.cursors) <= 9  # those of the templates among them

    def describe(cursor: str | None) -> Map:
        return {name: [{"name": "a", "uri": "a:b", "description": "x" * LISTING_BYTES}]}

    (found,) = await listing(Pages(**{request_name: describe}), "fake")
    assert len(found.description) == SAID_CHARACTERS
