"""A store at work, to be traced: `python -m tests.faults.power_writer HOME SAID SEED MODE`.

It appends, deletes, rests and mirrors as the daemon does. The file SAID hears what callers were
told, when they were told: `ack ID SEQ` after a commit, `going ID` before a deletion and `gone ID`
after it. MODE is the writer's `PRAGMA synchronous`: the daemon's own is FULL.
"""

import os
import random
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trio

from askd.core.events import ItemAdded
from askd.core.items import Notice
from askd.store import database
from askd.store import writer as writer_module
from askd.store.queries import Reader
from askd.store.rollouts.mirror import Mirror
from askd.store.writer import Writer
from tests.store.builders import Clock, add, create

CALLERS = 3
STEPS = 14
"""Of each caller: some hundred writes and syncs, a second or two under `strace`."""
IDLE_S = 0.02
"""So that resting, and with it the log's emptying, happens in a trace of a second."""
LONGEST = 9000
"""Characters of a notice: two pages of the database, eighteen sectors of a rollout."""


@dataclass
class House:
    """The part of the daemon that writes."""

    home: Path
    writer: Writer
    reader: Reader
    mirror: Mirror


@asynccontextmanager
async def open_house(home: Path) -> AsyncIterator[House]:
    """Writer, reader and mirror in `home`, joined as the daemon joins them."""
    path = home / "ask.db"
    heard: list[Callable[..., None]] = []
    writer = Writer(
        path,
        observe=lambda events: heard[0](events),
        now=Clock(),
        boot_id="b",
        rewritten=lambda: mirror.look(),
    )
    mirror = Mirror(writer, database=path, data=home, archive=home / "archive", version="1")
    heard.append(mirror.observe)
    mirror.configure(enabled=True, directory=home / "rollouts")
    reader = Reader(path)
    # The writer, and while it runs the mirror; `close` and the cancellation end them.
    async with trio.open_nursery() as storage:
        await storage.start(writer.run)
        async with trio.open_nursery() as rooms:
            await rooms.start(mirror.run)
            yield House(home, writer, reader, mirror)
            rooms.cancel_scope.cancel()
        reader.close()
        await writer.close()


def notice(conversation_id: str, seq: int) -> ItemAdded:
    """What stands at this place of a conversation: nothing else may stand there."""
    name = f"{conversation_id}:{seq}:"
    size = random.Random(name).randrange(LONGEST)
    return ItemAdded(None, Notice("n", name + "x" * size))


async def call(house: House, name: str, dice: random.Random, say: Callable[[str], None]) -> None:
    """One caller: its conversations are its own."""
    lengths: dict[str, int] = {}
    for step in range(STEPS):
        what = dice.random()
        if what < 0.2 or not lengths:
            id = f"{name}{step}"
            committed = await house.writer.append(create(id, notice(id, 2)))
        elif what < 0.3 and len(lengths) > 1:
            id = dice.choice(sorted(lengths))
            del lengths[id]
            say(f"going {id}")
            await house.writer.delete(id)
            say(f"gone {id}")
            continue
        elif what < 0.4:
            await house.mirror.settle()
            continue
        elif what < 0.5:
            await trio.sleep(IDLE_S * 3)
            continue
        else:
            id = dice.choice(sorted(lengths))
            first = lengths[id] + 1
            bodies = [notice(id, seq) for seq in range(first, first + dice.randrange(1, 4))]
            committed = await house.writer.append(add(id, *bodies))
        lengths[id] = committed.events[-1].seq
        say(f"ack {id} {lengths[id]}")


async def work(home: Path, said: Path, seed: int) -> None:
    """All callers, until each has done its steps."""
    descriptor = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def say(text: str) -> None:
        os.write(descriptor, f"{text}\n".encode())

    async with open_house(home) as house, trio.open_nursery() as callers:
        for number in range(CALLERS):
            dice = random.Random(f"{seed}:{number}")
            callers.start_soon(call, house, "abc"[number], dice, say)
    os.close(descriptor)


def main(arguments: list[str]) -> None:
    """Work as the command line says."""
    home, said, seed, mode = arguments
    pragmas: Any = [
        f"PRAGMA synchronous = {mode}" if "synchronous" in each else each
        for each in database.WRITER_PRAGMAS
    ]
    database.WRITER_PRAGMAS = tuple(pragmas)
    writer_module.IDLE_S = IDLE_S
    trio.run(work, Path(home), Path(said), int(seed))


if __name__ == "__main__":
    main(sys.argv[1:])
