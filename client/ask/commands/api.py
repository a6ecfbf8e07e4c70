"""`ask api METHOD [JSON]`: one call of the protocol as it is, for scripts and the curious.

Parameters and results are JSON; bytes are `{"$bytes": BASE64}` both ways. It
checks nothing itself: the daemon does.
"""

import base64
import json
import sys
from collections.abc import Mapping
from typing import Any

import click

from ask.commands.calls import open_client
from ask.commands.help import Command, Example
from ask.exits import USAGE, Failed
from ask.protocol import errors
from ask.protocol.messages import METHODS

BYTES_KEY = "$bytes"
CALL_LIMIT_S = 3600.0
"""`turn/wait` and `daemon/drain` take as long as they are told to; an hour is beyond both."""


def complete_method(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    """The methods that begin with what was typed."""
    return [name for name in METHODS if name.startswith(incomplete)]


@click.command(
    "api",
    cls=Command,
    examples=[
        Example("ask api daemon/status"),
        Example("""ask api conversation/list '{"limit": 5}'"""),
    ],
    codes=sorted(set(errors.REASONS.values())),
)
@click.argument("method", shell_complete=complete_method)
@click.argument("params", metavar="[JSON]", required=False)
@click.option("--follow", is_flag=True, help="Then print every notification, one a line.")
@click.option("--json", "as_json", is_flag=True, help="Errors as JSON too; the result always is.")
def api_command(method: str, params: str | None, follow: bool, as_json: bool) -> None:
    """Call a METHOD of the daemon and print its result.

    JSON holds the parameters; - reads them from standard input. The methods are
    in docs/reference/protocol.md.
    """
    arguments = decode_params(sys.stdin.read() if params == "-" else params)
    with open_client() as client:
        result = client.call(method, arguments, limit_s=CALL_LIMIT_S)
        click.echo(encode_json(result))
        while follow:
            name, fields = client.receive()
            click.echo(encode_json({"method": name, "params": fields}))
            sys.stdout.flush()


def decode_params(text: str | None) -> dict[str, Any]:
    """The parameters that a JSON text stands for; nothing said is none.

    Raises:
        Failed: not JSON, or no map.
    """
    if text is None or not text.strip():
        return {}
    try:
        value = _decode_bytes(json.loads(text))
    except ValueError as error:
        raise Failed(USAGE, f"The parameters are no JSON: {error}.") from None
    if not isinstance(value, dict):
        raise Failed(USAGE, 'The parameters must be one JSON object, such as {"limit": 5}.')
    return value


def encode_json(value: Any) -> str:
    """A value of the wire as one line of JSON."""
    return json.dumps(_encode_bytes(value), ensure_ascii=False)


def _encode_bytes(value: Any) -> Any:
    match value:
        case bytes():
            return {BYTES_KEY: base64.b64encode(value).decode()}
        case Mapping():
            return {key: _encode_bytes(each) for key, each in value.items()}
        case list() | tuple():
            return [_encode_bytes(each) for each in value]
        case _:
            return value


def _decode_bytes(value: Any) -> Any:
    match value:
        case {"$bytes": str(encoded), **rest} if not rest:
            return base64.b64decode(encoded, validate=True)
        case dict():
            return {key: _decode_bytes(each) for key, each in value.items()}
        case list():
            return [_decode_bytes(each) for each in value]
        case _:
            return value
