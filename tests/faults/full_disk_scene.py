"""Daemons on a full disk: `python -m tests.faults.full_disk_scene HOME SIZE SEED WAY`.

It mounts the disk at HOME, so that it needs mounts of its own. WAY: `reserve`, or `none` for
a disk from which the reserve has been taken. It prints a line of JSON: cases, harms, and what is
worth knowing.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ask.connection import Client
from ask.exits import Failed
from tests.faults.syscalls_house import DAEMON, LIMIT_S, POLL_S, House, try_call

KIB = 1024
DISK_MIB = 80
"""The reserve is made while eight times its 8 MiB are free."""
STORAGE = 74
NOTE_BYTES = 100 * KIB
ROOM_S = 10.0
"""The rollout of what was deleted goes a moment later, and its room comes with it."""
HOW_FILLED = ("while it runs", "after it was stopped", "after it was killed")
HOW_FREED = ("delete", "expire")
LEFT = (0, 4 * KIB, 32 * KIB, 100 * KIB)
"""Bytes that are left: too few for a write of `NOTE_BYTES`."""


@dataclass
class Case:
    """A full disk, and what is done about it."""

    filled: str
    freed: str
    left: int
    notes: int
    harms: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"filled {self.filled} up to {self.left} bytes, {self.freed} of {self.notes} notes"

    def demand(self, is_so: bool, otherwise: str) -> None:
        """A harm, if it is not so."""
        if not is_so:
            self.harms.append(f"{self}: {otherwise}")


def play(home: Path, case: Case, *, keeps: bool) -> None:
    """One case; its harms are noted in it."""
    house = House(home, DAEMON)
    try:
        with house.connect() as client:
            small, big = (client.call("conversation/create")["id"] for _ in range(2))
            write(client, small, "small.")
            for _ in range(case.notes):
                write(client, big, "x" * NOTE_BYTES)
            reserve = home / "ask" / "data" / "reserve.bin"
            case.demand(reserve.exists(), "no reserve was made")
        if case.filled == "after it was stopped":
            house.stop()
        elif case.filled == "after it was killed":
            house.kill()
        if not keeps:
            reserve.unlink()
        fill(home.parent / "filler", case.left)
        if not house.is_alive():
            house.start()
        try:
            with house.connect() as client:
                free(client, case, small, big)
        except Failed as error:
            case.harms.append(f"{case}: it does not serve: {error}")
        case.demand(house.is_alive(), "the daemon has ended")
    finally:
        house.kill()


def free(client: Client, case: Case, small: str, big: str) -> None:
    """What a person does then."""
    error = write(client, small, "y" * 2 * NOTE_BYTES)
    if case.filled == "while it runs":
        case.demand(error is not None, "the disk was not full")
    case.demand(error in (None, STORAGE), f"a write is refused with {error}")
    page, refused = try_call(client, "conversation/read", conversation_id=small)
    case.demand(refused is None and "small." in str(page), f"it cannot be read: {refused}")
    asked: dict[str, Any] = {"conversation_id": big}
    if case.freed == "expire":
        asked["before_at"] = time.time() + LIMIT_S
    _, refused = try_call(client, "conversation/delete", **asked)
    case.demand(refused is None, f"it cannot be deleted: {refused}")
    until = time.monotonic() + ROOM_S
    while write(client, small, "again.") is not None:
        if time.monotonic() > until:
            case.demand(False, f"{ROOM_S} s after the deletion nothing can be written")
            return
        time.sleep(POLL_S)


def write(client: Client, conversation_id: str, text: str) -> int | None:
    """A note; the code of its refusal."""
    note = {"conversation_id": conversation_id, "text": text}
    _, error = try_call(client, "conversation/note", **note)
    return None if error is None else error.code


def fill(filler: Path, left: int) -> None:
    """Leave only so many bytes."""
    with filler.open("wb", buffering=0) as stream:
        try:
            while True:
                stream.write(bytes(64 * KIB))
        except OSError:
            pass
        size = stream.tell()
        os.ftruncate(stream.fileno(), max(0, size - left))


def main(arguments: list[str]) -> None:
    """Play so many cases, each on an empty disk."""
    place, size, seed, way = Path(arguments[0]), int(arguments[1]), arguments[2], arguments[3]
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m,mode=700", "tmpfs", str(place)]
    subprocess.run(mount, check=True)
    dice = random.Random(seed)
    harms: list[str] = []
    slowest = 0.0
    cases = 0
    for number in range(size):
        cases += 1
        filled = HOW_FILLED[number % len(HOW_FILLED)]
        case = Case(filled, dice.choice(HOW_FREED), dice.choice(LEFT), dice.randint(5, 30))
        began = time.monotonic()
        play(place / str(number), case, keeps=way == "reserve")
        slowest = max(slowest, time.monotonic() - began)
        harms += case.harms
        (place / "filler").unlink()
        shutil.rmtree(place / str(number))
        if harms and way == "none":
            break
    print(json.dumps({"cases": cases, "harms": harms, "slowest_s": slowest}))


if __name__ == "__main__":
    main(sys.argv[1:])
