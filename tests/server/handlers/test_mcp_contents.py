"""What servers offer besides tools, over the wire: within its limits, whatever a server says."""

import hashlib
from collections.abc import Mapping
from typing import Any

import pytest

from ask.protocol.limits import BLOB_LIMIT_BYTES
from askd.server.handlers import mcp_contents
from askd.server.handlers.mcp_contents import LISTED_LIMIT, PARTS_LIMIT
from askd.tools.base import CannotRun
from askd.tools.mcp.base import Content, Resource, ServerPrompt, ServerState
from tests.fakes.house import Refused, Server, open_server

HERE = {"server": "docs", "uri": "demo://a"}


def offer(server: Server, *contents: Content) -> None:
    """One server, and what its one resource holds."""
    server.servers.how["docs"] = ServerState(name="docs", kind="stdio", state="ready")
    server.servers.contents["docs", "demo://a"] = contents


def text(content: str, uri: str = "demo://a") -> Content:
    return Content(uri=uri, text=content, media_type="text/html")


async def refuse(server: Server, method: str, params: Mapping[str, Any]) -> Refused:
    peer = await server.greet()
    with pytest.raises(Refused) as refused:
        await peer.call(method, params)
    return refused.value


async def test_a_text_is_answered_as_a_prompt_takes_it() -> None:
    async with open_server() as server:
        offer(server, text("one\n"))
        peer = await server.greet()
        answer = await peer.call("mcp/resource", {**HERE, "cwd": "/here"})
    (part,) = answer["parts"]
    assert {name: value for name, value in part.items() if value is not None} == {
        "type": "text",
        "text": "one\n",
        "name": "docs:demo://a",
    }
    assert server.servers.asked == [("read_resource", "docs", "demo://a", "/here")]


async def test_several_have_names_of_their_own() -> None:
    async with open_server() as server:
        offer(server, text("1", "demo://a/1"), text("2", "demo://a/2"))
        peer = await server.greet()
        answer = await peer.call("mcp/resource", HERE)
    assert [part["name"] for part in answer["parts"]] == ["docs:demo://a/1", "docs:demo://a/2"]


async def test_bytes_and_long_texts_wait_as_blobs_that_a_prompt_may_name() -> None:
    long, image = "ü" * 200_000, b"\x89PNG\r\n\x1a\n" + bytes(600_000)
    async with open_server() as server:
        offer(server, text(long), Content(uri="demo://i", data=image, media_type="image/\udc80gif"))
        peer = await server.greet()
        first, second = (await peer.call("mcp/resource", HERE))["parts"]
        read = b""
        while len(read) < second["bytes"]:
            wanted = {"sha256": second["sha256"], "offset": len(read)}
            read += (await peer.call("blob/read", wanted))["bytes"]
        again = await peer.call("mcp/resource", HERE)
        stranger = await server.greet()
        with pytest.raises(Refused) as refused:
            await stranger.call("blob/read", {"sha256": second["sha256"], "offset": 0})
    assert read == image
    assert second["media_type"] == "image/?gif"
    assert (first["type"], first["bytes"], first["media_type"]) == ("blob", 400_000, "text/plain")
    assert first["sha256"] == hashlib.sha256(long.encode()).hexdigest()
    assert again["parts"] == [first, second]
    assert refused.value.reason == "blob_not_found", "it is the connection's own"


async def test_what_fits_no_message_together_goes_in_part_as_blobs() -> None:
    async with open_server() as server:
        offer(server, *[text("x" * 200_000, f"demo://{n}") for n in range(8)])
        peer = await server.greet()
        answer = await peer.call("mcp/resource", HERE)
    assert [part["type"] for part in answer["parts"]] == ["text"] * 2 + ["blob"] * 6


async def test_half_a_character_and_an_empty_one_are_no_error() -> None:
    async with open_server() as server:
        offer(server, text("a\ud800b"), Content(uri="demo://e", data=b""))
        peer = await server.greet()
        first, second = (await peer.call("mcp/resource", HERE))["parts"]
    assert first["text"] == "a?b"
    assert (second["bytes"], second["media_type"]) == (0, "application/octet-stream")


@pytest.mark.parametrize(
    ("contents", "reason", "said"),
    [
        ([], "server_failed", "holds nothing"),
        ([text("x")] * (PARTS_LIMIT + 1), "server_failed", "65 parts"),
        ([Content(uri="a", data=bytes(BLOB_LIMIT_BYTES + 1))], "server_failed", "32 MiB"),
    ],
    ids=["nothing", "too many", "too large"],
)
async def test_what_no_prompt_could_hold_is_refused(
    contents: list[Content], reason: str, said: str
) -> None:
    async with open_server() as server:
        offer(server, *contents)
        refused = await refuse(server, "mcp/resource", HERE)
    assert refused.reason == reason
    assert said in str(refused)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("mcp/resource", {"uri": "demo://a"}),
        ("mcp/resources", {}),
        ("mcp/prompts", {}),
        ("mcp/prompt", {"name": "review"}),
    ],
)
async def test_a_server_that_is_not_configured_and_one_that_will_not(
    method: str, params: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_server() as server:
        refused = await refuse(server, method, {"server": "docs", **params})
        assert refused.reason == "server_not_found"
        assert server.servers.asked == []
        offer(server, text("x"))

        async def fail(*asked: Any) -> None:
            raise CannotRun("docs did not start.")

        for name in ("list_resources", "read_resource", "list_prompts", "get_prompt"):
            monkeypatch.setattr(server.servers, name, fail)
        refused = await refuse(server, method, {"server": "docs", **params})
    assert (refused.reason, str(refused)) == ("server_failed", "docs did not start.")


async def test_resources_are_listed_as_far_as_they_fit() -> None:
    async with open_server() as server:
        offer(server)
        server.servers.resources = [
            Resource(server="docs", uri="demo://" + "x" * 3000, name="its address is too long"),
            Resource(server="docs", uri="demo://a", name="n" * 400, description="d" * 2000),
            *[Resource(server="docs", uri=f"demo://{n}", name=str(n)) for n in range(2000)],
        ]
        peer = await server.greet()
        page = await peer.call("mcp/resources", {"server": "docs"})
    first, second = page["data"][:2]
    assert (len(first["name"]), len(first["description"])) == (300, 1000)
    assert first["name"].endswith("n…")
    assert second == {"uri": "demo://0", "name": "0", "description": "", "media_type": None}
    assert len(page["data"]) == LISTED_LIMIT
    assert page["left_out"] == 2002 - LISTED_LIMIT


async def test_a_listing_of_long_descriptions_fits_a_message() -> None:
    async with open_server() as server:
        offer(server)
        server.servers.prompts = [
            ServerPrompt(
                server="docs",
                name=f"p{number}",
                description="ü" * 5000,
                arguments=[("a" * 400, "ü" * 5000, True)] * 60,
            )
            for number in range(100)
        ]
        peer = await server.greet()
        page = await peer.call("mcp/prompts", {"server": "docs"})
    assert 0 < len(page["data"]) == 100 - page["left_out"]
    assert len(page["data"][0]["arguments"]) == mcp_contents.ARGUMENTS_LIMIT


async def test_a_prompt_is_filled_in() -> None:
    async with open_server() as server:
        offer(server)
        server.servers.messages["docs", "review"] = [
            ("user", "Look \ud800."),
            ("assistant", "Yes."),
        ]
        peer = await server.greet()
        params = {"server": "docs", "name": "review", "arguments": {"file": "x"}}
        answer = await peer.call("mcp/prompt", params)
        server.servers.messages["docs", "review"] = [("user", "x" * 600_000)]
        with pytest.raises(Refused) as refused:
            await peer.call("mcp/prompt", params)
    assert answer["messages"] == [
        {"role": "user", "text": "Look ?."},
        {"role": "assistant", "text": "Yes."},
    ]
    assert server.servers.asked[0] == ("get_prompt", "docs", "review", {"file": "x"})
    assert refused.value.reason == "server_failed"
    assert "512 KiB" in str(refused.value)
