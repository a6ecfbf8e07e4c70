"""`[mcpServers.NAME]`: servers of tools, in the shape that MCP's clients share.

Shapes and nothing else; the names of the keys are those of the `mcpServers` object that
Claude Desktop, Cursor and others read, and Codex's where those have none.
"""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from askd.settings.providers import Url
from askd.settings.section import Name, Section

NAME = re.compile(r"[a-zA-Z0-9-]{1,32}(_[a-zA-Z0-9-]+)*")
"""Without two underscores in a row: they part the server's name from its tool's."""


def check_server_name(name: str) -> str:
    """A name that can stand before a tool's; raise `ValueError`."""
    if len(name) > 32 or not NAME.fullmatch(name):
        raise ValueError(
            "has other characters than letters, digits, - and single _, or more than 32 of them"
        )
    return name


HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9a-zA-Z-]+")
"""A token, as RFC 9110, 5.6.2 has it."""
HEADER_VALUE = re.compile(r"[\t\x20-\x7e\xa0-\xff]*")
"""RFC 9110, 5.5."""


def _check_word(word: str) -> str:
    if "\0" in word:
        raise ValueError("holds a zero byte, which no program can be told")
    return word


def _check_variable(name: str) -> str:
    if not name or "=" in name:
        raise ValueError("is no name of a variable")
    return _check_word(name)


def _check_header(name: str) -> str:
    if not HEADER_NAME.fullmatch(name):
        raise ValueError("is no name of a header")
    return name


def _check_header_value(value: str) -> str:
    # A line's end would begin another header; beyond Latin-1 there is no letter for one.
    if not HEADER_VALUE.fullmatch(value):
        raise ValueError("holds what no header can hold")
    return value


ServerName = Annotated[str, AfterValidator(check_server_name)]
Word = Annotated[str, AfterValidator(_check_word)]
Variable = Annotated[str, AfterValidator(_check_variable)]
Header = Annotated[str, AfterValidator(_check_header)]
HeaderValue = Annotated[str, AfterValidator(_check_header_value)]


class McpServerSettings(Section):
    """`[mcpServers.NAME]`: a program that is started, or a server at an address."""

    command: Name | None = Field(
        default=None, description="The program to start; looked for on the PATH."
    )
    args: list[Word] = Field(default_factory=list, description="Its arguments.")
    env: dict[Variable, Word] = Field(
        default_factory=dict, description="Variables for it, beside PATH, HOME and the locale."
    )
    cwd: str | None = Field(
        default=None, description="Where it is started; the home directory if not set."
    )
    url: Url | None = Field(
        default=None, description="In place of a program: where it listens (streamable HTTP)."
    )
    headers: dict[Header, HeaderValue] = Field(
        default_factory=dict, description="Headers to send there."
    )
    bearer_token_env: str | None = Field(
        default=None, description="The daemon's variable that holds a token for it."
    )
    bearer_token_file: str | None = Field(
        default=None, description="A file that holds one; others must not be able to read it."
    )
    type: Literal["stdio", "http", "streamable-http", "streamableHttp"] | None = Field(
        default=None,
        description="As other programs write it; what it is follows from `command` or `url`.",
    )
    enabled: bool = Field(default=True, description="It may be started and its tools offered.")
    enabled_tools: list[str] | None = Field(
        default=None, description="Of its tools only these: names or patterns; all if not set."
    )
    disabled_tools: list[str] = Field(
        default_factory=list, description="Of its tools all but these: names or patterns."
    )
    startup_timeout_s: float = Field(
        default=30.0, gt=0, description="The longest that it may take to start."
    )
    tool_timeout_s: float = Field(
        default=120.0, gt=0, description="The longest that one call may take."
    )

    @model_validator(mode="after")
    def _check_kind(self) -> "McpServerSettings":
        if (self.command is None) == (self.url is None):
            raise ValueError("takes either a command or a url")
        if self.type is not None and (self.type == "stdio") != (self.command is not None):
            wanted = "a command" if self.type == "stdio" else "a url"
            raise ValueError(f"of the type {self.type!r} takes {wanted}")
        return self
