"""What a slow line may take: bytes are sent as fast as they go, and on their way is not silent.

A daemon answers at once; the limits on its answers are for that. Over a bad line a message of
1 MiB alone takes longer than any of them. It knows no message, and connects to nothing.
"""

import select
import socket

SLOWEST_BYTES_S = 16 * 1024
"""Slower than this no daemon reads a message: 1 MiB within 60 s (`askd.server.connection`)."""


def send_all(stream: socket.socket, data: bytes) -> None:
    """Send everything; the stream's limit is for each piece, as `sendall` has it for all of them.

    Raises:
        OSError: it is gone, or takes nothing within that limit.
    """
    rest = memoryview(data)
    while rest:
        rest = rest[stream.send(rest) :]


def find_travel(size: int) -> float:
    """For how many seconds so many bytes may be on their way."""
    return size / SLOWEST_BYTES_S


def wait_readable(limit_s: float, *descriptors: int | None) -> list[int]:
    """Which of these can be read (or are closed), after at most `limit_s`; None is none."""
    waiting = select.poll()  # unlike select, it takes descriptors beyond 1023
    for each in descriptors:
        if each is not None:
            waiting.register(each, select.POLLIN)
    return [ready for ready, _ in waiting.poll(max(limit_s, 0.0) * 1000)]
