"""`ask mcp login` and `ask mcp logout`: sign in at a server of tools, with a browser.

The daemon signs in and keeps what comes of it. Nothing here keeps a credential or prints one.
"""

import json

import click

from ask.commands.calls import json_option, open_client
from ask.commands.help import Command, Example
from ask.commands.servers import find_settings, server_argument
from ask.protocol import errors
from ask.signin import sign_in
from ask.terminal import strip_controls


@click.command(
    "login",
    cls=Command,
    examples=[
        Example("ask mcp login docs", by_hand=True),
        Example("ask mcp login docs --json", by_hand=True),
    ],
    codes=[errors.FAILED, errors.NOT_FOUND, errors.CREDENTIALS, errors.NO_DAEMON],
)
@server_argument
@json_option
def login_command(server: str, as_json: bool) -> None:
    """Sign in at a server with a browser (OAuth).

    Over SSH, open the address in the browser where you are; what it ends at can
    be pasted back here.
    """
    with open_client() as client:
        find_settings(client, server)
        done = sign_in(client, server, method="mcp/login", of="server")
    if as_json:
        click.echo(json.dumps({"server": server, "path": done.get("path")}))
        return
    where = f"; it is kept in {done['path']}" if done.get("path") else ""
    click.echo(strip_controls(f"Signed in to {server}{where}."))


@click.command(
    "logout",
    cls=Command,
    examples=[
        Example("ask mcp logout docs", code=errors.NOT_FOUND),
        Example("ask mcp logout docs --json", code=errors.NOT_FOUND),
    ],
    codes=[errors.FAILED, errors.NOT_FOUND, errors.CREDENTIALS, errors.NO_DAEMON],
)
@server_argument
@json_option
def logout_command(server: str, as_json: bool) -> None:
    """Forget the sign-in at a server.

    The server itself is not told: its own settings list the programs that you let in.
    """
    with open_client() as client:
        find_settings(client, server)
        changed = client.call("mcp/logout", {"server": server})
    if as_json:
        click.echo(json.dumps(changed))
        return
    if changed["changed"]:
        sentence = f"Forgotten: the sign-in at {server}."
    else:
        sentence = f"Nobody is signed in at {server}."
    click.echo(strip_controls(sentence))
