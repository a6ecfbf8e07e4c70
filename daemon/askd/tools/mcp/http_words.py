"""What is wrong with a server at an address, in sentences that say what to do.

Pure. Of what the server itself said, nothing is repeated here but a status, the type of an
answer and the host of a redirect, each cut to what it must look like.
"""

import re
import socket
import ssl
from urllib.parse import urlsplit

from askd.errors import find_causes
from askd.tools.mcp.configs import ServerConfig
from askd.tools.mcp.lines import MOST_PIECES
from askd.tools.mcp.ways import Token

_TYPE = re.compile(r"[a-z0-9.+-]{1,40}/[a-z0-9.+-]{1,60}")
_HOST = re.compile(r"[A-Za-z0-9.:\[\]_-]{1,253}")


def explain_status(
    config: ServerConfig, status: int, *, token: Token | None, in_session: bool
) -> str:
    """What a refusal by its status means.

    Args:
        token: what was sent with the request.
        in_session: the request belonged to a session.
    """
    name, table = config.name, f"[mcpServers.{config.name}]"
    match status:
        case 401 if token is not None and token.source == "sign-in":
            return (
                f"{name} does not take the sign-in any more: sign in again with "
                f"`ask mcp login {name}`."
            )
        case 401 if token is not None or config.has_own_token:
            return (
                f"{name} refuses the token of the settings (HTTP 401): see `bearer_token_env`, "
                f"`bearer_token_file` or `headers` under {table}."
            )
        case 401:
            return f"{name} wants a sign-in: `ask mcp login {name}`."
        case 403 if token is not None and token.source == "sign-in":
            return (
                f"{name} forbids this to whoever is signed in (HTTP 403). With another account or "
                f"more rights: `ask mcp login {name}`."
            )
        case 403:
            return f"{name} forbids this (HTTP 403): what is sent to it gives too few rights."
        case 404 if in_session:
            return f"{name} has ended our session, and each new one with it; try again later."
        case 404 | 405:
            return (
                f"{name}: nothing there speaks MCP over HTTP (HTTP {status}): see `url` under "
                f"{table}."
            )
        case 407:
            return f"{name}: the proxy on the way wants a name and a password (HTTP 407)."
        case 413:
            return f"{name} says that the request is too large (HTTP 413)."
        case 429:
            return f"{name} is asked too often (HTTP 429); try again later."
        case _ if status >= 500:
            return f"{name} has failed (HTTP {status}); try again later."
        case _:
            return f"{name} refuses the request (HTTP {status})."


def explain_redirect(config: ServerConfig, location: str) -> str:
    """It is said to be somewhere else, where nothing of ours is sent."""
    try:
        found = urlsplit(location)
        host, scheme = found.netloc.rpartition("@")[2], found.scheme
    except ValueError:
        host = scheme = ""
    where = f"{scheme}://{host}" if scheme in ("http", "https") and _HOST.fullmatch(host) else ""
    return (
        f"{config.name} sends us on to {where or 'another address'}, and nothing is sent there; if "
        f"that is where it is now, change `url` under [mcpServers.{config.name}]."
    )


def explain_type(config: ServerConfig, content_type: str) -> str:
    """An answer of a kind that no server of MCP gives."""
    kind = content_type.partition(";")[0].strip().lower()
    shown = kind if _TYPE.fullmatch(kind) else "something without a type"
    return (
        f"{config.name} answers with {shown}, which is not MCP: see `url` under "
        f"[mcpServers.{config.name}]."
    )


def explain_size(config: ServerConfig, limit_bytes: int) -> str:
    """More than anybody waits for."""
    return f"{config.name} sent more than {limit_bytes >> 20} MiB in one answer; it was cut off."


def explain_things(config: ServerConfig) -> str:
    """Less than that, and too much for anybody to look at."""
    return f"{config.name} sent more than {MOST_PIECES:,} things in one message; it was cut off."


def explain_nonsense(config: ServerConfig) -> str:
    """An answer that is no message."""
    return f"{config.name} answers with something that is no message of MCP."


def explain_compression(config: ServerConfig) -> str:
    """An answer that could be of any size."""
    return f"{config.name} compresses its answers though asked not to; it cannot be read."


def explain_slowness(config: ServerConfig, seconds: float) -> str:
    """Nothing came."""
    return f"{config.name} did not answer within {seconds:g} seconds."


def explain_trouble(config: ServerConfig, error: BaseException) -> str:
    """What broke on the way there."""
    name, where = config.name, show_address(config.url or "")
    for cause in find_causes(error):
        match cause:
            case ssl.SSLCertVerificationError():
                why = getattr(cause, "verify_message", "") or "it is not valid"
                return f"{name}: the certificate of {where} is refused: {why}."
            case ssl.SSLError():
                return f"{name}: {where} does not speak TLS as it should: is it http:// ?"
            case socket.gaierror():
                return f"{name}: the name in {where} is not known; see its `url` and the network."
            case ConnectionRefusedError():
                return (
                    f"{name}: nothing listens at {where} (connection refused). Is it running, and "
                    "is that its port?"
                )
            case OSError() if cause.strerror:
                return f"{name} cannot be reached at {where}: {cause.strerror}."
    if "Timeout" in type(error).__name__:
        return f"{name} does not answer at {where}."
    return f"{name}: the connection to {where} broke before the whole answer was there."


def show_address(url: str) -> str:
    """Where it is: without a name, a password and what else a URL may hold of secrets."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "an address that is none"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
