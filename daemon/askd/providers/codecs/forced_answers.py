"""What a model writes that calls tools in forced JSON, as the events of any other model.

A call becomes a call when it is whole; an answer's text is shown as it comes, taken out of
its quotes. What is in no such form is handed on as it was written: nothing is lost, and
nothing is guessed to be a call.
"""

import json
import re
from collections import deque
from collections.abc import AsyncIterator
from typing import Any

from askd.providers.base import CallDelta, Ended, Stopped, StreamEvent, TextDelta
from askd.providers.codecs.forced_calls import ANSWER, ARGUMENTS, NEXT, TOOL
from askd.providers.codecs.lenient import read_text, write_json

_ANSWER = re.compile(rf'\s*\{{\s*"{NEXT}"\s*:\s*\{{\s*"{ANSWER}"\s*:\s*"')
_WRITTEN = re.compile(r'(?:[^"\\]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+')
"""So much of a JSON string as is whole."""
_HALF = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\Z")
"""The first half of a character that JSON writes as two."""


class ForcedAnswer:
    """Reads one answer. `is_structured`: an answer is JSON of its own, not a text."""

    def __init__(self, *, is_structured: bool) -> None:
        self._is_structured = is_structured
        self._written = ""
        self._place: int | None = None  # in it: where the answer's text goes on
        self._is_plain = False
        self._is_over = False

    def feed(self, event: StreamEvent) -> list[StreamEvent]:
        """The events that this one makes."""
        match event:
            case TextDelta(text):
                return self._take(text)
            case Stopped() | Ended():
                return [*self._finish(), event]
            case _:
                return [event]

    def _take(self, text: str) -> list[StreamEvent]:
        if self._is_plain:
            return [TextDelta(text)]
        self._written += text
        start = self._written.lstrip()[:1]
        if start and start != "{":
            self._is_plain, written = True, self._written
            return [TextDelta(written)]
        if self._place is None and not self._is_structured:
            found = _ANSWER.match(self._written)
            self._place = None if found is None else found.end()
        return [] if self._place is None else self._show(self._place)

    def _show(self, place: int) -> list[StreamEvent]:
        """What of the answer's text is whole and was not shown."""
        found = _WRITTEN.match(self._written, place)
        written = "" if found is None else found[0]
        is_closed = self._written[place + len(written) :].startswith('"')
        if not is_closed:
            written = _HALF.sub("", written)
        self._place = place + len(written)
        said = read_text(json.loads(f'"{written}"', strict=False))
        return [TextDelta(said)] if said else []

    def _finish(self) -> list[StreamEvent]:
        """What it was, if that could not be told before its end."""
        if self._is_over or self._is_plain or self._place is not None:
            return []
        self._is_over = True
        try:
            said: Any = json.loads(self._written)[NEXT]
            if ANSWER in said:
                is_text = isinstance(said[ANSWER], str) and not self._is_structured
                text = read_text(said[ANSWER]) if is_text else write_json(said[ANSWER])
                return [TextDelta(text)]
            arguments = write_json(said[ARGUMENTS])
            return [CallDelta(0, name=read_text(said[TOOL]), arguments=arguments)]
        except (ValueError, LookupError, TypeError, RecursionError):
            return [TextDelta(self._written)] if self._written else []


class ForcedEvents:
    """An answer's events, read as they come. No generator: it may be left at any place."""

    def __init__(self, events: AsyncIterator[StreamEvent], *, is_structured: bool) -> None:
        self._events = events
        self._answer = ForcedAnswer(is_structured=is_structured)
        self._ready: deque[StreamEvent] = deque()

    def __aiter__(self) -> "ForcedEvents":
        return self

    async def __anext__(self) -> StreamEvent:
        while not self._ready:
            self._ready.extend(self._answer.feed(await anext(self._events)))
        return self._ready.popleft()
