"""`ask mcp`: the servers of tools that others wrote, and this daemon as one of them.

Each command stands in a file of its own, which is imported when its name is said:
a new one is a line in `ELSEWHERE`. Nothing is done here.
"""

import click

from ask.commands.help import Example, Group
from ask.protocol import errors

ELSEWHERE: dict[str, str] = {
    "add": "ask.commands.mcp_add",
    "add-json": "ask.commands.mcp_add",
    "import": "ask.commands.mcp_import",
    "list": "ask.commands.mcp_servers",
    "login": "ask.commands.mcp_login",
    "logout": "ask.commands.mcp_login",
    "logs": "ask.commands.mcp_servers",
    "prompt": "ask.commands.mcp_contents",
    "remove": "ask.commands.mcp_servers",
    "resources": "ask.commands.mcp_contents",
    "test": "ask.commands.mcp_servers",
    "serve": "ask.commands.mcp_serve",
}
"""Name to module; its click command is the module's `NAME_command`."""


@click.group(
    "mcp",
    cls=Group,
    elsewhere=ELSEWHERE,
    examples=[Example("ask mcp list"), Example("ask mcp add time -- mcp-server-time")],
    codes=[errors.FAILED, errors.NOT_FOUND, errors.NO_DAEMON],
)
def mcp_command() -> None:
    """Use servers of tools (MCP)."""
