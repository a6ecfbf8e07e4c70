"""What the commands of `ask mcp` share: how a server is named, completed, looked for, written.

It asks the daemon what is configured, and has it write; it starts no server.
"""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from ask.commands.calls import Map
from ask.commands.completing import complete_server
from ask.exits import NOT_FOUND, USAGE, Failed
from ask.mcp_outcomes import NAME_RULE, is_name

if TYPE_CHECKING:
    from ask.connection import Client

SECRET_TABLES = ("env", "headers")
"""What of a server's settings may hold what nobody else should see."""


def check_server_name(name: str) -> str:
    """The name itself, if a new server can have it.

    Raises:
        Failed: code 2, with the rule.
    """
    if is_name(name):
        return name
    message = f"{name!r} is no name for a server: {NAME_RULE}."
    raise Failed(USAGE, message, data={"reason": "bad_name"})


def read_servers(client: "Client") -> dict[str, Map]:
    """The settings of each configured server by its name; values that may be secret are `***`."""
    return dict(client.call("config/read")["settings"].get("mcpServers") or {})


def read_names(client: "Client") -> list[str]:
    """The configured servers, those that may not be started among them."""
    return list(read_servers(client))


def find_settings(client: "Client", name: str) -> Map:
    """The settings of one server, as `read_servers` has them; raise `Failed`, code 3."""
    known = read_servers(client)
    if name not in known:
        raise refuse_unknown(name, list(known))
    return known[name]


def write_server(client: "Client", name: str, settings: Mapping[str, Any] | None) -> str:
    """Set all of a server's settings, or remove them; the path of the file.

    Raises:
        Failed: it is not as settings have to be; nothing is written then.
    """
    path = client.call("config/write", {"key": f"mcpServers.{name}", "value": settings})["path"]
    return str(path)


def say_written(path: str, settings: Iterable[Mapping[str, Any]]) -> str:
    """Where it was written; and who can read it, if some of it may be secret."""
    if any(each.get(table) for each in settings for table in SECRET_TABLES):
        return f"Written: {path} (with the values of variables and headers; mode 0600)"
    return f"Written: {path}"


def refuse_unknown(name: str, known: Sequence[str]) -> Failed:
    """What to say of a server that is not configured, with the nearest that is."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    if near:
        hint = f"Did you mean {near[0]!r}?"
    elif known:
        hint = f"There are: {', '.join(known)}."
    else:
        hint = "None is configured: ask mcp add NAME -- COMMAND"
    message = f"There is no server of tools named {name!r}."
    return Failed(NOT_FOUND, message, hint=hint, data={"reason": "server_not_found"})


def find_record(rows: Iterable[Map], name: str) -> Map:
    """The record of one server, as `mcp/list` has it; raise `Failed`, code 3."""
    known = {str(row["name"]): row for row in rows}
    if name not in known:
        raise refuse_unknown(name, list(known))
    return known[name]


server_argument = click.argument("server", metavar="NAME", shell_complete=complete_server)
"""One configured server, by its name."""
