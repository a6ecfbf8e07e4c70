"""A prompt handed to the daemon: with the keys that it turns out to need, as far as they may go.

It waits for no answer of a model, and tries nothing again but for those keys.
"""

from collections.abc import Mapping
from typing import Any

from ask.connection import ANSWER_LIMIT_S, Caller, RpcError
from ask.exits import CREDENTIALS
from ask.whereabouts import explain_keys, is_far, limit_tools, take_keys

Map = dict[str, Any]


def start_turn(
    client: Caller,
    params: Map,
    environ: Mapping[str, str],
    *,
    limit_s: float = ANSWER_LIMIT_S,
) -> Map:
    """Send the prompt; once more with the keys that its endpoint turns out to need.

    Args:
        params: of `turn/start`.
        environ: where the keys are, and which machine is meant.
        limit_s: how long each answer may take.
    """
    if is_far(environ):
        params = {**params, "options": limit_tools(params.get("options", {}), environ)}
    try:
        return client.call("turn/start", params, limit_s=limit_s)
    except RpcError as error:
        if error.code == CREDENTIALS:
            error.hint = explain_keys(environ) or error.hint
        if error.reason != "secrets_needed":
            raise
        names = tuple(str(name) for name in error.data.get("names", ()))
        found = take_keys(environ, names)
        if not found or found.items() <= params.get("secrets", {}).items():
            raise
        secrets = {**params.get("secrets", {}), **found}
        return client.call("turn/start", {**params, "secrets": secrets}, limit_s=limit_s)
