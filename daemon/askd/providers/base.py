"""What a provider is to the rest of the house: values, and the two halves of a codec.

A codec is pure: `encode` turns a request into an `HttpCall`, a `Decoder` turns
the bytes of the answer into stream events. Only `transport` opens a connection.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from askd.core.items import Item
from askd.core.outcome import Failure, Stop, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One completion, asked of any dialect. Blobs in `items` have been resolved to text."""

    model: str
    items: Sequence[Item]
    system: str | None = None
    tools: Sequence[Mapping[str, Any]] = ()
    temperature: float | None = None
    max_output_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpCall:
    """An HTTP request without a host or a credential: the endpoint adds both."""

    method: str
    path: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More of what the model thinks aloud."""

    text: str


@dataclass(frozen=True, slots=True)
class CallDelta:
    """More of the call at `index`; id and name come once, usually with the first piece."""

    index: int
    call_id: str | None = None
    name: str | None = None
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class UsageReported:
    """The provider's own count, so far or final."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class Stopped:
    """Why the model stopped. The stream is not over until `Ended`."""

    stop: Stop


@dataclass(frozen=True, slots=True)
class Failed:
    """An error inside the stream."""

    failure: Failure


@dataclass(frozen=True, slots=True)
class Ended:
    """The dialect's own end event. A stream without it was cut."""


StreamEvent = TextDelta | ReasoningDelta | CallDelta | UsageReported | Stopped | Failed | Ended


class Decoder(Protocol):
    """Turns the bytes of one answer into events; keeps what is incomplete."""

    def feed(self, data: bytes) -> list[StreamEvent]:
        """Every event that is whole after these bytes; raise `BadAnswer` over a cap."""
        ...


class Codec(Protocol):
    """The pure translator of one dialect."""

    dialect: str

    def encode(self, request: ModelRequest) -> HttpCall:
        """The call that asks for this completion."""
        ...

    def decoder(self) -> Decoder:
        """A fresh decoder for one answer."""
        ...

    def read_error(self, status: int, headers: Mapping[str, str], body: bytes) -> Exception:
        """The `ProviderError` that an answer with an error status means."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A URL and its credential. `repr` never shows the credential."""

    provider: str
    base_url: str
    api_key: str | None = field(default=None, repr=False)
    unix_socket: str | None = None


Progress = Callable[[str, str], None]
"""Called with a kind (`retrying`, `model_loading`) and a sentence for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLimits:
    """How long to wait, in seconds. An event is one that the decoder yields, not a comment."""

    connect_s: float = 10.0
    first_s: float = 60.0  # until the answer begins: its status line
    gap_s: float = 120.0  # from there to the first event, and between two
    total_s: float = 30 * 60.0  # one completion, retries included


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """A model's limits in tokens. `known` is False for a safe guess."""

    context_window: int
    reserved_output: int
    known: bool = True

    @property
    def budget(self) -> int:
        """What a request may hold."""
        return self.context_window - self.reserved_output


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model that a turn can talk to. `name` is `provider/model`."""

    name: str
    provider: str
    dialect: Literal["openai-chat", "local"]
    limits: Limits
    supports_tools: bool = True
    why: str | None = None  # how it was chosen, when nobody chose it: shown once

    @property
    def bare_name(self) -> str:
        """The name that the provider knows."""
        return self.name.partition("/")[2]
