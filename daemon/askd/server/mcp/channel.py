"""The lines of one face: taken from a connection piece by piece, and written to it in pieces.

Bounded both ways. A line that is too long is passed over and said to be; of what goes out
one piece waits at a time, so that who does not read stops who speaks. What a line means is
not known here, and the SDK is not needed.
"""

import trio

from ask.protocol.frames import encode_notification
from askd.errors import RequestError
from askd.server.outbox import Outbox

LINE_BYTES = 2 * 1024 * 1024
"""Of one line that comes in: the longest prompt, whatever JSON makes of its characters."""
PIECE_BYTES = 256 * 1024
"""Of a line that goes out: several fit a message, and none holds up the others for long."""


class TooLong(Exception):
    """A line was longer than `LINE_BYTES`; the next one is read from its beginning."""


class Channel:
    """What goes to and fro between a connection and its face.

    Attributes:
        is_over: the connection has gone, or the face is closed: nothing goes in or out.
        lines: every line until the channel is closed, without its end.
        ended: set when the face has ended.
        scope: of the face's task.
    """

    def __init__(self, outbox: Outbox) -> None:
        self.is_over = False
        self.ended = trio.Event()
        self.scope = trio.CancelScope()
        self._outbox = outbox
        self._writing = trio.Lock()
        self._line = bytearray()
        self._is_too_long = False
        self._taking = False
        self._send, self.lines = trio.open_memory_channel[bytes | TooLong](0)

    # ---- what comes in ---------------------------------------------------------

    async def take(self, piece: bytes, *, more: bool) -> None:
        """Take the next piece of a line; return once the face has taken the line.

        Raises:
            RequestError: the face is closed, or the piece before is still being taken.
        """
        if self.is_over:
            raise RequestError("mcp/send: the face is closed.", reason="no_face")
        if self._taking:
            raise RequestError("mcp/send: one at a time; wait for the answer to the last.")
        self._keep(piece)
        if more:
            return
        line: bytes | TooLong = TooLong() if self._is_too_long else bytes(self._line)
        self._line.clear()
        self._is_too_long = False
        self._taking = True
        try:
            await self._send.send(line)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            raise RequestError("mcp/send: the face has ended.", reason="no_face") from None
        finally:
            self._taking = False

    def _keep(self, piece: bytes) -> None:
        if self._is_too_long or len(self._line) + len(piece) > LINE_BYTES:
            self._is_too_long = True
            self._line.clear()
        else:
            self._line += piece

    def close(self) -> None:
        """No more lines come: the face ends when it has answered what it can."""
        self.is_over = True
        self._send.close()

    def leave(self) -> None:
        """The connection has gone: the face ends at once."""
        self.close()
        self.scope.cancel()

    # ---- what goes out ---------------------------------------------------------

    async def say(self, line: bytes) -> None:
        """Write a line; return once it is on its way to whoever reads."""
        async with self._writing:
            for start in range(0, max(len(line), 1), PIECE_BYTES):
                piece = line[start : start + PIECE_BYTES]
                sent = trio.Event()
                told = {"bytes": piece, "more": start + PIECE_BYTES < len(line)}
                self._outbox.post(encode_notification("mcp/message", told), on_sent=sent.set)
                await sent.wait()

    def end(self, why: str | None) -> None:
        """The face has ended; `why`: a sentence, if nobody asked it to."""
        self.is_over = True
        self._send.close()
        self.lines.close()
        self.ended.set()
        if why is not None:
            self._outbox.post(encode_notification("mcp/closed", {"message": why}))
