"""A chat at a terminal put together: its connection, its parts, its end.

The only file of the room that knows the process: its environment, its terminal, its clock.
"""

import asyncio
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from ask.chat.app import ChatApp
from ask.chat.desk import LEAVES, Desk
from ask.chat.keys import IN_WORDS
from ask.chat.letter import Sender
from ask.chat.offers import AT
from ask.chat.onlooker import Onlooker
from ask.chat.past import Past, find_past
from ask.chat.present import Present
from ask.chat.print import Printer
from ask.chat.reader import Reader
from ask.chat.recall import Recall
from ask.chat.screen import PLAIN_STYLE, STYLE
from ask.chat.view import View
from ask.chat.watch import Watch
from ask.commands.calls import Map, resolve, take_caller
from ask.commands.layout import SHORT_ID, name_conversation
from ask.completion.sources import GROUPS
from ask.connection import Caller, Client
from ask.paths import Paths
from ask.person import STDOUT, make_asker
from ask.tails import TAIL_MESSAGES
from ask.terminal import strip_controls
from ask.whereabouts import find_place

HISTORY_NAME = "chat_history"
"""In the state directory."""
ATTACHED = "attached"
"""What this client can do: show who else is there."""
OFFERED_LIMIT_S = 2.0
"""Longer nobody waits at a Tab."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How a terminal takes part in a conversation.

    Attributes:
        messages: so many of those that were said before are shown.
        mentions: `@path` in a prompt attaches that file.
        detaches: Ctrl-C leaves, and stops nothing.
        read_only: nothing can be typed.
        until_idle: it leaves when no turn runs or waits.
    """

    messages: int = TAIL_MESSAGES
    mentions: bool = True
    detaches: bool = False
    read_only: bool = False
    until_idle: bool = False


def run_chat(found: Map | None, options: Map, *, mentions: bool) -> int:
    """Chat in a conversation, or in a new one, until the person leaves; the exit code.

    Raises:
        Failed: no daemon can be had, or the conversation is gone.
    """
    where = "a new conversation" if found is None else name_conversation(found)
    said = f"Chat in {where}. /help lists the commands."
    manner = Manner(mentions=mentions)
    chat, reader = build_watch(found, options, manner)
    try:
        return _run(chat, reader, open_client(manner), found, manner, said)
    finally:
        if found is None and chat.desk.conversation_id is not None:
            click.echo(chat.desk.conversation_id[:SHORT_ID], err=True)


def run_attached(conversation: str, manner: Manner) -> int:
    """Follow a conversation and take part in it, if that is the manner; the exit code.

    Raises:
        Failed: no daemon can be had, there is no such conversation, or it is gone.
    """
    client = open_client(manner)
    found = resolve(client, conversation)
    where = name_conversation(found)
    said = f"Attached to {where}. /help lists the commands; Ctrl-C leaves."
    if manner.read_only:
        said = f"Watching {where}. q or Ctrl-C leaves."
    watch, reader = build_watch(found, {}, manner)
    return _run(watch, reader, client, found, manner, said)


def _run(
    watch: Watch, reader: Reader, client: Client, found: Map | None, manner: Manner, said: str
) -> int:
    past = Past() if found is None else find_past(client, found, manner.messages)
    click.echo(strip_controls(said), err=True)
    reader.start(client)
    watch.recall(past)
    if found is not None:
        watch.present.follows = str(found["id"])
        reader.follow(str(found["id"]), past.seq)
    try:
        return asyncio.run(watch.run())
    finally:
        reader.close()


def build_watch(found: Map | None, options: Map, manner: Manner) -> tuple[Watch, Reader]:
    """The parts, joined; nothing runs yet."""
    view = View()
    present = Present(
        view,
        name="" if found is None else str(found.get("name") or ""),
        detaches=manner.detaches or manner.read_only,
        read_only=manner.read_only,
    )
    coloured = not os.environ.get("NO_COLOR")
    reader = Reader(
        lambda start: open_client(manner, start=start, batch=True),
        lambda: watch.wake(),
        interactive=not manner.read_only,
    )
    desk = Desk(
        caller=reader,
        show=print,
        tell=print,
        options=dict(options),
        conversation_id=None if found is None else str(found["id"]),
        expect_notice=view.expect_notice,
        expect_change=view.expect_change,
    )
    asker = make_asker(present.write, STDOUT, can_answer=not manner.read_only)
    printer, style = Printer(coloured=coloured), STYLE if coloured else PLAIN_STYLE
    watch: Watch
    if manner.read_only:
        watch = Watch(
            reader=reader,
            asker=asker,
            present=present,
            desk=desk,
            printer=printer,
            style=style,
            until_idle=manner.until_idle,
        )
    else:
        desk.keys = IN_WORDS
        if manner.detaches:
            desk.ctrl_c = LEAVES
        ephemeral = found is not None and found.get("ephemeral")
        watch = ChatApp(
            reader=reader,
            asker=asker,
            present=present,
            sender=Sender(desk, view.expect_prompt, manner.mentions),
            printer=printer,
            recall=Recall(None if ephemeral else find_history(Paths.of(os.environ))),
            names=lambda what: list(find_names(Onlooker(reader), what)),
            style=style,
            clock=time.monotonic,
            until_idle=manner.until_idle,
        )
    return watch, reader


def open_client(manner: Manner, *, start: bool = True, batch: bool = False) -> Client:
    """A connection that says what it is for.

    `start`: a daemon is started if there is none. `batch`: nobody is asked for a password.
    """
    program = "ask attach" if manner.detaches or manner.read_only else "ask chat"
    about = {"client": program, "capabilities": [ATTACHED]}
    return Client.connect(start=start, batch=batch, about=about)


def find_history(paths: Paths) -> Path:
    """The file of what was typed in chats."""
    return paths.state / HISTORY_NAME


def find_names(reader: Caller, what: str) -> Sequence[tuple[str, str]]:
    """What the daemon knows for a Tab: models, tools, servers (`@`), what one offers (`NAME:`).

    Raises:
        Failed: it did not say.
    """
    if what == "/model":
        page = reader.call("model/list", {"begins": "", **take_caller()}, limit_s=OFFERED_LIMIT_S)
        rows = page["data"]
        aliases = [(str(each), str(row["name"])) for row in rows for each in row["aliases"] or ()]
        return [*aliases, *((str(row["name"]), "") for row in rows)]
    if what == "/tools":
        page = reader.call("tool/list", {}, limit_s=OFFERED_LIMIT_S)
        groups = [(each, "") for each in GROUPS]
        return [*groups, *((str(row["name"]), str(row["description"])) for row in page["data"])]
    if what == AT:
        settings = reader.call("config/read", limit_s=OFFERED_LIMIT_S)["settings"]
        return [(str(name), "a server") for name in settings.get("mcpServers") or ()]
    server = what.removeprefix(AT).partition(":")[0]
    asked = {"server": server, "cwd": find_place(os.environ)}
    page = reader.call("mcp/resources", asked, limit_s=OFFERED_LIMIT_S)
    return [(f"{server}:{row['uri']}", str(row["name"])) for row in page["data"]]
