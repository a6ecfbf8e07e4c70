"""HTTP as the SDK's client of MCP meets it: with a token, and never with a riddle.

It stands between the SDK and the roads. Every request to the server gets the settings' headers
and its token, and nothing that goes elsewhere gets either. What comes back that is no answer of
MCP (a refusal, a redirect, a page, a connection that breaks) is given to the SDK as an error of
the protocol with a sentence, so that one failed call is an error of that call and ends nothing
else. A session that the server has lost is begun anew once, and the request sent again: by the
protocol, a server that does not know a session has done nothing of what it was asked in it.
"""

import json
import math
from collections.abc import Callable, Mapping
from contextlib import aclosing
from typing import Any

import httpx2
import trio
from mcp.types import INTERNAL_ERROR

from askd.tools.base import CannotRun
from askd.tools.mcp.configs import ServerConfig
from askd.tools.mcp.http_roads import CLOSE_S
from askd.tools.mcp.http_words import (
    explain_nonsense,
    explain_redirect,
    explain_slowness,
    explain_status,
    explain_trouble,
    explain_type,
)
from askd.tools.mcp.ways import HttpWay, Token, find_origin

SESSION = "mcp-session-id"
NOTICE_S = 10.0
"""For the server to take a notification: the SDK sends nothing else until it has."""
RENEW_S = 20.0
"""To begin a new session in the middle of a call."""
LISTEN_EVERY_S = 0.25
"""Between two streams: a server that ends each at once, and says to come back at once, would keep
the SDK at nothing else."""
ERROR_LIMIT_BYTES = 64 * 1024
KEPT = ("location",)
"""Of the headers, where nothing else is of interest."""

Message = Mapping[str, Any]
Fail = Callable[[str], None]


class Wire(httpx2.AsyncBaseTransport):
    """One session with a server.

    Args:
        roads: sends requests and bounds what comes back.
        way: whose token is sent.
        fail: is told why the session could not be begun.
    """

    def __init__(
        self, config: ServerConfig, roads: httpx2.AsyncBaseTransport, way: HttpWay, *, fail: Fail
    ) -> None:
        self._config = config
        self._roads = roads
        self._way = way
        self._fail = fail
        self._origin = find_origin(config.url or "")
        self._first: httpx2.Request | None = None  # that began the session
        self._session: str | None = None
        self._renewing = trio.Lock()
        self._listened_at = -math.inf

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer a request of the SDK's; raises nothing that would end its session."""
        await request.aread()
        message = _read_message(request)
        try:
            if message is not None and "id" in message and "method" in message:
                return await self._ask(request, message)
            if request.method == "GET":
                return await self._listen(request)
            return await self._tell(request)
        except (CannotRun, httpx2.SSEError) as error:
            return self._refuse(message, 502, str(error))
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError) as error:
            return self._refuse(message, 502, explain_trouble(self._config, error))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._roads.aclose()

    async def _listen(self, request: httpx2.Request) -> httpx2.Response:
        """Open a stream on which the server speaks, as fast as anybody needs and no faster."""
        opened_at, now = self._listened_at, trio.current_time()
        self._listened_at = max(now, opened_at + LISTEN_EVERY_S)
        await trio.sleep_until(self._listened_at)
        return (await self._send(request))[0]

    async def _tell(self, request: httpx2.Request) -> httpx2.Response:
        """Send what has no answer; of what comes back, the status counts."""
        limit_s = CLOSE_S if request.method == "DELETE" else NOTICE_S
        with trio.move_on_after(limit_s):
            response, _ = await self._send(request)
            await _read(response, ERROR_LIMIT_BYTES)
            await response.aclose()
            kept = {each: response.headers[each] for each in KEPT if each in response.headers}
            return httpx2.Response(response.status_code, headers=kept)
        raise CannotRun(explain_slowness(self._config, limit_s))

    async def _ask(self, request: httpx2.Request, message: Message) -> httpx2.Response:
        """Send a request of MCP, and give its answer or a sentence."""
        if message["method"] == "initialize":
            self._first, self._session = request, None
        response, token = await self._send(request)
        in_session = SESSION in request.headers
        is_lost = response.status_code == 404 and in_session
        if is_lost and await self._renew(request.headers[SESSION]):
            await response.aclose()
            response, token = await self._send(request)
        return await self._judge(response, message, token=token, in_session=in_session)

    async def _send(self, request: httpx2.Request) -> tuple[httpx2.Response, Token | None]:
        """With what the settings and a sign-in give; once more where another token is to be had."""
        if find_origin(str(request.url)) != self._origin:
            raise CannotRun(explain_redirect(self._config, str(request.url)))
        for name, value in self._config.headers.items():
            request.headers[name] = value
        if self._session is not None and SESSION in request.headers:
            request.headers[SESSION] = self._session
        token = await self._way.tokens.fetch(self._config)
        _put(request, token)
        response = await self._roads.handle_async_request(request)
        if response.status_code == 401 and token is not None:
            other = await self._way.tokens.renew(self._config, token)
            if other is not None:
                await response.aclose()
                token = other
                _put(request, token)
                response = await self._roads.handle_async_request(request)
        response.request = request
        return response, token

    async def _renew(self, lost: str) -> bool:
        """Begin a session in place of a lost one; False: the server would not."""
        async with self._renewing:
            if self._first is None or (self._session is not None and self._session != lost):
                return self._session is not None  # somebody else was faster
            with trio.move_on_after(RENEW_S):
                first = _copy(self._first, self._first.content)
                response, _ = await self._send(first)
                found = response.headers.get(SESSION)
                is_begun = response.status_code == 200 and found is not None
                if is_begun:
                    # Its answer must have come whole; what it says was said before.
                    await _read(response, ERROR_LIMIT_BYTES, stop_at=b"\n\n")
                await response.aclose()
                if not is_begun:
                    return False
                self._session = found
                ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
                notice = _copy(self._first, json.dumps(ready).encode())
                notice.headers[SESSION] = found or ""
                response, _ = await self._send(notice)
                await response.aclose()
                return response.status_code < 400
        return False

    async def _judge(
        self, response: httpx2.Response, message: Message, *, token: Token | None, in_session: bool
    ) -> httpx2.Response:
        """The response to a request as the SDK may have it."""
        config, status = self._config, response.status_code
        kind = response.headers.get("content-type", "").lower()
        is_json = kind.startswith("application/json")
        if status == 200 and kind.startswith("text/event-stream"):
            self._note_session(response, message)
            return response
        if status == 200 and is_json:
            self._note_session(response, message)
            body = await response.aread()
            if not _is_message(body):
                return self._refuse(message, 502, explain_nonsense(config))
            return response
        if 300 <= status < 400:
            location = response.headers.get("location", "")
            target = str(response.request.url.join(location)) if location else ""
            if response.has_redirect_location and find_origin(target) == self._origin:
                return response  # the SDK follows it, as far as it may
            sentence = explain_redirect(config, target)
        elif status < 300:
            sentence = explain_type(config, kind) if status == 200 else explain_nonsense(config)
        else:
            if is_json and status not in (401, 403):
                body = await _read(response, ERROR_LIMIT_BYTES)
                if _is_error(body):
                    await response.aclose()
                    return _answer(response.request, status, body)
            sentence = explain_status(config, status, token=token, in_session=in_session)
        await response.aclose()
        return self._refuse(message, max(status, 400), sentence)

    def _note_session(self, response: httpx2.Response, message: Message) -> None:
        if message["method"] == "initialize":
            self._session = response.headers.get(SESSION)

    def _refuse(self, message: Message | None, status: int, sentence: str) -> httpx2.Response:
        """An answer that the SDK takes for the server's, with our sentence in it."""
        sentence = self._way.hide(sentence)
        if message is not None and message.get("method") == "initialize":
            self._fail(sentence)
        error = {"code": INTERNAL_ERROR, "message": sentence}
        id = None if message is None else message.get("id")
        body = json.dumps({"jsonrpc": "2.0", "id": id, "error": error}).encode()
        return _answer(None, status, body)


def _put(request: httpx2.Request, token: Token | None) -> None:
    if token is not None:
        request.headers["authorization"] = f"Bearer {token.value}"


def _copy(request: httpx2.Request, content: bytes) -> httpx2.Request:
    """The same request with another body."""
    headers = {
        name: value
        for name, value in request.headers.items()
        if name not in (SESSION, "content-length", "host")
    }
    return httpx2.Request(request.method, request.url, headers=headers, content=content)


def _answer(request: httpx2.Request | None, status: int, body: bytes) -> httpx2.Response:
    return httpx2.Response(
        status, headers={"content-type": "application/json"}, content=body, request=request
    )


def _read_message(request: httpx2.Request) -> Message | None:
    """What the SDK says in this request; None: nothing."""
    if request.method != "POST":
        return None
    found = _parse(request.content)
    return found if isinstance(found, dict) else None


def _is_message(body: bytes) -> bool:
    found = _parse(body)
    return isinstance(found, dict) and "jsonrpc" in found


def _is_error(body: bytes) -> bool:
    """Whether a refusal says why in the protocol's own words."""
    found = _parse(body)
    error = found.get("error") if isinstance(found, dict) and "jsonrpc" in found else None
    return isinstance(error, dict) and isinstance(error.get("message"), str)


def _parse(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


async def _read(response: httpx2.Response, limit_bytes: int, *, stop_at: bytes = b"\0") -> bytes:
    """The beginning of a body, up to what is looked for."""
    body = bytearray()
    async with aclosing(response.aiter_raw()) as pieces:
        async for piece in pieces:
            body += piece
            if len(body) > limit_bytes or stop_at in body:
                break
    return bytes(body[:limit_bytes])
