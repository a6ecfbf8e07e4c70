"""`ask attach ID`: follow a conversation live, and take part.

Everything that is said in it appears, whoever asks. At a terminal, and with what the
extra `chat` installs, it is shown by `ask.chat.begin` as a chat is. Else it is plain, as
here: each line that is typed on a terminal is a prompt of its own. Leaving (Ctrl-C,
Ctrl-D, a closed terminal) only detaches: turns go on, and what was typed before is
answered.
"""

import os
import select
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ask.chat.means import can_draw, is_installed
from ask.commands.calls import (
    PAGE,
    Map,
    conversation_argument,
    json_option,
    no_mentions_option,
    read_tail,
    resolve,
    start_turn,
)
from ask.commands.help import Command, Example
from ask.commands.views import ALL, JsonView, TextView, View, is_event
from ask.exits import DONE, Failed
from ask.fast.caller import make_key
from ask.feed import Feed, Missed, News
from ask.patience import Patience
from ask.person import STDOUT, make_asker
from ask.protocol import errors
from ask.questions import Asker
from ask.tails import TAIL_MESSAGES, holds_open_turns
from ask.terminal import strip_controls
from ask.typed import TypedLines

if TYPE_CHECKING:
    from ask.connection import Client

RECONNECT_LIMIT_S = 60.0
"""How long a lost daemon is looked for; a restart takes a few seconds."""
RECONNECT_PAUSE_S = 0.2


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
@click.option(
    "-r",
    "--read-only",
    "--no-input",
    "read_only",
    is_flag=True,
    help="Only watch: nothing that is typed is sent, and no question answered.",
)
@no_mentions_option
@click.option("--until-idle", is_flag=True, help="Leave when no turn runs or waits.")
@json_option
def attach_command(
    conversation: str,
    messages: int | None,
    read_only: bool,
    no_mentions: bool,
    until_idle: bool,
    as_json: bool,
) -> int:
    """Follow a conversation live, from another terminal.

    With the extra `chat` a terminal shows it as `ask chat` does, and takes the same
    lines; else each line that you type is a prompt. Prompts are queued and answered
    in their turn. Ctrl-C or Ctrl-D detaches with code 0; the turns go on, and what
    you typed before is answered without you.
    """
    if not as_json and can_draw(os.environ) and is_installed():
        from ask.chat.begin import Manner, run_attached

        manner = Manner(
            messages=TAIL_MESSAGES if messages is None else messages,
            mentions=not no_mentions,
            detaches=True,
            read_only=read_only,
            until_idle=until_idle,
        )
        return run_attached(conversation, manner)
    view: View
    if as_json:
        view = JsonView(ALL if messages is None else messages)
    else:
        view = TextView(TAIL_MESSAGES if messages is None else messages)
    typed = None if read_only or not sys.stdin.isatty() else TypedLines(sys.stdin.fileno())
    attached = Attached(
        conversation,
        view,
        typed=typed,
        asker=None if as_json else make_asker(view.tell, STDOUT, can_answer=typed is not None),
        until_idle=until_idle,
        mentions=not no_mentions,
    )
    try:
        attached.run()
    except KeyboardInterrupt:
        view.end_line()
        click.echo("[detached]", err=True)
    return DONE


class Attached:
    """One attachment: a subscription that is renewed after a gap or a lost connection.

    Args:
        typed: lines to send as prompts, or as answers while a question is open.
        asker: shows questions; None: a program finds them among the events.
    """

    def __init__(
        self,
        conversation: str,
        view: View,
        *,
        typed: TypedLines | None = None,
        asker: Asker | None = None,
        until_idle: bool = False,
        mentions: bool = True,
    ) -> None:
        self._conversation = conversation
        self._view = view
        self._typed = typed
        self._asker = asker
        self._until_idle = until_idle
        self._mentions = mentions
        self._lines: list[str] = []  # typed and not yet sent
        self._early: list[str] = []  # the same, from before a question that came then
        self._feed = Feed()
        self._open_turns: set[str] = set()
        self._id: str | None = None
        self._begun = False

    def run(self) -> None:
        """Follow until nobody wants to any more."""
        from ask.connection import Client, ConnectionLost
        from ask.listener import NoDaemon, Unreachable

        client = Client.connect()
        while True:
            try:
                with client:
                    self._follow(client)
                    return
            except ConnectionLost as lost:
                self._view.end_line()
                click.echo("Connection lost; connecting again ...", err=True)
                patience = Patience(RECONNECT_LIMIT_S, RECONNECT_PAUSE_S)
                while True:
                    try:
                        client = Client.connect(start=False)
                        break
                    except NoDaemon as error:
                        gone = error if isinstance(error, Unreachable) else lost
                        pause_s = patience.find_pause(gone)
                    self._pause(pause_s)

    def _pause(self, pause_s: float) -> None:
        """Wait before the next try; whoever types meanwhile is heard, and may leave."""
        typed = self._typed
        if typed is not None and select.select([typed.descriptor], [], [], pause_s)[0]:
            self._read_typed(typed)
        elif typed is None:
            time.sleep(pause_s)

    def _read_typed(self, typed: TypedLines) -> None:
        """Take what was typed; raise `KeyboardInterrupt` at its end."""
        self._lines += typed.read()
        if typed.ended:
            raise KeyboardInterrupt

    def _follow(self, client: "Client") -> None:
        if self._begun:
            self._subscribe(client)
        else:
            self._begin(client)
        while not (self._until_idle and not self._open_turns):
            while self._early:
                self._send(client, self._early.pop(0), early=True)
            while self._lines:
                self._send(client, self._lines.pop(0))
            typed = self._typed
            found = client.poll(None, typed=None if typed is None else typed.descriptor)
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

    def _begin(self, client: "Client") -> None:
        """Show the past, as much of it as is wanted, and follow from there."""
        found = resolve(client, self._id or self._conversation)
        self._id = str(found["id"])
        self._feed = Feed()
        past: list[News] = []
        if self._view.limit < found["message_count"]:
            if found["state"] == "stored":
                # Of a conversation that is not in memory nobody knows yet what goes on in it.
                self._call_subscribe(client, found["last_seq"])
                found = resolve(client, self._id)
            tail = read_tail(
                client,
                found,
                self._view.limit,
                is_enough=lambda events: (
                    holds_open_turns(events, found) and self._view.tells_enough(events)
                ),
            )
            self._feed = Feed(seq=tail[0]["seq"] - 1)
            past = self._feed.take_page(tail)
        self._subscribe(client, past)
        self._begun = True

    def _subscribe(self, client: "Client", past: Sequence[News] = ()) -> None:
        """Read on from the last event that was seen, up to the present; `past` comes before."""
        found = [*past]
        while True:
            page = self._call_subscribe(client, self._feed.seq)
            found += self._feed.take_page(page["data"], page["live"])
            if page.get("next_after_seq") is None:
                break
        self._pass_on(found)

    def _call_subscribe(self, client: "Client", after_seq: int) -> Map:
        return client.call(
            "conversation/subscribe",
            {
                "conversation_id": self._id,
                "after_seq": after_seq,
                "limit": PAGE,
                "interactive": self._asker is not None and self._asker.can_answer,
            },
        )

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
            if is_event(news) and self._asker is not None:
                self._asker.take(news.fields)
        if found:
            self._view.show(found)
        if self._asker is not None:
            if self._asker.is_due and self._typed is not None:
                self._early += [*self._lines, *self._typed.read()]
                self._lines.clear()
                self._typed.forget()  # half a line: it was begun for something else
            self._asker.show()

    def _send(self, client: "Client", line: str, *, early: bool = False) -> None:
        """Send a typed line: the answer to what is asked, else a prompt.

        `early`: it was typed before anything was asked.
        """
        from ask.inputs import attach_mentions

        target = {"kind": "id", "value": self._id}
        try:
            if self._asker is not None and self._asker.waits and not early:
                self._asker.answer(line, lambda params: client.call("question/answer", params))
                return
            if not line:
                return
            said, mentioned = attach_mentions(line) if self._mentions else (line, [])
            start_turn(client, target, said, key=make_key(), mentioned=mentioned)
        except Failed as error:
            if error.code == errors.NO_DAEMON:
                raise
            click.echo(strip_controls(error.message), err=True)
            if error.hint:
                click.echo(strip_controls(error.hint), err=True)
