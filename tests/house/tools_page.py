"""Renders `docs/reference/tools.md` from the tools themselves.

Run `python -m tests.house.tools_page` to write it. Names, arguments and what a call
needs come from the code; the sentences on rules, limits and environments are written here,
their numbers taken from where they hold.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from askd.core.outputs import READ_OUTPUT
from askd.core.prefixes import OPAQUE, WITH_COMMANDS
from askd.core.shell_words import LINE_CHARACTERS
from askd.sessions.outputs import DESCRIPTION as READING
from askd.settings import ToolSettings
from askd.store.queries import SearchPage
from askd.tools.base import Tool
from askd.tools.builtin import make_tools
from askd.tools.capture import KEEP_BYTES
from askd.tools.registry import ALL, NONE, READ, Registry
from askd.tools.sandbox import PROCESSES, RLIMITS, Sandbox
from askd.tools.shell import COMMANDS_AT_ONCE, CommandRules
from askd.tools.workspace import ENVIRONMENT
from tests.house.pages import REFERENCE, render_table, write_page

PATH = REFERENCE / "tools.md"

HEAD = """\
# Tools

What a model can be offered, what each call needs, and who decides. [Let a model read, edit and
run things](../how-to/tools.md) shows how to use them. Off unless asked for: `-T` says which for
a prompt, else the conversation's own setting counts, else `[tools] enabled` of the
[settings](settings.md).

| word | the tools that are meant |
| --- | --- |
| a name | that tool |
| a pattern: `*_file`, `time__*` | those whose names fit it |
| `{all}` | every one |
| `{read}` | those that change nothing and need nobody's word: {readers} |
| `{none}` | none of them |

"""

RULES = """
## Who decides

A call either needs a person's word or does not. It needs none if the tool says `auto` in the
table above, and it does if it says `ask`; some calls of an `auto` tool ask all the same, such
as those for hidden files where the working directory is your home. What counts, the first that
applies:

1. A rule `deny`, for the command or the tool: denied.
2. A command that nothing confines needs your word, whatever the rules say.
3. A rule `ask`: it needs your word. A rule `auto`: it needs none, unless the prompt said
   `--approve ask` or `--approve deny`.
4. What needs your word is decided by `--approve` if the prompt said it; else by a rule `ask`;
   else by `[approval] policy`; else it is asked about on a terminal and denied without one.
   `auto` runs it, but not what nothing confines.
5. What you answered with "always" in this conversation runs where it would be asked about, or
   denied because nobody is there; never where somebody said `deny`, and only what is confined.

A rule for a command stands before the rule for its tool, `run_command`.
[`ask tools policy`](cli.md#ask-tools-policy) shows all rules and who says them, and changes
them; `ask` where there is nobody to be asked ends the turn with [code](exit-codes.md) 6.

## Rules for commands

A rule is the first words of a command, as they are written: `git status`. Of a line with
several commands, every one needs a rule `auto` for the line to run unasked; one `ask` is enough
to ask, and one `deny` to deny. Of several rules that fit a command, the one with the most words
counts.

`auto` counts only for a line that can be read for certain. It is none with a command in another
(`$(...)`, backticks, `<(...)`), in the background (`&`), in brackets or braces, in `if` or
`while`, with a file to read from or write to (but `/dev/null`, and `2>&1`), a text in place of
a file (`<<`), an assignment or a variable where the command's name stands, a backslash or a
pattern in it, a comment, quotes that are not closed, or more than {line:,} characters. Nor is
it one if it only says how another is run: `sudo`, `env`, `xargs`, `sh -c`, `find -exec`. A rule
can name what is run that way with it: `timeout 60 make`.

`ask` and `deny` are looked for wherever a command may stand, also in what is run in such a way,
with its whole path, or with options before its own command (`git -C there push`).

Rules are about what you want to be asked. They are no fence: a program can do more than its
name says, under another name too. What keeps a command from more is its confinement.

## What "always" covers

The same tool in the same directory, for this conversation; of commands, those that begin with
the words that the question names: the first, and with programs of many commands ({many}, ...)
the second. It is not offered for a line that is not one command, read for certain; for what
runs or interprets its arguments (`sudo`, `sh -c`, `python -c`, `awk`, `sed`); where the
arguments are all that matters ({opaque}, ...); and for a program that is named by its path.
"""

LIMITS = """
## Limits

"""

FOOT = """
## What a tool's process gets

The directory where the prompt was sent, if it is still the same one, and of the caller's
environment {environment}, and what begins with `LC_`. No key, no socket, nothing on standard
input, a group of its own. It is ended with everything that it has started when the call ends,
its time is over, the turn is interrupted, or the daemon is gone, however that went.

This page is generated from `daemon/askd/tools` by `tests/house/tools_page.py`.
"""


async def _search(*_: Any, **__: Any) -> SearchPage:
    raise NotImplementedError("nothing is run for a page")


def find_tools() -> list[Tool]:
    """The tools that come with the daemon."""
    return make_tools(
        sandbox=Sandbox,
        commands=CommandRules,
        search_history=_search,
        is_offline=lambda: False,
    )


def render() -> str:
    """The whole page."""
    tools = find_tools()
    readers = [f"`{tool.name}`" for tool in Registry(tools).select([READ])]
    page = HEAD.format(all=ALL, read=READ, none=NONE, readers=", ".join(readers))
    page += render_table(
        ("tool", "needs", "changes something"),
        [
            (f"[`{tool.name}`](#{tool.name})", f"`{tool.needs}`", "yes" if tool.effects else "no")
            for tool in tools
        ],
    )
    for tool in tools:
        page += f"\n## {tool.name}\n\n{_mark(tool.description)}\n\n"
        page += render_table(("argument", "type", "default", "meaning"), _rows(tool.schema))
    page += (
        f"\n## {READ_OUTPUT}\n\n{READING['description']} It is offered by itself, once an output "
    )
    page += "has been cut, and needs nobody's word.\n\n"
    page += render_table(("argument", "type", "default", "meaning"), _rows(READING["parameters"]))
    page += RULES.format(
        line=LINE_CHARACTERS,
        many=_some(sorted(WITH_COMMANDS), ("git", "npm", "cargo", "docker")),
        opaque=_some(sorted(name for name, *more in OPAQUE if not more), ("rm", "dd", "curl")),
    )
    page += LIMITS + render_table(("what", "how much"), _find_limits())
    names = [f"`{name}`" for name in sorted(ENVIRONMENT)]
    return page + FOOT.format(environment=", ".join(names))


def _find_limits() -> list[tuple[str, str]]:
    settings = ToolSettings()

    def setting(name: str) -> str:
        return f"{getattr(settings, name):,g}; `{name}` of `[tools]`"

    return [
        ("completions in a turn", setting("max_completions")),
        ("the same call in a row", setting("max_repeats")),
        ("seconds that a command runs", setting("command_timeout_s")),
        ("bytes of an output that a model is shown at once", setting("output_bytes")),
        ("bytes of a command's output that are kept, its two ends", f"{KEEP_BYTES:,}"),
        ("commands at once, the others wait", f"{COMMANDS_AT_ONCE:,}"),
        ("processes of a command", f"{PROCESSES:,}"),
        ("open files of a process", f"{RLIMITS['NOFILE']:,}"),
        ("bytes of a file that a command writes", f"{RLIMITS['FSIZE']:,}"),
        ("seconds of the processor's time for a process", f"{RLIMITS['CPU']:,}"),
    ]


def _rows(schema: Mapping[str, Any]) -> Iterator[Sequence[str]]:
    needed = schema.get("required", [])
    for name, each in schema.get("properties", {}).items():
        default = "*needed*" if name in needed else _word_default(each.get("default"))
        yield f"`{name}`", describe_type(each), default, _mark(each["description"])


def describe_type(schema: Mapping[str, Any]) -> str:
    """An argument's type in words, with its bounds."""
    kinds = [each for each in schema.get("anyOf", [schema]) if each.get("type") != "null"]
    (shape,) = kinds
    names = {
        "string": "text",
        "integer": "whole number",
        "number": "number",
        "boolean": "yes or no",
    }
    words = names[shape["type"]]
    for key, sign in (
        ("minimum", "from {}"),
        ("exclusiveMinimum", "above {}"),
        ("maximum", "to {:,}"),
        ("maxLength", "of at most {:,} characters"),
    ):
        if key in shape:
            words += f" {sign.format(shape[key])}"
    return words


def _word_default(value: Any) -> str:
    if value is None:
        return "none"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _some(names: Sequence[str], wanted: Sequence[str]) -> str:
    assert set(wanted) <= set(names)
    return ", ".join(f"`{name}`" for name in wanted)


def _mark(text: str) -> str:
    """For Markdown: a star alone is no emphasis."""
    return text.replace(" * ", " `*` ")


if __name__ == "__main__":
    write_page(PATH, render())
