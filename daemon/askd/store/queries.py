"""Reads what was committed: conversations, events, keys, partials, jobs, blobs.

Its connections cannot write, nor checkpoint when they close. Queries run in
threads, so that a slow disk holds up nobody else. One bad record never costs a
conversation: it comes as an event that says so, with a warning.
"""

import logging
import sqlite3
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import trio

from askd.core.calibration import Rates
from askd.core.events import Event
from askd.core.search import Role
from askd.store import blobs, expiry, refusals, token_rates, usage_queries
from askd.store.changes import read_row
from askd.store.database import open_readonly
from askd.store.event_pages import EventsRead, read_page
from askd.store.finding import find_conversation
from askd.store.jobs import queries as job_queries
from askd.store.jobs.queries import JobFilter, JobPage, JobRow
from askd.store.key_rows import read_key
from askd.store.listing import ListPage, list_page
from askd.store.log import KnownKey, Partial
from askd.store.projection import ConversationRow
from askd.store.search import queries as search_queries
from askd.store.search.queries import SearchHit, SearchPage
from askd.store.surveys import START, SURVEY_S, Place, Survey, look_on
from askd.store.usage_queries import By, UsagePage

__all__ = [
    "ConversationRow",
    "JobPage",
    "JobRow",
    "ListPage",
    "Reader",
    "SearchHit",
    "SearchPage",
    "Survey",
    "UsagePage",
]

logger = logging.getLogger(__name__)
T = TypeVar("T")

THREADS = 4
"""Queries at one time: they are short, and one disk serves few at once."""


class Reader:
    """Queries over the database at `path`. Every method raises `StorageFailed` if it must.

    Connections are opened when they are needed and kept; `close` ends them.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._idle: list[sqlite3.Connection] = []
        self._closed = False
        self._threads = trio.CapacityLimiter(THREADS)
        self._warned: set[str] = set()

    async def get(self, conversation_id: str) -> ConversationRow | None:
        """The conversation of exactly this id."""
        return await self.query(lambda connection: read_row(connection, conversation_id))

    async def find(self, text: str) -> ConversationRow:
        """By exact id, else exact name, else id prefix; raises `NotFound`."""
        return await self.query(lambda connection: find_conversation(connection, text))

    async def find_terminal(self, terminal: str) -> ConversationRow | None:
        """The conversation that this terminal used last."""

        def query(connection: sqlite3.Connection) -> ConversationRow | None:
            found = connection.execute(
                "SELECT conversation_id FROM terminals WHERE terminal = ?", (terminal,)
            ).fetchone()
            return None if found is None else read_row(connection, found[0])

        return await self.query(query)

    async def find_key(self, key: str) -> KnownKey | None:
        """The turn that this key stands for."""
        return await self.query(lambda connection: read_key(connection, key))

    async def load(self, conversation_id: str) -> list[Event]:
        """Every event, in order; none: there is no such conversation."""
        events, _ = await self.read_events(conversation_id, after_seq=0, limit=-1, limit_bytes=-1)
        return events

    async def read_events(
        self,
        conversation_id: str,
        *,
        after_seq: int,
        limit: int,
        limit_bytes: int,
        holes: bool = False,
    ) -> tuple[list[Event], bool]:
        """A page of events, and whether there are more.

        `limit_bytes` bounds the bodies as they lie on the disk; one event always
        comes, however large. A negative limit is none. A record that cannot be read
        comes as `Unreadable`; one that is not there too with `holes`, for those who
        show what is left. Without, `StorageFailed` (`log_not_whole`).
        """

        def query(connection: sqlite3.Connection) -> EventsRead:
            return read_page(
                connection,
                conversation_id,
                after_seq=after_seq,
                limit=limit,
                limit_bytes=limit_bytes,
            )

        page = await self.query(query)
        if page.faults and conversation_id not in self._warned:
            self._warned.add(conversation_id)
            logger.warning(
                "Records cannot be read and are passed over: id=%s, count=%d: %s",
                conversation_id,
                len(page.faults),
                page.faults[0],
            )
        if page.lost and not holes:
            raise refusals.log_not_whole(page.lost, self._path)
        return page.events, page.more

    async def count_unreadable(self, *, limit_s: float = SURVEY_S) -> Survey:
        """Look through all events, a part at a time, for those that cannot be read.

        Takes about `limit_s` at the most: what was not looked at by then is not counted,
        and the answer says that it is not `complete`.
        """
        survey = Survey()
        until = trio.current_time() + limit_s
        place: Place | None = START
        while place is not None and trio.current_time() < until:
            place = await self.query(partial(look_on, survey, place))
        survey.complete = place is None
        return survey

    async def list_conversations(
        self,
        *,
        cursor: str | None,
        limit: int,
        before_at: float | None = None,
        begins: str | None = None,
    ) -> ListPage:
        """A page of conversations, the last updated first; raises `RequestError` (cursor).

        `before_at`: only those in which nothing has changed since then, and which came before.
        `begins`: only those whose name or id begins with it.
        """
        return await self.query(
            lambda connection: list_page(
                connection, cursor=cursor, limit=limit, before_at=before_at, begins=begins
            )
        )

    async def find_expired(self, *, before_at: float, after_id: str, limit: int) -> list[str]:
        """Ids of conversations that may be removed for their age, in order, from one id on."""
        return await self.query(
            lambda connection: expiry.find_expired(
                connection, before_at=before_at, after_id=after_id, limit=limit
            )
        )

    async def find_newest(self) -> float | None:
        """When the log was last written, by the clock of then; None: it is empty."""
        return await self.query(expiry.find_newest)

    async def unfinished(self) -> list[str]:
        """The ids of conversations with a turn that was accepted and has not ended."""

        def query(connection: sqlite3.Connection) -> list[str]:
            rows = connection.execute(
                "SELECT DISTINCT conversation_id FROM open_turns ORDER BY conversation_id"
            )
            return [id for (id,) in rows]

        return await self.query(query)

    async def partials(self, conversation_id: str) -> list[Partial]:
        """The last saved text of items that were still streaming."""

        def query(connection: sqlite3.Connection) -> list[Partial]:
            rows = connection.execute(
                "SELECT conversation_id, turn_id, item_id, kind, text FROM partials"
                " WHERE conversation_id = ? ORDER BY item_id, kind",
                (conversation_id,),
            )
            return [Partial(*row) for row in rows]

        return await self.query(query)

    async def jobs(
        self, *, cursor: str | None, limit: int, which: JobFilter = job_queries.EVERY
    ) -> JobPage:
        """A page of background jobs, the newest first; raises `RequestError` (cursor)."""
        return await self.query(
            lambda connection: job_queries.list_jobs(
                connection, cursor=cursor, limit=limit, which=which
            )
        )

    async def find_jobs(self, job_ids: Sequence[str]) -> list[JobRow]:
        """Jobs by their ids or beginnings of these; raises `NotFound`."""
        return await self.query(lambda connection: job_queries.read_jobs(connection, job_ids))

    async def count_open_jobs(self) -> int:
        """Jobs that are not over."""
        return await self.query(job_queries.count_open)

    async def count_jobs(self) -> list[tuple[str, str, int]]:
        """How many jobs of each kind are in each state: kind, state, number."""
        return await self.query(job_queries.count_states)

    async def read_usage(
        self,
        *,
        by: By,
        since_at: float | None,
        utc_offset_s: int,
        cursor: str | None,
        limit: int,
    ) -> UsagePage:
        """What answers took, added up; raises `RequestError` (cursor)."""
        return await self.query(
            lambda connection: usage_queries.read_usage(
                connection,
                by=by,
                since_at=since_at,
                utc_offset_s=utc_offset_s,
                cursor=cursor,
                limit=limit,
            )
        )

    async def token_rates(self) -> dict[str, Rates]:
        """What is known of each model's counting, by its name."""
        return await self.query(token_rates.read_rates)

    async def search(
        self,
        text: str,
        *,
        conversation_id: str | None = None,
        role: Role | None = None,
        since_at: float | None = None,
        until_at: float | None = None,
        rank: bool = False,
        cursor: str | None = None,
        limit: int,
    ) -> SearchPage:
        """A page of hits, the newest first, or the best; raises `RequestError` (cursor)."""
        return await self.query(
            lambda connection: search_queries.search(
                connection,
                text,
                conversation_id=conversation_id,
                role=role,
                since_at=since_at,
                until_at=until_at,
                rank=rank,
                cursor=cursor,
                limit=limit,
            )
        )

    async def read_blob(self, sha256: str) -> bytes:
        """A blob's content; raises `NotFound`."""
        return await self.query(lambda connection: blobs.read_blob(connection, sha256))

    def close(self) -> None:
        """Close every connection that is not in use; those in use follow at their end."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()

    async def query(self, query: Callable[[sqlite3.Connection], T]) -> T:
        """The answer of a query, which runs in a thread."""

        def work() -> T:
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = open_readonly(self._path)
            try:
                result = query(connection)
            except sqlite3.Error as error:
                connection.close()
                raise refusals.storage_failed(error, self._path) from error
            except BaseException:
                self._put_back(connection)
                raise
            self._put_back(connection)
            return result

        return await trio.to_thread.run_sync(work, limiter=self._threads)

    def _put_back(self, connection: sqlite3.Connection) -> None:
        if self._closed:
            connection.close()
        else:
            self._idle.append(connection)
