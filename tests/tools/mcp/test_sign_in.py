"""Signing in by the SDK: a server that holds to the rules, and servers that do not."""

from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import trio

from askd.providers.redact import KnownSecrets
from askd.tools.base import CannotRun
from askd.tools.mcp.configs import ServerConfig
from askd.tools.mcp.sign_in import LIFE_S, Back, Issued, sign_in
from tests.fakes.chat_answers import Hold, Status
from tests.fakes.mcp_http_server import PATH, McpHttpServer
from tests.fakes.mcp_ways import TOKEN, make_way
from tests.fakes.scripted_server import as_json, open_server

pytestmark = pytest.mark.filterwarnings("ignore:Async generator 'http:ResourceWarning")

BACK = "http://127.0.0.1:4000/auth/callback"
LIMIT_S = 10.0


@pytest.fixture
async def server() -> AsyncIterator[McpHttpServer]:
    server = McpHttpServer(wants="sign-in")
    async with open_server(server):
        yield server


class Browser:
    """A person with a browser: goes where they are shown, and comes back."""

    def __init__(self, server: McpHttpServer, **changes: str | None) -> None:
        self.server = server
        self.url = ""
        self.changes = changes

    def show(self, url: str) -> None:
        self.url = url

    async def wait(self) -> Back:
        await trio.lowlevel.checkpoint()
        query = parse_qs(urlsplit(self.server.authorize(self.url)).query)
        said: dict[str, Any] = {
            "code": query["code"][0], "state": query["state"][0], **self.changes
        }  # fmt: skip
        return Back(**said)


async def run(
    server: McpHttpServer, browser: Browser | None = None, **said: Any
) -> tuple[Issued, Browser]:
    browser = browser or Browser(server)
    config = ServerConfig(name="far", **{"url": server.url, **said})
    way = make_way(secrets=KnownSecrets([TOKEN]))
    with trio.fail_after(LIMIT_S):
        issued = await sign_in(config, way, redirect_uri=BACK, show=browser.show, wait=browser.wait)
    return issued, browser


async def fail(server: McpHttpServer, browser: Browser | None = None, **said: Any) -> str:
    with pytest.raises(CannotRun) as caught:
        await run(server, browser, **said)
    return str(caught.value)


@pytest.mark.parametrize("method", [None, "client_secret_post", "client_secret_basic"])
async def test_what_a_sign_in_brings(server: McpHttpServer, method: str | None) -> None:
    server.rules.secret_method = method
    issued, _ = await run(server, headers={"X-Team": "blue"})
    assert issued.access_token in server.tokens
    assert issued.refresh_token in server.refresh_tokens
    assert issued.token_url == f"{server.base_url}/token"
    assert issued.resource == server.url
    assert issued.life_s == 3600
    assert (issued.client_secret is None) == (method is None)
    assert issued.auth_method == (method or "none")
    assert server.sessions == set(), "the question that began it leaves no session behind"
    assert server.violations == []
    assert "secret" not in repr(issued).replace("client_secret_", "")
    # What the settings send goes to the server itself and to nobody else.
    to_itself = [path == PATH for _, path in server.asked]
    assert ["x-team" in each for each in server.all_headers[:1]] == [True]
    for is_its, headers in zip(to_itself, server.all_headers, strict=True):
        assert is_its or "x-team" not in headers


async def test_each_sign_in_has_its_own_client_and_its_own_secrets(server: McpHttpServer) -> None:
    first, one = await run(server)
    second, other = await run(server)
    assert first.client_id != second.client_id
    for name in ("state", "code_challenge"):
        assert parse_qs(urlsplit(one.url).query)[name] != parse_qs(urlsplit(other.url).query)[name]


async def test_a_server_that_wants_none(server: McpHttpServer) -> None:
    server.wants = None
    assert await fail(server) == "far wants no sign-in: it answers without one."
    assert server.sessions == set()


async def test_a_server_where_programs_cannot_register(server: McpHttpServer) -> None:
    server.rules.registers = False
    assert "name that in `bearer_token_file` under [mcpServers.far]" in await fail(server)


def spoil_issuer(server: McpHttpServer) -> None:
    server.rules.metadata = {"issuer": "https://evil.example"}


def spoil_page(server: McpHttpServer) -> None:
    server.rules.metadata = {"authorization_endpoint": "http://evil.example/authorize"}


def spoil_page_by_length(server: McpHttpServer) -> None:
    page = f"{server.base_url}/authorize?x={'x' * 9000}"
    server.rules.metadata = {"authorization_endpoint": page}


def spoil_registration(server: McpHttpServer) -> None:
    server.rules.metadata = {"registration_endpoint": "http://169.254.169.254/latest"}


def spoil_tokens(server: McpHttpServer) -> None:
    words = f"\x1b[31mit was {TOKEN}\n" + "x" * 9000
    server.spoil("/token", as_json({"error": "invalid_grant", "error_description": words}, 400))


def spoil_with_a_flood(server: McpHttpServer) -> None:
    server.spoil("/token", Status(200, b'{"a": "' + b"x" * (33 << 20) + b'"}'))


def spoil_with_nonsense(server: McpHttpServer) -> None:
    server.spoil("/token", Status(200, b"{"))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (spoil_issuer, "issuer mismatch"),
        (spoil_page, "names a sign-in page that is not https://"),
        (spoil_page_by_length, "names a sign-in page whose address is too long"),
        (spoil_registration, "leads to an address that is not asked"),
        (spoil_tokens, "far: the sign-in failed: "),
        (spoil_with_a_flood, "far sent more than 32 MiB"),
        (spoil_with_nonsense, "far: the sign-in failed: Invalid token response"),
    ],
)
async def test_servers_that_hold_to_no_rule(
    server: McpHttpServer, spoil: Callable[[McpHttpServer], None], words: str
) -> None:
    spoil(server)
    sentence = await fail(server)
    assert words in sentence
    assert len(sentence) < 500
    assert sentence.isprintable()
    assert TOKEN not in sentence


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"state": "other"}, "State parameter mismatch"), ({"issuer": "https://evil.example"}, "iss")],
)
async def test_a_browser_that_comes_back_from_elsewhere(
    server: McpHttpServer, changes: dict[str, str | None], words: str
) -> None:
    assert words in await fail(server, Browser(server, **changes))
    assert server.tokens == set()


async def test_nobody_listens() -> None:
    server = McpHttpServer(wants="sign-in")
    async with open_server(server):
        pass
    assert "nothing listens at" in await fail(server)


async def test_whoever_waits_may_give_up(server: McpHttpServer) -> None:
    server.spoil("/.well-known/oauth-authorization-server", (Hold(),))
    with trio.move_on_after(0.1) as scope:
        await run(server)
    assert scope.cancelled_caught


@pytest.mark.parametrize(("said", "life_s"), [(10**30, LIFE_S), (10**400, None)])
async def test_a_token_that_is_said_to_hold_for_ever(
    server: McpHttpServer, said: int, life_s: float | None
) -> None:
    token = {"access_token": f"{TOKEN}-0", "token_type": "Bearer", "expires_in": said}
    server.spoil("/token", as_json(token))
    if life_s is None:
        assert "it makes no sense" in await fail(server)
    else:
        issued, _ = await run(server)
        assert issued.life_s == life_s
