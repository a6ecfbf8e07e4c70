"""Sign-ins at servers of tools over the wire: begun here, waited for as any other."""

import pytest

from tests.fakes.house import Refused, open_server

BACK = "http://localhost:1/callback?ok"


async def test_a_sign_in_is_begun_and_waited_for() -> None:
    async with open_server() as server:
        peer = await server.greet()
        begun = await peer.call("mcp/login", {"server": "docs"})
        assert (begun["url"], begun["can_paste"]) == ("https://docs/authorize", True)
        waiting = {"login_id": begun["login_id"], "pasted": BACK}
        assert (await peer.call("auth/wait", waiting))["state"] == "done"


async def test_it_is_forgotten_once() -> None:
    async with open_server() as server:
        peer = await server.greet()
        first = await peer.call("mcp/logout", {"server": "docs"})
        assert first == {"server": "docs", "changed": True, "path": "docs.json"}
        assert (await peer.call("mcp/logout", {"server": "docs"}))["changed"] is False


@pytest.mark.parametrize("method", ["mcp/login", "mcp/logout"])
async def test_a_server_that_is_not_configured(method: str) -> None:
    async with open_server() as server:
        peer = await server.greet()
        with pytest.raises(Refused) as caught:
            await peer.call(method, {"server": "nowhere"})
        assert caught.value.data["reason"] == "server_not_found"
