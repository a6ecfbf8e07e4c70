"""Takeover: asks the daemon that holds the data directory to drain, as any client could.

Used by a daemon that systemd has activated: clients come to its socket, so it is
the one that must serve. It speaks the frozen part of the protocol only (`hello`,
`daemon/drain`), which a daemon of any version understands. It never raises for
a holder that does not answer: its lock decides.
"""

import json
import logging
from pathlib import Path

import trio

from ask.protocol import PROTOCOL
from ask.protocol.frames import BadFrame, FrameReader, Response, encode_request

ANSWER_LIMIT_S = 5.0
DRAIN_REQUEST = 2

log = logging.getLogger(__name__)


async def ask_to_drain(owner_file: Path, *, wait_s: float) -> bool:
    """Ask the holder to leave; True if it agreed. Its turns may take `wait_s` to end."""
    try:
        holder = json.loads(await trio.Path(owner_file).read_bytes())
        path = str(holder["socket"])
    except (OSError, ValueError, KeyError, TypeError):
        return False  # nobody is there, or on its way out already
    try:
        with trio.fail_after(ANSWER_LIMIT_S):
            async with await trio.open_unix_socket(path) as stream:
                return await _drain(stream, wait_s)
    except (OSError, trio.TooSlowError, trio.BrokenResourceError, BadFrame) as error:
        log.warning("The daemon at %s does not answer: %s", path, error)
        return False


async def _drain(stream: trio.SocketStream, wait_s: float) -> bool:
    hello = {"client": "askd", "version": "0", "protocol": PROTOCOL}
    await stream.send_all(
        encode_request(1, "hello", hello)
        + encode_request(DRAIN_REQUEST, "daemon/drain", {"wait_s": wait_s})
    )
    reader = FrameReader()
    try:
        async for data in stream:
            for message in reader.feed(data):
                if isinstance(message, Response) and message.id == DRAIN_REQUEST:
                    if message.error is not None:
                        log.warning("The daemon before us will not leave: %s", message.error)
                    return message.error is None
    except trio.BrokenResourceError:
        pass
    return True  # it left before it could answer
