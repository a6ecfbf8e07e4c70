"""A conversation followed for as long as one likes, whoever asks in it."""

import math
from collections.abc import Iterator
from types import TracebackType

from ask.library.errors import misuse, translated
from ask.library.events import Event
from ask.library.link import Link
from ask.library.stream import Stream


class Subscription:
    """What happens in a conversation: iterate over it, or `wait` for one event at a time.

    It survives gaps and daemons that go away and come back: each event comes once and in
    order. Texts of answers come in pieces that add up to each message. After 30 seconds
    without any daemon it raises `ConnectionLost`, and reading again tries again; when the
    conversation is deleted it raises `NotFound`. `close` ends it.
    """

    def __init__(
        self, link: Link, conversation_id: str, *, since: int, interactive: bool = False
    ) -> None:
        self.conversation_id = conversation_id
        self._link = link
        self._stream = Stream(link, conversation_id, seq=since, interactive=interactive)
        self._closed = False

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        if self._closed:
            raise StopIteration
        event = self.wait()
        assert event is not None, "a wait without a limit brings something"
        return event

    def wait(self, timeout_s: float | None = None) -> Event | None:
        """The next event; None: there was none within `timeout_s`.

        Raises:
            UsageError: that is no number of seconds, or it is closed.
        """
        self._link.check()
        if self._closed:
            raise misuse("This subscription is closed.")
        if timeout_s is not None and math.isnan(timeout_s):
            raise misuse("A time to wait is a number of seconds.")
        with translated(self.conversation_id):
            return self._stream.wait(timeout_s)

    def close(self) -> None:
        """Follow it no more."""
        self._closed = True
        self._stream.close()

    def __enter__(self) -> "Subscription":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
