"""`ask attach ID`: follow a conversation live, and take part.

Everything that is said in it appears, whoever asks. On a terminal each line that
is typed is a prompt of its own. Leaving (Ctrl-C, Ctrl-D, a closed terminal) only
detaches: turns go on, and what was typed before is answered.
"""

import os
import select
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

import click

from ask.commands.calls import (
    PAGE,
    Map,
    conversation_argument,
    json_option,
    no_mentions_option,
    resolve,
    start_turn,
    write_text,
)
from ask.commands.help import Command, Example
from ask.exits import DONE, Failed
from ask.fast.caller import make_key
from ask.feed import Feed, Missed, News
from ask.protocol import errors
from ask.render import encode_record
from ask.scene import Scene
from ask.terminal import ControlFilter, strip_controls
from ask.thoughts import Thoughts
from ask.transcript import is_message

if TYPE_CHECKING:
    from ask.connection import Client

TAIL_MESSAGES = 10
"""What was said before, as much as fits a screen."""
RECONNECT_LIMIT_S = 60.0
"""How long a lost daemon is looked for; a restart takes a few seconds."""
RECONNECT_PAUSE_S = 0.2
INPUT_BYTES = 64 * 1024
ALL = sys.maxsize
"""As many messages as there are."""


class Count(click.ParamType[int]):
    """A number of messages, or `all` (`ALL`)."""

    name = "N"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Read what was typed."""
        if value == "all":
            return ALL
        if not (str(value).isascii() and str(value).isdigit()):
            self.fail(f"{value!r} is neither a number nor 'all'.", param, ctx)
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
    metavar="N",
    help=f"Earlier messages to show, or 'all'; default {TAIL_MESSAGES}, with --json all.",
)
@click.option("--no-input", is_flag=True, help="Only watch; typed lines are not sent.")
@no_mentions_option
@click.option("--until-idle", is_flag=True, help="Leave when no turn runs or waits.")
@json_option
def attach_command(
    conversation: str,
    messages: int | None,
    no_input: bool,
    no_mentions: bool,
    until_idle: bool,
    as_json: bool,
) -> int:
    """Follow a conversation live, from another terminal.

    On a terminal, a line that you type is a prompt: it is queued and answered in
    its turn. Ctrl-C or Ctrl-D detaches with code 0; the turns go on, and what you
    typed before is answered without you.
    """
    view: View
    if as_json:
        view = JsonView(ALL if messages is None else messages)
    else:
        view = TextView(TAIL_MESSAGES if messages is None else messages)
    attached = Attached(conversation, view, until_idle=until_idle, mentions=not no_mentions)
    typed = None if no_input or not sys.stdin.isatty() else sys.stdin.fileno()
    try:
        attached.run(typed)
    except KeyboardInterrupt:
        view.end_line()
        click.echo("[detached]", err=True)
    return DONE


class View(Protocol):
    """Where news is shown."""

    def show(self, found: list[News]) -> None:
        """Write what is new."""

    def end_line(self) -> None:
        """End a line that was left open, before something is said on stderr."""


class Attached:
    """One attachment: a subscription that is renewed after a gap or a lost connection."""

    def __init__(
        self, conversation: str, view: View, *, until_idle: bool = False, mentions: bool = True
    ) -> None:
        self._conversation = conversation
        self._view = view
        self._until_idle = until_idle
        self._mentions = mentions
        self._lines: list[str] = []  # typed and not yet sent
        self._rest = b""
        self._feed = Feed()
        self._open_turns: set[str] = set()
        self._id: str | None = None

    def run(self, typed: int | None) -> None:
        """Follow until nobody wants to any more; `typed` is a descriptor with lines to send."""
        from ask.connection import Client, ConnectionLost
        from ask.listener import NoDaemon

        client = Client.connect()
        while True:
            try:
                with client:
                    self._follow(client, typed)
                    return
            except ConnectionLost as lost:
                self._view.end_line()
                click.echo("Connection lost; connecting again ...", err=True)
                deadline = time.monotonic() + RECONNECT_LIMIT_S
                while True:
                    with suppress(NoDaemon):
                        client = Client.connect(start=False)
                        break
                    if time.monotonic() > deadline:
                        raise lost from None
                    self._pause(typed)

    def _pause(self, typed: int | None) -> None:
        """Wait before the next try; whoever types meanwhile is heard, and may leave."""
        watched = [] if typed is None else [typed]
        if typed is not None and select.select(watched, [], [], RECONNECT_PAUSE_S)[0]:
            self._read_typed(typed)
        else:
            time.sleep(RECONNECT_PAUSE_S)

    def _read_typed(self, typed: int) -> None:
        """Take what was typed; raise `KeyboardInterrupt` at its end."""
        try:
            data = os.read(typed, INPUT_BYTES)
        except OSError:  # a terminal that was closed
            data = b""
        if not data:
            raise KeyboardInterrupt
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._lines += [line.decode(errors="replace").strip() for line in lines]

    def _follow(self, client: "Client", typed: int | None) -> None:
        if self._id is None:
            self._id = str(resolve(client, self._conversation)["id"])
        self._subscribe(client)
        while not (self._until_idle and not self._open_turns):
            while self._lines:
                self._send(client, self._lines.pop(0))
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
                self._read_typed(typed)

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
            if is_event(news):
                turn_id = news.fields.get("turn_id")
                if news.fields["type"] == "prompt_accepted":
                    self._open_turns.add(str(turn_id))
                elif news.fields["type"] == "turn_finished":
                    self._open_turns.discard(str(turn_id))
            elif news.method == "turn_unsaved":
                self._open_turns.discard(str(news.fields.get("turn_id")))
        if found:
            self._view.show(found)

    def _send(self, client: "Client", line: str) -> None:
        if not line:
            return
        from ask.inputs import attach_mentions

        target = {"kind": "id", "value": self._id}
        try:
            said, mentioned = attach_mentions(line) if self._mentions else (line, [])
            start_turn(client, target, said, key=make_key(), mentioned=mentioned)
        except Failed as error:
            if error.code == errors.NO_DAEMON:
                raise
            click.echo(strip_controls(error.message), err=True)
            if error.hint:
                click.echo(strip_controls(error.hint), err=True)


class TextView:
    """Writes the scene to stdout; of what was said before, the last messages alone.

    What a model thinks aloud goes to stderr, dimmed, if that is a terminal.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._thoughts = Thoughts()
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
        if text:
            self._thoughts.end()
        write_text(self._filter.feed(text))
        kinds = [news.fields["kind"] if news.method == "delta" else "" for news in found]
        if "text" not in kinds:  # else what was thought is of the past
            for news, kind in zip(found, kinds, strict=True):
                if kind == "reasoning":
                    self._think(str(news.fields["text"]))

    def _think(self, text: str) -> None:
        if self._thoughts.shown and not self._thoughts.running:
            write_text(self._scene.end_line())  # the same terminal shows both
        self._thoughts.show(text)

    def end_line(self) -> None:
        """End a line that was left open."""
        self._thoughts.end()
        write_text(self._scene.end_line())

    def _cut(self, texts: list[tuple[str, str]]) -> list[tuple[str, str]]:
        said = [place for place, (method, text) in enumerate(texts) if method == "event" and text]
        if len(said) <= self._limit:
            return texts
        first = said[-self._limit] if self._limit else len(texts)
        return [each for place, each in enumerate(texts) if place >= first or each[0] != "event"]


class JsonView:
    """Writes one object a line: events as they are, all else under its method as `type`.

    Of what was said before, it begins with the first of the last messages.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._begun = False

    def show(self, found: list[News]) -> None:
        """Write what is new."""
        if not self._begun:
            self._begun = True
            found = self._cut(found)
        for news in found:
            record: Map = dict(news.fields)
            if not is_event(news):
                record = {"type": news.method, **record}
            write_text(encode_record(record) + "\n")

    def end_line(self) -> None:
        """No line is ever left open."""

    def _cut(self, found: list[News]) -> list[News]:
        events = [(place, each.fields) for place, each in enumerate(found) if is_event(each)]
        gone = {each["turn_id"] for _, each in events if each["type"] == "prompt_withdrawn"}
        said = [
            place for place, each in events if is_message(each) and each.get("turn_id") not in gone
        ]
        if len(said) <= self._limit:
            return found
        first = said[-self._limit] if self._limit else len(found)
        return [each for place, each in enumerate(found) if place >= first or not is_event(each)]


def is_event(news: News) -> bool:
    """Whether it is part of the log, and not only passing by."""
    return news.method == "event"
