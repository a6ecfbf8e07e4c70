"""What is told beside an answer, on stderr: what takes time, what tools do, what has changed.

It is never told in the middle of a line that the same terminal shows, and a program that
reads events is told nothing. What tools do is for a person who watches; that one of them
was not allowed to is for everybody.
"""

import os
from collections.abc import Mapping
from typing import Any

from ask.activity import Activity, fit_line
from ask.approve import find_sight
from ask.fast.caller import DENIED
from ask.fast.codec import Answer, steers_answer
from ask.render import Screen
from ask.reveal import shorten_line
from ask.scene import lay_out_prompt

Map = Mapping[str, Any]
WAITING = ("model_loading", "waiting")
"""Kinds of progress that last: a terminal shows that they do."""
STDERR = 2


class Asides:
    """What is told beside one turn.

    Args:
        as_json: a program reads; nothing is told.
        silent: the answer is not shown as it comes, so that no line of it can be open.
    """

    def __init__(self, screen: Screen, *, as_json: bool = False, silent: bool = False) -> None:
        self._screen = screen
        self._as_json = as_json
        self._hidden = silent or as_json
        self._news: list[str] = []
        self._activity = Activity()
        self._steering: set[str] = set()

    def take_progress(self, params: Map) -> None:
        """Something takes its time, or was decided for the caller."""
        kind, text = params.get("kind"), str(params.get("text", ""))
        if kind == "tool" and not text.startswith(DENIED):
            # Whoever is asked something types on that line.
            asked, running = self._activity.asked, self._activity.running
            if os.isatty(STDERR) and running and not asked and not self._as_json:
                self._screen.wait(fit_line(text, self._find_room()))
            return
        if kind == "tool":
            text = shorten_line(text, None)  # what was wanted, with all that it would hide
        waits = kind in WAITING and not self._as_json
        (self._screen.wait if waits else self._screen.say)(text)

    def take_change(self, text: str, answer: Answer) -> None:
        """What a model sees has become less: news for a terminal, when the line is ended."""
        self._news.append(text)
        self.tell(answer)

    def take_event(self, event: Map, answer: Answer) -> None:
        """An event of the turn: a line for each call that has ended, and what still runs."""
        self._take_steering(event, answer)
        line = self._activity.take(event)
        if self._as_json or self._screen.quiet or not os.isatty(STDERR):
            return
        if line is not None:
            self._end_line(answer)
            self._screen.tell(fit_line(line, find_sight(STDERR, os.environ).columns))
        if self._activity.running and not self._activity.asked:
            self._end_line(answer)
            first, *more = self._activity.running.values()
            shown = f"{first} and {len(more)} more" if more else first
            self._screen.wait(fit_line(shown, self._find_room()))

    def _take_steering(self, event: Map, answer: Answer) -> None:
        """What somebody has said to the turn stands between the answers, if it is not our own."""
        if steers_answer(event, answer):
            self._steering.update(str(each["id"]) for each in event.get("items") or ())
        item = event.get("item") or {}
        if item.get("id") not in self._steering:
            return
        if not (self._as_json or self._screen.quiet) and os.isatty(STDERR):
            self._end_line(answer)
            self._screen.tell(lay_out_prompt(item, event))
        if not self._hidden and self._screen.part_answers():
            answer.line_open = False

    def tell(self, answer: Answer, *, at_end: bool = False) -> None:
        """Tell what waits to be told, unless a line is open that may still go on."""
        if not self._news or (self._is_open(answer) and not at_end):
            return
        self._end_line(answer)
        for text in self._news:
            self._screen.tell(text)
        self._news.clear()

    def _is_open(self, answer: Answer) -> bool:
        return answer.line_open and not self._hidden

    def _end_line(self, answer: Answer) -> None:
        """The answer's line, where the same terminal shows both."""
        if self._is_open(answer) and self._screen.break_answer():
            answer.line_open = False

    def _find_room(self) -> int | None:
        """The columns beside the spinner."""
        columns = find_sight(STDERR, os.environ).columns
        return None if columns is None else columns - 3
