"""A terminal that shows one conversation live: what is heard, what is asked, what goes on.

One loop in the main thread draws and takes keys. What the daemon says comes from the reader's
thread; what is asked of it is done by others. Finished text is written above the windows,
once. Nothing can be typed here: that is what `ask.chat.app` adds.
"""

import asyncio
import signal
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any

from prompt_toolkit.application import Application, get_app_session
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.output import Output
from prompt_toolkit.styles import Style

from ask.chat.desk import DELETED, DELETED_CHAT, Desk, tell_deleted
from ask.chat.keys import bind_leaving
from ask.chat.onlooker import Onlooker
from ask.chat.past import Past, recall
from ask.chat.present import Present
from ask.chat.print import Printer
from ask.chat.reader import Reader
from ask.chat.screen import build_layout
from ask.chat.stage import Stage
from ask.chat.status import fetch_facts
from ask.exits import DONE, TERMINATED, Failed
from ask.feed import Found, Gone, Heard, Lost, News
from ask.hits import SHORT_ID
from ask.questions import Asker

DETACHED = "[detached]"
REDRAW_S = 0.03
"""Between two drawings: as often as anybody sees."""


class Watch:
    """One terminal at one conversation, read-only unless there is a line.

    Args:
        reader: started; it is told which conversation to follow.
        asker: of the questions; what it writes goes to `present.write`.
        line: what is typed stands there. keys: what each key does. None: nothing can be typed.
        until_idle: leave when no turn runs or waits.
    """

    def __init__(
        self,
        *,
        reader: Reader,
        asker: Asker,
        present: Present,
        desk: Desk,
        printer: Printer,
        style: Style,
        line: Buffer | None = None,
        keys: KeyBindings | None = None,
        until_idle: bool = False,
        input: Input | None = None,
        output: Output | None = None,
    ) -> None:
        self.desk, self.view, self.present = desk, present.view, present
        self._reader, self._asker = reader, asker
        self._stage = Stage(present, printer)
        self._onlooker = Onlooker(reader)
        self._news = asyncio.Event()
        self._asking = asyncio.Lock()  # what is heard and what is answered touch the questions
        self._tasks: set[asyncio.Task[None]] = set()
        self._ended_seen = 0
        self._until_idle = until_idle
        # A daemon that is gone is started for a turn that goes on; for somebody's eyes it is not.
        self._needs_daemon = line is not None or until_idle
        self.error: Failed | None = None
        output = output or get_app_session().output
        if hasattr(output, "enable_cpr"):
            # Where the cursor stands is of no use here: the windows are as high as they need. An
            # answer that comes when text has been written above would make them higher. It is
            # the application that looks whether it is asked for, when it is made.
            output.enable_cpr = False
        self.app: Application[int] = Application(
            layout=build_layout(line, present, self._stage.find_size),
            key_bindings=keys or bind_leaving(self.leave),
            style=style,
            input=input,
            output=output,
            erase_when_done=True,
            min_redraw_interval=REDRAW_S,
            enable_page_navigation_bindings=False,
        )
        self._stage.app = self.app

    # ---- its life ------------------------------------------------------------------

    async def run(self) -> int:
        """Show the conversation until the person leaves; the exit code.

        Raises:
            Failed: the daemon stays away, or the conversation was deleted.
        """
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            with suppress(ValueError, RuntimeError):  # not in the main thread: a test
                loop.add_signal_handler(number, self._end, TERMINATED)
        self._stage.begin()
        self._spawn(self._listen())
        self._spawn(self._refresh())
        try:
            with self.app.input.raw_mode():  # what is typed from now on is ours
                self._stage.flush()  # what was said before stands there when the windows appear
                code = await self.app.run_async()
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            self._stage.flush()  # what was still being written
            self._reader.close()  # what threads still wait for is not waited for
        if self.error is not None:
            raise self.error
        return code

    def wake(self) -> None:
        """Something was put into the reader's reports; called in its thread."""
        loop = self.app.loop
        if loop is not None:
            with suppress(RuntimeError):  # it is over
                loop.call_soon_threadsafe(self._news.set)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _call(self, work: Callable[[], Any]) -> Any:
        """Do what blocks in a thread."""
        return await asyncio.get_running_loop().run_in_executor(None, work)

    def _end(self, code: int) -> None:
        if self.app.is_running and not self.app.is_done:
            self.app.exit(result=code)

    def leave(self) -> None:
        """End; the turns go on."""
        self._tell_left()
        self._end(DONE)

    def _tell_left(self) -> None:
        if self.present.detaches:
            self._stage.say(DETACHED)
        if self.view.running is not None and self.desk.conversation_id is not None:
            short_id = self.desk.conversation_id[:SHORT_ID]
            self._stage.say(f"The turn {self._fate}: ask attach {short_id}")

    @property
    def _fate(self) -> str:
        """What becomes of the turn that runs."""
        return "goes on"

    # ---- what is heard -------------------------------------------------------------

    async def _listen(self) -> None:
        while True:
            async with self._asking:
                while not self._reader.reports.empty():
                    self._take(self._reader.reports.get())
                    await self._stage.flow()
                self._show_questions()
            if self._until_idle and self._is_idle:
                self._end(DONE)
            await self._news.wait()
            self._news.clear()

    @property
    def _is_idle(self) -> bool:
        """Whether no turn runs or waits, as far as that is known."""
        return not (self.view.running or self.view.queue or self.present.sending)

    def recall(self, past: Past) -> None:
        """Show what was said before; not yet running."""
        self.view.columns, _ = self._stage.find_size()
        recall(self.view, past)
        for event in past.events:
            self._asker.take(event)
            self.present.take_question(event)
        self._need_daemon()
        self._ended_seen = self.view.ended

    def _need_daemon(self) -> None:
        self._reader.needed = self._needs_daemon and self.view.running is not None

    def _take(self, report: Heard | Lost | Found | Gone) -> None:
        match report:
            case Heard(news=news):
                for each in news:
                    self.take(each)
            case Lost() | Found():
                self.present.lost = isinstance(report, Lost)
            case Gone(error=error):
                self._give_up(error)

    def take(self, news: News) -> None:
        """Take in a piece of news."""
        self.view.take(news)
        if news.method == "event":
            self._asker.take(news.fields)
            self.present.take_question(news.fields)
        elif news.method == "attached":
            self.present.take_attached(news.fields)
        self._need_daemon()
        is_changed = news.method == "event" and news.fields["type"] == "view_changed"
        if self.view.ended != self._ended_seen or is_changed:
            self._ended_seen = self.view.ended
            self._spawn(self._refresh())

    def _give_up(self, error: Failed) -> None:
        if error.data.get("reason") == "conversation_not_found":
            error = tell_deleted(error, DELETED if self.present.detaches else DELETED_CHAT)
        self.error = error
        self._end(error.code)

    def _show_questions(self) -> None:
        if self._asker.is_due:
            self.view.break_tail()
            self._stage.flush()
            self._asker.show()
        self._stage.flush()

    async def _refresh(self) -> None:
        """Ask anew for what the status says."""
        self.present.facts = await self._call(partial(fetch_facts, self.desk, self._onlooker))
        self.app.invalidate()
