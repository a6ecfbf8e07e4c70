"""A process that floods a socket with made frames, so many connections at a time.

`python -m tests.faults.frames_flood SOCKET SEED FIRST COUNT`: prints one line of JSON, how many
frames were sent, how many answers came, and a sentence for each reply that was wrong.
"""

import json
import socket
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass, field

from ask.protocol.frames import BadFrame, FrameReader, Response
from tests.faults.frames_made import HELLO_FRAME, make_frame

AT_ONCE = 4
"""Connections of one process: a few processes stay below what may shake hands at a time."""
CLOSE_LIMIT_S = 30.0
"""A connection whose sending half was shut is closed by then; in seconds on an idle machine."""
SHOWN = 20


@dataclass(slots=True)
class Tally:
    """What came of a flood.

    Attributes:
        sent: frames that were written to a connection of their own.
        answered: well-formed answers, hello's left out.
        faults: what was wrong with a reply.
    """

    sent: int = 0
    answered: int = 0
    faults: list[str] = field(default_factory=list)


def open_with(path: str, content: bytes) -> socket.socket:
    """A connection on which this was sent as far as it was taken, and that says no more."""
    peer = socket.socket(socket.AF_UNIX)
    try:
        peer.settimeout(CLOSE_LIMIT_S)
        peer.connect(path)
        with suppress(BrokenPipeError, ConnectionResetError):
            peer.sendall(content)
        with suppress(OSError):
            peer.shutdown(socket.SHUT_WR)
    except BaseException:
        peer.close()
        raise
    return peer


def read_answers(peer: socket.socket) -> list[Response]:
    """Every answer to the end of the connection, which is closed.

    Raises:
        TimeoutError: it was not closed.
        BadFrame: what came is no message.
    """
    reader = FrameReader()
    found: list[Response] = []
    with peer:
        try:
            while data := peer.recv(65536):
                found += [each for each in reader.feed(data) if isinstance(each, Response)]
        except ConnectionResetError:
            pass  # it was closed with some of ours unread
    if reader.unfinished:
        raise BadFrame("half an answer")
    return found


def flood(path: str, seed: int, first: int, count: int) -> Tally:
    """Send the frames of these numbers, every second one after a hello."""
    tally = Tally()
    for start in range(first, first + count, AT_ONCE):
        opened: list[tuple[int, socket.socket]] = []
        for number in range(start, min(start + AT_ONCE, first + count)):
            frame = make_frame(seed, number)
            try:
                peer = open_with(path, HELLO_FRAME * (number % 2) + frame)
            except OSError as error:
                tally.faults.append(f"frame {number}: no connection: {error}")
                continue
            tally.sent += 1
            opened.append((number, peer))
        for number, peer in opened:
            try:
                answers = read_answers(peer)
            except (OSError, BadFrame) as error:
                tally.faults.append(f"frame {number}: {type(error).__name__}: {error}")
                continue
            tally.answered += max(0, len(answers) - number % 2)
            if number % 2 and (not answers or answers[0].error is not None):
                tally.faults.append(f"frame {number}: hello before it was not answered")
        if len(tally.faults) >= SHOWN:
            break
    return tally


def main() -> None:
    """Read the command line and flood."""
    path, seed, first, count = sys.argv[1], *map(int, sys.argv[2:5])
    print(json.dumps(asdict(flood(path, seed, first, count))))


if __name__ == "__main__":
    main()
