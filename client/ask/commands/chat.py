"""`ask chat`: prompts in one conversation, and slash commands (`ask.chat.slash`).

At a terminal, and with what the extra `chat` installs, it is `ask.chat.app`. Else it is
plain, as here: no editor of its own, no colours; what others say is shown before the next
line, never in the middle of one.
"""

import importlib
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from ask.chat.desk import DELETED_CHAT, Desk, tell_deleted
from ask.chat.means import can_draw, is_installed
from ask.chat.slash import ENDS, HOW_TO_LEAVE, is_command, note_exit, read_prompt, run_line
from ask.commands.calls import (
    Map,
    find_conversation,
    no_mentions_option,
    open_client,
    read_events,
    start_turn,
    write_text,
)
from ask.commands.completing import complete_conversation, complete_model
from ask.commands.help import Command, Example
from ask.commands.layout import SHORT_ID, name_conversation
from ask.commands.meanwhile import Meanwhile
from ask.commands.template_options import settle_chat, template_option, values_option
from ask.commands.toolbox import approve_option, instructions_option, tools_option
from ask.exits import DONE, INTERRUPTED, PIPE_CLOSED, TERMINATED, Failed
from ask.fast.caller import StdoutClosed, is_interactive, make_key, write_all
from ask.person import STDIN, STDOUT, Person, make_asker
from ask.protocol import errors
from ask.terminal import strip_controls
from ask.typed import TypedLines, read_line

if TYPE_CHECKING:
    from ask.endings import End

MARK = "> "
MISSING = "An editor, and answers painted: pip install 'askd[chat]'"
ANSWER_LIMIT_S = 30.0
"""As `ask.connection` has it, which is imported where the daemon is asked."""


@click.command(
    "chat",
    cls=Command,
    examples=[
        Example("printf '/models\\n/exit\\n' | ask chat"),
        Example("echo 'Why is the sky blue?' | ask chat -s work"),
    ],
    codes=[
        errors.FAILED,
        errors.NOT_FOUND,
        errors.CREDENTIALS,
        errors.RATE_LIMITED,
        errors.APPROVAL_NEEDED,
        errors.OVERFLOW,
        errors.CUT,
        errors.NO_DAEMON,
        errors.TIME_LIMIT,
        errors.TERMINATED,
    ],
)
@click.argument(
    "conversation", metavar="[ID]", required=False, shell_complete=complete_conversation
)
@click.option("-c", "--continue", "again", is_flag=True, help="This terminal's last conversation.")
@click.option(
    "-s",
    "--session",
    metavar="NAME|ID",
    shell_complete=complete_conversation,
    help="This conversation; a new name makes one.",
)
@click.option(
    "-m", "--model", metavar="NAME", shell_complete=complete_model, help="The model that answers."
)
@click.option("-S", "--system", metavar="TEXT", help="A system prompt.")
@template_option
@values_option
@tools_option
@approve_option
@instructions_option
@no_mentions_option
def chat_command(
    conversation: str | None,
    again: bool,
    session: str | None,
    model: str | None,
    system: str | None,
    template: str | None,
    values: dict[str, str],
    tools: list[str] | None,
    approve: str | None,
    instructions: bool | None,
    no_mentions: bool,
) -> int:
    """Talk, with an editor at a terminal; /help lists the commands.

    Without ID, -c or -s a new conversation begins, and its id is printed at the
    end. What others say in it is shown. The editor comes with the extra `chat`
    (pip install 'askd[chat]'). A script may give the lines on standard input; the
    code is then that of the last line that failed.
    """
    if sum([conversation is not None, again, session is not None]) > 1:
        raise click.UsageError("Give one of ID, -c and -s.")
    said = {"model": model, "system": system, "tools": tools, "approve": approve}
    options = settle_chat({**said, "instructions": instructions}, template, values)
    found = find_conversation(conversation, again=again, session=session)
    draws = can_draw(os.environ)
    if draws and is_installed():
        from ask.chat.begin import run_chat

        return run_chat(found, options, mentions=not no_mentions)
    chat = Chat(found, options, mentions=not no_mentions)
    if chat.interactive:
        where = "a new conversation" if found is None else name_conversation(found)
        click.echo(strip_controls(f"Chat in {where}. /help lists the commands."), err=True)
        if draws:
            click.echo(MISSING, err=True)
    try:
        return chat.run()
    finally:
        if found is None and chat.desk.conversation_id is not None:
            click.echo(chat.desk.conversation_id[:SHORT_ID], err=True)


class EachTime:
    """Asks the daemon over a connection for each question: none is held while a person thinks."""

    def call(
        self, method: str, params: Map | None = None, *, limit_s: float = ANSWER_LIMIT_S
    ) -> Map:
        """As `Client.call`."""
        with open_client() as client:
            return client.call(method, params, limit_s=limit_s)


class Chat:
    """One chat: where it goes on, and how it has gone.

    Attributes:
        desk: what slash commands work on; the conversation's id is there.
        interactive: a person types; else a script's lines are read.
        code: that of the last line that failed.
    """

    def __init__(self, found: Map | None, options: Map, *, mentions: bool = True) -> None:
        self._meanwhile = Meanwhile()
        self.desk = Desk(
            caller=EachTime(),
            show=click.echo,
            tell=lambda text: click.echo(text, err=True),
            options=dict(options),
            conversation_id=None if found is None else str(found["id"]),
            expect_notice=self._meanwhile.expect_notice,
            expect_change=self._meanwhile.expect_change,
        )
        self._asker = make_asker(write_text, STDOUT)
        self._known = found is None  # what was said before the chat is not shown
        self.interactive = sys.stdin.isatty()
        # What a script hands over is content; it may have come from anywhere.
        self._mentions = mentions and self.interactive
        self.code = DONE

    def run(self) -> int:
        """Read lines to their end; the exit code."""
        if self.interactive:
            importlib.import_module("readline")  # for what it does to input()
        while True:
            try:
                self._catch_up()
                if self._asker.is_due:
                    TypedLines(STDIN).forget()
                self._asker.show()
                asked = self._asker.waits
                line = read_line("" if asked else MARK, by_hand=self.interactive)
                self._catch_up()
                if line is None or not self._take(line, asked=asked):
                    break
            except KeyboardInterrupt:
                click.echo(f"\n{HOW_TO_LEAVE}", err=True)
            except StdoutClosed:
                return PIPE_CLOSED
            except Failed as error:
                if error.code in (errors.NO_DAEMON, TERMINATED):
                    raise
                if (
                    error.data.get("reason") == "conversation_not_found"
                    and self.desk.conversation_id
                ):
                    raise tell_deleted(error, DELETED_CHAT) from None
                self._fail(error.code, error.message)
                if error.hint:
                    click.echo(strip_controls(error.hint), err=True)
        return DONE if self.interactive else self.code

    def _catch_up(self) -> None:
        """Show a person what others said since the last line; a script did not ask for it."""
        if not self.interactive or self.desk.conversation_id is None:
            return
        shown = ""
        # Whoever asks next is told what is wrong; here nothing is lost by waiting.
        with suppress(Failed), open_client(start=False) as client:
            events = read_events(client, self.desk.conversation_id, after=self._meanwhile.seq)
            for event in events:
                shown += self._meanwhile.take(event)
                self._asker.take(event)
            if not self._known:
                self._known, shown = True, ""
        sys.stdout.flush()  # what follows is written past it
        write_text(shown)

    def _take(self, typed: str, *, asked: bool = False) -> bool:
        """Act on a line; false: leave. `asked`: it was typed as the answer to a question."""
        line = typed.strip()
        if asked and (self._asker.filling or not line.startswith("/")):
            self._answer(line)
            return True
        if not line:
            return True
        if line in ENDS:
            note_exit(self.desk, line)
            return False
        if is_command(typed):
            return run_line(self.desk, line)
        self._ask(read_prompt(typed))
        return True

    def _answer(self, line: str) -> None:
        """Answer what another turn of the conversation has asked."""
        with open_client() as client:
            self._asker.answer(line, lambda params: client.call("question/answer", params))

    def _ask(self, text: str) -> None:
        """Send a prompt and show its answer; Ctrl-C ends that turn alone."""
        end = self._follow(text)
        if end.code == TERMINATED:
            raise Failed(TERMINATED, "Terminated.")
        if end.code == INTERRUPTED:
            self._fail(INTERRUPTED, "(interrupted)")
        elif end.code != DONE:
            self._fail(end.code, end.message or f"The turn ended with code {end.code}.")

    def _follow(self, text: str) -> "End":
        from ask.connection import Client
        from ask.fast.run import Carried
        from ask.follow import Follower
        from ask.inputs import attach_mentions
        from ask.render import Screen

        said, mentioned = attach_mentions(text) if self._mentions else (text, [])
        mentioned = [*mentioned, *self.desk.attached]
        key = make_key()
        self._meanwhile.expect_prompt(key)
        target = self.desk.target

        def start(client: Client) -> Map:
            accepted = start_turn(
                client,
                target,
                said,
                key=key,
                mentioned=mentioned,
                options=self.desk.options,
                follow=True,
            )
            self.desk.conversation_id = str(accepted["conversation_id"])
            self._taken = True
            return accepted

        sys.stdout.flush()  # what follows is written past it
        carried = Carried(key)
        screen = Screen()
        end = Follower(
            connect=Client.connect,
            start=start,
            screen=screen,
            carried=carried,
            person=Person(screen) if is_interactive() else None,
        ).run()
        if carried.answer is not None and carried.answer.line_open:
            write_all(1, b"\n")
        return end

    def _fail(self, code: int, message: str) -> None:
        self.code = code
        click.echo(strip_controls(message), err=True)
