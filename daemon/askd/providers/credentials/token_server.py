"""Asks a sign-in server: a form or JSON there, JSON back, whatever the status.

It opens no connection of its own and keeps nothing. What a server says is read
leniently and shown without any secret in it; a body that is no JSON object is
an empty answer.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol
from urllib.parse import urlencode, urlsplit

import trio

from askd.errors import BadAnswer, NotConfigured, ProviderError, RateLimited, Unavailable
from askd.providers.base import Endpoint, HttpCall
from askd.providers.redact import KnownSecrets

ASK_S = 30.0
"""For one question to a sign-in server."""

WORDS_CHARACTERS = 300
"""Of what a server says about an error; more is not a sentence."""

BODY_LIMIT_BYTES = 1 << 20


class Reply(Protocol):
    """An HTTP answer, whatever its status."""

    @property
    def status(self) -> int:
        """The HTTP status."""
        ...

    @property
    def body(self) -> bytes:
        """All of it, bounded."""
        ...


Ask = Callable[[Endpoint, HttpCall], Awaitable[Reply]]
"""Sends a call to an endpoint. Raises `Unavailable` if no answer comes."""

Way = Callable[[str], Endpoint]
"""The way to an address. Raises `NotConfigured` if it may not be asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a sign-in server said.

    Attributes:
        data: its JSON object, or an empty one.
        code: the word for an error (`invalid_grant`), or empty.
        words: its own sentence about the error, or empty.
    """

    status: int
    data: Mapping[str, Any] = field(repr=False)
    code: str = ""
    words: str = ""

    @property
    def is_ok(self) -> bool:
        """It said yes."""
        return 200 <= self.status < 300 and not self.code

    @property
    def is_refusal(self) -> bool:
        """It said no, and will say so again.

        By the statuses that OAuth has for that, or in words of its own: a page or a
        redirect is somebody else's, of a proxy or of a network that wants a login.
        """
        if self.is_ok or self.status >= 500 or self.status in (407, 408, 425, 429):
            return False
        return self.status in (400, 401) or bool(self.code or self.words)

    @property
    def reason(self) -> str:
        """What it says of an error, as far as it says anything."""
        return self.words or self.code or f"HTTP {self.status}"

    def read_text(self, name: str) -> str | None:
        """A field that is a non-empty text; None if it is anything else."""
        value = self.data.get(name)
        return value if isinstance(value, str) and value else None

    def read_number(self, name: str) -> float | None:
        """A field that is a number, also one in quotes; None if it is anything else."""
        value = self.data.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            return None
        try:
            number = float(value)
        except (ValueError, OverflowError):
            return None
        return number if abs(number) < 1e15 else None  # NaN and infinity are none either


class TokenServer:
    """Sign-in servers, as one provider reaches them.

    Args:
        ask: sends a call.
        way: the way to an address, and whether it may be asked.
        secrets: hides what servers repeat.
    """

    def __init__(self, ask: Ask, way: Way, secrets: KnownSecrets) -> None:
        self._ask = ask
        self._way = way
        self._secrets = secrets

    async def get(self, url: str, headers: Mapping[str, str] | None = None) -> Answer:
        """GET. Raises `Unavailable`; `NotConfigured` if the address may not be asked."""
        return await self._send(url, "GET", b"", headers or {})

    async def post_form(
        self, url: str, fields: Mapping[str, str], headers: Mapping[str, str] | None = None
    ) -> Answer:
        """POST a form, as OAuth wants it. Raises as `get`."""
        sent = {"content-type": "application/x-www-form-urlencoded", **(headers or {})}
        return await self._send(url, "POST", urlencode(fields, errors="replace").encode(), sent)

    async def post_json(self, url: str, fields: Mapping[str, str]) -> Answer:
        """POST JSON. Raises as `get`."""
        headers = {"content-type": "application/json"}
        return await self._send(url, "POST", json.dumps(fields).encode(), headers)

    async def _send(self, url: str, method: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        parts = urlsplit(url)
        way = self._way(f"{parts.scheme}://{parts.netloc}")
        # In the endpoint's headers, for those are in no `repr`, and they may hold a token.
        endpoint = replace(way, headers={"accept": "application/json", **headers})
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        with trio.move_on_after(ASK_S):
            reply = await self._ask(endpoint, HttpCall(method=method, path=path, body=body))
            return self._read(reply)
        raise Unavailable(f"{way.provider}: {parts.hostname} did not answer in {ASK_S:g} seconds")

    def _read(self, reply: Reply) -> Answer:
        try:
            data = json.loads(reply.body[:BODY_LIMIT_BYTES])
        except (ValueError, RecursionError):
            data = None
        if not isinstance(data, dict):
            data = {}
        code, words = _read_error(data)
        return Answer(
            status=reply.status,
            data=data,
            code=self._clean(code),
            words=self._clean(words),
        )

    def _clean(self, text: str) -> str:
        """What a server said, fit to be shown: no secret, no control characters, short."""
        text = " ".join(self._secrets.hide(text).split())
        text = "".join(each for each in text if each.isprintable())
        return text[:WORDS_CHARACTERS]


def explain_failure(provider: str, what: str, answer: Answer) -> ProviderError:
    """The error for an answer that is not the one hoped for."""
    sentence = f"{provider}: {what}: {answer.reason}"
    if answer.status == 429:
        return RateLimited(sentence)
    if answer.is_ok or answer.is_refusal:
        return BadAnswer(sentence)
    return Unavailable(sentence)


def explain_unrenewed(provider: str, what: str, answer: Answer, *, remedy: str) -> ProviderError:
    """The error for a sign-in that was not renewed; `remedy` is said if it never will be."""
    if answer.is_refusal:
        return NotConfigured(f"{provider}: {what} cannot be renewed ({answer.reason}): {remedy}")
    return explain_failure(provider, f"{what} could not be renewed", answer)


def _read_error(data: Mapping[str, Any]) -> tuple[str, str]:
    """The word and the sentence of an error, in the shapes that vendors have for it.

    OAuth's `{error, error_description}`, OpenAI's `{error: {code, message}}`,
    GitHub's `{message}` and `{error_details: {message}}`.
    """
    error = data.get("error")
    details = data.get("error_details")
    code, words = "", ""
    if isinstance(error, str):
        code = error
    elif isinstance(error, dict):
        code, words = (
            _text(error.get("code")) or _text(error.get("type")),
            _text(error.get("message")),
        )
    if isinstance(details, dict):
        words = words or _text(details.get("message"))
    words = words or _text(data.get("error_description"))
    if not code:
        words = words or _text(data.get("message"))
    return code, words


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
