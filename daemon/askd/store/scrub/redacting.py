"""A log into which known credentials do not get: they are hidden in whatever is written.

It stands before another log and adds nothing of its own. What is shown while an
answer streams does not come by here. Content that is no text stays as it is.
"""

import hashlib
from collections.abc import Callable
from dataclasses import replace

import trio

from askd.core.rewriting import Rewrite, rewrite_body
from askd.store.log import Committed, Log, Partial, Write
from askd.store.writer import Writer

Hide = Callable[[str], str]
"""A text without the credentials that are known just now."""

MANY_BODIES = 100
"""An import: to look through it takes long enough to be noticed."""


class RedactingLog(Log):
    """Writes to `log`; `find_hide` answers how to hide just now, None: nothing is hidden."""

    def __init__(self, log: Writer, *, find_hide: Callable[[], Hide | None]) -> None:
        self._log = log
        self._find_hide = find_hide

    async def append(self, write: Write) -> Committed:
        """Hide, then commit; raises what the log raises."""
        hide = self._find_hide()
        if hide is None:
            return await self._log.append(write)
        if len(write.bodies) > MANY_BODIES:
            return await self._log.append(await trio.to_thread.run_sync(redact, write, hide))
        return await self._log.append(redact(write, hide))

    def save_partial(self, partial: Partial) -> None:
        """Hide, then keep a running item's text."""
        hide = self._find_hide()
        if hide is not None:
            partial = replace(partial, text=hide(partial.text))
        self._log.save_partial(partial)

    async def delete(self, conversation_id: str) -> None:
        """As the log does."""
        await self._log.delete(conversation_id)

    async def expire(self, conversation_id: str, *, before_at: float, archive: bool) -> bool:
        """As the log does."""
        return await self._log.expire(conversation_id, before_at=before_at, archive=archive)

    async def mend_search(self) -> None:
        """As the log does."""
        await self._log.mend_search()


def redact(write: Write, hide: Hide) -> Write:
    """The same write without credentials; a content that changes gets its new digest."""
    blobs: list[tuple[str, bytes]] = []
    renamed: dict[str, tuple[str, int]] = {}
    for sha256, data in write.blobs:
        changed = _hide_bytes(data, hide)
        digest = sha256
        if changed != data:
            digest = hashlib.sha256(changed).hexdigest()
            renamed[sha256] = (digest, len(changed))
        blobs.append((digest, changed))
    rewrite = Rewrite(text=hide, token=hide, name=hide, blobs=renamed)
    bodies = [rewrite_body(body, rewrite) for body in write.bodies]
    return replace(write, bodies=bodies, blobs=blobs)


def _hide_bytes(data: bytes, hide: Hide) -> bytes:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return data
    changed = hide(text)
    return data if changed == text else changed.encode("utf-8")
