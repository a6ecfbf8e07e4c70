"""`ask templates list | show | edit | remove`: saved prompts, and those that servers offer.

Templates are files of this user, which the daemon never sees. A daemon is asked for the
prompts of its servers if it runs, and no server is started or waited for to list them.
"""

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from ask.commands.calls import Map, json_option, open_client, write_text
from ask.commands.help import Command, Example, Group
from ask.commands.layout import find_columns
from ask.commands.template_layout import describe_prompt, lay_out
from ask.commands.template_options import complete_template, values_option
from ask.exits import NO_DAEMON, STORAGE, USAGE, Failed
from ask.protocol import errors
from ask.template_files import find_path, list_names, read_template, read_text
from ask.templates import FENCE, Template
from ask.terminal import strip_controls

NO_TEMPLATES = "No templates.\nWrite one: ask templates edit NAME"

EXAMPLE = f"""\
{FENCE}
# What follows a # is a comment. Every line here may be left out, and all of them together.
# description = "One line for the list"
# model = "openai/gpt-5"            # or an alias
# system = "You are terse."
# tools = "read"                    # as -T has it
# approve = "ask"                   # deny, ask or auto
# temperature = 0.2
# max_output_tokens = 1000
# effort = "low"                    # none, minimal, low, medium or high
# schema = "name, age int"          # as --schema has it, but for files
# extract = true                    # print the first code block alone

# [defaults]                        # of the parameters below: ask -t NAME -p language=German
# language = "English"
{FENCE}
Put this into plain words:

$input
"""
"""What a new template begins with; it is one already, though a plain one."""
name_argument = click.argument("name", metavar="NAME", shell_complete=complete_template)


@click.group(
    "templates",
    cls=Group,
    examples=[
        Example("ask templates list"),
        Example("ask templates edit translate", by_hand=True),
    ],
    codes=[errors.FAILED, errors.NOT_FOUND, errors.NO_DAEMON],
)
def templates_command() -> None:
    """Save prompts, and see which there are."""


@templates_command.command(
    "list",
    cls=Command,
    examples=[Example("ask templates list"), Example("ask templates list --json")],
)
@json_option
def list_command(as_json: bool) -> None:
    """List the templates, and the prompts of servers that run.

    No server is started for that; `ask mcp prompt SERVER` starts one, and lists its own.
    """
    rows = [describe_file(name, os.environ) for name in list_names(os.environ)]
    found, left = list_served()
    rows += found
    if as_json:
        click.echo(json.dumps(rows))
    elif rows:
        click.echo("\n".join(lay_out(rows, find_columns())))
    else:
        click.echo(NO_TEMPLATES)
    if left:
        names = ", ".join(left)
        click.echo(f"Not asked, or not heard of in time: {names} (ask mcp prompt NAME)", err=True)


@templates_command.command(
    "show",
    cls=Command,
    examples=[
        Example("ask templates show translate", code=errors.NOT_FOUND),
        Example("ask templates show translate -p to=French", code=errors.NOT_FOUND),
    ],
    codes=[errors.FAILED, errors.NOT_FOUND, errors.NO_DAEMON],
)
@name_argument
@values_option
@json_option
def show_command(name: str, values: dict[str, str], as_json: bool) -> None:
    """Print a template as it is; with -p its prompt, filled in.

    A server's prompt, SERVER:PROMPT, is always filled in, by the server.
    """
    is_served = all(name.partition(":"))
    if is_served:
        text = _fill_served(name, values)
        record: Map = {"name": name, "source": "server", "text": text}
    elif values:
        text = fill(read_template(name, os.environ), values)
        record = {"name": name, "source": "file", "text": text}
    else:
        text = read_text(name, os.environ)
        record = describe_file(name, os.environ)
    if as_json:
        click.echo(json.dumps(record))
        return
    shown = strip_controls(text) if os.isatty(1) or is_served else text
    write_text(shown if shown.endswith("\n") else f"{shown}\n")


@templates_command.command(
    "edit",
    cls=Command,
    examples=[
        Example("ask templates edit translate", by_hand=True),
        Example("EDITOR=nano ask templates edit translate", by_hand=True),
    ],
    codes=[errors.FAILED],
)
@name_argument
def edit_command(name: str) -> None:
    """Open a template in your editor, a new one with an example.

    The editor is $VISUAL, else $EDITOR. What is wrong with the template is said
    when it is closed; the file is kept as you left it.
    """
    path = find_path(name, os.environ)
    is_new = begin(path)
    before = _take_content(path)
    from ask.editor import edit_file

    try:
        edit_file(path, os.environ)
    finally:
        after = _take_content(path)
        if is_new and after == before:
            path.unlink(missing_ok=True)
    if after is None or (is_new and after == before):
        click.echo("Nothing was written." if is_new else f"It is gone: {path}", err=True)
        return
    try:
        read_template(name, os.environ)
    except Failed as error:
        way = f"It is kept: {path}\nGo on: ask templates edit {name}"
        error.hint = f"{error.hint}\n{way}" if error.hint else way
        raise
    click.echo(f"{'Unchanged' if after == before else 'Written'}: {path}", err=True)


@templates_command.command(
    "remove",
    cls=Command,
    examples=[
        Example("ask templates remove translate", code=errors.NOT_FOUND),
        Example("ask templates remove translate --json", code=errors.NOT_FOUND),
    ],
    codes=[errors.NOT_FOUND],
)
@name_argument
@json_option
def remove_command(name: str, as_json: bool) -> None:
    """Remove a template's file."""
    path = find_path(name, os.environ)
    if not path.is_symlink():
        if not path.exists():
            read_text(name, os.environ)  # says that there is none, with the nearest
        _refuse_directory(path)
    try:
        path.unlink()
    except OSError as error:
        raise _refuse_writing(path, error) from None
    if as_json:
        click.echo(json.dumps({"name": name, "removed": True, "path": str(path)}))
    else:
        click.echo(f"Removed: {name}")


# ---- what there is -----------------------------------------------------------------


def describe_file(name: str, environ: Mapping[str, str]) -> Map:
    """A template for the list; one that cannot be used has `error` in place of the rest."""
    record: Map = {"name": name, "source": "file", "path": str(find_path(name, environ))}
    try:
        template = read_template(name, environ)
    except Failed as error:
        return {**record, "error": error.message}
    return {
        **record,
        "description": template.description,
        "first_line": template.first_line,
        "input": template.takes_input,
        "parameters": [
            {"name": each, "default": template.defaults.get(each)} for each in template.parameters
        ],
    }


def list_served() -> tuple[list[Map], list[str]]:
    """The prompts of servers that run, as templates, and the servers that were not asked."""
    from ask.server_prompts import list_ready

    try:
        with open_client(start=False) as client:
            rows, left = list_ready(client)
    except Failed as error:
        if error.code == NO_DAEMON:
            return [], []  # none runs, and so no server does
        raise
    return [describe_prompt(row) for row in rows], left


# ---- one of them -------------------------------------------------------------------


def fill(template: Template, values: Mapping[str, str]) -> str:
    """A template's prompt, filled in but for what is asked, whose place is left."""
    from ask.placeholders import normalize
    from ask.templates import INPUT, check_parameters, fill_text

    known = {normalize(key): value for key, value in values.items()}
    check_parameters(template, known)
    return fill_text(template, template.body, {INPUT: f"${INPUT}", **known})


def _fill_served(name: str, values: Mapping[str, str]) -> str:
    from ask.server_prompts import fetch_prompt, join_messages

    server, _, prompt = name.partition(":")
    with open_client() as client:
        return join_messages(
            fetch_prompt(client, server, prompt, values, quiet=False, option="-p ")
        )


def begin(path: Path) -> bool:
    """Put the example where there is no template yet; whether it was put there.

    Raises:
        Failed: it cannot be, or what is there is no file.
    """
    if path.exists() or path.is_symlink():
        _refuse_directory(path)
        return False
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(path, "x", encoding="utf-8") as stream:
            stream.write(EXAMPLE)
    except FileExistsError:
        return False  # somebody else was faster
    except OSError as error:
        raise _refuse_writing(path, error) from None
    return True


def _refuse_directory(path: Path) -> None:
    try:
        mode = path.stat().st_mode
    except OSError:
        return  # where it leads nothing is yet; the editor will say what is wrong
    if not stat.S_ISREG(mode):
        message = f"{path} is no file."
        raise Failed(USAGE, message, data={"reason": "bad_template"})


def _take_content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _refuse_writing(path: Path, error: OSError) -> Failed:
    message = f"{path} cannot be written: {error.strerror}."
    data: dict[str, Any] = {"reason": "storage_failed"}
    return Failed(STORAGE, message, data=data)
