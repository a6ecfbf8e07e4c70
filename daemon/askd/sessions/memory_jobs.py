"""The jobs of a conversation that is in memory only: a queue, gone with the conversation.

It keeps their order and runs none.
"""

from collections import deque

import trio

from askd.store.log import NewJob


class MemoryJobs:
    """Of one conversation; of each kind one waits at a time."""

    def __init__(self) -> None:
        self._waiting: deque[NewJob] = deque()
        self._added = trio.Event()

    def add(self, job: NewJob) -> None:
        """Have it run, unless one of its kind waits already."""
        if all(each.kind != job.kind for each in self._waiting):
            self._waiting.append(job)
            self._added.set()

    async def take(self) -> NewJob:
        """The next one, as soon as there is one."""
        while not self._waiting:
            self._added = trio.Event()
            await self._added.wait()
        return self._waiting.popleft()
