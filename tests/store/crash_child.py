"""Writers to be killed. Each line on stdin is a database; a fork writes to it until it dies.

Said on stdout: `pid N` once it runs, `ack ID SEQ` after every answered append,
`dead` when it has been killed. Forks of one warm process, for the imports would
be most of the time.
"""

import os
import sys
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


async def append_forever(writer: Writer, reader: Reader, id: str) -> None:
    if await reader.get(id) is None:
        await writer.append(
            Write(conversation_id=id, bodies=[ConversationCreated(id)], create=True)
        )
        say(f"ack {id} 1")
    for number in count():
        item = ItemAdded(None, Notice(f"n{number}", "x" * (number % 7) * 1000))
        committed = await writer.append(Write(conversation_id=id, bodies=[item, item]))
        for event in committed.events:
            say(f"ack {id} {event.seq}")


async def write_until_killed(path: Path) -> None:
    writer = Writer(path, observe=lambda events: None, now=lambda: 1.0, boot_id="b")
    reader = Reader(path)
    # The writer and its callers, none of which ends.
    async with trio.open_nursery() as nursery:
        await nursery.start(writer.run)
        for id in CONVERSATIONS:
            nursery.start_soon(append_forever, writer, reader, id)


def main() -> None:
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            say(f"pid {os.getpid()}")
            trio.run(write_until_killed, Path(line.strip()))
        os.waitpid(pid, 0)
        say("dead")


if __name__ == "__main__":
    main()
