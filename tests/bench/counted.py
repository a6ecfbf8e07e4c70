"""Programs that count what they do, and write it as JSON at their end.

`python -m tests.bench.counted daemon FILE` is `askd run`, watched call by call: how often pydantic
checked or wrote anything, how many deltas were published, to how many connections they were
offered, and how often one was encoded. `python -m tests.bench.counted appends FILE APPENDS` appends
so often, one by one, and counts the commits; who counts its calls of fsync stands outside.
"""

import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import trio
from pydantic_core import SchemaSerializer, SchemaValidator

from askd.__main__ import main as run_daemon
from askd.core.events import ConversationCreated, ItemAdded
from askd.core.items import Notice
from askd.server.outbox import Outbox
from askd.server.wire import encode_delta
from askd.sessions.hub import Delta, Hub
from askd.store.log import Write
from askd.store.writer import Writer

CONVERSATION_ID = "00000001-0000-4000-8000-000000000000"


def count_calls(found: Counter[str]) -> None:
    """Count from now on, in this thread."""
    encode, publish, offer = encode_delta.__code__, Hub.publish.__code__, Outbox.offer.__code__
    edges = (SchemaValidator, SchemaSerializer)

    def watch(frame: FrameType, event: str, argument: Any) -> None:
        if event == "c_call":
            if isinstance(getattr(argument, "__self__", None), edges):
                found["pydantic"] += 1
        elif event == "call":
            code = frame.f_code
            if code is encode:
                found["encoded"] += 1
            elif code is publish:
                found["published"] += isinstance(frame.f_locals["value"], Delta)
            elif code is offer:
                found["offered"] += frame.f_locals["droppable"]

    sys.setprofile(watch)


def watch_daemon(found: Counter[str]) -> int:
    """The daemon, to its end."""
    count_calls(found)
    try:
        return run_daemon(["run"])
    finally:
        sys.setprofile(None)


async def append(count: int) -> int:
    """Append one by one; how many commits it took."""
    with tempfile.TemporaryDirectory() as directory:
        writer = Writer(
            Path(directory) / "ask.db", observe=lambda events: None, now=time.time, boot_id="bench"
        )
        async with trio.open_nursery() as nursery:
            await nursery.start(writer.run)
            made = ConversationCreated(CONVERSATION_ID)
            await writer.append(Write(conversation_id=CONVERSATION_ID, bodies=[made], create=True))
            for number in range(count):
                item = ItemAdded(None, Notice(f"{number}", "x"))
                await writer.append(Write(conversation_id=CONVERSATION_ID, bodies=[item]))
            commits = writer.commits
            await writer.close()
            nursery.cancel_scope.cancel()
    return commits


def main() -> int:
    """Run, and write the counts."""
    kind, file = sys.argv[1:3]
    found: Counter[str] = Counter()
    code = 0
    if kind == "daemon":
        code = watch_daemon(found)
    else:
        found["commits"] = trio.run(append, int(sys.argv[3]))
    Path(file).write_text(json.dumps(found))
    return code


if __name__ == "__main__":
    sys.exit(main())
