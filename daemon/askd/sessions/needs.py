"""What sessions need from the rooms below, and no more of them than that.

The real ones are `store.queries.Reader` and `providers.models.registry.Models`; tests
bring their own that keep the same promises.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Literal, Protocol

import trio

from askd.core.approval import ApprovalRules
from askd.core.calibration import Rates
from askd.core.events import Event
from askd.core.overflow import Policy
from askd.providers.base import Caller, Model, ModelRequest, StreamEvent
from askd.sessions.hub import Later
from askd.sessions.rates import KnownRates
from askd.sessions.rules import ContextRules, InstructionRules, ToolRules
from askd.store.log import KnownKey, Log, Partial
from askd.store.projection import ConversationRow
from askd.tools.base import Site
from askd.tools.instructions import Found as Instructions
from askd.tools.registry import Registry
from askd.tools.snapshots.recorder import Recorder

Report = Callable[[str, str], None]
"""Says (kind, sentence) to whoever watches: a model is loading, a request is tried again."""

Prepare = Callable[[Sequence[str], str | None], Awaitable[Sequence[str]]]
"""Sees that the tools that words of `-T` mean are there, for a directory: `McpServers.prepare`."""


async def prepare_nothing(words: Sequence[str], root: str | None) -> Sequence[str]:
    """Where all tools are always there."""
    return ()


TitleMode = Literal["first-words", "model", "off"]


class ModelSource(Protocol):
    """Finds models and streams their answers."""

    async def resolve(self, name: str | None, caller: Caller) -> Model:
        """The model of that name, or the default; raise a `ProviderError` with a sentence."""
        ...

    async def count(self, model: Model, request: ModelRequest, caller: Caller) -> int | None:
        """The request's tokens as its provider counts them; None: it offers no such thing."""
        ...

    def stream(
        self, model: Model, request: ModelRequest, caller: Caller, *, progress: Report
    ) -> AbstractAsyncContextManager[AsyncIterator[StreamEvent]]:
        """One answer; it ends normally only after the dialect's own end, else `ProviderError`."""
        ...


class InstructionSource(Protocol):
    """Finds what projects tell the models that work in them."""

    def find_rules(self) -> InstructionRules:
        """What holds where neither a prompt nor its conversation says."""
        ...

    async def read(self, site: Site, names: Sequence[str]) -> Instructions:
        """What there is of these files in a caller's project; may take long, never fails."""
        ...


class NoInstructions(InstructionSource):
    """Where no project has any."""

    def find_rules(self) -> InstructionRules:
        """They would be sent."""
        return InstructionRules()

    async def read(self, site: Site, names: Sequence[str]) -> Instructions:
        """There are none."""
        return Instructions()


class SessionStore(Protocol):
    """Where one session's past is: on the disk, or in memory."""

    async def load(self, conversation_id: str) -> list[Event]:
        """Every event, in order; none: there is no such conversation."""
        ...

    async def partials(self, conversation_id: str) -> list[Partial]:
        """The last saved text of items that were still streaming."""
        ...

    async def read_blob(self, sha256: str) -> bytes:
        """A blob's content; raise `NotFound`."""
        ...

    async def find_key(self, key: str) -> KnownKey | None:
        """The turn that this key stands for."""
        ...


class LogReader(SessionStore, Protocol):
    """Reads what has been committed to disk."""

    async def get(self, conversation_id: str) -> ConversationRow | None:
        """The conversation of exactly this id."""
        ...

    async def find(self, text: str) -> ConversationRow:
        """By exact id, exact name, or id prefix; raise `NotFound`."""
        ...

    async def find_terminal(self, terminal: str) -> ConversationRow | None:
        """The conversation that this terminal used last."""
        ...

    async def token_rates(self) -> Mapping[str, Rates]:
        """What is known of each model's counting, by its name."""
        ...

    async def unfinished(self) -> list[str]:
        """The ids of conversations with a turn that was accepted and has not ended."""
        ...


class MemoryStore(Log, SessionStore, Protocol):
    """A log that dies with the daemon, for ephemeral conversations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What turns are run with. `now` in unix seconds; `new_id` makes UUIDs.

    `guessed`: the models of which was said that their window is a guess, once for all.
    `overflow`: the setting; None: not set. `context`: the rules of `[context]`; `approval`: those
    of `[approval]`; `toolbox`: those of `[tools]`. `recorder` takes snapshots; None: nobody does.
    `prepare` is called when a turn begins whose prompt or settings want tools; `instructions` are
    read when one begins. `notifies`: whether somebody is told of each detached turn. `later`: by
    what a hub gathers deltas; None: by nothing.
    """

    models: ModelSource
    tools: Registry
    now: Callable[[], float]
    new_id: Callable[[], str]
    title_mode: Callable[[], TitleMode]
    turns: trio.CapacityLimiter
    guessed: set[str] = field(default_factory=set)
    later: Later | None = None
    rates: KnownRates = field(default_factory=KnownRates)
    overflow: Callable[[], Policy | None] = lambda: None
    context: Callable[[], ContextRules] = ContextRules
    approval: Callable[[], ApprovalRules] = ApprovalRules
    toolbox: Callable[[], ToolRules] = ToolRules
    recorder: Recorder | None = None
    prepare: Prepare = prepare_nothing
    instructions: InstructionSource = field(default_factory=NoInstructions)
    notifies: Callable[[], bool] = lambda: False
