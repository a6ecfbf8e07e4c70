"""Response bodies: judged by their first bytes, read up to a bound, left without a trace.

What every use of httpx's streams needs and httpx does not give. It decodes
nothing, knows no dialect and decides nothing about trying again.
"""

import math
from collections.abc import AsyncIterator, Mapping
from typing import Literal

import httpx
import trio

Beginning = Literal["stream", "json", "page", "garbage", "unknown"]
"""What a body is, by its first bytes; unknown: too few of them so far."""


COMPRESSIONS = frozenset({"gzip", "x-gzip", "deflate", "br", "zstd", "compress", "x-compress"})
"""What is never decoded; `content-encoding: utf-8` and other mistakes do no harm."""

ERROR_BODY_LIMIT_BYTES = 64 * 1024
"""Of an error's body; a sentence is somewhere in its first 64 KiB or nowhere."""

CLOSE_S = 5.0
"""How long a connection may take to close."""

JSON_LINES = "ollama"
"""The dialect that streams lines of JSON; all others send server-sent events."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_SSE_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")


def find_compression(headers: Mapping[str, str]) -> str | None:
    """How an answer is compressed although nobody asked for it, or None."""
    named = headers.get("content-encoding", "").lower().replace(",", " ").split()
    return next((each for each in named if each in COMPRESSIONS), None)


def judge_beginning(head: bytes, *, takes_json: bool) -> Beginning:
    """What the first bytes of an answer are the beginning of.

    `takes_json`: the dialect streams lines of JSON. Servers and proxies say all
    sorts of things in `content-type`; the bytes tell.
    """
    text = head.removeprefix(_BYTE_ORDER_MARK).lstrip()
    if not text or _BYTE_ORDER_MARK.startswith(text):
        return "unknown"
    if text[:1] in (b"{", b"["):
        return "stream" if takes_json and text[:1] == b"{" else "json"
    if text[:1] == b"<":
        return "page"
    if not takes_json and text.startswith(_SSE_FIELDS):
        return "stream"
    if not takes_json and any(field.startswith(text) for field in _SSE_FIELDS):
        return "unknown"
    return "garbage"


async def read_body(response: httpx.Response, limit: int, *, patience_s: float = math.inf) -> bytes:
    """At most `limit` bytes of the body, or what came of it within this time."""
    return await read_rest(response.aiter_raw(), b"", limit, patience_s=patience_s)


async def read_rest(
    chunks: AsyncIterator[bytes], head: bytes, limit: int, *, patience_s: float = math.inf
) -> bytes:
    """`head` and what comes after it, at most `limit` bytes in all."""
    body = bytearray(head)
    with trio.move_on_after(patience_s):
        try:
            while len(body) < limit:
                body += await anext(chunks)
        except StopAsyncIteration:
            pass
    await abandon(chunks, patience_s=0)
    return bytes(body[:limit])


async def let_go(
    response: httpx.Response | None,
    chunks: AsyncIterator[bytes] | None,
    *,
    patience_s: float = 0.0,
) -> None:
    """Let go of a connection: kept open if its body is over within this time, else closed."""
    if response is None:
        return
    try:
        if chunks is not None:
            await abandon(chunks, patience_s=patience_s)
    finally:
        with trio.CancelScope(deadline=trio.current_time() + CLOSE_S, shield=True):
            await response.aclose()


async def abandon(chunks: AsyncIterator[bytes], *, patience_s: float) -> None:
    """Read what comes within this time, then stop reading.

    Closing an httpx generator that waits at a `yield` leaves its inner generators
    to the garbage collector; cancelling its read unwinds all of them, here and now.
    """
    with trio.move_on_after(patience_s):
        try:
            while True:
                await anext(chunks)
        except (StopAsyncIteration, httpx.HTTPError):
            pass
