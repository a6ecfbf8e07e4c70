"""Server-sent events whose data is a JSON object, as OpenAI's dialects send them.

It splits and parses, and says what is no object; what an object means is for
the decoder that asks. Blank data is a sign of life and passes over.
"""

from dataclasses import dataclass

from askd.errors import BadAnswer
from askd.providers.codecs.lenient import Json, parse_object
from askd.providers.codecs.sse import EventSplitter

DONE = "[DONE]"
"""What ends a stream of Chat Completions, in place of an object."""


@dataclass(frozen=True, slots=True)
class JsonEvent:
    """One event: its name and its object. `body` None: it was the word `[DONE]`."""

    name: str
    body: Json | None


class JsonEvents:
    """Bytes in, whole events out, however the bytes were cut."""

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._splitter = EventSplitter(provider)

    def feed(self, data: bytes) -> list[JsonEvent | BadAnswer]:
        """Every event that is whole after these bytes; a `BadAnswer` for one that is no object.

        Raises:
            BadAnswer: a line, an event or the stream is over its cap.
        """
        pieces = ((split.name, split.data.strip()) for split in self._splitter.feed(data))
        return [self._parse(name, text) for name, text in pieces if text]

    def _parse(self, name: str, text: str) -> JsonEvent | BadAnswer:
        if text == DONE:
            return JsonEvent(name, None)
        body = parse_object(text)
        if body is None:
            return BadAnswer(f"{self._provider} sent an event that is not a JSON object.")
        return JsonEvent(name, body)
