"""Stream events without known secrets: a server that echoes the key back is not passed on.

Text is held back only where a secret may have begun (`redact`), and never
longer than its own kind goes on: text before a call is whole before the call
is seen. It hides exact values and judges nothing else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from askd.providers.base import (
    CallDelta,
    ReasoningDelta,
    ReasoningSealed,
    StreamEvent,
    TextDelta,
    UsageReported,
)
from askd.providers.redact import KnownSecrets, StreamRedactor


class Screen:
    """Events in, events out; one for each answer."""

    def __init__(self, secrets: KnownSecrets) -> None:
        self._secrets = secrets
        self._text = StreamRedactor(secrets)
        self._reasoning = StreamRedactor(secrets)
        self._calls: dict[int, StreamRedactor] = {}

    def feed(self, events: Sequence[StreamEvent]) -> list[StreamEvent]:
        """The same events, without what must not be shown, and without those that say nothing."""
        shown: list[StreamEvent] = []
        for event in events:
            if type(event) is TextDelta:  # by far the most of them, so it comes before the match
                if self._reasoning.held:
                    self._flush_reasoning(shown)
                text = self._text.feed(event.text)
                if text:
                    shown.append(event if text is event.text else TextDelta(text))
                continue
            match event:
                case ReasoningDelta(text):
                    self._flush_text(shown)
                    text = self._reasoning.feed(text)
                    if text:
                        shown.append(event if text is event.text else ReasoningDelta(text))
                case CallDelta():
                    self._flush_text(shown)
                    self._flush_reasoning(shown)
                    self._take_call(event, shown)
                case ReasoningSealed(raw):
                    self._flush_reasoning(shown)
                    shown.append(event if raw is None else ReasoningSealed(self._hide_map(raw)))
                case UsageReported():
                    shown.append(event)
                case _:  # a stop, an end, a failure: nothing more comes
                    shown += self.flush()
                    shown.append(event)
        return shown

    def flush(self) -> list[StreamEvent]:
        """What was held back, when nothing more comes."""
        shown: list[StreamEvent] = []
        self._flush_reasoning(shown)
        self._flush_text(shown)
        for index, redactor in self._calls.items():
            rest = redactor.flush()
            if rest:
                shown.append(CallDelta(index, arguments=rest))
        return shown

    def _flush_text(self, shown: list[StreamEvent]) -> None:
        if self._text.held:
            shown.append(TextDelta(self._text.flush()))

    def _flush_reasoning(self, shown: list[StreamEvent]) -> None:
        if self._reasoning.held:
            shown.append(ReasoningDelta(self._reasoning.flush()))

    def _take_call(self, event: CallDelta, shown: list[StreamEvent]) -> None:
        redactor = self._calls.get(event.index)
        if redactor is None:
            redactor = self._calls[event.index] = StreamRedactor(self._secrets)
        arguments = redactor.feed(event.arguments)
        call_id, name = self._hide(event.call_id), self._hide(event.name)
        if arguments or call_id or name:
            shown.append(replace(event, call_id=call_id, name=name, arguments=arguments))

    def _hide(self, text: str | None) -> str | None:
        return self._secrets.hide(text) if text else text

    def hide_in(self, value: Any) -> Any:
        """A value of JSON without secrets, in whatever it holds."""
        match value:
            case str():
                return self._secrets.hide(value)
            case Mapping():
                return self._hide_map(value)
            case list() | tuple():
                return [self.hide_in(each) for each in value]
            case _:
                return value

    def _hide_map(self, raw: Mapping[str, Any]) -> Mapping[str, Any]:
        return {self._secrets.hide(name): self.hide_in(value) for name, value in raw.items()}
