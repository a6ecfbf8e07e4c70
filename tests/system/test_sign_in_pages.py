"""The blocks of the how-tos that sign in, run as they stand: a browser is played by the test.

The sign-in servers are those of `tests.fakes`, which hold to the vendors' rules; no account of
anybody is used.
"""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.mcp_http_server import McpHttpServer
from tests.fakes.scripted_server import open_server
from tests.fakes.sign_in_servers import make_jwt
from tests.house.prose import DOCS, FENCE
from tests.system import test_mcp_sign_in, test_sign_in
from tests.system.servers import serve, write_secret
from tests.system.test_sign_in import Place, open_place, visit
from tests.system.tool_servers import Tools
from tests.system.world import ASK, Running, World

MODEL = "gpt-5"
"""What the pages ask of ChatGPT."""


def start_block(world: World, page: str, head: str) -> Running:
    """Start the one block of a page that begins like this, in a shell that stops at a failure."""
    text = (DOCS / "how-to" / page).read_text(encoding="utf-8")
    (block,) = (each for _, each in FENCE.findall(text) if each.startswith(head))
    path = os.pathsep.join([str(Path(ASK).parent), world.env["PATH"]])
    return world.start(command=("sh", "-euc", block), env={"PATH": path})


@pytest.fixture
def chatgpt(tmp_path: Path) -> Iterator[Place]:
    """ChatGPT, with the model of the pages."""
    with open_place(tmp_path, "openai-responses", models=(MODEL,)) as place:
        yield place


def test_signing_in_with_chatgpt(chatgpt: Place) -> None:
    running = start_block(chatgpt.world, "sign-in.md", "ask auth login chatgpt\n")
    running.wait_for("Waiting for the browser", where="err")
    found = test_sign_in.URL.search(running.err)
    assert found is not None, running.err
    assert visit(chatgpt.openai.authorize(found[0]))[0] == 200
    done = running.finish()
    assert done.code == 0, done
    assert "tok19" in done.out
    assert chatgpt.openai.violations == []


def test_using_codexs_sign_in(chatgpt: Place, tmp_path: Path) -> None:
    granted = chatgpt.openai.grant(client_id="app_x")
    access = make_jwt(exp=int(time.time()) + 3600, client_id="app_x")
    tokens = {**granted, "access_token": access, "account_id": "acc-1"}
    content = {"auth_mode": "chatgpt", "tokens": tokens, "last_refresh": "2026-01-01T00:00:00Z"}
    write_secret(tmp_path / ".codex" / "auth.json", json.dumps(content))
    done = start_block(chatgpt.world, "move-from-codex.md", "ask auth status\n").finish()
    assert done.code == 0, done
    assert "tok19" in done.out
    assert chatgpt.vendor.headers[-1]["authorization"] == f"Bearer {access}"


def test_signing_in_with_copilot(tmp_path: Path) -> None:
    with open_place(tmp_path, "copilot") as place:
        running = start_block(place.world, "sign-in.md", "ask auth login copilot\n")
        running.wait_for("ABCD-1234", where="err")
        place.github.typed = True
        done = running.finish()
        assert done.code == 0, done
        assert place.github.violations == []


def test_signing_in_at_a_server_of_tools_and_out_again(world: World) -> None:
    server = McpHttpServer(wants="sign-in")
    with serve(open_server(server)):
        Tools(world, {"wiki": {"url": server.url}})
        running = start_block(world, "mcp.md", "ask mcp login wiki\n")
        running.wait_for("Waiting for the browser", where="err")
        found = test_mcp_sign_in.URL.search(running.err)
        assert found is not None, running.err
        assert visit(server.authorize(found[0]))[0] == 200
        done = running.finish()
        assert done.code == 0, done
        assert done.out.startswith("Signed in to wiki; ")
        assert done.out.endswith("Forgotten: the sign-in at wiki.\n")
        assert server.violations == []
