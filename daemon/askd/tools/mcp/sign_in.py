"""Signing in at a server of tools, as the SDK does it: discovery, registration, PKCE, the exchange.

One question to the server begins it and, when a person has said yes in a browser, ends it; what
comes of it is handed back. It keeps nothing, opens no browser and listens nowhere, and runs only
where somebody asked to sign in: a call never does.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from askd.tools.base import CannotRun
from askd.tools.escapes import strip_escapes
from askd.tools.mcp.configs import ServerConfig
from askd.tools.mcp.http_words import explain_status, explain_trouble
from askd.tools.mcp.transports import check_installed
from askd.tools.mcp.ways import HttpWay, may_lead

if TYPE_CHECKING:
    from httpx2 import AsyncClient
    from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

WORDS_CHARACTERS = 300
"""Of what a server says about a failure; more is not a sentence."""
CLIENT_NAME = "ask"
VERSION = "2025-06-18"
"""Of MCP, to begin with; every server that has sign-ins knows it."""
REFUSED = (401, 403)
PAGE_CHARACTERS = 8192
"""Of a sign-in page's address; it is typed by nobody, and has to be read by a browser."""
LIFE_S = 10 * 365 * 86_400
"""The longest that a token is believed to hold: a number of JSON may have any size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Issued:
    """What a sign-in brought.

    Attributes:
        token_url: where the tokens came from, and are renewed.
        auth_method: how the client says who it is there (RFC 7591).
        resource: what the tokens are for (RFC 8707); None: the server was not told.
        life_s: of the access token; None: nobody said.
    """

    client_id: str
    token_url: str
    access_token: str = field(repr=False)
    client_secret: str | None = field(default=None, repr=False)
    auth_method: str | None = None
    refresh_token: str | None = field(default=None, repr=False)
    life_s: float | None = None
    resource: str | None = None
    scope: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Back:
    """What the browser came back with; `issuer`: who says so (RFC 9207)."""

    code: str = field(repr=False)
    state: str = field(repr=False)
    issuer: str | None = None


async def sign_in(
    config: ServerConfig,
    way: HttpWay,
    *,
    redirect_uri: str,
    show: Callable[[str], None],
    wait: Callable[[], Awaitable[Back]],
) -> Issued:
    """See a sign-in through.

    Args:
        redirect_uri: where the browser is sent back to.
        show: is given the address to open.
        wait: waits for the browser to come back.

    Raises:
        CannotRun: it failed, or the server wants none; the sentence says which.
    """
    check_installed()
    import httpx2
    from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthRegistrationError
    from mcp.client.auth import OAuthTokenError as TokenError
    from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata
    from pydantic import AnyUrl, ValidationError

    from askd.tools.mcp.http_roads import Roads

    assert config.url is not None
    kept = _Memory()

    async def redirect(url: str) -> None:
        if not may_lead(config.url or "", url):
            # A browser goes there with all that it knows, also on this machine.
            raise CannotRun(
                f"{config.name} names a sign-in page that is not https://, or is on this machine."
            )
        if len(url) > PAGE_CHARACTERS:
            raise CannotRun(f"{config.name} names a sign-in page whose address is too long.")
        show(url)

    async def come_back() -> AuthorizationCodeResult:
        back = await wait()
        return AuthorizationCodeResult(code=back.code, state=back.state, iss=back.issuer)

    provider = OAuthClientProvider(
        config.url,
        OAuthClientMetadata(
            client_name=CLIENT_NAME,
            redirect_uris=[AnyUrl(redirect_uri)],
            token_endpoint_auth_method="none",
        ),
        kept,
        redirect_handler=redirect,
        callback_handler=come_back,
    )
    way.learn(config)
    way.find_proxy(config.name, config.url)
    try:
        async with httpx2.AsyncClient(
            transport=Roads(config, way), auth=provider, trust_env=False, timeout=None
        ) as client:
            status = await _knock(client, config)
    except OAuthRegistrationError:
        raise CannotRun(
            f"{config.name} lets no program register itself, so `ask` cannot sign in there. If it "
            "gives out tokens, put one into a file and name that in `bearer_token_file` under "
            f"[mcpServers.{config.name}]."
        ) from None
    except (OAuthFlowError, TokenError, ValidationError, httpx2.SSEError) as error:
        words = " ".join(strip_escapes(way.hide(str(error))).split())[:WORDS_CHARACTERS]
        raise CannotRun(f"{config.name}: the sign-in failed: {words}") from None
    except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError) as error:
        raise CannotRun(explain_trouble(config, error)) from None
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        # Of the SDK, which counts and cuts what it was sent: a time that no clock has, for one.
        kind = type(error).__name__
        raise CannotRun(f"{config.name}: the sign-in failed: it makes no sense ({kind}).") from None
    context = provider.context
    tokens, info = kept.tokens, kept.client
    if tokens is None or info is None:
        if status in REFUSED:
            raise CannotRun(explain_status(config, status, token=None, in_session=False))
        raise CannotRun(f"{config.name} wants no sign-in: it answers without one.")
    metadata = context.oauth_metadata
    parts = urlsplit(config.url)
    fallback = urljoin(f"{parts.scheme}://{parts.netloc}", "/token")
    is_told = context.should_include_resource_param(context.protocol_version)
    return Issued(
        client_id=info.client_id,
        client_secret=info.client_secret,
        auth_method=info.token_endpoint_auth_method,
        token_url=fallback if metadata is None else str(metadata.token_endpoint),
        access_token=tokens.access_token,
        refresh_token=tokens.refresh_token,
        life_s=None if tokens.expires_in is None else float(min(tokens.expires_in, LIFE_S)),
        resource=context.get_resource_url() if is_told else None,
        scope=tokens.scope,
    )


async def _knock(client: "AsyncClient", config: ServerConfig) -> int:
    """Begin a session and end it: nothing else is sure to be refused to who has no token."""
    assert config.url is not None
    hello = {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {
            "protocolVersion": VERSION,
            "capabilities": {},
            "clientInfo": {"name": CLIENT_NAME, "version": "1"},
        },
    }
    headers = {**config.headers, "accept": "application/json, text/event-stream"}
    async with client.stream("POST", config.url, json=hello, headers=headers) as response:
        session = response.headers.get("mcp-session-id")
        status = response.status_code
    if session is not None and status == 200:
        async with client.stream("DELETE", config.url, headers={"mcp-session-id": session}):
            pass
    return status


class _Memory:
    """Where the SDK keeps what it gets, until all of it is there."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> "OAuthToken | None":
        return self.tokens

    async def set_tokens(self, tokens: "OAuthToken") -> None:
        self.tokens = tokens

    async def get_client_info(self) -> "OAuthClientInformationFull | None":
        return self.client

    async def set_client_info(self, client_info: "OAuthClientInformationFull") -> None:
        self.client = client_info
