"""`ask mcp serve`: this daemon as a server of MCP for another program, over standard streams.

A relay and nothing else: it hands each line on as it comes, knows no MCP, and keeps no line.
Standard output carries what the daemon says to that program, and never anything else.
"""

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from ask.commands.calls import check_name, open_client
from ask.commands.completing import complete_conversation, complete_model
from ask.commands.help import Command, Example
from ask.commands.toolbox import approve_option, tools_option
from ask.exits import FAILED, Failed
from ask.fast.caller import write_all
from ask.protocol import errors
from ask.whereabouts import describe, limit_tools

if TYPE_CHECKING:
    from ask.connection import Client

READ_BYTES = 64 * 1024
"""At a time; a longer line goes in pieces of this."""
OPEN_LIMIT_S = 60.0
"""The daemon loads what speaks MCP for its first face; on a busy machine that takes seconds."""
SEND_LIMIT_S = 120.0
"""The daemon takes a line at once, unless the program does not read what it is told."""
STDIN, STDOUT = 0, 1


@click.command(
    "serve",
    cls=Command,
    examples=[
        Example("ask mcp serve < /dev/null"),
        Example("ask mcp serve -m openai/gpt-5 -s desk -T read --approve deny < /dev/null"),
    ],
    codes=[errors.FAILED, errors.CREDENTIALS, errors.NO_DAEMON, errors.PIPE_CLOSED],
)
@click.option(
    "-s",
    "--session",
    metavar="NAME|ID",
    shell_complete=complete_conversation,
    help="Ask here where no other is named.",
)
@click.option(
    "-m",
    "--model",
    metavar="NAME",
    shell_complete=complete_model,
    help="Ask this model where no other is named.",
)
@tools_option
@approve_option
def serve_command(
    session: str | None, model: str | None, tools: list[str] | None, approve: str | None
) -> None:
    """Let another program ask, over MCP on standard input and output.

    Configure it there as a server with the command ask and the arguments mcp serve. It
    can ask in conversations, search them and read them. A tool that needs your word asks for
    it through that program, if it can ask you; else it is denied, or --approve decides.
    """
    if os.isatty(STDIN):
        print(
            "Waiting for a program that speaks MCP; configure it with: ask mcp serve",
            file=sys.stderr,
        )
    params = describe(os.environ)
    if params.pop("far", False) and "cwd" not in params:
        if tools is not None:
            limit_tools({"tools": tools}, os.environ)
        tools = ["none"]  # there is no directory for them
    said = {
        "conversation": None if session is None else check_name(session),
        "model": model or os.environ.get("ASK_MODEL") or None,
        "tools": tools,
        "approve": approve,
    }
    params |= {name: value for name, value in said.items() if value is not None}
    with open_client() as client:
        client.call("mcp/open", params, limit_s=OPEN_LIMIT_S)
        _relay(client)


def _relay(client: "Client") -> None:
    """Hand lines to and fro until standard input ends.

    Raises:
        Failed: the face has ended by itself, or the daemon is gone.
        StdoutClosed, StdoutFailed: nobody reads any more.
    """
    is_open = False  # a line that has begun
    while True:
        found = client.poll(None, typed=STDIN)
        if found is not None:
            _say(*found)
            continue
        data = os.read(STDIN, READ_BYTES)
        if not data:
            break
        *ends, rest = data.split(b"\n")
        for piece in ends:
            _send(client, piece)
        if rest:
            _send(client, rest, more=True)
        is_open = bool(rest) or (is_open and not ends)
    if is_open:
        _send(client, b"")
    client.call("mcp/close")
    _say_rest(client)


def _send(client: "Client", piece: bytes, *, more: bool = False) -> None:
    from ask.connection import RpcError

    try:
        client.call("mcp/send", {"bytes": piece, "more": more}, limit_s=SEND_LIMIT_S)
    except RpcError as error:
        if error.reason == "no_face":
            client.call("mcp/close")  # it may be at its last words: among them is why
            _say_rest(client)
        raise


def _say_rest(client: "Client") -> None:
    while (found := client.poll(0.0)) is not None:
        _say(*found)


def _say(method: str, params: dict[str, Any]) -> None:
    """Write what the face says; raise `Failed` where it says that it has ended."""
    if method == "mcp/message":
        write_all(STDOUT, params["bytes"] + (b"" if params.get("more") else b"\n"))
    elif method == "mcp/closed":
        raise Failed(FAILED, str(params.get("message", "The daemon ended it.")))
