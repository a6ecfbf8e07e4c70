"""Twenty clients at once, each the real `ask` with a prompt of its own, and a look at the socket.

What they are told to say comes back from a scripted model, so that an answer that is another's
is seen as one.
"""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.system.world import Running, World

CLIENTS = 20
LOOK_PAUSE_S = 0.01
SOCKET_MODE, DIRECTORY_MODE = 0o600, 0o700
LIMIT_S = 120.0
"""Whatever is not over by then never will be: a daemon's start may take 30 s."""


@dataclass(frozen=True)
class Herd:
    """What became of one: its harms, and the seconds that each client took."""

    harms: tuple[str, ...]
    took_s: tuple[float, ...]


def run_herd(world: World, name: str, command: tuple[str, ...], size: int = CLIENTS) -> Herd:
    """Start all, and see each to its end."""
    began = time.monotonic()
    ends: dict[int, float] = {}
    clients = [
        world.start("-q", f"ECHO:{name} {number}", command=command, env={"ASK_TERMINAL": None})
        for number in range(size)
    ]

    def wait(number: int, client: Running) -> None:
        client.process.wait(LIMIT_S)
        ends[number] = time.monotonic() - began

    waiting = [threading.Thread(target=wait, args=each, daemon=True) for each in enumerate(clients)]
    for thread in waiting:
        thread.start()
    for thread in waiting:
        thread.join(LIMIT_S)
    harms = []
    for number, client in enumerate(clients):
        if number not in ends:
            harms.append(f"{name}: client {number} did not end.")
            client.process.kill()
        result = client.finish()
        for stream in (client.process.stdout, client.process.stderr):
            if stream is not None:
                stream.close()
        if (result.code, result.out.strip()) != (0, f"{name} {number}"):
            harms.append(
                f"{name}: client {number} ended with {result.code}, said {result.out!r}"
                f" and {result.err[-300:]!r}."
            )
    return Herd(tuple(harms), tuple(ends.values()))


@contextmanager
def watch_modes(place: Path, harms: list[str]) -> Iterator[None]:
    """Look at the socket and its directory all the while; each wrong mode is a harm, once."""
    over = threading.Event()
    seen: set[tuple[str, int]] = set()

    def look() -> None:
        while not over.wait(LOOK_PAUSE_S):
            for path, wanted in ((place, SOCKET_MODE), (place.parent, DIRECTORY_MODE)):
                try:
                    mode = os.stat(path).st_mode & 0o7777
                except FileNotFoundError:
                    continue
                if mode != wanted and (path.name, mode) not in seen:
                    seen.add((path.name, mode))
                    harms.append(f"{path.name} has the mode {mode:o} and not {wanted:o}.")

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
