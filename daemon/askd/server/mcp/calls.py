"""What a face's tools take and give: checked arguments with schemas, and replies.

pydantic at the border, as everywhere: the models are what clients are shown. It knows
no house and does nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

PROMPT_CHARACTERS = 256 * 1024
"""As many bytes fit one part of a prompt; the bytes are counted by who makes it."""
TIMEOUT_S = 600.0
TIMEOUT_MOST_S = 3600.0
QUERY_CHARACTERS = 1000
NAME_CHARACTERS = 64
"""Of a conversation's name; ids are shorter."""
CURSOR_CHARACTERS = 1024


class Arguments(BaseModel):
    """What a call says; what the tool does not know is refused, for it would be passed over."""

    model_config = ConfigDict(extra="forbid", strict=True)


class AskArguments(Arguments):
    """What `ask` takes."""

    prompt: str = Field(min_length=1, max_length=PROMPT_CHARACTERS, description="What to ask.")
    conversation: str | None = Field(
        default=None,
        min_length=1,
        max_length=NAME_CHARACTERS,
        description="The conversation to ask in: its id, or its name (one of a new name is "
        "created). Without it, what was configured, else a new conversation.",
    )
    model: str | None = Field(
        default=None,
        min_length=1,
        max_length=256,
        description="provider/model, or an alias; the conversation's own if left out.",
    )
    timeout_s: float = Field(
        default=TIMEOUT_S,
        gt=0,
        le=TIMEOUT_MOST_S,
        strict=False,
        description="Seconds after which the answer is given up; what was said so far is kept.",
    )


class SearchArguments(Arguments):
    """What `search_history` takes."""

    query: str = Field(
        min_length=1,
        max_length=QUERY_CHARACTERS,
        description='Words that must all be in one message; "in quotes" in a row; word* finds '
        "what begins with it.",
    )
    conversation: str | None = Field(
        default=None,
        min_length=1,
        max_length=NAME_CHARACTERS,
        description="Only in this one: id or name.",
    )
    limit: int = Field(default=10, ge=1, le=50, description="How many messages at the most.")


class ReadArguments(Arguments):
    """What `read_conversation` takes."""

    conversation: str = Field(
        min_length=1, max_length=NAME_CHARACTERS, description="The conversation's id or name."
    )
    turns: int = Field(default=10, ge=1, le=200, description="How many turns, the last ones.")
    skip: int = Field(default=0, ge=0, le=100_000, description="Leave out this many last turns.")


class ListArguments(Arguments):
    """What `list_conversations` takes."""

    limit: int = Field(default=20, ge=1, le=100, description="How many at the most.")
    cursor: str | None = Field(
        default=None, max_length=CURSOR_CHARACTERS, description="next_cursor of the last answer."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a call is answered with: texts for a model, the same as data, whether it failed."""

    texts: tuple[str, ...]
    data: Mapping[str, Any] | None = None
    is_error: bool = False


def refuse(sentence: str) -> Reply:
    """A reply that says why there is no other."""
    return Reply(texts=(sentence,), is_error=True)


def explain(tool: str, error: ValidationError) -> str:
    """The sentence about arguments that do not fit; no value is repeated."""
    wrong = "; ".join(
        f"{'.'.join(map(str, each['loc'])) or 'arguments'}: {each['msg']}"
        for each in error.errors(include_url=False, include_input=False)[:5]
    )
    return f"The arguments of {tool!r} do not fit: {wrong[:1000]}"
