"""`ask attach ID`: follow a conversation live, and take part.

Everything that is said in it appears, whoever asks. On a terminal each line that
is typed is a prompt of its own. Leaving (Ctrl-C, Ctrl-D, a closed terminal) only
detaches: turns go on.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from ask.commands.calls import (
    PAGE,
    Map,
    conversation_argument,
    json_option,
    resolve,
    start_turn,
)
from ask.commands.help import Command, Example
from ask.exits import DONE, Failed
from ask.fast.caller import make_key
from ask.feed import Feed, Missed, News
from ask.protocol import errors
from ask.scene import Scene
from ask.terminal import ControlFilter

if TYPE_CHECKING:
    from ask.connection import Client

TAIL_MESSAGES = 10
"""What was said before, as much as fits a screen."""
RECONNECT_LIMIT_S = 60.0
"""How long a lost daemon is looked for; a restart takes a few seconds."""
RECONNECT_PAUSE_S = 0.2
INPUT_BYTES = 64 * 1024

Show = Callable[[list[News]], None]


class Count(click.ParamType[int | None]):
    """A number of messages, or `all` (None)."""

    name = "N"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | None:
        """Read what was typed."""
        if value == "all" or value is None:
            return None
        if isinstance(value, int):
            return value
        if not str(value).isdigit():
            self.fail(f"{value!r} is neither a number nor 'all'", param, ctx)
        return int(str(value))


@click.command(
    "attach",
    cls=Command,
    examples=[
        Example("ask attach work --until-idle", before=("ask new work",)),
        Example("ask attach work --until-idle --json", before=("ask new work",)),
    ],
    codes=[errors.NOT_FOUND, errors.NO_DAEMON, errors.STORAGE],
)
@conversation_argument
@click.option(
    "-n",
    "--messages",
    type=Count(),
    default=TAIL_MESSAGES,
    metavar="N",
    help=f"Earlier messages to show, or 'all'; default {TAIL_MESSAGES}, with --json all.",
)
@click.option("--no-input", is_flag=True, help="Only watch; typed lines are not sent.")
@click.option("--until-idle", is_flag=True, help="Leave when no turn runs or waits.")
@json_option
def attach_command(
    conversation: str, messages: int | None, no_input: bool, until_idle: bool, as_json: bool
) -> int:
    """Follow a conversation live, from another terminal.

    On a terminal, a line that you type is a prompt: it is queued and answered in
    its turn. Ctrl-C or Ctrl-D detaches with code 0; the turns go on.
    """
    show = show_json if as_json else TextView(messages).show
    attached = Attached(conversation, show, until_idle=until_idle)
    typed = None if no_input or not sys.stdin.isatty() else sys.stdin.fileno()
    try:
        attached.run(typed)
    except KeyboardInterrupt:
        click.echo("[detached]", err=True)
    return DONE


class Attached:
    """One attachment: a subscription that is renewed after a gap or a lost connection."""

    def __init__(self, conversation: str, show: Show, *, until_idle: bool = False) -> None:
        self._conversation = conversation
        self._show = show
        self._until_idle = until_idle
        self._feed = Feed()
        self._open_turns: set[str] = set()
        self._id: str | None = None

    def run(self, typed: int | None) -> None:
        """Follow until nobody wants to any more; `typed` is a descriptor with lines to send."""
        from ask.connection import Client, ConnectionLost, NoDaemon

        client = Client.connect()
        while True:
            try:
                with client:
                    self._follow(client, typed)
                    return
            except ConnectionLost as lost:
                click.echo("Connection lost; connecting again ...", err=True)
                deadline = time.monotonic() + RECONNECT_LIMIT_S
                while True:
                    with suppress(NoDaemon):
                        client = Client.connect(start=False)
                        break
                    if time.monotonic() > deadline:
                        raise lost from None
                    time.sleep(RECONNECT_PAUSE_S)

    def _follow(self, client: "Client", typed: int | None) -> None:
        if self._id is None:
            self._id = str(resolve(client, self._conversation)["id"])
        rest = b""
        self._subscribe(client)
        while not (self._until_idle and not self._open_turns):
            found = client.poll(None, wake=typed)
            if found is not None:
                method, fields = found
                if fields.get("conversation_id") != self._id:
                    continue
                try:
                    self._pass_on(self._feed.take(method, fields))
                except Missed:
                    self._subscribe(client)
            elif typed is not None:
                data = os.read(typed, INPUT_BYTES)
                if not data:
                    raise KeyboardInterrupt
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self._send(client, line.decode(errors="replace").strip())

    def _subscribe(self, client: "Client") -> None:
        """Read on from the last event that was seen, up to the present."""
        found: list[News] = []
        while True:
            page = client.call(
                "conversation/subscribe",
                {
                    "conversation_id": self._id,
                    "after_seq": self._feed.seq,
                    "limit": PAGE,
                    "interactive": False,
                },
            )
            found += self._feed.take_page(page["data"], page["live"])
            if page.get("next_after_seq") is None:
                break
        self._pass_on(found)

    def _pass_on(self, found: list[News]) -> None:
        for news in found:
            if news.method == "event":
                turn_id = news.fields.get("turn_id")
                if news.fields["type"] == "prompt_accepted":
                    self._open_turns.add(str(turn_id))
                elif news.fields["type"] == "turn_finished":
                    self._open_turns.discard(str(turn_id))
            elif news.method == "turn_unsaved":
                self._open_turns.discard(str(news.fields.get("turn_id")))
        if found:
            self._show(found)

    def _send(self, client: "Client", line: str) -> None:
        if not line:
            return
        try:
            start_turn(client, {"kind": "id", "value": self._id}, line, key=make_key())
        except Failed as error:
            if error.code == errors.NO_DAEMON:
                raise
            click.echo(error.message, err=True)


class TextView:
    """Writes the scene to stdout; of what was said before, the last messages alone."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._scene = Scene()
        self._begun = False
        self._filter = ControlFilter()  # one for all: a sequence may be cut between deltas

    def show(self, found: list[News]) -> None:
        """Write what is new."""
        texts = [(news.method, self._scene.show(news)) for news in found]
        if not self._begun:
            self._begun = True
            texts = self._cut(texts)
        text = "".join(text for _, text in texts)
        sys.stdout.write(self._filter.feed(text))
        sys.stdout.flush()

    def _cut(self, texts: list[tuple[str, str]]) -> list[tuple[str, str]]:
        if self._limit is None:
            return texts
        said = [place for place, (method, text) in enumerate(texts) if method == "event" and text]
        if len(said) <= self._limit:
            return texts
        first = said[-self._limit] if self._limit else len(texts)
        return [each for place, each in enumerate(texts) if place >= first or each[0] != "event"]


def show_json(found: list[News]) -> None:
    """One object a line: events as they are, everything else under its method as `type`."""
    for news in found:
        record: Map = dict(news.fields)
        if news.method != "event":
            record = {"type": news.method, **record}
        sys.stdout.write(json.dumps(record, ensure_ascii=False) + "\n")
    sys.stdout.flush()
