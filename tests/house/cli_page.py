"""Renders `docs/reference/cli.md` from the click tree.

Run `python -m tests.house.cli_page` to write it. Everything on the page but its
head comes from the commands themselves: summaries, options, examples, codes.
"""

from typing import Any

import click

from ask.commands.help import walk
from ask.commands.root import load_prompt, root
from tests.house.pages import REFERENCE, render_table, write_page

PATH = REFERENCE / "cli.md"

HEAD = """\
# Commands

`ask [OPTIONS] [PROMPT]...` sends a prompt. If the first word that is no option is the name of a
command, it is that command; `ask -- list all primes` is a prompt all the same. The answer goes to
standard output, everything else to standard error. What a code means is said in
[exit codes](exit-codes.md), what a sentence on standard error means in [errors](errors.md).

Where a command takes `ID`, it takes a conversation's id, its name, or four or more characters that
its id begins with. `--json` prints an array for a list and an object for a single thing, and an
error as an object too; [what is in them](json.md) has a page.

"""

FOOT = """
This page is generated from the commands by `tests/house/cli_page.py`.
"""


def render() -> str:
    """The whole page."""
    tree = list(walk(root, ("ask",)))
    names = [" ".join(path) for path, _ in tree]
    contents = "".join(f"- [{name}](#{name.replace(' ', '-')})\n" for name in names)
    sections = [render_command(path, command) for path, command in tree]
    return HEAD + contents + "".join(sections) + FOOT


def render_command(path: tuple[str, ...], command: Any) -> str:
    """One command: usage, what it does, its options, examples and codes."""
    name = " ".join(path)
    context = click.Context(command, info_name=name, **command.context_settings)
    usage = " ".join([name, *command.collect_usage_pieces(context)])
    parts = [f"\n## {name}\n", f"```text\n{usage}\n```\n", f"{_read_help(command)}\n"]
    options = _list_options(command, context)
    if options:
        parts.append(render_table(("option", "meaning"), options))
    lines = "\n".join(example.line for example in command.examples)
    parts.append(f"```sh\n{lines}\n```\n")
    parts.append(f"Exit codes: {', '.join(str(code) for code in command.codes)}.\n")
    return "\n".join(parts)


def _read_help(command: click.Command) -> str:
    """A command's help as paragraphs, each on one line for Markdown to wrap."""
    paragraphs = (command.help or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _list_options(command: click.Command, context: click.Context) -> list[tuple[str, str]]:
    params = list(command.get_params(context))
    if command is root:
        params = [*load_prompt().params, *params]
    records = [param.get_help_record(context) for param in params]
    named = [record for record in records if record is not None and record[1]]
    return [(f"`{name}`", text) for name, text in named if name != "-h, --help"]


if __name__ == "__main__":
    write_page(PATH, render())
