"""`client.conversations`: listing, reading, naming, forking, shrinking, moving, deleting."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from ask.blobs import read_answer
from ask.exits import FAILED
from ask.library.errors import make_error
from ask.library.events import Event
from ask.library.link import PAGE, Link
from ask.library.prompts import find_target
from ask.library.reading import Reader
from ask.library.values import Compaction, Conversation, Hit, read_value
from ask.protocol.limits import BLOB_CHUNK_BYTES


class Conversations:
    """The conversations of a daemon.

    Where a method takes a conversation it takes the value, an id, a name, or the beginning
    of an id (4 characters or more). One that is not there is `NotFound`.
    """

    def __init__(self, link: Link) -> None:
        self._link = link

    def list(self, *, limit: int | None = 50, live: bool = False) -> tuple[Conversation, ...]:
        """Conversations, the newest first, at most `limit`; `live`: only those in memory."""
        rows = self._link.list_rows("conversation/list", {"live": live}, limit=limit)
        return tuple(read_value(Conversation, row) for row in rows)

    def find(self, conversation: Conversation | str) -> Conversation:
        """The conversation that is meant, as it is now."""
        target = find_target(conversation, create=False)
        found = self._link.call("conversation/resolve", {"target": target})
        return read_value(Conversation, found)

    def create(
        self, name: str | None = None, *, model: str | None = None, system: str | None = None
    ) -> Conversation:
        """A new, empty one."""
        made = self._link.call(
            "conversation/create",
            {"name": name, "model": model, "system": system, **self._link.describe_caller()},
        )
        return read_value(Conversation, made)

    def read(self, conversation: Conversation | str, *, since: int = 0) -> Iterator[Event]:
        """Every event that is stored, after the seq `since`; what runs is for `subscribe`."""
        conversation_id, after = self._find_id(conversation), since
        reader = Reader(pieces=False)
        while True:
            asked = {"conversation_id": conversation_id, "after_seq": after, "limit": PAGE}
            page = self._link.call("conversation/read", asked)
            for event in page["data"]:
                yield from reader.read_event(read_answer(self._link, event))
            if page.get("next_after_seq") is None:
                return
            after = page["next_after_seq"]

    def rename(self, conversation: Conversation | str, name: str | None) -> Conversation:
        """Give it another name; None takes the name away."""
        asked = {"conversation_id": self._find_id(conversation), "name": name}
        return read_value(Conversation, self._link.call("conversation/rename", asked))

    def fork(
        self,
        conversation: Conversation | str,
        *,
        at_seq: int | None = None,
        name: str | None = None,
    ) -> Conversation:
        """Another one with what was said in this one, as it was after the event `at_seq`."""
        asked = {"conversation_id": self._find_id(conversation), "at_seq": at_seq, "name": name}
        return read_value(Conversation, self._link.call("conversation/fork", asked))

    def delete(self, conversation: Conversation | str, *, interrupt: bool = False) -> None:
        """Delete it for good; `interrupt`: also if it is at work, which else is `Busy`."""
        asked = {"conversation_id": self._find_id(conversation), "interrupt": interrupt}
        self._link.call("conversation/delete", asked)

    def note(self, conversation: Conversation | str, text: str) -> None:
        """Keep a notice in it: people see it, models never do."""
        asked = {"conversation_id": self._find_id(conversation), "text": text}
        self._link.call("conversation/note", asked)

    def clear(self, conversation: Conversation | str) -> None:
        """Begin with an empty view; the log keeps everything."""
        self._link.call("conversation/clear", {"conversation_id": self._find_id(conversation)})

    def compact(
        self,
        conversation: Conversation | str,
        *,
        model: str | None = None,
        timeout_s: float = 660.0,
    ) -> Compaction:
        """Have a summary stand for the older turns; after `timeout_s` it is `pending`."""
        asked = {
            "conversation_id": self._find_id(conversation),
            "model": model,
            "timeout_s": timeout_s,
            **self._link.describe_caller(),
        }
        return read_value(Compaction, self._link.call("conversation/compact", asked))

    def prune(self, conversation: Conversation | str) -> bool:
        """Take what is old out of the view, as far as it is too large; False: nothing had to."""
        asked = {"conversation_id": self._find_id(conversation), **self._link.describe_caller()}
        return bool(self._link.call("conversation/prune", asked)["pruned"])

    def undo(self, conversation: Conversation | str) -> Literal["compact", "prune"] | None:
        """Take the last compaction or pruning back: what it was; None: there was none."""
        asked = {"conversation_id": self._find_id(conversation)}
        undone: Literal["compact", "prune"] | None
        undone = self._link.call("conversation/undo", asked)["undone"]
        return undone

    def pin(
        self, conversation: Conversation | str, item_id: str | None = None, *, pinned: bool = True
    ) -> Conversation:
        """Keep a message in the view, or the conversation from clean-ups; or do so no more."""
        asked = {"conversation_id": self._find_id(conversation), "item_id": item_id}
        method = "conversation/pin" if pinned else "conversation/unpin"
        return read_value(Conversation, self._link.call(method, asked))

    def search(
        self,
        text: str,
        *,
        conversation: Conversation | str | None = None,
        role: Literal["user", "assistant", "tool", "summary"] | None = None,
        limit: int | None = 20,
    ) -> tuple[Hit, ...]:
        """Messages that hold all of these words, the newest first."""
        asked: dict[str, Any] = {"text": text, "role": role}
        if conversation is not None:
            asked["conversation_id"] = self._find_id(conversation)
        rows = self._link.list_rows("conversation/search", asked, limit=limit)
        return tuple(read_value(Hit, row) for row in rows)

    def export(
        self,
        conversation: Conversation | str,
        format: Literal["json", "markdown", "codex"] = "json",
    ) -> bytes:
        """The whole of it as a file."""
        asked = {"conversation_id": self._find_id(conversation), "format": format}
        content, offset = bytearray(), 0
        while True:
            chunk = self._link.call("conversation/export", {**asked, "offset": offset})
            content += chunk["bytes"]
            if chunk.get("next_offset") is None:
                return bytes(content)
            offset = chunk["next_offset"]

    def load(self, content: bytes, *, label: str = "The file") -> Conversation:
        """A conversation made of such a file (`json`, `codex`, and more); or the one it made.

        Args:
            label: what to call the file in an error.
        """
        answer: Mapping[str, Any] = {}
        for offset in range(0, max(len(content), 1), BLOB_CHUNK_BYTES):
            chunk = content[offset : offset + BLOB_CHUNK_BYTES]
            answer = self._link.call(
                "conversation/import",
                {"size": len(content), "offset": offset, "bytes": chunk, "label": label},
            )
        if answer.get("conversation_id") is None:
            message = f"{label} was sent, and is no conversation."
            raise make_error(FAILED, message, data={"reason": "bad_import"})
        return self.find(answer["conversation_id"])

    def _find_id(self, conversation: Conversation | str) -> str:
        """The full id of what is meant."""
        return (
            conversation.id
            if isinstance(conversation, Conversation)
            else self.find(conversation).id
        )
