"""Items: the pieces of content that a conversation is made of.

Pure values without storage identity beyond an `id` that is unique in its
conversation. An assistant message is one value (its text, its reasoning and all
of its calls), so that no code can keep the text and lose the calls.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

PART_LIMIT_BYTES = 256 * 1024
"""A part larger than this is stored as a blob, so that every event fits one wire message."""


@dataclass(frozen=True, slots=True)
class Text:
    """Text; `name` says where an attached one came from: `stdin` or a path."""

    TYPE: ClassVar[str] = "text"
    text: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Blob:
    """Content kept beside the log, by its digest. `bytes` is its size."""

    TYPE: ClassVar[str] = "blob"
    sha256: str
    bytes: int
    media_type: str
    name: str | None = None


Part = Text | Blob


@dataclass(frozen=True, slots=True)
class Reasoning:
    """What a model thought aloud. `raw` goes back only to the provider it came from."""

    text: str
    raw: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's request to run a tool. `arguments` is the JSON text as it was streamed."""

    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class UserMessage:
    """What a person (or a script) said, with all that they attached."""

    TYPE: ClassVar[str] = "user_message"
    id: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """One completion's answer: text, reasoning and every call, never apart."""

    TYPE: ClassVar[str] = "assistant_message"
    id: str
    parts: tuple[Part, ...] = ()
    reasoning: tuple[Reasoning, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    provider: str | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """The answer to a call. `synthetic` says why we wrote it ourselves, if we did."""

    TYPE: ClassVar[str] = "tool_output"
    id: str
    call_id: str
    name: str
    parts: tuple[Part, ...]
    is_error: bool = False
    synthetic: Literal["interrupted", "unknown_tool", "denied"] | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """A model's summary of a prefix of the view that it stands for."""

    TYPE: ClassVar[str] = "summary"
    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Copy:
    """A file as it was before it was written. `part` None: there was none of this path.

    `altered`: a secret was taken out of it since, so that it is not what it was.
    """

    path: str
    part: Text | Blob | None = None
    mode: int = 0o644
    altered: bool = False


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A worktree as it was before a turn first wrote in it; `at` in unix seconds.

    `commit` holds it, kept by `refs/ask/ID` of that repository; empty: it was no git work tree,
    and `copies` holds the files that were written, as they were. `paths` were there and are not in
    it (a directory with a `/` at the end): they are left alone when it is put back. `altered`: a
    secret was taken out of a path since.
    """

    TYPE: ClassVar[str] = "snapshot"
    id: str
    worktree: str
    commit: str
    base_head: str | None = None
    paths: tuple[str, ...] = ()
    at: float | None = None
    copies: tuple[Copy, ...] = ()
    altered: bool = False


@dataclass(frozen=True, slots=True)
class Notice:
    """Something for people only: it is never sent to a model."""

    TYPE: ClassVar[str] = "notice"
    id: str
    text: str
    level: Literal["command", "result", "warning"] = "command"


@dataclass(frozen=True, slots=True)
class Unknown:
    """An item of a kind that this version does not know, kept as it came."""

    TYPE: ClassVar[str] = "unknown"
    raw: Mapping[str, Any]

    @property
    def id(self) -> str:
        """The id it came with, or an empty one."""
        return str(self.raw.get("id", ""))


Item = UserMessage | AssistantMessage | ToolOutput | Summary | Snapshot | Notice | Unknown


def join_text(parts: tuple[Part, ...]) -> str:
    """The text of the text parts, in order; blobs are not resolved here."""
    return "".join(part.text for part in parts if isinstance(part, Text))
