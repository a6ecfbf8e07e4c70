"""A chat at a terminal, with all its parts: what `ask.chat.watch` shows, and what is typed.

What is asked of the daemon is done by other threads, in the order in which it was typed, so
that the line can always be typed on.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import ThreadedCompleter
from prompt_toolkit.input import Input
from prompt_toolkit.output import Output
from prompt_toolkit.styles import Style

from ask.chat.keys import bind_keys
from ask.chat.letter import Sender
from ask.chat.offers import Offers
from ask.chat.present import MORE, Present
from ask.chat.print import Printer
from ask.chat.reader import Reader
from ask.chat.recall import Recall
from ask.chat.slash import ENDS, HOW_TO_LEAVE, is_command, is_long, note_exit, read_prompt, run_line
from ask.chat.watch import Watch
from ask.chat.wishes import word_steering
from ask.exits import TERMINATED, USAGE, Failed
from ask.feed import News
from ask.questions import Asker
from ask.terminal import strip_controls

SENT_LIMIT_S = 2.0
"""As long a signal to end lets what was typed before be sent; a daemon takes it at once."""
GRACE_S = 0.7
"""A key that is pressed this soon after a question came was meant for something else."""


class ChatApp(Watch):
    """One chat.

    Args:
        reader, asker, present, printer: as of `Watch`.
        names: what the daemon knows for a Tab. clock: monotonic seconds.
    """

    def __init__(
        self,
        *,
        reader: Reader,
        asker: Asker,
        present: Present,
        sender: Sender,
        printer: Printer,
        recall: Recall,
        names: Callable[[str], list[tuple[str, str]]],
        style: Style,
        clock: Callable[[], float],
        until_idle: bool = False,
        input: Input | None = None,
        output: Output | None = None,
    ) -> None:
        self._sender, self._clock = sender, clock
        self._order = asyncio.Lock()  # prompts and commands, as they were typed
        self._stopping: str | None = None
        self._asked_at = 0.0
        self._draft = ""
        self._leaving = False
        self.buffer = Buffer(
            completer=ThreadedCompleter(Offers(names)),
            history=recall,
            multiline=True,
            complete_while_typing=False,
        )
        super().__init__(
            reader=reader,
            asker=asker,
            present=present,
            desk=sender.desk,
            printer=printer,
            line=self.buffer,
            keys=bind_keys(self.buffer, self),
            style=style,
            until_idle=until_idle,
            input=input,
            output=output,
        )
        desk = self.desk
        desk.show = desk.tell = self._stage.say_from_thread
        desk.steer = self._steer
        desk.columns = lambda: self._stage.find_size()[0]

    # ---- what is heard -------------------------------------------------------------

    def take(self, news: News) -> None:
        """Take in a piece of news."""
        super().take(news)
        going_on = {self.view.running, *(each.turn_id for each in self.view.queue)}
        if self._stopping and self._stopping not in going_on:
            self._stopping = None

    def _show_questions(self) -> None:
        is_due = self._asker.is_due
        super()._show_questions()
        if is_due:
            self._asked_at = self._clock()
            self._draft = self._draft or self.buffer.text
            self.buffer.reset()
        elif self._draft and not self._asker.waits and not self.buffer.text:
            self.buffer.insert_text(self._draft)
            self._draft = ""

    # ---- what is typed (`ask.chat.keys.Acts`) --------------------------------------

    def submit(self, text: str) -> None:
        """A line, or several: an answer, a command, or a prompt."""
        line = text.strip()
        if self._asker.waits and (self._asker.filling or line == MORE or line[:1] != "/"):
            line = self.present.word_answer(line)
            self._stage.say_raw(f"{self.present.label}{strip_controls(line)}\n")
            self.present.label = ""
            self._spawn(self._answer(line))
        elif not line:
            return
        elif line in ENDS:
            self._spawn(self._exit(line))
        elif is_command(text):
            self._stage.say(f"> {line}")
            self._spawn(self._work(partial(run_line, self.desk, line), apart=is_long(line)))
        else:
            self.present.sending.append(read_prompt(text))
            self._spawn(self._work(partial(self._send, read_prompt(text)), typed=text))
        self.app.invalidate()

    async def _answer(self, line: str) -> None:
        async with self._asking:
            call = partial(self._reader.call, "question/answer")
            try:
                await self._call(partial(self._asker.answer, line, call))
            except Failed as error:
                self._fail(error)
            self._stage.flush()
            self._show_questions()
        self._news.set()

    async def _work(
        self, work: Callable[[], object], *, apart: bool = False, typed: str | None = None
    ) -> None:
        """Do what was typed after what was typed before; `apart`: beside it."""
        if not apart:
            await self._order.acquire()
        try:
            await self._call(work)
        except Failed as error:
            self._fail(error)
            if typed is not None and not self.buffer.text:
                self.buffer.insert_text(typed)  # it was not taken: it can be mended
        finally:
            if not apart:
                self._order.release()
            self._follow()
            self.app.invalidate()
        self._spawn(self._refresh())

    async def _exit(self, line: str | None) -> None:
        """Leave when all that was typed before has been taken; `line`: how that was said."""
        async with self._order:
            if line is not None:
                with suppress(Failed):
                    await self._call(partial(note_exit, self.desk, line))
        super().leave()

    def _send(self, text: str) -> None:
        """Send a prompt; in a thread."""
        try:
            accepted = self._sender.send(text)
        except Failed:
            if self._stopping == "":
                self._stopping = None  # nothing was accepted that could be stopped
            raise
        finally:
            self.present.sending.remove(text)
        self._follow()
        if self._stopping == "":
            self._stopping = str(accepted["turn_id"])
            self._interrupt(self._stopping)

    def _steer(self, text: str) -> str:
        """Say this to what is being answered; in a thread."""
        if self.view.running is None:
            raise Failed(USAGE, "Nothing is being answered: just ask.")
        accepted = self._sender.send(text, steer=True)
        said = word_steering(accepted)
        self._stage.say_from_thread(said)
        return said

    def _follow(self) -> None:
        """The conversation was begun: hear it from its first event."""
        if self.present.follows is None and self.desk.conversation_id is not None:
            self.present.follows = self.desk.conversation_id
            self._reader.follow(self.desk.conversation_id, 0)

    def _fail(self, error: Failed) -> None:
        if error.data.get("reason") == "conversation_not_found":
            self._give_up(error)
            return
        hint = f"\n{error.hint}" if error.hint else ""
        self._stage.say(strip_controls(f"{error.message}{hint}"), kind="failure")

    def _interrupt(self, turn_id: str) -> None:
        """Stop a turn; in a thread."""
        with suppress(Failed):  # it is over, or the next Ctrl-C leaves
            self._reader.call("turn/interrupt", self._name_turn(turn_id))

    def _name_turn(self, turn_id: str) -> dict[str, str | None]:
        return {"conversation_id": self.desk.conversation_id, "turn_id": turn_id}

    def stop(self) -> None:
        """Ctrl-C: end what is being answered; again, leave. Without any, say how to.

        Whoever is attached to what others talk about leaves it by that, and ends nothing.
        """
        if self.present.detaches:
            self.leave()
            return
        running = self.view.running or (self.view.queue[0].turn_id if self.view.queue else None)
        if self._stopping is not None:
            self.leave()
        elif running is not None:
            self._stopping = running
            self._reader.tell("turn/interrupt", self._name_turn(running))
        elif self.present.sending:
            self._stopping = ""  # stopped as soon as it is accepted
        elif self.buffer.text:
            self.buffer.reset()
        else:
            self._stage.say(HOW_TO_LEAVE)

    def leave(self) -> None:
        """Ctrl-D: the turns go on. A prompt on its way is waited for, once."""
        if self.present.sending and not self._leaving:
            self._leaving = True
            self._spawn(self._exit(None))
            return
        super().leave()

    def _end(self, code: int) -> None:
        if code == TERMINATED and self.present.sending and not self._leaving:
            self._leaving = True
            self._spawn(self._end_when_sent(code))
            return
        super()._end(code)

    async def _end_when_sent(self, code: int) -> None:
        """A window that is closed right after Enter has asked all the same."""
        with suppress(TimeoutError):
            async with asyncio.timeout(SENT_LIMIT_S), self._order:
                pass
        super()._end(code)

    @property
    def _fate(self) -> str:
        return super()._fate if self._stopping is None else "is told to stop"

    def takes_key(self) -> bool:
        """Whether a single key answers what is asked."""
        if not (self._asker.waits and self._asker.filling is None and self.present.is_approval):
            return False
        return self._clock() - self._asked_at >= GRACE_S
