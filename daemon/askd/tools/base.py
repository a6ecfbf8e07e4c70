"""What a tool is: a name, arguments with a schema, what it would do, and `run`.

A tool answers with content or with an error that a model can read; it never
ends a turn. It does not know conversations, and it does not ask for permission: it
says what a person would have to be shown, and whether one has to be asked at all.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Generic, Literal, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from askd.core.approval import Approval, Grant
from askd.core.items import Part, Text


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool has to say. `is_error`: the model is told that it did not work.

    `blobs`: what those of the parts hold that are blobs, by their SHA-256 in hex.
    """

    parts: tuple[Part, ...]
    is_error: bool = False
    blobs: Mapping[str, bytes] = field(default_factory=dict, repr=False)


def say(text: str, *, is_error: bool = False) -> Result:
    """A result that is one text."""
    return Result((Text(text),), is_error=is_error)


class CannotRun(Exception):
    """The call cannot be carried out as it is; the message is a sentence for the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a tool, in the middle of a call, wants a person to say.

    Attributes:
        who: the server that wants it, for the person to know.
        text: what it says; of others' making.
        schema: of the object that it wants, a flat JSON schema; None: only yes or no, for
            `url`, which the person is to visit.
    """

    who: str
    text: str
    schema: Mapping[str, Any] | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a person said to a wish; `content` with `accept` alone, as its schema has it."""

    action: Literal["accept", "decline", "cancel"]
    content: Mapping[str, Any] | None = None


async def decline(wish: Wish) -> Said:
    """What is said where nobody can be asked."""
    return Said(action="cancel")


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Where and for whom a call runs.

    Attributes:
        cwd: the caller's working directory; None: it is not known, or had been removed.
        cwd_id: `DEVICE:INODE` of that directory when the prompt was sent.
        env: the caller's variables that a tool may see.
        report: says a sentence to whoever watches: how far a long call is.
        keep: takes what the blobs of an output hold, until the output is stored.
        ask: has a person say something in the middle of the call, and waits for it.
    """

    conversation_id: str
    turn_id: str
    call_id: str
    cwd: str | None = None
    cwd_id: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    report: Callable[[str], None] = lambda sentence: None
    keep: Callable[[Mapping[str, bytes]], None] = lambda blobs: None
    ask: Callable[[Wish], Awaitable[Said]] = decline


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What a call would do, before it does.

    Attributes:
        title: one line: `Run: git status`, `Write notes.md (12 lines)`.
        body: the real arguments or the diff; may be long, and holds whatever the model said.
        needs: `auto`: nobody has to be asked, where no rule says otherwise; `ask`.
        grant: what "always in this conversation" would cover; None: it is not offered.
        command: the shell's line that it runs, for rules about commands.
        confined: False: nothing keeps it from doing more than it says.
        confinement: a sentence about what keeps it from more; empty: the tool is built so.
        writes: the files of the caller's that it changes, by their paths in the workspace;
            empty: nobody can say which; None: none. Their state is recorded before.
    """

    title: str
    body: str = ""
    needs: Approval = "ask"
    grant: Grant | None = None
    command: str | None = None
    confined: bool = True
    confinement: str = ""
    writes: tuple[str, ...] | None = None


class Tool(Protocol):
    """One thing that a model can ask for."""

    @property
    def name(self) -> str:
        """The name that a call carries; unique in a registry."""
        ...

    @property
    def description(self) -> str:
        """When to use it, in words for a model."""
        ...

    @property
    def schema(self) -> Mapping[str, Any]:
        """The JSON schema of the arguments, of type `object`."""
        ...

    @property
    def effects(self) -> bool:
        """Whether running it twice could differ from running it once."""
        ...

    @property
    def needs(self) -> Approval:
        """What its calls need as a rule, for a listing: `auto` or `ask`."""
        ...

    async def preview(self, arguments: Mapping[str, Any], site: Site) -> Preview:
        """What it would do; changes nothing. `CannotRun`: it would not, and says why."""
        ...

    async def run(self, arguments: Mapping[str, Any], site: Site) -> Result:
        """Do it. `CannotRun` and whatever else this raises becomes an error output."""
        ...


class ToolArguments(BaseModel):
    """What a call says; what the tool does not know is refused, for it would be passed over."""

    model_config = ConfigDict(extra="forbid")


Arguments = TypeVar("Arguments", bound=ToolArguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltIn(Generic[Arguments]):
    """A tool that is one function over checked arguments.

    Attributes:
        arguments: their model; its JSON schema is what providers are told.
        does: carries the call out.
        shows: says what it would do.
    """

    name: str
    description: str
    arguments: type[Arguments]
    does: Callable[[Arguments, Site], Awaitable[Result]]
    shows: Callable[[Arguments, Site], Awaitable[Preview]]
    effects: bool = False
    needs: Approval = "auto"

    @property
    def schema(self) -> Mapping[str, Any]:
        """The JSON schema of the arguments."""
        return _make_schema(self.arguments)

    async def preview(self, arguments: Mapping[str, Any], site: Site) -> Preview:
        """As `Tool.preview`."""
        return await self.shows(self._check(arguments), site)

    async def run(self, arguments: Mapping[str, Any], site: Site) -> Result:
        """As `Tool.run`."""
        return await self.does(self._check(arguments), site)

    def _check(self, arguments: Mapping[str, Any]) -> Arguments:
        try:
            return self.arguments.model_validate(arguments)
        except ValidationError as error:
            wrong = "; ".join(
                f"{'.'.join(map(str, each['loc'])) or 'arguments'}: {each['msg']}"
                for each in error.errors(include_url=False, include_input=False)
            )
            raise CannotRun(f"The arguments of {self.name!r} do not fit: {wrong}") from None


@cache
def _make_schema(shape: type[BaseModel]) -> Mapping[str, Any]:
    """Made once: several requests of a turn are measured for each one that is sent."""
    return shape.model_json_schema()
