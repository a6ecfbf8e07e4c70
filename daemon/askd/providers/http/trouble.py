"""What went wrong on the way to a server, as an error with a sentence that helps.

httpx says what broke; a person needs to know what to do. It looks at the
exceptions below httpx's own for the reason (OpenSSL's verdict on a certificate,
the resolver's on a name). It knows no dialect and reads no answer.
"""

import re
import socket
import ssl

import httpx

from askd.errors import BadAnswer, ProviderError, Unauthenticated, Unavailable, find_causes
from askd.providers.base import Endpoint

# OpenSSL's verify codes, from its <openssl/x509_vfy.h>.
_NOT_YET_VALID, _EXPIRED = 9, 10
_NO_ISSUER = {2, 18, 19, 20, 21}  # self-signed, or signed by whom nobody here knows
_WRONG_NAME = {62, 64}  # a host name, an IP address

_FINAL = {"final": True}
_PLAIN_HTTP = re.compile(
    r"wrong_?\s?version_?\s?number|record_?\s?layer_?\s?failure", re.IGNORECASE
)


def describe_trouble(endpoint: Endpoint, error: Exception) -> ProviderError:
    """A sentence for what went wrong on the way, `final` where trying again cannot help."""
    name, where = endpoint.provider, show_address(endpoint)
    for cause in find_causes(error):
        match cause:
            case ssl.SSLCertVerificationError():
                return Unavailable(_describe_certificate(endpoint, cause), data=dict(_FINAL))
            case ssl.SSLError() if _PLAIN_HTTP.search(str(cause)):
                return Unavailable(
                    f"{name}: {where} does not speak TLS: is it http:// or another port?",
                    data=dict(_FINAL),
                )
            case ssl.SSLEOFError() if isinstance(error, httpx.ConnectError):
                # Many a plain server hangs up on what it cannot read; one that restarts does, too.
                return Unavailable(
                    f"{name}: {where} hung up before TLS began: is it http:// or another port?"
                )
            case socket.gaierror():
                by_proxy = endpoint.proxy is not None and endpoint.unix_socket is None
                asked = f"the proxy {show_proxy(endpoint)}" if by_proxy else where
                return Unavailable(
                    f"{name} cannot be reached: the name in {asked} is not known. Check the "
                    f"address and this machine's network ({cause.strerror or cause})"
                )
            case ConnectionRefusedError() if endpoint.unix_socket is None:
                return Unavailable(
                    f"{name} cannot be reached at {where}: nothing listens there "
                    "(connection refused). Is it running, and is that its port?"
                )
            case FileNotFoundError() if endpoint.unix_socket:
                return Unavailable(f"{name} cannot be reached: there is no socket {where}")
    match error:
        case httpx.ProxyError():
            return _describe_proxy(endpoint, str(error))
        case httpx.ConnectTimeout():
            return Unavailable(f"{name} does not answer at {where}")
        case httpx.ConnectError():
            return Unavailable(f"{name} cannot be reached at {where}: {_shorten(error)}")
        case httpx.UnsupportedProtocol() | httpx.LocalProtocolError() | httpx.InvalidURL():
            return Unavailable(f"{name}: {where} cannot be asked: {error}", data=dict(_FINAL))
        case httpx.RemoteProtocolError() if "without sending a response" in str(error):
            return Unavailable(
                f"{name}: the connection broke before an answer; does {where} speak HTTP, "
                "and on this port?"
            )
        case httpx.RemoteProtocolError() if "without sending complete" in str(error):
            return Unavailable(f"{name}: the connection broke inside the answer")
        case _:
            return Unavailable(f"{name}: the connection broke: {_shorten(error)}")


def describe_late(endpoint: Endpoint, *, silence_s: float, whole_s: float | None) -> ProviderError:
    """A sentence for a server that fell silent or, with `whole_s`, whose answer does not end."""
    name = endpoint.provider
    sentence = f"{name} sent nothing for {silence_s:g} seconds"
    if whole_s is not None:
        sentence = f"{name}: the answer was not over after {whole_s / 60:g} minutes"
    return Unavailable(sentence, data=dict(_FINAL))


def describe_garbage(endpoint: Endpoint) -> ProviderError:
    """A sentence for what is neither a stream of events nor anything else that is known."""
    return BadAnswer(
        f"{endpoint.provider} answered with something that is no stream of events; is a proxy on "
        "the way, or `base_url` not that of the API?"
    )


def show_address(endpoint: Endpoint) -> str:
    """Where it is and the proxy on the way, without a name or password."""
    if endpoint.unix_socket:
        return endpoint.unix_socket
    where = _hide_user(endpoint.base_url)
    return where if endpoint.proxy is None else f"{where} by the proxy {show_proxy(endpoint)}"


def show_proxy(endpoint: Endpoint) -> str:
    """The proxy without its name and password."""
    return _hide_user(endpoint.proxy or "")


def _describe_certificate(endpoint: Endpoint, error: ssl.SSLCertVerificationError) -> str:
    name, where = endpoint.provider, show_address(endpoint)
    reason = error.verify_message or "it is not valid"
    match error.verify_code:
        case code if code in (_NOT_YET_VALID, _EXPIRED):
            advice = "check this machine's clock, else its owner must renew it"
        case code if code in _WRONG_NAME:
            advice = "the address names another host than the certificate"
        case code if code in _NO_ISSUER and endpoint.ca_file is None:
            advice = "if you trust it, name its CA's certificate in `ca_file`"
        case code if code in _NO_ISSUER:
            advice = f"no certificate in {endpoint.ca_file} (`ca_file`) vouches for it"
        case _:
            advice = "see `ca_file`"
    return f"{name}: the certificate of {where} is refused ({reason}): {advice}"


def _describe_proxy(endpoint: Endpoint, words: str) -> ProviderError:
    name, proxy = endpoint.provider, show_proxy(endpoint)
    if words.startswith("407"):
        return Unauthenticated(
            f"{name}: the proxy {proxy} wants a name and a password (HTTP 407): put them into its "
            "address, http://NAME:PASSWORD@HOST:PORT",
            data=dict(_FINAL),
        )
    status = words[:3]
    data = {} if status.isdecimal() and status >= "500" else dict(_FINAL)
    return Unavailable(
        f"{name}: the proxy {proxy} does not connect to {_hide_user(endpoint.base_url)}: {words}",
        data=data,
    )


def _hide_user(address: str) -> str:
    try:
        return str(httpx.URL(address).copy_with(userinfo=b""))
    except httpx.InvalidURL:
        return "an address that is none"


def _shorten(error: Exception) -> str:
    return (str(error) or type(error).__name__)[:300]
