"""What an address says: its host, whether that is this machine, and the way to it.

Pure, and by the name alone: nothing is looked up, so a name that only resolves
to the loopback does not count as this machine.
"""

from collections.abc import Mapping
from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import urlsplit

from askd.errors import NotConfigured
from askd.providers.base import Endpoint
from askd.providers.http.proxies import find_proxy
from askd.providers.known import ProviderConfig

OPENAI_URL = "https://api.openai.com/v1"

OLLAMA_PORT = 11434

LOCAL_ONLY = "local_only"
"""The reason of the error for an address that `local_only` refuses."""

REMEMBERED = 256
"""Addresses whose reading is kept: each prompt reads the same few a dozen times."""


@lru_cache(maxsize=REMEMBERED)
def read_host(address: str) -> str | None:
    """The host of an http or https address, or None if it is not one."""
    try:
        parts = urlsplit(address)
        _ = parts.port  # raises if it is not a number
    except ValueError:
        return None
    return parts.hostname if parts.scheme in ("http", "https") else None


def is_openai(endpoint: Endpoint) -> bool:
    """Whether OpenAI itself answers there, and not one of its imitators."""
    return read_host(endpoint.base_url) == read_host(OPENAI_URL)


@lru_cache(maxsize=REMEMBERED)
def is_loopback(host: str) -> bool:
    """Whether the host is this machine by its very name.

    `x.localhost` should be (RFC 6761), but glibc asks the name server for it: it may be anywhere.
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def read_address(variable: str, value: str) -> str:
    """The base URL that a variable such as OPENAI_BASE_URL or OLLAMA_HOST names.

    Each vendor's programs read theirs in their own way, and so do we.
    """
    value = value.strip().rstrip("/")
    if variable == "OLLAMA_HOST":
        return read_ollama_host(value)
    if variable == "ANTHROPIC_BASE_URL" and not value.endswith("/v1"):
        return f"{value}/v1"  # Anthropic's own programs add it to what the variable says
    return value


def read_ollama_host(text: str) -> str:
    """The URL that Ollama's own client means by OLLAMA_HOST.

    As in its `envconfig` package: `host`, `host:port`, `:port` or a URL; without
    a port it is 11434, or 80 and 443 where a scheme is said. An address that a
    server listens on everywhere (0.0.0.0, ::) is this machine's to a client.
    """
    scheme, mark, rest = text.strip().partition("://")
    if not mark:
        scheme, rest = "http", text.strip()
        port = OLLAMA_PORT
    else:
        port = 443 if scheme == "https" else 80
    netloc, _, path = rest.partition("/")
    host, colon, digits = netloc.rpartition(":")
    if not colon or _is_bare_ipv6(netloc):
        host, digits = netloc, ""
    if digits.isascii() and digits.isdigit() and int(digits) <= 65535:
        port = int(digits)
    elif digits:
        return text  # not an address, and what refuses it will show it
    host = host.strip("[]") or "127.0.0.1"
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    netloc = f"[{host}]" if ":" in host else host
    return f"{scheme}://{netloc}:{port}" + (f"/{path.rstrip('/')}" if path.strip("/") else "")


def _is_bare_ipv6(netloc: str) -> bool:
    return (netloc.count(":") > 1 and not netloc.startswith("[")) or netloc.endswith("]")


def find_way(
    config: ProviderConfig, address: str, *, environ: Mapping[str, str], local_only: bool
) -> Endpoint:
    """The way to an address, without a credential: socket, proxy, certificates.

    The proxy is the provider's own, else that of the environment, which is never
    asked for the loopback.

    Raises:
        NotConfigured: it is no address; or `local_only` and it, or its proxy, is elsewhere.
    """
    unix_socket = None
    if address.startswith("unix:"):
        path = "" if config.dialect == "ollama" else "/v1"
        unix_socket, address = address.removeprefix("unix:"), f"http://localhost{path}"
    host = read_host(address)
    if host is None:
        raise NotConfigured(
            f"{config.name}: {address!r} is not an address: it starts with http:// or https:// "
            "and names a host (or is unix:/path/to/socket)."
        )
    proxy = None
    if unix_socket is None:
        proxy = config.proxy or (None if is_loopback(host) else find_proxy(address, environ))
    if local_only:
        _refuse_elsewhere(config.name, host, "")
        if proxy is not None:
            _refuse_elsewhere(config.name, read_host(proxy) or "nowhere", "by a proxy ")
    return Endpoint(
        provider=config.name,
        base_url=address,
        dialect=config.dialect,
        unix_socket=unix_socket,
        proxy=proxy,
        ca_file=config.ca_file,
    )


def _refuse_elsewhere(provider: str, host: str, how: str) -> None:
    if not is_loopback(host):
        raise NotConfigured(
            f"{provider} is reached {how}at {host}, which is not this machine, "
            "and `local_only` is set. What is left: ask models list",
            reason=LOCAL_ONLY,
        )
