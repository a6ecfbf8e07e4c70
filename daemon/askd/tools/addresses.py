"""Which places of the web may be read: the form of a URL, and what a name leads to.

Pure. It refuses whatever is not plainly a page of the public web: other schemes and ports,
credentials in a URL, hosts that parsers read in different ways, names that belong to this
network, and every address that is not reachable for everybody. An address inside of another
one (IPv4 in IPv6, in the several ways that there are) is judged, too.
"""

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote, urljoin, urlsplit

from askd.tools.base import CannotRun

URL_LENGTH = 2_000
"""Longer ones carry something other than an address; servers refuse most of them."""
DEFAULT_PORTS = {"http": 80, "https": 443}
PORTS = (80, 443, 8080, 8443)
"""Those of the web. Behind others, mail servers and databases take a request for their own."""
HOME_NAMES = (
    "localhost", "localdomain", "local", "internal", "intranet", "private", "corp", "home", "lan",
    "arpa", "onion", "invalid", "test",
)  # fmt: skip
"""Last labels of names that mean something here alone, or nothing (RFC 6761, RFC 6762, RFC 8375,
ICANN's reservation of `internal`, and what routers use)."""

_UNWRITTEN = re.compile(r"[\x00-\x20\x7f-\xa0\\\u2028\u2029\ufeff]")
"""What stands in no URL, and what one parser passes over and another one does not."""
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_NUMBER = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)")
"""A last label of this kind makes an IPv4 address of the whole, in notations without number."""
_GLOBAL_V6 = ipaddress.IPv6Network("2000::/3")
"""All of IPv6 that has been given to anybody (IANA's registry of the address space)."""
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
"""RFC 6052: networks without IPv4 reach it by these; the last 32 bits are the address."""
_ODD_V4 = tuple(map(ipaddress.IPv4Network, ("168.63.129.16/32", "192.0.0.0/24", "192.88.99.0/24")))
_ODD_V6 = tuple(
    map(ipaddress.IPv6Network, ("2001::/23", "2002::/16", "2001:db8::/32", "3fff::/20"))
)
"""What some version of Python takes for global and is none (IANA's registries of special
addresses), and the tunnels Teredo and 6to4, behind which any IPv4 address may be. The first looks
public, and within one cloud (Azure) is the machine that hands out its customers' secrets."""
_SAFE = "/:?#[]@!$&'()*+,;=%~-._"
"""What a path and a query keep as it is; everything else is escaped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A URL taken apart, fit to be asked for.

    Attributes:
        host: a name in lower case and in ASCII, or an address without brackets.
        target: path and query, as they stand in a request.
    """

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        """Host and port as a `Host` header says them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"{self.scheme}://{self.authority}"

    @property
    def url(self) -> str:
        """The whole of it."""
        return self.origin + self.target

    def is_same_house(self, other: "Place") -> bool:
        """Whether a person who allowed this one allowed the other: the same host, no less safe."""
        if other.scheme != self.scheme and other.scheme != "https":
            return False
        is_usual = self.port == DEFAULT_PORTS[self.scheme]
        same_port = self.port == other.port or (
            is_usual and other.port == DEFAULT_PORTS[other.scheme]
        )
        return same_port and self.host.removeprefix("www.") == other.host.removeprefix("www.")


def read_url(url: str) -> Place:
    """Take a URL apart; `CannotRun` says why it is not one that is fetched."""
    if len(url) > URL_LENGTH:
        raise CannotRun(f"The URL is longer than {URL_LENGTH} characters.")
    if _UNWRITTEN.search(url):
        raise CannotRun("The URL holds characters that stand in no URL.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise CannotRun(f"That is no URL: {error}.") from None
    scheme = parts.scheme.lower()
    if scheme not in DEFAULT_PORTS:
        raise CannotRun("Only URLs that begin with https:// or http:// are fetched.")
    if "@" in parts.netloc:
        raise CannotRun("The URL holds a user's name or password; such are never sent.")
    # An empty port is the default one; a port 0 is none.
    port = DEFAULT_PORTS[scheme] if port is None else port
    if port not in PORTS:
        allowed = ", ".join(map(str, PORTS))
        raise CannotRun(f"Port {port} is not one of the web; those are {allowed}.")
    try:
        path = quote(parts.path or "/", safe=_SAFE)
        query = f"?{quote(parts.query, safe=_SAFE)}" if parts.query else ""
    except UnicodeError:
        raise CannotRun("The URL holds half a character.") from None
    return Place(scheme=scheme, host=read_host(parts.netloc), port=port, target=path + query)


def read_redirect(place: Place, location: str) -> Place:
    """Where a redirect leads; `CannotRun` as `read_url`."""
    if _UNWRITTEN.search(location):
        raise CannotRun("The redirect holds characters that stand in no URL.")
    try:
        return read_url(urljoin(place.url, location))
    except ValueError:
        raise CannotRun("The redirect is no URL.") from None


def read_host(netloc: str) -> str:
    """The host of a URL, written in the one way in which it is asked for."""
    if netloc.startswith("["):
        inside, bracket, rest = netloc[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise CannotRun("That is no URL: its host is no address.")
        return str(_read_v6(inside))
    name = netloc.partition(":")[0]
    if "%" in name:
        raise CannotRun("The URL's host is escaped; write it plainly.")
    if not name.isascii():
        name = _encode_name(name)
    name = name.lower()
    labels = name.removesuffix(".").split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return str(_read_v4(name))
    if len(name) > 253 or not all(_LABEL.fullmatch(each) for each in labels):
        raise CannotRun(f"The URL's host, {name!r}, is no name of a host.")
    if len(labels) == 1 or labels[-1] in HOME_NAMES:
        raise CannotRun(f"{name} is a name of this network; only the public web is fetched.")
    return ".".join(labels)


def check_addresses(host: str, addresses: Sequence[str]) -> list[str]:
    """The addresses that a host was found at, if every one of them is public; else `CannotRun`.

    One that is not, among others, is how a name is made to lead into a network.
    """
    if not addresses:
        raise CannotRun(f"{host} was not found: it has no address.")
    for each in addresses:
        if not is_public(each):
            raise CannotRun(
                f"{host} leads to {each}, which is not on the public web; it is not fetched."
            )
    return list(dict.fromkeys(addresses))


def is_public(text: str) -> bool:
    """Whether everybody reaches this address, and the same machine behind it."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv4Address):
        return _is_public_v4(address)
    if address.scope_id is not None:
        return False
    if address.ipv4_mapped is not None:
        return _is_public_v4(address.ipv4_mapped)
    if address in _NAT64:
        return _is_public_v4(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    is_odd = any(address in network for network in _ODD_V6)
    return address in _GLOBAL_V6 and address.is_global and not is_odd


def _is_public_v4(address: ipaddress.IPv4Address) -> bool:
    is_odd = any(address in network for network in _ODD_V4)
    return address.is_global and not (is_odd or address.is_multicast or address.is_reserved)


def _read_v4(text: str) -> ipaddress.IPv4Address:
    try:
        return ipaddress.IPv4Address(text)
    except ValueError:
        raise CannotRun(
            f"The URL's host, {text!r}, is a number; write an address as four numbers with dots."
        ) from None


def _read_v6(text: str) -> ipaddress.IPv6Address:
    if "%" in text:
        raise CannotRun("The URL names a network interface; only the public web is fetched.")
    try:
        return ipaddress.IPv6Address(text)
    except ValueError:
        raise CannotRun("That is no URL: its host is no address.") from None


def _encode_name(name: str) -> str:
    """A name of other letters than ASCII, as the name system has it."""
    try:
        encoded = name.encode("idna").decode("ascii")
    except UnicodeError:
        raise CannotRun("The URL's host is no name of a host.") from None
    if _NUMBER.fullmatch(encoded.lower().removesuffix(".").rpartition(".")[2]):
        raise CannotRun("The URL's host is a number in other letters.")
    return encoded
