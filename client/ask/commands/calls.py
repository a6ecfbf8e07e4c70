"""How commands reach the daemon: a connection that ends with the command, and pages.

It decides whether a daemon may be started, and which conversation is meant; the
wire itself is `ask.connection`.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from ask.commands.completing import complete_conversation
from ask.exits import NOT_FOUND, USAGE, Failed
from ask.fast.caller import is_interactive, write_all
from ask.protocol.names import SECRET_NAMES
from ask.whereabouts import describe, find_terminal, is_far, lend

if TYPE_CHECKING:
    from ask.connection import Caller, Client
    from ask.inputs import Input

Map = dict[str, Any]
PREFIX_CHARACTERS = 4
"""Of an id: fewer are never taken for the beginning of one."""
PAGE = 200
"""Conversations or events asked for at once; the daemon sends fewer if they are large."""
EVENTS_OF_MESSAGE = 3
"""A question and its answer are five events, a tool's call and its output three."""


@contextmanager
def open_client(*, start: bool = True) -> "Iterator[Client]":
    """Connect for as long as the block lasts; without `start`, only to a daemon that runs.

    Raises:
        NoDaemon: there is none.
    """
    from ask.connection import Client

    with Client.connect(start=start) as client:
        yield client


def is_running() -> bool:
    """Whether a daemon of this user listens, on the machine that is meant; starts none."""
    from ask.listener import Unreachable, find_listener
    from ask.paths import Paths

    if is_far(os.environ):
        from ask.connection import Client

        try:
            Client.connect(start=False).close()
        except Unreachable as error:
            if not error.absent:
                raise
            return False
        return True
    found = find_listener(Paths.of(os.environ))
    if found is None:
        return False
    found.stream.close()
    return True


def resolve(client: "Caller", text: str, *, bind: str | None = None) -> Map:
    """The conversation that a person means by an id, a name or a prefix: its summary."""
    target = {"kind": "session", "value": check_name(text), "create": False}
    try:
        return client.call("conversation/resolve", {"target": target, "bind": bind})
    except Failed as error:
        if error.data.get("reason") == "conversation_not_found" and is_short_prefix(text):
            error.hint = f"The beginning of an id has at least {PREFIX_CHARACTERS} characters."
        raise


def check_name(name: str) -> str:
    """The name itself, if it is text; on the wire it would become another one.

    Raises:
        Failed: the shell gave bytes that are no UTF-8, code 2.
    """
    try:
        name.encode()
    except UnicodeEncodeError:
        message = "The conversation's name is not valid UTF-8."
        raise Failed(USAGE, message, data={"reason": "usage"}) from None
    return name


def is_short_prefix(text: str) -> bool:
    """Whether this may be the beginning of an id, and less than is taken for one."""
    return 0 < len(text) < PREFIX_CHARACTERS and set(text.lower()) <= set("0123456789abcdef-")


def resolve_here(client: "Caller", text: str | None) -> Map:
    """As `resolve`; without a text, the conversation that this terminal used last."""
    if text is not None:
        return resolve(client, text)
    target = {"kind": "terminal", "value": need_terminal(), "create": False}
    return client.call("conversation/resolve", {"target": target})


def find_conversation(conversation: str | None, *, again: bool, session: str | None) -> Map | None:
    """The conversation that is meant, created if it has a new name; None: one to be begun."""
    target: Map
    if again:
        target = {"kind": "terminal", "value": need_terminal()}
    elif session is not None:
        target = {"kind": "session", "value": session, "create": True}
    elif conversation is None:
        return None
    with open_client() as client:
        if conversation is not None:
            return resolve(client, conversation)
        return client.call(
            "conversation/resolve", {"target": target, "bind": find_terminal(os.environ)}
        )


def need_terminal() -> str:
    """Who this terminal is.

    Raises:
        Failed: it is none, code 3; never a guess such as "the latest".
    """
    terminal = find_terminal(os.environ)
    if terminal is None:
        raise Failed(
            NOT_FOUND,
            "This is no terminal, so it has no conversation of its own.",
            hint="Name one by its id or its name, or set ASK_TERMINAL.",
            data={"reason": "no_terminal"},
        )
    return terminal


def list_pages(
    client: "Client", *, live: bool, limit: int | None = None, before_at: float | None = None
) -> tuple[list[Map], int]:
    """Conversations, the newest first, at most `limit`, and how many there are in all.

    `before_at`: only those in which nothing has changed since then.
    """
    older = {} if before_at is None else {"before_at": before_at}
    rows, page = read_pages(client, "conversation/list", {"live": live, **older}, limit=limit)
    return rows, page["total"]


def read_pages(
    client: "Caller", method: str, asked: Map, *, limit: int | None = None, size: int = PAGE
) -> tuple[list[Map], Map]:
    """What a method lists, page by page, at most `limit`; and the last page, as it came.

    `size`: how many are asked for at once.
    """
    rows: list[Map] = []
    cursor: str | None = None
    while True:
        wanted = size if limit is None else min(size, limit - len(rows))
        page = client.call(method, {**asked, "cursor": cursor, "limit": wanted})
        rows += page["data"]
        cursor = page.get("next_cursor")
        if cursor is None or (limit is not None and len(rows) >= limit):
            return rows, page


def read_events(
    client: "Caller", conversation_id: str, *, after: int | None = 0, until: int | None = None
) -> Iterator[Map]:
    """Every event of a conversation that follows a seq, page by page; `until`: up to this one."""
    while after is not None and (until is None or after < until):
        limit = PAGE if until is None else min(PAGE, until - after)
        page = client.call(
            "conversation/read",
            {"conversation_id": conversation_id, "after_seq": after, "limit": limit},
        )
        yield from page["data"]
        after = page.get("next_after_seq")


def read_tail(
    client: "Caller", found: Map, messages: int, *, is_enough: Callable[[Sequence[Map]], bool]
) -> list[Map]:
    """The last events of a conversation up to its summary's `last_seq`: as many as are enough.

    As many as so many messages take, then twice as many, until they are enough or all.
    """
    tail: list[Map] = []
    start = found["last_seq"]
    size = max(PAGE, messages * EVENTS_OF_MESSAGE)
    while start > 0 and not (tail and is_enough(tail)):
        until, start = start, max(0, found["last_seq"] - size)
        tail[:0] = read_events(client, found["id"], after=start, until=until)
        size *= 2
    return tail


def take_caller(client: "Caller | None" = None) -> Map:
    """What the daemon may know of who asks: `{env, secrets}`, both by the tables of names.

    With a client, the keys that the daemon's settings name are among the secrets. A
    prompt is told which of them it needs; a listing is not, and would miss them.
    """
    names = SECRET_NAMES
    if client is not None:
        providers = client.call("config/read")["settings"].get("providers") or {}
        named = (each.get("api_key_env") for each in providers.values())
        names += tuple(str(each) for each in named if each)
    return lend(os.environ, names)


def start_turn(
    client: "Caller",
    target: Map,
    text: str,
    *,
    key: str,
    mentioned: "Sequence[Input]" = (),
    options: Map | None = None,
    follow: bool = False,
    steer: bool = False,
) -> Map:
    """Send one typed line as a prompt, with what it mentions; it is queued behind what runs.

    `steer`: it joins that instead.
    """
    from ask.acceptance import start_turn as send
    from ask.inputs import Input, send_parts

    said = {"model": os.environ.get("ASK_MODEL"), "system": os.environ.get("ASK_SYSTEM")}
    params = {
        "target": target,
        "key": key,
        "parts": send_parts(client, [Input(text.encode(errors="replace")), *mentioned]),
        "options": {**{name: value for name, value in said.items() if value}, **(options or {})},
        "terminal": find_terminal(os.environ),
        "follow": follow,
        **({"busy": "steer"} if steer else {}),
        "interactive": is_interactive(),
        **describe(os.environ),
    }
    return send(client, params, os.environ)


def write_text(text: str) -> None:
    """Write to stdout past its buffer: what a Ctrl-C cut off there would be written twice."""
    write_all(1, text.encode(errors="replace"))


conversation_argument = click.argument(
    "conversation", metavar="ID", shell_complete=complete_conversation
)
"""One conversation: its id, its name, or 4 or more characters of its id."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")

no_mentions_option = click.option(
    "--no-mentions", is_flag=True, help="Leave @path as it is; else that file is attached."
)
