"""`[tools]` and `[approval]`: what a model may use, and what it has to ask for.

Shapes and nothing else.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Annotated, Literal

from pydantic import Field, PositiveInt, field_validator

from askd.core.approval import OF_SERVERS
from askd.core.commands import Approval as Approval
from askd.core.commands import is_rule
from askd.settings.section import Name, Section

GROUPS = frozenset({"all", "read", "none"})
HOUSE = frozenset(
    {
        *("read_file", "write_file", "edit_file", "list_directory", "search_files"),
        *("run_command", "fetch_url", "search_history", "read_output"),
    }
)
"""The tools that are always there."""
PATTERN = frozenset("*?[")


def check_names(names: Iterable[str], known: frozenset[str]) -> None:
    """Raise `ValueError` for what can be the name of no tool: a fence with a typo is none."""
    for each in names:
        if each not in known and OF_SERVERS not in each:
            near = get_close_matches(each, known, n=1, cutoff=0.5)
            raise ValueError(
                f"there is no tool {each!r}" + (f"; did you mean {near[0]!r}?" if near else "")
            )


class ToolSettings(Section):
    """`[tools]`: what a model may use, and how it is kept from more."""

    enabled: list[Name] = Field(
        default_factory=list,
        description="The tools that are offered where neither a prompt nor its conversation says "
        "which: names, patterns such as `time__*`, and the groups `all` and `read`.",
    )
    sandbox: Literal["auto", "bubblewrap", "landlock", "none"] = Field(
        default="auto",
        description="With what commands are confined; `auto` takes the first of these that works "
        "here.",
    )
    network: bool = Field(default=False, description="Confined commands may reach the network.")
    writable: list[str] = Field(
        default_factory=list,
        description="Directories beside the workspace that confined commands may write to, as "
        "absolute paths.",
    )
    command_timeout_s: float = Field(
        default=120.0, gt=0, description="The longest that a command may run."
    )
    output_bytes: Annotated[int, Field(ge=1024)] = Field(
        default=32_768,
        description="How much of a tool's output a model is shown, its beginning and its end; the "
        "rest is kept, and it can read it.",
    )
    max_completions: PositiveInt = Field(
        default=50, description="How often a model may be asked in one turn."
    )
    max_repeats: PositiveInt = Field(
        default=3,
        description="How often in a row the same call with the same arguments may run.",
    )
    snapshots: bool = Field(
        default=True,
        description="Record the files of the workspace before a turn first writes there.",
    )

    @field_validator("enabled")
    @classmethod
    def _check_enabled(cls, words: list[str]) -> list[str]:
        check_names([each for each in words if PATTERN.isdisjoint(each)], HOUSE | GROUPS)
        return words

    @field_validator("writable")
    @classmethod
    def _check_writable(cls, directories: list[str]) -> list[str]:
        for each in directories:
            if not each.startswith("/"):
                raise ValueError(f"{each} is no absolute path")
        return directories


class ApprovalSettings(Section):
    """`[approval]`: which calls of tools run, are asked about, or are refused."""

    policy: Approval | None = Field(
        default=None,
        description="What becomes of a call that needs your word. If not set, you are asked on a "
        "terminal, and it is refused without one.",
    )
    tools: dict[str, Approval] = Field(
        default_factory=dict,
        description='By tool: `write_file = "auto"`. For tools of servers also by a pattern, '
        '`"time__*" = "ask"`; a whole name stands above it, and `deny` above all.',
    )
    commands: dict[str, Approval] = Field(
        default_factory=dict,
        description='By the first words of a command: `"git status" = "auto"`.',
    )

    @field_validator("tools")
    @classmethod
    def _check_tools(cls, rules: dict[str, Approval]) -> dict[str, Approval]:
        check_names(rules, HOUSE)
        return rules

    @field_validator("commands")
    @classmethod
    def _check_commands(cls, rules: dict[str, Approval]) -> dict[str, Approval]:
        for each in rules:
            if not is_rule(each):
                raise ValueError(
                    f"no command begins with {each!r}: give its first words, without quotes and "
                    "without what a shell replaces"
                )
        return rules
