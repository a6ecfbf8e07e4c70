"""What a tool is: a name, a JSON schema, whether it changes the world, and `run`.

A tool answers with content or with an error that a model can read; it never
ends a turn. It does not know conversations, and it does not ask for permission.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from askd.core.items import Part


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool has to say. `is_error`: the model is told that it did not work."""

    parts: tuple[Part, ...]
    is_error: bool = False


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

    async def run(self, arguments: Mapping[str, Any]) -> Result:
        """Do it. Whatever this raises becomes an error output."""
        ...
