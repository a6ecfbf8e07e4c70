"""Scripted models in memory, which refuse what no provider would take.

The check of a request is written anew here, on purpose: it must not share a
mistake with the code under test. A request that is refused is also remembered
in `rejected`, so that a test can insist that there was none.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace

import trio

from askd.core.items import (
    AssistantMessage,
    Blob,
    Item,
    Summary,
    Text,
    ToolOutput,
    UserMessage,
    join_text,
)
from askd.core.outcome import Usage
from askd.errors import NotConfigured, Refused, UnknownModel
from askd.providers.base import (
    CallDelta,
    Caller,
    Ended,
    Limits,
    Manners,
    Model,
    ModelRequest,
    Price,
    Stopped,
    StreamEvent,
    TextDelta,
    UsageReported,
)

Step = str | StreamEvent | Exception | trio.Event | float
"""A fragment of text, an event, an error to raise, something to wait for, seconds to wait."""

Script = Callable[[ModelRequest], Iterable[Step]]

USAGE = Usage(input_tokens=7, output_tokens=3)


def find_refusal(request: ModelRequest) -> str | None:
    """Why a provider would refuse this request; None: it would take it."""
    items = request.items
    if not items:
        return "no items"
    shown = {sha256 for item in items for sha256 in images_of(item)}
    if shown != set(request.images):
        return f"images {sorted(request.images)} for {sorted(shown)}"
    if not all(request.images.values()):
        return "an image without content"
    if request.temperature is not None and request.temperature < 0:
        return f"temperature {request.temperature}"
    if request.max_output_tokens is not None and request.max_output_tokens < 1:
        return f"max_output_tokens {request.max_output_tokens}"
    if not all(request.stop) or not isinstance(request.stop, tuple):
        return f"stop {request.stop!r}"
    if request.effort not in (None, "none", "minimal", "low", "medium", "high"):
        return f"effort {request.effort!r}"
    return find_misplaced(items)


def images_of(item: Item) -> list[str]:
    """The images in it, by their sha256."""
    if not isinstance(item, UserMessage | AssistantMessage | ToolOutput):
        return []
    blobs = [part for part in item.parts if isinstance(part, Blob)]
    return [blob.sha256 for blob in blobs if blob.media_type.startswith("image/")]


def find_misplaced(items: Sequence[Item]) -> str | None:
    """What is not where it should be among the items, or should not be there at all."""
    waiting: list[str] = []
    for item in items:
        if isinstance(item, ToolOutput):
            if item.call_id not in waiting:
                return f"orphan output of {item.call_id!r}"
            waiting.remove(item.call_id)
            continue
        if waiting:
            return f"unanswered calls {waiting} before {type(item).__name__}"
        if isinstance(item, AssistantMessage):
            waiting = [call.call_id for call in item.calls]
            if len(set(waiting)) != len(waiting):
                return f"doubled call ids {waiting}"
            if not item.parts and not item.calls:
                return "an empty assistant message"
        elif isinstance(item, Summary):
            continue
        elif not isinstance(item, UserMessage):
            return f"{type(item).__name__} is not for models"
        blobs = sum(isinstance(part, Blob) for part in item.parts)
        if blobs > len(images_of(item)):
            return "a blob that was not resolved"
    if waiting:
        return f"unanswered calls {waiting} at the end"
    return None


def last_words(request: ModelRequest) -> str:
    """What the user said last."""
    return next(
        join_text(item.parts) for item in reversed(request.items) if isinstance(item, UserMessage)
    )


def echo(request: ModelRequest) -> Iterable[Step]:
    """Say the user's last words back, a word at a time."""
    yield "echo:"
    for word in last_words(request).split():
        yield f" {word}"


def call_tools(*names: str) -> list[Step]:
    """The events of an answer that calls these tools."""
    return [
        *(CallDelta(k, f"call_{k}", name, "{}") for k, name in enumerate(names)),
        Stopped("calls"),
    ]


@dataclass
class ScriptedModels:
    """Answers with what `script` says, a checkpoint before each step.

    Attributes:
        known: the models that there are, by name.
        key_needed: the secret without which nothing is resolved; None: any caller will do.
        requests: every request that was taken, in order.
        callers: who asked for it.
        rejected: why a request was refused.
        said: what progress is reported before an answer.
        manners, price: of every model; `blind` names those that cannot see.
        guessed: the window is a guess.
        usage: what each answer is said to have taken.
        counts: what is answered to whoever asks for a count; an event: nothing, until it is set.
        counted: the requests that were to be counted.
    """

    script: Script = echo
    window: int = 100_000
    reserved: int = 1000
    known: tuple[str, ...] = ("test/small", "test/large")
    key_needed: str | None = None
    dialect: str = "openai-chat"
    requests: list[ModelRequest] = field(default_factory=list)
    callers: list[Caller] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)
    said: Mapping[str, str] = field(default_factory=dict)
    manners: Manners = field(default_factory=Manners)
    price: Price | None = None
    blind: tuple[str, ...] = ()
    guessed: bool = False
    usage: Usage = USAGE
    counts: int | Exception | trio.Event | None = None
    counted: list[ModelRequest] = field(default_factory=list)

    async def resolve(self, name: str | None, caller: Caller) -> Model:
        """The model of that name; the first if none is asked for."""
        await trio.lowlevel.checkpoint()
        if self.key_needed is not None and self.key_needed not in caller.secrets:
            raise NotConfigured(f"No key: set {self.key_needed}.")
        if name is not None and name not in self.known:
            raise UnknownModel(f"There is no model {name!r}.")
        name_found = name or self.known[0]
        return Model(
            name=name_found,
            provider="test",
            dialect="local" if self.dialect == "local" else "openai-chat",
            limits=Limits(
                context_window=self.window, reserved_output=self.reserved, known=not self.guessed
            ),
            manners=replace(self.manners, images=False)
            if name_found in self.blind
            else self.manners,
            price=self.price,
            why=None if name else "the only one there is",
        )

    async def count(self, model: Model, request: ModelRequest, caller: Caller) -> int | None:
        """What `counts` says of the request, as a server that counts would."""
        await trio.lowlevel.checkpoint()
        self.counted.append(request)
        if isinstance(self.counts, Exception):
            raise self.counts
        if isinstance(self.counts, trio.Event):
            await self.counts.wait()
            return None
        return self.counts

    @asynccontextmanager
    async def stream(
        self,
        model: Model,
        request: ModelRequest,
        caller: Caller,
        *,
        progress: Callable[[str, str], None],
    ) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        """One answer."""
        refusal = find_refusal(request) or self._find_rudeness(model, request)
        if refusal is not None:
            self.rejected.append(refusal)
            raise Refused(f"The request is refused: {refusal}.")
        self.requests.append(request)
        self.callers.append(caller)
        for kind, text in self.said.items():
            progress(kind, text)
        async with aclosing(self._play(self.script(request))) as events:
            yield events

    def _find_rudeness(self, model: Model, request: ModelRequest) -> str | None:
        """What does not befit the model's manners."""
        manners = model.manners
        if manners.images is False and request.images:
            return "images for a model that cannot see"
        if request.schema is not None and not manners.schema:
            return "a schema for a model that takes none"
        if request.tools and not manners.tools:
            return "tools for a model that takes none"
        if request.context_window not in (None, model.limits.context_window):
            return f"a window of {request.context_window}"
        return None

    async def _play(self, steps: Iterable[Step]) -> AsyncGenerator[StreamEvent, None]:
        stopped = False
        for step in steps:
            await trio.lowlevel.checkpoint()
            match step:
                case str():
                    yield TextDelta(step)
                case Exception():
                    raise step
                case trio.Event():
                    await step.wait()
                case float() | int():
                    await trio.sleep(step)
                case _:
                    stopped = stopped or isinstance(step, Stopped)
                    yield step
        await trio.lowlevel.checkpoint()
        if not stopped:
            yield Stopped("end")
        yield UsageReported(self.usage)
        yield Ended()


def texts_of(items: Sequence[Item]) -> list[str]:
    """What each message says, in order."""
    return [
        "".join(part.text for part in item.parts if isinstance(part, Text))
        for item in items
        if isinstance(item, UserMessage | AssistantMessage | ToolOutput)
    ]
