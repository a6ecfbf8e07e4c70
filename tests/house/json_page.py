"""Writes `docs/reference/json.md`: what each command prints with `--json`.

Run `python -m tests.house.json_page` to write it. A test holds the commands of the table against
those that have the option, and its shapes against the contract's.
"""

from collections.abc import Iterator

import click

from ask.commands.root import root
from tests.house.pages import REFERENCE, render_table, write_page

PATH = REFERENCE / "json.md"

ONE, LIST, LINES = "an object", "a list", "an object a line"

SHAPES: dict[str, tuple[str, str, str]] = {
    "": (LINES, "", "each with its `type`: events, and what is told besides such as `delta`; the "
    "turn's end last"),
    "api": (ONE, "", "the result of the method that was called"),
    "attach": (LINES, "", "the same, what was said before first"),
    "auth login": (ONE, "", "`provider`, `account`, `path`"),
    "auth logout": (ONE, "AuthChanged", ""),
    "auth set-key": (ONE, "AuthChanged", ""),
    "auth status": (LIST, "AuthRecord", ""),
    "clear": (ONE, "", "`conversation_id`"),
    "compact": (ONE, "CompactResult", "with `--undo` what `conversation/undo` answers"),
    "config check": (ONE, "", "`path`, `ok`"),
    "config path": (ONE, "", "`path`"),
    "config show": (ONE, "ConfigReadResult", ""),
    "daemon logs": (LINES, "", "`at` (ISO 8601), `level`, `name`, `message`"),
    "daemon restart": (ONE, "DaemonStatus", "of the new one"),
    "daemon start": (ONE, "DaemonStatus", ""),
    "daemon status": (ONE, "DaemonStatus", ""),
    "daemon stop": (ONE, "", "`stopped`: its pid, or null"),
    "doctor": (LIST, "", "`check`, `state` (`ok`, `warn`, `fail`), `text`, `hint`"),
    "fork": (ONE, "ConversationSummary", ""),
    "history delete": (LIST, "", "`conversation_id` of each that is gone"),
    "history import": (LIST, "ImportResult", "and its `file`"),
    "history list": (LIST, "ConversationSummary", ""),
    "history restore": (ONE, "SnapshotRestored", "without SNAPSHOT a list of `SnapshotRecord`, "
    "with `--dry-run` a `SnapshotDiff`"),
    "history scrub": (ONE, "ScrubResult", ""),
    "history search": (LIST, "SearchRecord", ""),
    "history show": (ONE, "", "`id`, `title`, `name`, `model`, `message_count`, `messages` (each "
    "`role`, `content`, `tool_calls`, `tool_call_id`, `pinned`, `at`; what it has none of is left "
    "out) and, if there are any, `unreadable`; with "
    "`--context` `item_count`, `items`, `tokens` and more of what the model gets"),
    "jobs cancel": (LIST, "JobRecord", ""),
    "jobs list": (LIST, "JobRecord", ""),
    "jobs retry": (LIST, "JobRecord", ""),
    "jobs show": (ONE, "JobRecord", ""),
    "jobs wait": (LIST, "JobRecord", ""),
    "list": (LIST, "ConversationSummary", ""),
    "mcp add": (ONE, "", "`name`, `kind`, `replaced`, `path`, `notes`"),
    "mcp add-json": (ONE, "", "the same"),
    "mcp import": (LIST, "", "`name`, `named`, `source`, `state`, `why`, `notes`"),
    "mcp list": (LIST, "McpRecord", ""),
    "mcp login": (ONE, "", "`server`, `path`"),
    "mcp logout": (ONE, "McpSignedOut", ""),
    "mcp logs": (ONE, "", "`name`, `text`"),
    "mcp prompt": (LIST, "McpPromptMessage", "without NAME a list of `McpPromptRecord`"),
    "mcp remove": (ONE, "", "`name`, `removed`, `path`"),
    "mcp resources": (LIST, "McpResourceRecord", ""),
    "mcp test": (ONE, "McpTestResult", ""),
    "models alias": (LIST, "", "`name`, `model`"),
    "models default": (ONE, "", "`name`, `source`"),
    "models list": (LIST, "ModelRecord", ""),
    "models refresh": (LIST, "ModelRecord", ""),
    "new": (ONE, "ConversationSummary", ""),
    "pin": (ONE, "ConversationSummary", ""),
    "prune": (ONE, "PruneResult", ""),
    "ps": (LIST, "ConversationSummary", ""),
    "rename": (ONE, "ConversationSummary", ""),
    "resume": (ONE, "ConversationSummary", ""),
    "schedule add": (ONE, "ScheduleRecord", ""),
    "schedule list": (LIST, "ScheduleRecord", ""),
    "schedule pause": (LIST, "ScheduleRecord", ""),
    "schedule remove": (LIST, "ScheduleRecord", "as they were"),
    "schedule resume": (LIST, "ScheduleRecord", ""),
    "schedule run": (ONE, "TurnStartResult", ""),
    "schedule show": (ONE, "ScheduleRecord", ""),
    "templates list": (LIST, "", "`name`, `source`, `path`, `description`, `first_line`, `input`, "
    "`parameters`; `error` in place of the last four"),
    "templates remove": (ONE, "", "`name`, `removed`, `path`"),
    "templates show": (ONE, "", "as in the list; filled in: `name`, `source`, `text`"),
    "tools list": (LIST, "ToolRecord", ""),
    "tools policy": (ONE, "", "`policy`, `tools`, `commands`; of one tool or command `name`, "
    "`approval`, `source`"),
    "unpin": (ONE, "ConversationSummary", ""),
    "usage": (LIST, "UsageRecord", ""),
}  # fmt: skip
"""By command: how much is printed, the shape of the contract, what else there is to say."""

HEAD = """\
# JSON

What commands print on standard output with `--json`: one line of JSON, or one a line. Shapes are
[the protocol's](protocol.md#shapes). Fields are added in later versions and not taken away: pass
over what you do not know.

If a command fails, the last line is an object `type` (`error`), `code`, `message` and `data`, in
which `reason` is one of [these](errors.md).

"""

FOOT = """
This page is generated by `tests/house/json_page.py`.
"""


def find_commands() -> Iterator[str]:
    """Every command that has the option, by the words behind `ask`; the prompt is `""`."""

    def walk(group: click.Group, words: tuple[str, ...]) -> Iterator[str]:
        context = click.Context(group)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            if isinstance(command, click.Group):
                yield from walk(command, (*words, name))
            elif command is not None and any("--json" in each.opts for each in command.params):
                yield " ".join((*words, name))

    yield ""
    yield from walk(root, ())


def render() -> str:
    """The whole page."""
    rows = []
    for command, (many, shape, words) in SHAPES.items():
        what = f"[`{shape}`](protocol.md#{shape.lower()})" if shape else ""
        said = f"`ask {command}`" if command else "`ask` PROMPT"
        rows.append((said, many, "; ".join(each for each in (what, words) if each)))
    return HEAD + render_table(("command", "prints", "of"), rows) + FOOT


if __name__ == "__main__":
    write_page(PATH, render())
