"""The pure part of signing in with a browser: PKCE, the address there, the address back, claims.

RFC 6749, 7636 and 8252. It reads the claims of tokens and does not check their
signatures: they came from the issuer itself over TLS, or from a file that is the
user's own, and nothing is decided by them but when to renew and what to show.
"""

import base64
import binascii
import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from askd.errors import RequestError
from askd.providers.credentials.sign_in import fail_login

RANDOM_BYTES = 32
"""For a verifier, a state or a nonce: 43 characters, the least that RFC 7636 lets a verifier be."""

TOKEN_LIMIT_CHARACTERS = 64 * 1024
"""Of a token that is read for its claims."""

PASTED_LIMIT_CHARACTERS = 16 * 1024


@dataclass(frozen=True, slots=True)
class Attempt:
    """What one sign-in has made up: only whoever began it can finish it."""

    verifier: str = field(repr=False)
    state: str = field(repr=False)
    nonce: str = field(repr=False)

    @property
    def challenge(self) -> str:
        """What the server is told of the verifier (S256)."""
        digest = hashlib.sha256(self.verifier.encode("ascii")).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """What the browser came back with; `issuer`: the server that says so (RFC 9207)."""

    code: str = field(repr=False)
    client_id: str | None = None
    issuer: str | None = None


def make_attempt() -> Attempt:
    """A new one, from the system's randomness."""
    return Attempt(*(secrets.token_urlsafe(RANDOM_BYTES) for _ in range(3)))


def make_url(address: str, fields: Mapping[str, str]) -> str:
    """The address to open in a browser."""
    mark = "&" if urlsplit(address).query else "?"
    return f"{address}{mark}{urlencode(fields)}"


def read_return(address: str, attempt: Attempt) -> Returned:
    """What an address that the browser ended at says.

    Whole addresses, paths with a query, and a query alone are understood: people
    paste what they can get hold of.

    Raises:
        RequestError: it is not an address of this sign-in; another may still come.
        NotConfigured: the server says that the sign-in failed (`login_failed`).
    """
    address = address.strip()
    if len(address) > PASTED_LIMIT_CHARACTERS:
        raise RequestError("That is too long for the address that the browser ended at.")
    try:
        query = urlsplit(address).query or address.lstrip("?")
    except ValueError:
        query = ""
    pairs = parse_qsl(query, keep_blank_values=True)
    found = dict(pairs)
    if len(found) != len(pairs):
        raise RequestError("That address says something twice; it is not of this sign-in.")
    # Compared in constant time, for a web page could try states at the loopback.
    state = found.get("state", "")
    if not secrets.compare_digest(state.encode(errors="replace"), attempt.state.encode()):
        raise RequestError(
            "That is not the address of this sign-in: copy all of the one that the browser ended "
            "at, up to the last character."
        )
    if "error" in found:
        words = found.get("error_description") or found["error"]
        words = "".join(each for each in words if each.isprintable())[:300]
        raise fail_login(f"The sign-in was not allowed: {words}")
    if not found.get("code"):
        raise RequestError("That address holds no code; it is not the one the browser ended at.")
    return Returned(
        code=found["code"],
        client_id=found.get("client_id") or None,
        issuer=found.get("iss") or None,
    )


def read_claims(token: object) -> Mapping[str, Any]:
    """The claims of a JWT, unverified; nothing if it is none."""
    if not isinstance(token, str) or len(token) > TOKEN_LIMIT_CHARACTERS:
        return {}
    parts = token.split(".")
    if len(parts) != 3:
        return {}
    try:
        padded = parts[1] + "=" * (-len(parts[1]) % 4)
        claims = json.loads(base64.urlsafe_b64decode(padded))
    except (ValueError, binascii.Error, RecursionError):
        return {}
    return claims if isinstance(claims, dict) else {}


def read_expiry(token: object) -> float | None:
    """When a token ends by its own word, in unix seconds."""
    value = read_claims(token).get("exp")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e12:
        return None
    return float(value)


def read_account(token: object) -> str | None:
    """Whose an id token is: the address, else the name."""
    claims = read_claims(token)
    for name in ("email", "name"):
        value = claims.get(name)
        if isinstance(value, str) and value.isprintable() and value:
            return value[:200]
    return None
