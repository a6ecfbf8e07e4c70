"""A server that is a program: JSON-RPC lines over its standard streams.

The program is started through the launcher, so that nothing of it is left when its session
ends or the daemon is killed. It gets no variable but those it is given. What it writes is
bounded: a line in its length, lines that are no messages in their number, all of it in how
fast it may come. It is imported without the SDK, and loads it when a program is started.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from os.path import expanduser
from typing import TYPE_CHECKING

import trio

from askd.processes.supervise import CannotStart, Child, Command, open_child
from askd.tools.base import CannotRun
from askd.tools.mcp.configs import ServerConfig
from askd.tools.mcp.journal import Journal
from askd.tools.mcp.lines import (
    EDGE_BYTES,
    LINE_BYTES,
    Lines,
    TooLong,
    find_answered,
    is_asked,
    is_overloaded,
)
from askd.tools.mcp.paces import MESSAGES_AT_ONCE, MESSAGES_PER_S, Pace
from askd.tools.mcp.transports import Streams
from askd.tools.mcp.ways import Discretion

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.shared.message import SessionMessage

LEAVE_S = 1.0
"""From the closing of its standard input, which the protocol has for a farewell, to SIGTERM."""
GRACE_S = 2.0
"""From SIGTERM to SIGKILL."""
END_S = 1.0
"""For its status to be told when its output has ended."""
PROCESSES = 512
"""Of one server, its descendants among them: one that drives a browser has a hundred."""
READ_BYTES = 64 * 1024
MOST_NONSENSE = 1000
"""Lines in a row that are no messages; a start script that greets writes a few."""
SHOWN_NONSENSE = 20
"""Of these, in the log."""
MOST_FLOOD = 60_000
"""Messages without a pause: two minutes of them."""
FLOOD = "It sent more messages than can be looked at, without a pause."
STDERR_PER_S, STDERR_AT_ONCE = 1 << 20, 4 << 20
"""Bytes. More than this nobody reads, and only the end is kept."""
STREAM_BYTES_PER_S, STREAM_BYTES_AT_ONCE = 64 << 20, 256 << 20
"""Of its standard output: whatever it sends at once, and no more of it than can be looked at."""
ENDLESS_BYTES = 256 << 20
"""Of a line that has not ended; whoever writes so much in one has no end in mind."""
SHOWN_BYTES = 200
"""Of a line that is no message, in the log."""


@asynccontextmanager
async def open_stdio(
    config: ServerConfig,
    *,
    journal: Journal,
    env: Mapping[str, str],
    way: Discretion | None = None,
) -> AsyncIterator[Streams]:
    """Run the program while the block runs.

    Args:
        env: what every child of the daemon may see; the configured variables win.
        way: knows what is secret; None: nothing is.

    Raises:
        CannotRun: it cannot be started.
    """
    import anyio
    from mcp.shared.message import SessionMessage

    if way is not None:
        way.learn(config)
        journal.hide = way.hide
    command = _make_command(config, env)
    received, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, to_send = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        async with received, incoming, outgoing, to_send, open_child(command) as child:
            journal.pid = child.pid
            pump = _Pump(child, journal, stuck_s=config.call_s)
            # In it: what moves its three streams. It outlives the block until it has left.
            async with trio.open_nursery() as nursery:
                nursery.start_soon(pump.read, received)
                nursery.start_soon(pump.write, to_send)
                nursery.start_soon(pump.listen)
                try:
                    yield incoming, outgoing
                finally:
                    with trio.CancelScope(shield=True):
                        await child.stdin.aclose()
                        with trio.move_on_after(LEAVE_S):
                            await child.wait()
                    nursery.cancel_scope.cancel()
    except CannotStart as error:
        raise CannotRun(f"It cannot be started: {error}.") from None
    finally:
        journal.pid = None


def _make_command(config: ServerConfig, env: Mapping[str, str]) -> Command:
    assert config.command is not None
    return Command(
        argv=[expanduser(config.command), *config.args],
        env={**env, **config.env},
        # Never where the daemon happens to stand.
        cwd=expanduser(config.cwd or env.get("HOME") or "/"),
        processes=PROCESSES,
        grace_s=GRACE_S,
    )


class _Pump:
    """Moves messages between a program's streams and the SDK's."""

    def __init__(self, child: Child, journal: Journal, *, stuck_s: float) -> None:
        self._child = child
        self._journal = journal
        self._stuck_s = stuck_s
        self._nonsense = 0

    async def read(self, received: "MemoryObjectSendStream[SessionMessage | Exception]") -> None:
        """Hand on what the program says, until it ends or says too much that means nothing.

        What comes after that is read and dropped: it must be able to write, to end.
        """
        import anyio

        lines = Lines()
        messages = Pace(per_s=MESSAGES_PER_S, burst=MESSAGES_AT_ONCE)
        stream = Pace(per_s=STREAM_BYTES_PER_S, burst=STREAM_BYTES_AT_ONCE)
        is_heard = True
        async with received:
            while data := await _receive(self._child.stdout):
                await stream.take(len(data))
                if not is_heard:
                    continue
                try:
                    for line in lines.feed(data):
                        await messages.take()
                        if messages.since_rest > MOST_FLOOD:
                            raise _TooMuch(FLOOD)
                        message = self._parse(line)
                        if message is not None:
                            await received.send(message)
                    if lines.pending_bytes > ENDLESS_BYTES:
                        raise _TooMuch("It wrote a line that does not end.")
                except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                    is_heard = False  # the session is over
                except _TooMuch as error:
                    self._journal.end(str(error))
                    await received.aclose()
                    is_heard = False
            with trio.move_on_after(END_S):
                self._journal.end(_describe(await self._child.wait()))
            self._journal.end("It closed its standard output.")

    async def write(self, to_send: "MemoryObjectReceiveStream[SessionMessage]") -> None:
        """Hand on what the program is told; a line is written whole or the program is ended."""
        async with to_send:
            async for message in to_send:
                line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                with trio.move_on_after(self._stuck_s) as limit:
                    try:
                        await self._child.stdin.send_all(line.encode() + b"\n")
                    except (trio.BrokenResourceError, trio.ClosedResourceError):
                        # When it has ended, that is the reason; `read` hears of it.
                        await trio.sleep(END_S)
                        self._journal.end("It closed its standard input.")
                        break
                if limit.cancelled_caught:
                    self._journal.end("It does not read what it is sent.")
                    break

    async def listen(self) -> None:
        """Keep the end of its standard error."""
        pace = Pace(per_s=STDERR_PER_S, burst=STDERR_AT_ONCE)
        while data := await _receive(self._child.stderr):
            await pace.take(len(data))
            self._journal.feed(data)

    def _parse(self, line: bytes | TooLong) -> "SessionMessage | None":
        """The message of a line; None: it is none, or one that is not handed on."""
        from mcp.shared.message import SessionMessage
        from mcp.types import jsonrpc_message_adapter

        if isinstance(line, TooLong):
            return self._refuse(line.head, line.tail, line.total_bytes)
        if is_overloaded(line):
            return self._refuse(line[:EDGE_BYTES], line[-EDGE_BYTES:], len(line))
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except (ValueError, RecursionError):
            return self._pass_over(line)
        self._nonsense = 0
        return SessionMessage(message)

    def _pass_over(self, line: bytes) -> "SessionMessage | None":
        """What stands for a line that is no message: an error for who waits for it, if any does."""
        self._nonsense += 1
        if self._nonsense > MOST_NONSENSE:
            raise _TooMuch(f"It wrote {MOST_NONSENSE:,} lines in a row that are no messages.")
        if self._nonsense <= SHOWN_NONSENSE:
            shown = line[:SHOWN_BYTES].decode("utf-8", "replace")
            self._journal.note(f"Its standard output has a line that is no message: {shown}")
        id = find_answered(line[:EDGE_BYTES], line[-EDGE_BYTES:])
        return _answer(id, "What it answered is no message.")

    def _refuse(self, head: bytes, tail: bytes, total_bytes: int) -> "SessionMessage | None":
        """What stands for a message that is too large: an error for who waits for it."""
        sentence = f"A message of {total_bytes:,} bytes is more than is taken in."
        self._journal.note(sentence)
        answer = _answer(find_answered(head, tail), sentence)
        if answer is not None:
            return answer
        if is_asked(head):
            return None
        raise _TooMuch(
            f"It wrote a line of {total_bytes:,} bytes, of which nobody can say what it answers; "
            f"{LINE_BYTES:,} are taken in."
        )


def _answer(id: int | None, sentence: str) -> "SessionMessage | None":
    """An error in place of the answer to a request of ours; None: it is not known to which."""
    from mcp.shared.message import SessionMessage
    from mcp.types import INTERNAL_ERROR, ErrorData, JSONRPCError

    if id is None:
        return None
    error = ErrorData(code=INTERNAL_ERROR, message=sentence)
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=id, error=error))


class _TooMuch(Exception):
    """The program is to be ended; the message says why."""


async def _receive(stream: trio.abc.ReceiveStream) -> bytes | bytearray:
    """The next piece; empty at the end, however it came."""
    try:
        return await stream.receive_some(READ_BYTES)
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        return b""


def _describe(status: int) -> str:
    return f"It ended with status {status}." if status >= 0 else f"Signal {-status} ended it."
