"""`ask tools list | policy`: which tools there are, and what becomes of a model's calls of them.

The daemon knows the tools and keeps the rules in its settings; here they are shown and
changed, one at a time. Nothing is run, and no call is decided.
"""

import difflib
import fnmatch
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from ask.commands.calls import Map, json_option, open_client, resolve
from ask.commands.completing import Completes, complete_conversation
from ask.commands.help import Command, Example, Group
from ask.commands.layout import NARROW_COLUMNS, find_columns, flatten
from ask.exits import USAGE, Failed
from ask.graphemes import find_width, fit
from ask.protocol import errors
from ask.terminal import strip_controls
from ask.wish import APPROVALS

if TYPE_CHECKING:
    from ask.connection import Client

LIST_LIMIT_S = 30.0
"""The first look for a sandbox starts some programs, which a loaded machine does slowly."""
OF_SERVERS = "__"
"""In the name of a server's tool: between its server's name and its own."""
SHOWN_NAMES = 50
"""Of the tools that there are; a server may offer hundreds."""
UNSET_POLICY = "ask on a terminal, deny without one"
NONE_OFFERED = "No tool is offered unless a prompt says so: ask -T all ..."
UNHEARD = "What the server {server} offers is not known yet: ask mcp test {server}"
NOT_CONFINED = "Nothing here confines commands, so they still ask: ask doctor"
SOURCES = {"settings": "settings", "tool": "its own", "default": "default"}


@click.group(
    "tools",
    cls=Group,
    examples=[Example("ask tools list"), Example("ask tools policy")],
    codes=[errors.NOT_FOUND, errors.NO_DAEMON, errors.STORAGE],
)
def tools_command() -> None:
    """List tools, and say which calls need your word."""


@tools_command.command(
    "list",
    cls=Command,
    examples=[Example("ask tools list"), Example("ask tools list --json")],
    codes=[errors.NOT_FOUND, errors.NO_DAEMON],
)
@click.option(
    "-s",
    "--session",
    metavar="NAME|ID",
    shell_complete=complete_conversation,
    help="What is offered in this conversation.",
)
@json_option
def list_command(session: str | None, as_json: bool) -> None:
    """List the tools that a model may be offered.

    Offered: by a prompt that says nothing of tools. Policy: auto runs unasked, ask
    needs your word, deny never runs.
    """
    with open_client() as client:
        asked = {} if session is None else {"conversation_id": resolve(client, session)["id"]}
        page = fetch_tools(client, asked)
    if as_json:
        click.echo(json.dumps(page["data"]))
        return
    for line in lay_out_tools(page["data"], find_columns()):
        click.echo(line)
    click.echo(f"Commands are confined by: {strip_controls(page['confinement']['kind'])}", err=True)
    names = [row["name"] for row in page["data"]]
    for server in page.get("servers", ()):
        if not any(name.startswith(f"{server}{OF_SERVERS}") for name in names):
            click.echo(UNHEARD.format(server=strip_controls(server)), err=True)
    if not any(row["enabled"] for row in page["data"]):
        click.echo(NONE_OFFERED, err=True)


@tools_command.command(
    "policy",
    cls=Command,
    examples=[
        Example("ask tools policy"),
        Example("ask tools policy write_file auto"),
        Example('ask tools policy "time__*" auto', before=("ask mcp add time -- mcp-server-time",)),
        Example('ask tools policy --command "git status" auto'),
        Example("ask tools policy --default ask"),
        Example("ask tools policy write_file --unset"),
    ],
    codes=[errors.NO_DAEMON, errors.STORAGE],
)
@click.argument(
    "words",
    nargs=-1,
    metavar="[TOOL] [auto|ask|deny]",
    shell_complete=Completes("rule+choice:auto,ask,deny"),
)
@click.option(
    "--command",
    "command",
    metavar="WORDS",
    help='For commands that begin with these words: "git status".',
)
@click.option("--default", "is_default", is_flag=True, help="For every call that needs your word.")
@click.option("--unset", is_flag=True, help="Remove the rule.")
@json_option
def policy_command(
    words: tuple[str, ...], command: str | None, is_default: bool, unset: bool, as_json: bool
) -> None:
    """Show or change which calls run, ask, or are denied.

    A deny stands above everything, --approve above the other rules; of a command the
    rule with the most words counts, and it stands above the rule of its tool. What
    nothing confines always asks. TOOL may be a pattern for the tools of a server
    (time__*): a rule with the tool's whole name stands above it.
    """
    order = read_order(words, command=command, is_default=is_default, unset=unset)
    with open_client() as client:
        page = fetch_tools(client, {})
        if order is not None and order.table == "tools":
            _check_tool(order, page)
        if order is not None and unset and find_rule(order, page)["source"] != "settings":
            click.echo("There was no such rule.", err=True)
            if not as_json:
                return
        elif order is not None and (order.approval is not None or unset):
            _write(client, order)
            page = fetch_tools(client, {})
            if order.approval == "auto" and page["confinement"]["kind"] == "none":
                click.echo(NOT_CONFINED, err=True)
            if not as_json:
                return
    if order is None:
        _show_all(page, as_json=as_json)
    else:
        _show_one(find_rule(order, page), as_json=as_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Which rule is meant, and what it is to become.

    Attributes:
        table: `tools` or `commands`; None: the policy for all.
        name: the tool, or the first words.
        approval: None: nothing, or its removal.
    """

    table: str | None
    name: str = ""
    approval: str | None = None

    @property
    def key(self) -> str:
        """The setting's name, as `config/write` takes it."""
        if self.table is None:
            return "approval.policy"
        return f"approval.{self.table}.{json.dumps(self.name, ensure_ascii=False)}"


def read_order(
    words: Sequence[str], *, command: str | None, is_default: bool, unset: bool
) -> Order | None:
    """What the words and options mean; None: to show everything."""
    if command is not None and is_default:
        raise click.UsageError("Give --command or --default, not both.")
    rest = list(words)
    table, name = None, ""
    if command is not None:
        table, name = "commands", " ".join(command.split())
    elif not is_default:
        if not rest:
            if unset:
                raise click.UsageError("Say what to unset: a TOOL, --command or --default.")
            return None
        table, name = "tools", rest.pop(0)
        if name in APPROVALS and not rest:
            raise click.UsageError(f"Say for what {name!r} is: a TOOL, --command or --default.")
    approval = rest.pop(0) if rest else None
    if rest or (approval is not None and approval not in APPROVALS):
        said = approval if approval not in APPROVALS else rest[0]
        raise click.UsageError(f"{said!r} is none of: auto, ask, deny.")
    if unset and approval is not None:
        raise click.UsageError("Give auto, ask or deny, or --unset, not both.")
    return Order(table=table, name=name, approval=approval)


def _write(client: "Client", order: Order) -> None:
    settings = client.call("config/write", {"key": order.key, "value": order.approval})
    click.echo(f"Written: {strip_controls(settings['path'])}", err=True)


def _check_tool(order: Order, page: Map) -> None:
    """Raise `Failed` for a tool that is not there, with the nearest that is.

    A rule for one that was there once can be seen and removed; one for what a server may offer
    can be made before it was ever started.
    """
    names = [row["name"] for row in page["data"]]
    if order.name in names or (order.approval is None and order.name in page["tools"]):
        return
    server, separator, _ = order.name.partition(OF_SERVERS)
    if separator and any(fnmatch.fnmatchcase(each, server) for each in page.get("servers", ())):
        return
    near = difflib.get_close_matches(order.name, names, n=1, cutoff=0.5)
    raise Failed(
        USAGE,
        f"There is no tool {order.name!r}.",
        hint=f"Did you mean {near[0]!r}?" if near else f"There are: {_list_names(names)}.",
        data={"reason": "unknown_tool"},
    )


def _list_names(names: Sequence[str]) -> str:
    more = [f"and {len(names) - SHOWN_NAMES} more"] if len(names) > SHOWN_NAMES else []
    return ", ".join([*names[:SHOWN_NAMES], *more]) or "none"


def fetch_tools(client: "Client", asked: Map) -> Map:
    """The tools, their rules, and the confinement, as `tool/list` says it."""
    return client.wait(client.send("tool/list", asked), limit_s=LIST_LIMIT_S)


def find_rule(order: Order, page: Map) -> Map:
    """The rule that is meant, as it holds: `{name, approval, source}`; nothing said: None."""
    match order.table:
        case None:
            return find_policy(page)
        case "commands":
            said = page["commands"].get(order.name)
            return {
                "name": order.name,
                "approval": said,
                "source": None if said is None else "settings",
            }
        case _:
            rules = [each for each in find_tool_rules(page) if each["name"] == order.name]
            return rules[0] if rules else {"name": order.name, "approval": None, "source": None}


def find_policy(page: Map) -> Map:
    """What becomes of a call that needs a person's word."""
    source = "default" if page["policy"] is None else "settings"
    return {"name": None, "approval": page["policy"], "source": source}


def find_tool_rules(page: Map) -> list[Map]:
    """What holds for each tool; the rules of the settings for tools that are not there, too."""
    rules: list[Map] = []
    for row in page["data"]:
        said = row["policy"]
        rules.append(
            {
                "name": row["name"],
                "approval": said or row["needs"],
                "source": "tool" if said is None else "settings",
            }
        )
    known = {row["name"] for row in page["data"]}
    return rules + [
        {"name": name, "approval": approval, "source": "settings"}
        for name, approval in sorted(page["tools"].items())
        if name not in known
    ]


def _show_all(page: Map, *, as_json: bool) -> None:
    policy, tools = find_policy(page), find_tool_rules(page)
    commands = [
        {"name": name, "approval": approval, "source": "settings"}
        for name, approval in sorted(page["commands"].items())
    ]
    if as_json:
        click.echo(json.dumps({"policy": policy, "tools": tools, "commands": commands}))
        return
    said = policy["approval"] or UNSET_POLICY
    lines = [f"Needs your word: {said}  ({SOURCES[policy['source']]})"]
    for heading, rules in (("Tools", tools), ("Commands that begin with", commands)):
        if rules:
            lines += ["", heading, *lay_out_rules(rules, find_columns())]
    click.echo("\n".join(lines))


def _show_one(rule: Map, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(rule))
        return
    is_policy = rule["name"] is None
    click.echo(rule["approval"] or (UNSET_POLICY if is_policy else "no rule"))
    if rule["source"] is not None:
        click.echo(f"Said by: {SOURCES[rule['source']]}", err=True)


def lay_out_rules(rules: Sequence[Map], columns: int | None = None) -> list[str]:
    """A rule a line: what it is for, what it says, who says it."""
    names = [flatten(rule["name"]) for rule in rules]
    width = max(map(find_width, names))
    if columns is not None:
        width = min(width, max(columns - 20, NARROW_COLUMNS))
    return [
        f"  {fit(name, width)}  {rule['approval']:<4}  {SOURCES[rule['source']]}"
        for name, rule in zip(names, rules, strict=True)
    ]


def lay_out_tools(rows: Sequence[Map], columns: int | None = None) -> list[str]:
    """The table: a tool a line, under headings, with the first sentence of what it is for."""
    lines = [("Tool", "Offered", "Policy", "")]
    for row in rows:
        lines.append(
            (
                flatten(row["name"]),
                "yes" if row["enabled"] else "no",
                str(row["policy"] or row["needs"]),
                flatten(re.split(r"(?<=[.!?])\s", row["description"], maxsplit=1)[0]),
            )
        )
    width = max(find_width(line[0]) for line in lines)
    table = []
    for name, offered, policy, purpose in lines:
        text = f"{fit(name, width)}  {offered:<7}  {policy:<6}  "
        if columns is not None:
            room = columns - find_width(text)
            purpose = fit(purpose, room) if room >= NARROW_COLUMNS else ""
        table.append((text + purpose).rstrip())
    return table
