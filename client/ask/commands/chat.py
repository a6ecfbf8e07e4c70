"""`ask chat`: prompts line by line in one conversation, and a few commands.

Plain: no editor of its own, no colours. A line that begins with `/` is a command
and never a prompt; what commands do and show is kept as notices, which no model
sees. What others say is shown before the next line, never in the middle of one.
"""

import importlib
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from ask.commands.calls import (
    Map,
    complete_conversation,
    find_conversation,
    no_mentions_option,
    open_client,
    read_events,
    start_turn,
    take_caller,
    write_text,
)
from ask.commands.compacting import shrink
from ask.commands.help import Command, Example
from ask.commands.layout import SHORT_ID, count, name_conversation
from ask.commands.meanwhile import Meanwhile
from ask.commands.models import NO_MODELS, fetch_models, lay_out_models
from ask.exits import DONE, INTERRUPTED, PIPE_CLOSED, TERMINATED, USAGE, Failed
from ask.fast.caller import is_interactive, make_key
from ask.protocol import errors
from ask.questions import Asker
from ask.terminal import find_terminal, strip_controls

if TYPE_CHECKING:
    from ask.connection import Client
    from ask.endings import End

MARK = "> "
HELP = """\
/help         this list
/models       the models that could answer
/compact      let a summary stand for the older turns; /compact --undo takes it back
/prune        take out of the model's sight what is old and too much
/clear        begin again: the model sees nothing of what was said before
/exit         leave (also: exit, Ctrl-D)
Any other line is a prompt; @FILE in it attaches that file. Ctrl-C stops an answer."""


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
@click.option("-m", "--model", metavar="NAME", help="The model that answers.")
@click.option("-S", "--system", metavar="TEXT", help="A system prompt.")
@no_mentions_option
def chat_command(
    conversation: str | None,
    again: bool,
    session: str | None,
    model: str | None,
    system: str | None,
    no_mentions: bool,
) -> int:
    """Talk line by line; /help lists the commands.

    Without ID, -c or -s a new conversation begins, and its id is printed at the
    end. What others say in it is shown before your next line. A script may give the
    lines on standard input; the code is then that of the last line that failed.
    """
    if sum([conversation is not None, again, session is not None]) > 1:
        raise click.UsageError("Give one of ID, -c and -s.")
    options = {name: value for name, value in (("model", model), ("system", system)) if value}
    found = find_conversation(conversation, again=again, session=session)
    chat = Chat(found, options, mentions=not no_mentions)
    if chat.interactive:
        where = "a new conversation" if found is None else name_conversation(found)
        click.echo(strip_controls(f"Chat in {where}. /help lists the commands."), err=True)
    try:
        return chat.run()
    finally:
        if found is None and chat.conversation_id is not None:
            click.echo(chat.conversation_id[:SHORT_ID], err=True)


class Chat:
    """One chat: where it goes on, and how it has gone.

    Attributes:
        conversation_id: None until the first thing that needs it.
        interactive: a person types; else a script's lines are read.
        code: that of the last line that failed.
    """

    def __init__(self, found: Map | None, options: Map, *, mentions: bool = True) -> None:
        self.conversation_id: str | None = None if found is None else str(found["id"])
        self._options = options
        self._meanwhile = Meanwhile()
        self._asker = Asker(write_text, terminal=find_terminal(os.environ))
        self._known = found is None  # what was said before the chat is not shown
        self._keeps_notices: bool | None = None
        self.interactive = sys.stdin.isatty()
        # What a script hands over is content; it may have come from anywhere.
        self._mentions = mentions and self.interactive
        self.code = DONE

    def run(self) -> int:
        """Read lines to their end; the exit code."""
        from ask.fast.caller import StdoutClosed

        if self.interactive:
            importlib.import_module("readline")  # for what it does to input()
        while True:
            try:
                self._catch_up()
                self._asker.show()
                asked = self._asker.waits
                line = self._read_line("" if asked else MARK)
                self._catch_up()
                if line is None or not self._take(line.strip(), asked=asked):
                    break
            except KeyboardInterrupt:
                click.echo("\n(/exit or Ctrl-D leaves)", err=True)
            except StdoutClosed:
                return PIPE_CLOSED
            except Failed as error:
                if error.code in (errors.NO_DAEMON, TERMINATED):
                    raise
                if error.data.get("reason") == "conversation_not_found" and self.conversation_id:
                    raise self._say_deleted(error) from None
                self._fail(error.code, error.message)
                if error.hint:
                    click.echo(strip_controls(error.hint), err=True)
        return DONE if self.interactive else self.code

    def _say_deleted(self, error: Failed) -> Failed:
        """Nothing that is typed from now on could be answered."""
        return Failed(
            error.code,
            "This conversation has been deleted, so the chat ends.",
            hint="Begin another: ask chat",
            data=error.data,
        )

    def _read_line(self, mark: str) -> str | None:
        if self.interactive and sys.stdout.isatty():
            try:
                return input(mark)
            except EOFError:
                click.echo()
                return None
        sys.stdout.flush()
        try:
            return sys.stdin.readline() or None
        except UnicodeDecodeError:
            raise Failed(USAGE, "A line of standard input is not valid UTF-8.") from None

    def _catch_up(self) -> None:
        """Show a person what others said since the last line; a script did not ask for it."""
        if not self.interactive or self.conversation_id is None:
            return
        shown = ""
        # Whoever asks next is told what is wrong; here nothing is lost by waiting.
        with suppress(Failed), open_client(start=False) as client:
            events = read_events(client, self.conversation_id, after=self._meanwhile.seq)
            for event in events:
                shown += self._meanwhile.take(event)
                self._asker.take(event)
            if not self._known:
                self._known, shown = True, ""
        sys.stdout.flush()  # what follows is written past it
        write_text(shown)

    def _take(self, line: str, *, asked: bool = False) -> bool:
        """Act on a line; false: leave. `asked`: it was typed as the answer to a question."""
        word, _, _ = line.partition(" ")
        if asked and not line.startswith("/"):
            self._answer(line)
            return True
        if not line:
            return True
        if line in ("exit", "/exit"):
            if self.conversation_id is not None:
                self._note(f"User executed command: {line}")
            return False
        # `/etc/passwd is ...` is a prompt: no command has a second slash.
        if not word.startswith("/") or "/" in word[1:]:
            self._ask(line)
            return True
        match line.split():
            case ["/help"]:
                self._note(f"User executed command: {line}")
                click.echo(HELP)
                self._note("User viewed help", level="result")
            case ["/models"] | ["/models", "list"]:
                self._show_models(line)
            case ["/compact"] | ["/compact", "--undo"] | ["/prune"]:
                self._shrink(line)
            case ["/clear"]:
                self._clear(line)
            case _:
                self._fail(USAGE, f"Unknown command: {line} (/help lists them)")
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
            self.code = INTERRUPTED
            click.echo("(interrupted)", err=True)
        elif end.code != DONE:
            self._fail(end.code, end.message or f"The turn ended with code {end.code}.")

    def _follow(self, text: str) -> "End":
        from ask.connection import Client
        from ask.fast.caller import write_all
        from ask.fast.run import Carried
        from ask.follow import Follower
        from ask.inputs import attach_mentions
        from ask.person import Person
        from ask.render import Screen

        said, mentioned = attach_mentions(text) if self._mentions else (text, [])
        key = make_key()
        self._meanwhile.expect_prompt(key)
        target: Map = (
            {"kind": "new"}
            if self.conversation_id is None
            else {"kind": "id", "value": self.conversation_id}
        )

        def start(client: Client) -> Map:
            accepted = start_turn(
                client,
                target,
                said,
                key=key,
                mentioned=mentioned,
                options=self._options,
                follow=True,
            )
            self.conversation_id = str(accepted["conversation_id"])
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

    def _show_models(self, line: str) -> None:
        self._note(f"User executed command: {line}")
        with open_client() as client:
            page = fetch_models(client)
        for warning in page["warnings"]:
            click.echo(strip_controls(warning), err=True)
        click.echo(strip_controls("\n".join(lay_out_models(page["data"])) or NO_MODELS))
        self._note(f"Command result: {count(len(page['data']), 'model')} available", level="result")

    def _shrink(self, line: str) -> None:
        """Compact, prune, or take either back."""
        self._note(f"User executed command: {line}")
        with open_client() as client:
            said, has_changed = shrink(client, self._begin(client), line)
        if has_changed:
            self._meanwhile.expect_change()
        click.echo(strip_controls(said), err=True)
        self._note(f"Command result: {said}", level="result")

    def _clear(self, line: str) -> None:
        self._note(f"User executed command: {line}")
        with open_client() as client:
            self._meanwhile.expect_change()
            client.call("conversation/clear", {"conversation_id": self._begin(client)})
        click.echo("The next prompt starts afresh; the history is kept.")
        self._note("Command result: view cleared", level="result")

    def _note(self, text: str, *, level: str = "command") -> None:
        """Keep a notice, unless the settings say not to."""
        with open_client() as client:
            if self._keeps_notices is None:
                settings = client.call("config/read")["settings"]
                self._keeps_notices = settings.get("persist_special_commands", True) is not False
            if self._keeps_notices:
                params = {"conversation_id": self._begin(client), "text": text, "level": level}
                self._meanwhile.expect_notice(text)
                client.call("conversation/note", params)

    def _begin(self, client: "Client") -> str:
        """The conversation's id; it is created by the first thing that needs it."""
        if self.conversation_id is None:
            caller = take_caller(client) if self._options.get("model") else {}
            created = client.call(
                "conversation/create",
                {**self._options, **caller, "terminal": find_terminal(os.environ)},
            )
            self.conversation_id = str(created["id"])
        return self.conversation_id

    def _fail(self, code: int, message: str) -> None:
        self.code = code
        click.echo(strip_controls(message), err=True)
