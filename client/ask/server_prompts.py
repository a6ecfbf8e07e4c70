"""Prompts that servers of tools offer, as templates: found, checked, filled in by the server.

What comes back is others' text: it is a prompt as it stands, in which nothing is looked for.
It knows no command line, and which servers there are is the daemon's to say.
"""

import difflib
import time
from collections.abc import Mapping, Sequence
from typing import Any

from ask.connection import Client, RpcError, Silent
from ask.exits import NOT_FOUND, USAGE, Failed
from ask.resources import wait_patiently
from ask.terminal import flatten

Map = dict[str, Any]

NO_PROMPTS = "It offers no prompts."
LISTING_LIMIT_S = 2.0
"""For all servers together that are asked while somebody waits for a list."""


def fetch_prompt(
    client: Client,
    server: str,
    name: str,
    values: Mapping[str, str],
    *,
    deadline: float | None = None,
    quiet: bool = True,
    option: str = "",
) -> list[Map]:
    """The messages of a prompt, filled in; the server is started if need be.

    Args:
        deadline: until when that may take, in monotonic seconds.
        quiet: do not say what is waited for.
        option: what stands before a value where it is typed.

    Raises:
        Failed: there is no such server or prompt, or what it needs was not said.
    """

    def call(method: str, asked: Map) -> Map:
        said = f"{server}:{name}"
        return wait_patiently(
            client, method, {"server": server, **asked}, said, deadline=deadline, quiet=quiet
        )

    try:
        page = call("mcp/prompts", {})
    except RpcError as error:
        if error.reason == "server_not_found":
            known = [str(each) for each in error.data.get("candidates", ())]
            near = difflib.get_close_matches(server, known, n=1, cutoff=0.5)
            error.hint = f"Did you mean {near[0]!r}?" if near else error.hint
        raise
    found = find_prompt(page, server, name)
    if found is not None:
        check_values(found, values, option=option)
    return list(call("mcp/prompt", {"name": name, "arguments": dict(values)})["messages"])


def list_ready(client: Client, *, limit_s: float = LISTING_LIMIT_S) -> tuple[list[Map], list[str]]:
    """The prompts of those servers that run, and the servers that were not asked, or were late.

    Each prompt has its server's name as `server`. None is started, and all are asked at
    once: one that does not answer costs its own prompts and `limit_s`, however many do so.
    """
    states = client.call("mcp/list", limit_s=limit_s)["data"]
    ready = [each["name"] for each in states if each["state"] == "ready" and each["prompts"]]
    left = [str(each["name"]) for each in states if each["state"] not in ("ready", "off")]
    asked = {str(name): client.send("mcp/prompts", {"server": name}) for name in ready}
    deadline = time.monotonic() + limit_s
    rows: list[Map] = []
    for name, request in asked.items():
        try:
            page = client.wait(request, limit_s=max(0.0, deadline - time.monotonic()))
        except (RpcError, Silent):
            left.append(name)
        else:
            rows += [{**row, "server": name} for row in page["data"]]
    return rows, left


def find_prompt(page: Map, server: str, name: str) -> Map | None:
    """The record of a prompt; None: it may be among those that were not listed.

    Raises:
        Failed: it is not there, code 3, with the names that are.
    """
    rows = page["data"]
    for row in rows:
        if row["name"] == name:
            return dict(row)
    if page.get("left_out"):
        return None
    names = _name_all([row["name"] for row in rows])
    raise Failed(
        NOT_FOUND,
        f"{server} has no prompt {name!r}.",
        hint=f"It has: {names}." if names else NO_PROMPTS,
        data={"reason": "prompt_not_found"},
    )


def check_values(prompt: Map, values: Mapping[str, str], *, option: str = "") -> None:
    """Raise `Failed`, code 2, naming what the prompt needs and does not get, or does not know."""
    known = [each["name"] for each in prompt["arguments"]]
    missing = [e["name"] for e in prompt["arguments"] if e["required"] and e["name"] not in values]
    if missing:
        raise Failed(
            USAGE,
            f"The prompt {prompt['name']!r} needs {_name_all(missing)}.",
            hint=f"Say it: {' '.join(f'{option}{flatten(each)}=...' for each in missing)}",
            data={"reason": "usage"},
        )
    strange = [each for each in values if each not in known]
    if strange:
        raise Failed(
            USAGE,
            f"The prompt {prompt['name']!r} has no argument {_name_all(strange)}.",
            hint=f"It has: {_name_all(known)}." if known else "It has none.",
            data={"reason": "usage"},
        )


def join_messages(messages: Sequence[Map]) -> str:
    """A prompt as one text; who says what is told where it is not the user alone."""
    if all(each["role"] == "user" for each in messages):
        return "\n\n".join(each["text"] for each in messages)
    return "\n\n".join(f"{each['role'].capitalize()}:\n{each['text']}" for each in messages)


def _name_all(names: Sequence[str]) -> str:
    return ", ".join(flatten(each) for each in names)
