"""Which proxy is on the way to an address, by the environment's usual variables.

Pure: a URL and an environment in, a proxy's URL or None out. The rules are
those of curl (the section "ENVIRONMENT" of its manual): the scheme's variable,
then `ALL_PROXY`, and `NO_PROXY` for those that are asked directly; in either
spelling, the lower-case one first. It opens nothing, and it never sends a
request for this machine through another one.
"""

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urlsplit

_PORTS = {"http": 80, "https": 443}
_Ip = IPv4Address | IPv6Address


def find_proxy(url: str, environ: Mapping[str, str]) -> str | None:
    """The URL of the proxy for `url`, or None to ask directly.

    A variable that is set and empty means none, whatever a later one says. A
    proxy without a scheme is an http one.
    """
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").rstrip("."), parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None
    if not host or parts.scheme not in _PORTS or _is_here(host):
        return None
    if _is_excepted(host, port, _read(environ, "no_proxy") or ""):
        return None
    proxy = _read(environ, f"{parts.scheme}_proxy")
    if proxy is None:
        proxy = _read(environ, "all_proxy")
    if not proxy:
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _read(environ: Mapping[str, str], name: str) -> str | None:
    value = environ.get(name)
    if value is None:
        value = environ.get(name.upper())
    return None if value is None else value.strip()


def _is_here(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    address = _read_ip(host)
    return address is not None and address.is_loopback


def _is_excepted(host: str, port: int | None, exceptions: str) -> bool:
    entries = exceptions.replace(",", " ").lower().split()
    return any(_fits(host, port, entry) for entry in entries)


def _fits(host: str, port: int | None, entry: str) -> bool:
    """Whether one entry of NO_PROXY means this host: a name, a suffix, an address, a network."""
    if entry == "*":
        return True
    address = _read_ip(host)
    if address is not None and "/" in entry:
        try:
            return address in ip_network(entry, strict=False)
        except ValueError:
            return False
    name, wanted = _split_port(entry)
    if wanted is not None and wanted != port:
        return False
    if address is not None:
        return address == _read_ip(name)
    # A leading dot (or `*.`) means the same as none: the name itself and all below it.
    name = name.removeprefix("*").strip(".")
    return bool(name) and (host == name or host.endswith("." + name))


def _split_port(entry: str) -> tuple[str, int | None]:
    if entry.startswith("["):
        name, _, rest = entry[1:].partition("]")
        port = rest.removeprefix(":")
    elif entry.count(":") == 1:
        name, _, port = entry.partition(":")
    else:
        return entry, None  # a name, or a bare IPv6 address
    return name, int(port) if port.isdecimal() else None


def _read_ip(text: str) -> _Ip | None:
    try:
        address = ip_address(text)
    except ValueError:
        return None
    # ::ffff:127.0.0.1 is 127.0.0.1
    return getattr(address, "ipv4_mapped", None) or address
