"""What an endpoint's address says: its host, and whether that is this machine or OpenAI.

Pure, and by the name alone: nothing is looked up, so a name that only resolves
to the loopback does not count as this machine.
"""

from ipaddress import ip_address
from urllib.parse import urlsplit

from askd.providers.base import Endpoint

OPENAI_URL = "https://api.openai.com/v1"


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


def is_loopback(host: str) -> bool:
    """Whether the host is this machine by its very name."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
