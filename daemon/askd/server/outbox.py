"""What waits to be written to one connection: a queue that is bounded and never waits.

Answers are always taken, since the requests in flight are counted elsewhere.
What a subscription offers is taken while there is room; without room the
subscription copes (see `peer`). One task writes; while it has nothing to write,
a frame goes straight into the socket, as far as that takes it without a wait.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import trio

NOTIFICATIONS_LIMIT = 1024
NOTIFICATIONS_LIMIT_BYTES = 1024 * 1024
"""What subscriptions may have waiting, both counted: many small deltas, or one large event."""
WRITE_BYTES = 64 * 1024
"""Joined and written at once; what is slower than this in `WRITE_LIMIT_S` is stuck."""
WRITE_LIMIT_S = 10.0


class Waiting(NamedTuple):
    """A frame in the queue; `source` is the subscription that offered it, if one did."""

    frame: bytes
    source: object | None = None
    droppable: bool = False
    on_sent: Callable[[], None] | None = None


class Outbox:
    """The frames of one connection, in the order in which they will be written."""

    def __init__(self) -> None:
        self._queue: deque[Waiting] = deque()
        self._notifications = 0
        self._notification_bytes = 0
        self._wake = trio.Event()
        self._finishing = False
        self._holding = False
        self._idle: trio.SocketStream | None = None  # the stream while its writer waits

    @contextmanager
    def together(self) -> Iterator[None]:
        """Write what is taken in the block in one go, behind it; the block must not wait.

        Each write wakes the peer, which takes as long as writing all of it.
        """
        self._holding = True
        try:
            yield
        finally:
            self._holding = False
            if self._queue:
                self._write_queue()

    def post(self, frame: bytes, *, on_sent: Callable[[], None] | None = None) -> None:
        """Take a frame that must be written; `on_sent` is called when it has been."""
        rest = self._write_now(frame)
        if rest is not None:
            self._add(Waiting(rest, on_sent=on_sent))
        elif on_sent is not None:
            on_sent()

    def offer(self, frame: bytes, *, source: object, droppable: bool) -> bool:
        """Take a subscription's frame; False: there is no room."""
        rest = self._write_now(frame)
        if rest is None:
            return True
        if rest is not frame:  # it must follow, whatever else is left out
            self._add(Waiting(rest, source))
            return True
        room = NOTIFICATIONS_LIMIT_BYTES - self._notification_bytes
        # One frame always fits: a single event may be as large as the limit.
        if self._notifications and (
            self._notifications >= NOTIFICATIONS_LIMIT or len(frame) > room
        ):
            return False
        self._add(Waiting(frame, source, droppable))
        return True

    def drop_from(self, source: object) -> None:
        """Leave out what of this subscription may be left out."""
        kept = [w for w in self._queue if not (w.source is source and w.droppable)]
        self._queue = deque(kept)
        waiting = [w for w in kept if w.source is not None]
        self._notifications = len(waiting)
        self._notification_bytes = sum(len(w.frame) for w in waiting)

    def finish(self) -> None:
        """Nothing more will come: `write_all` ends when the queue is empty."""
        self._finishing = True
        self._wake.set()

    async def write_all(self, stream: trio.abc.SendStream) -> None:
        """Write until finished.

        Raises `trio.TooSlowError` when one write is stuck, `trio.BrokenResourceError`
        when the peer is gone. The stream may then hold half a frame: close it.
        """
        while True:
            while not self._queue:
                if self._finishing:
                    return
                self._wake = trio.Event()
                self._idle = stream if isinstance(stream, trio.SocketStream) else None
                try:
                    await self._wake.wait()
                finally:
                    self._idle = None
            batch = self._take()
            content = memoryview(b"".join(each.frame for each in batch))
            for start in range(0, len(content), WRITE_BYTES):
                with trio.fail_after(WRITE_LIMIT_S):
                    await stream.send_all(content[start : start + WRITE_BYTES])
            _tell_sent(batch)

    def _add(self, waiting: Waiting) -> None:
        self._queue.append(waiting)
        if waiting.source is not None:
            self._notifications += 1
            self._notification_bytes += len(waiting.frame)
        if not self._holding:
            self._wake.set()

    def _write_now(self, frame: bytes) -> bytes | None:
        """Write what the socket takes without a wait; what is left of it, None: nothing."""
        if self._holding or self._queue or self._idle is None:
            return frame
        return self._try_write(frame, self._idle)

    def _try_write(self, frame: bytes, stream: trio.SocketStream) -> bytes | None:
        try:
            # Asked for each time: a descriptor that was closed may be another file's by now.
            written = os.write(stream.socket.fileno(), frame)
        except OSError:
            return frame  # it is full, or broken: the writer's task finds out
        return frame[written:] if written < len(frame) else None

    def _write_queue(self) -> None:
        """Write what waits if nobody else does; what the socket does not take is the task's."""
        if self._idle is not None:
            batch = self._take()
            rest = self._try_write(b"".join(each.frame for each in batch), self._idle)
            sent = partial(_tell_sent, batch)
            if rest is None:
                sent()
            else:  # it must follow, whatever else is left out
                self._queue.appendleft(Waiting(rest, on_sent=sent))
        if self._queue:
            self._wake.set()

    def _take(self) -> list[Waiting]:
        batch: list[Waiting] = []
        size = 0
        while self._queue and size < WRITE_BYTES:
            waiting = self._queue.popleft()
            if waiting.source is not None:
                self._notifications -= 1
                self._notification_bytes -= len(waiting.frame)
            size += len(waiting.frame)
            batch.append(waiting)
        return batch


def _tell_sent(batch: Sequence[Waiting]) -> None:
    for each in batch:
        if each.on_sent is not None:
            each.on_sent()
