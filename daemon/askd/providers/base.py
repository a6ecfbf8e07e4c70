"""What a provider is to the rest of the house: values, and the two halves of a codec.

A codec is pure: `encode` turns a request into an `HttpCall`, a `Decoder` turns
the bytes of the answer into stream events. Only `transport` opens a connection.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from askd.core.items import Item
from askd.core.outcome import Failure, Stop, Usage

Dialect = Literal["openai-responses", "openai-chat", "anthropic", "ollama", "copilot", "local"]
"""The wire formats; "local" is the embedded model, which is spoken to in "openai-chat"."""

Auth = Literal["chatgpt", "claude-oauth", "copilot"]
"""Ways to sign in, where a provider takes more than a key."""

Effort = Literal["none", "minimal", "low", "medium", "high"]
"""How much a model is to think before it answers; each dialect says it in its own words."""

Calling = bool | Literal["schema"]
"""Whether a model calls tools: in its dialect's own way, not at all, or, with `schema`, in JSON
that it is held to, for those that were never taught to."""

OPENING = "(The earlier part of this conversation is not shown.)"
"""What the user says first where a view begins with an answer and the dialect minds that."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: an allow-listed environment, and keys that live in memory alone."""

    env: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One completion, asked of any dialect. None: not said, the provider decides.

    Attributes:
        items: what the model sees. Blobs have been resolved to text, but for images.
        images: the content of every image blob in `items`, by its sha256.
        tools: each `{name, description, parameters}`, the last a JSON schema.
        schema: a JSON schema that the answer's text must fit; set only where the model takes one.
        context_window: tokens; for servers that must be told how much to read.
        system_as_user: the model's template knows no system role: it goes ahead of the first
            user message.
    """

    model: str
    items: Sequence[Item]
    system: str | None = None
    images: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    tools: Sequence[Mapping[str, Any]] = ()
    temperature: float | None = None
    max_output_tokens: int | None = None
    stop: Sequence[str] = ()
    effort: Effort | None = None
    schema: Mapping[str, Any] | None = None
    context_window: int | None = None
    system_as_user: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpCall:
    """An HTTP request without a host or a credential: the endpoint adds both.

    `repr` shows neither body nor headers: a sign-in's body is a secret, and a prompt is private.
    """

    method: str
    path: str
    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More of what the model thinks aloud."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningSealed:
    """One piece of reasoning is whole: the deltas since the last seal are its text.

    `raw` is what the provider wants back with the next request (a signature,
    encrypted content, an id); None: nothing. It is kept with the item and sent
    only to the provider it came from.
    """

    raw: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class CallDelta:
    """More of the call at `index`; id and name come once, usually with the first piece.

    `is_whole`: these arguments are all there are, in place of the pieces that came;
    for a server that says them once more and whose pieces do not add up to them.
    """

    index: int
    call_id: str | None = None
    name: str | None = None
    arguments: str = ""
    is_whole: bool = False


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


StreamEvent = (
    TextDelta
    | ReasoningDelta
    | ReasoningSealed
    | CallDelta
    | UsageReported
    | Stopped
    | Failed
    | Ended
)


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

    def decoder(self, request: ModelRequest) -> Decoder:
        """A fresh decoder for one answer to this request."""
        ...

    def read_error(self, status: int, headers: Mapping[str, str], body: bytes) -> Exception:
        """The `ProviderError` that an answer with an error status means."""
        ...


@runtime_checkable
class Counting(Protocol):
    """What a codec has beside, if its servers count a request's tokens without answering it."""

    def encode_count(self, request: ModelRequest) -> HttpCall | None:
        """The call that asks for the count; its answer is JSON with `input_tokens`. None: this
        server offers no such thing."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A URL, its credential and the way there. `repr` never shows what is secret.

    Attributes:
        base_url: without a slash at its end; a codec's path follows.
        auth: how the key is sent: `authorization: Bearer KEY`, or `x-api-key: KEY`.
        headers: sent with every request, beside the codec's own.
        unix_socket: connect there, whatever host the URL names.
        proxy: an http or https proxy; None: none.
        ca_file: certificates to trust in place of the system's.
        account: who asks, where that cannot be told by the key: a sign-in's tokens change.
    """

    provider: str
    base_url: str
    dialect: Dialect = "openai-chat"
    api_key: str | None = field(default=None, repr=False)
    auth: Literal["bearer", "x-api-key"] = "bearer"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    unix_socket: str | None = None
    proxy: str | None = field(default=None, repr=False)
    ca_file: str | None = None
    account: str | None = field(default=None, repr=False)


Progress = Callable[[str, str], None]
"""Called with a kind (`retrying`, `waiting`, `model_loading`, `warning`) and a sentence."""


Renew = Callable[[], Awaitable[Endpoint | None]]
"""Called once when the key is refused: another endpoint to try with, or None."""


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
class Price:
    """US dollars for a million tokens."""

    input: float
    output: float
    cached: float | None = None  # of the input, what the provider had in its cache

    def cost_of(self, usage: Usage) -> float:
        """Dollars."""
        cached = usage.cached_tokens if self.cached is not None else 0
        fresh = usage.input_tokens - cached
        total = fresh * self.input + usage.output_tokens * self.output
        return (total + cached * (self.cached or 0.0)) / 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Manners:
    """How a model wants to be asked, and what it can; from its settings or its provider.

    Attributes:
        tools: whether and how it calls tools.
        images: it can see; None: nobody said.
        schema: its provider holds it to a JSON schema; False: it is only told to keep to it.
    """

    tools: Calling = True
    images: bool | None = None
    schema: bool = True
    system_as_user: bool = False
    temperature: float | None = None
    stop: tuple[str, ...] = ()
    effort: Effort | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model that a turn can talk to. `name` is `provider/model`."""

    name: str
    provider: str
    dialect: Dialect
    limits: Limits
    manners: Manners = Manners()
    price: Price | None = None
    why: str | None = None  # how it was chosen, when nobody chose it: shown once

    @property
    def bare_name(self) -> str:
        """The name that the provider knows."""
        return self.name.partition("/")[2]

    @property
    def table(self) -> str:
        """The header of its table in `config.toml`: valid TOML, whatever a server calls it."""
        return f'[models."{"".join(map(_write_sign, self.name))}"]'


def _write_sign(sign: str) -> str:
    """One character between TOML's double quotes."""
    if sign in ('"', "\\"):
        return f"\\{sign}"
    return sign if sign.isprintable() else f"\\U{ord(sign):08x}"
