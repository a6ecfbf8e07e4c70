"""A daemon that is built wrong: `python -m tests.faults.syscalls_hasty` answers before it knows.

What the disk refuses is answered as if it had been stored.
"""

import sys

from askd import app
from askd.__main__ import main
from askd.core.events import Event
from askd.errors import StorageFailed
from askd.store.log import Committed, Write
from askd.store.writer import Writer


class Hasty(Writer):
    """It answers well, whatever happens."""

    async def append(self, write: Write) -> Committed:
        """What was committed, or would have been."""
        id = write.conversation_id
        try:
            committed = await super().append(write)
        except StorageFailed:
            first = _last.get(id, 0) + 1
            events = [Event(id, first + at, 1.0, body) for at, body in enumerate(write.bodies)]
            committed = Committed(events)
        for event in committed.events:
            _last[id] = event.seq
        return committed


_last: dict[str, int] = {}

if __name__ == "__main__":
    vars(app)["Writer"] = Hasty
    sys.exit(main(["run"]))
