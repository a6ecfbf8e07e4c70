"""Pages of one preview: built once, however many pages of it are asked for.

What a long conversation's next request holds takes time to find, and its items take
more to encode. So a connection keeps what it reads from until the last page, and of
that only the page that is asked for is encoded. It is let go of when the conversation
is not what it was, or when something else is read.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from askd.core.conversation import Conversation
from askd.providers.base import Caller
from askd.server import fitting
from askd.sessions.preview import Preview


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadContext:
    """A preview that is being read, and of what, at which moment, in whose name it was made."""

    conversation: Conversation
    last_seq: int
    caller: Caller
    preview: Preview

    def is_of(self, conversation: Conversation, caller: Caller) -> bool:
        """Whether it is still what this caller would see of the conversation."""
        # The very same object: a log that was rewritten, or read anew, is folded into another.
        return (
            conversation is self.conversation
            and conversation.last_seq == self.last_seq
            and caller == self.caller
        )

    @property
    def total(self) -> int:
        """How many items there are, a system prompt among them."""
        return self._before + self.preview.count

    def cut(self, start: int, limit: int) -> list[fitting.Fitted]:
        """As many items from `start` on as fit one answer, at most `limit`."""
        return fitting.cut_fitted(self._fit(start, min(start + limit, self.total)))

    @property
    def _before(self) -> int:
        return int(bool(self.preview.context.system))

    def _fit(self, start: int, end: int) -> Iterator[fitting.Fitted]:
        before = self._before
        if start < before < end + before:
            system = {"type": "system", "text": self.preview.context.system}
            yield fitting.fit_record(system, self.preview.system_tokens)
        for seen in self.preview.look(max(0, start - before), end - before):
            yield fitting.fit_item(seen.item, seen.tokens)
