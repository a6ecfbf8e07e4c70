"""A secret is scrubbed: looked for everywhere, then replaced, conversation by conversation.

All that can be refused is refused before anything is changed. Sessions that are
in memory read their log anew, and who watches one is told to look again: nobody is
shown the old text any more. It
decides what is too short to be looked for; what is replaced where is the store's.
"""

from dataclasses import dataclass, field

import trio

from askd.core.scrubbing import SHORTEST, Scrub
from askd.errors import AskdError, Busy, NotFound, RequestError
from askd.sessions.registry import Sessions
from askd.store.scrub.plans import Scrubbed
from askd.store.scrub.replacing import refuse_busy
from askd.store.scrub.scrubber import Cleaned, Found, Scrubber

PATTERN_CHARACTERS = 10_000
"""A private key has three thousand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be scrubbed.

    Attributes:
        pattern: the text, or with `regex` an expression that finds texts.
        allow_short: it may have fewer than `SHORTEST` characters.
        backups: remove the copies of the database, too.
    """

    pattern: str = field(repr=False)
    regex: bool = False
    allow_short: bool = False
    backups: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What was found, and what became of it; `cleaned` None: it was only looked for."""

    found: Found
    cleaned: Cleaned | None = None


class Scrubs:
    """Scrubs the conversations of a daemon."""

    def __init__(self, sessions: Sessions, scrubber: Scrubber) -> None:
        self._sessions = sessions
        self._scrubber = scrubber

    async def find(self, order: Order) -> Report:
        """Look, and change nothing; raises `RequestError`, `StorageFailed`."""
        scrub = await self._read(order)
        if scrub is None:
            return Report(found=Found(conversations=[], rows=0, files=[]))
        return Report(found=await self._scrubber.find(scrub))

    async def run(self, order: Order) -> Report:
        """Replace it everywhere.

        Raises:
            RequestError: the pattern is too short, is no expression, matches too much.
            Busy: a turn or a job is at work where it stands, or another scrub runs.
            StorageFailed: it says how many conversations were scrubbed before.
        """
        try:
            self._scrubber.running.acquire_nowait()
        except trio.WouldBlock:
            raise Busy("Another scrub is running. Wait for it, then try again.") from None
        try:
            return await self._run(order)
        finally:
            self._scrubber.running.release()

    async def _run(self, order: Order) -> Report:
        scrub = await self._read(order)
        if scrub is None:
            return await self.find(order)
        found = await self._scrubber.find(scrub)
        busy = [each.conversation_id for each in found.conversations if each.is_busy]
        if busy:
            raise refuse_busy(busy)
        done: list[Scrubbed] = []
        for each in found.conversations:
            try:
                # What is committed is also gone from memory, whoever hangs up meanwhile.
                with trio.CancelScope(shield=True):
                    done.append(await self._scrubber.scrub(each.conversation_id, scrub))
                    await self._reload(each.conversation_id)
            except NotFound:
                continue  # it was deleted meanwhile
            except Busy:
                raise refuse_busy([each.conversation_id], done=len(done)) from None
            except AskdError as error:
                error.message += _say_how_far(len(done), len(found.conversations))
                error.args = (error.message,)
                raise
            await trio.lowlevel.checkpoint()
        cleaned = await self._scrubber.finish(scrub, backups=order.backups)
        counted = Found(conversations=done, rows=found.rows, files=found.files)
        return Report(found=counted, cleaned=cleaned)

    async def _read(self, order: Order) -> Scrub | None:
        """What to look for; None: the expression matches nothing that is stored."""
        pattern = order.pattern
        if not pattern:
            raise RequestError("The pattern is empty: it would be everywhere.")
        if len(pattern) > PATTERN_CHARACTERS:
            raise RequestError(f"The pattern has more than {PATTERN_CHARACTERS} characters.")
        if len(pattern) < SHORTEST and not order.allow_short:
            raise RequestError(
                f"The pattern has fewer than {SHORTEST} characters: it would be replaced in "
                "innocent words too. Say --yes if it is meant."
            )
        if not order.regex:
            return Scrub([pattern])
        texts = await self._scrubber.find_texts(pattern, allow_short=order.allow_short)
        return Scrub(texts) if texts else None

    async def _reload(self, conversation_id: str) -> None:
        """Let a session in memory read its log anew, also one that was just being read."""
        if self._sessions.is_loading(conversation_id):
            await self._sessions.get(conversation_id)
        session = self._sessions.find_live(conversation_id)
        if session is not None:
            session.make_stale()
            await session.wait_known("")  # of no turn: until it has read what there is
            session.hub.break_off()


def _say_how_far(done: int, of: int) -> str:
    return f" {done} of {of} conversation(s) were scrubbed before; run it again for the rest."
