"""Writers to be killed. Each line on stdin is `honest PATH` or `early PATH`: a fork writes there.

Said on stdout: `pid N` once it runs, `ack ID SEQ` for every append, `dead` when
it has been killed. An honest one says so after the append was answered, an early
one before. Forks of one warm process, for the imports would be most of the time.
"""

import os
import sys
from functools import partial
from itertools import count
from pathlib import Path

import trio

from askd.core.events import ConversationCreated, ItemAdded
from askd.core.items import Notice
from askd.store.log import Write
from askd.store.queries import Reader
from askd.store.writer import Writer

CONVERSATIONS = ("a", "b", "c", "d")


def say(text: str) -> None:
    os.write(1, f"{text}\n".encode())


async def append_forever(writer: Writer, reader: Reader, id: str, *, early: bool) -> None:
    row = await reader.get(id)
    if row is None:
        first = ConversationCreated(id)
        await writer.append(Write(conversation_id=id, bodies=[first], create=True))
        say(f"ack {id} 1")
    last = 1 if row is None else row.last_seq
    for number in count():
        item = ItemAdded(None, Notice(f"n{number}", "x" * (number % 7) * 1000))
        if early:
            say(f"ack {id} {last + 1}\nack {id} {last + 2}")
        committed = await writer.append(Write(conversation_id=id, bodies=[item, item]))
        if not early:
            for event in committed.events:
                say(f"ack {id} {event.seq}")
        last += 2


async def write_until_killed(path: Path, *, early: bool) -> None:
    writer = Writer(path, observe=lambda events: None, now=lambda: 1.0, boot_id="b")
    reader = Reader(path)
    # The writer and its callers, none of which ends.
    async with trio.open_nursery() as nursery:
        await nursery.start(writer.run)
        for id in CONVERSATIONS:
            nursery.start_soon(partial(append_forever, writer, reader, id, early=early))


def main() -> None:
    for line in sys.stdin:
        manner, path = line.rstrip("\n").split(" ", 1)
        pid = os.fork()
        if pid == 0:
            say(f"pid {os.getpid()}")
            trio.run(partial(write_until_killed, Path(path), early=manner == "early"))
        os.waitpid(pid, 0)
        say("dead")


if __name__ == "__main__":
    main()
