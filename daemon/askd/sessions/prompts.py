"""A prompt as it comes to the door, and as it leaves it: what was asked for, what was accepted.

Values, and what is wrong with the parts of one by themselves. Nothing is stored here,
and nothing looked up.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from askd.core.events import TurnOptions
from askd.core.images import IMAGE_TYPES, find_image_type
from askd.core.items import Blob, Part
from askd.errors import RequestError
from askd.providers.base import Caller
from askd.sessions.live import LiveSession
from askd.sessions.targets import Target
from askd.store.log import Firing

PROXY_NAMES = frozenset({"https_proxy", "http_proxy", "all_proxy", "no_proxy"})
"""Among a caller's secrets, in either case, and none: no provider is opened by them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt as it was asked for.

    Attributes:
        key: the caller's UUID: the same key is the same turn.
        digest: over target, parts and options, to notice a key that is used twice.
        parts: what was said and attached.
        blobs: the contents of all `Blob` parts, by their SHA-256 in hex.
        secrets: the caller's provider keys and proxies; kept in memory until the turn is over, and
            those of the last turn as long as its session: see `compactions.last_caller`.
        terminal: make the conversation the one that this terminal used last.
        firing: a schedule sends it.
    """

    target: Target
    key: str
    digest: str
    parts: tuple[Part, ...]
    blobs: Mapping[str, bytes] = field(default_factory=dict)
    options: TurnOptions = field(default_factory=TurnOptions)
    busy: Literal["queue", "steer", "fail"] = "queue"
    ephemeral: bool = False
    cwd: str | None = None
    cwd_id: str | None = None
    env: Mapping[str, str] | None = None
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    terminal: str | None = None
    firing: Firing | None = None

    @property
    def caller(self) -> Caller:
        """What the caller lends to the turn."""
        return Caller(env=self.env or {}, secrets=self.secrets)

    @property
    def has_keys(self) -> bool:
        """Whether a key is among the secrets."""
        return any(name.lower() not in PROXY_NAMES for name in self.secrets)


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """A prompt that is stored.

    Attributes:
        position: how many turns are before it.
        job_id: if it was detached.
        steers: the id of its message, if it joined a turn that ran; `turn_id` is that turn's.
        warning: what is not as it was asked for; a sentence.
    """

    session: LiveSession
    turn_id: str
    seq: int
    position: int
    created: bool = False
    job_id: str | None = None
    steers: str | None = None
    warning: str | None = None


def check_parts(prompt: Prompt) -> None:
    """Raise `RequestError` for a prompt that says nothing, or nothing that a model can read."""
    if not any(isinstance(part, Blob) or part.text.strip() for part in prompt.parts):
        raise RequestError("The prompt is empty.", reason="empty_prompt")
    for part in prompt.parts:
        if not isinstance(part, Blob):
            continue
        content, name = prompt.blobs.get(part.sha256, b""), part.name or "An attachment"
        if part.media_type in IMAGE_TYPES:
            # A provider refuses an image that is none, and would for as long as it is in the log.
            if find_image_type(content) != part.media_type:
                raise RequestError(f"{name} is no {part.media_type}.", reason="bad_blob")
            continue
        if not part.media_type.startswith("text/"):
            raise RequestError(f"Text and images can be attached, not {part.media_type}.")
        try:
            content.decode("utf-8")
        except UnicodeDecodeError:
            raise RequestError(f"{name} is not UTF-8 text.", reason="bad_blob") from None
