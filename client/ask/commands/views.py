"""Where an attached terminal shows what happens: as text for people, as JSON for programs.

What was said before is shown from the last messages on. It follows nothing and
sends nothing.
"""

import os
import sys
from collections.abc import Sequence
from typing import Protocol

import click

from ask.commands.calls import write_text
from ask.feed import News
from ask.render import encode_record
from ask.scene import Scene
from ask.tails import is_first_start
from ask.terminal import ControlFilter, strip_controls
from ask.thoughts import Thoughts
from ask.transcript import Map, is_message

ALL = sys.maxsize
"""As many messages as there are."""


class View(Protocol):
    """Where news is shown.

    Attributes:
        limit: how many of the messages that were said before are shown.
    """

    limit: int

    def tells_enough(self, events: Sequence[Map]) -> bool:
        """Whether all that is shown of a log is known from these events, its last."""

    def show(self, found: list[News]) -> None:
        """Write what is new."""

    def end_line(self) -> None:
        """End a line that was left open, before something is said on stderr."""

    def tell(self, text: str) -> None:
        """Write what is said beside the news, such as a question."""


class TextView:
    """Writes the scene to stdout; of what was said before, the last messages alone.

    What a model thinks aloud goes to stderr, dimmed, if that is a terminal.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._thoughts = Thoughts()
        self._scene = Scene()
        self._begun = False
        self._filter = ControlFilter()  # one for all: a sequence may be cut between deltas
        self._told: list[str] = []  # beside the scene; it waits for the end of a line

    def tells_enough(self, events: Sequence[Map]) -> bool:
        """Whether more than the last messages is in them, and the prompts of all these begin."""
        scene = Scene()
        said = [place for place, each in enumerate(events) if scene.show(News("event", each))]
        if len(said) <= self.limit:  # of no more than that all is shown, from the very first
            return False
        first = said[-self.limit] if self.limit else len(events)
        prompts = {each["turn_id"] for each in events if each["type"] == "prompt_accepted"}
        starts = (each for each in events[first:] if is_first_start(each))
        return all(each["turn_id"] in prompts for each in starts)

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
        self._told += [str(each.fields["text"]) for each in found if each.method == "compaction"]
        if self._told and not self._scene.line_open:
            self._thoughts.end()
            self._tell_aside()
        kinds = [news.fields["kind"] if news.method == "delta" else "" for news in found]
        if "text" not in kinds:  # else what was thought is of the past
            for news, kind in zip(found, kinds, strict=True):
                if kind == "reasoning":
                    self._think(str(news.fields["text"]))

    def _tell_aside(self) -> None:
        """What happens beside the turns, for a terminal alone."""
        told, self._told = self._told, []
        if os.isatty(2):
            click.echo(strip_controls("\n".join(told)), err=True)

    def _think(self, text: str) -> None:
        if self._thoughts.shown and not self._thoughts.running:
            write_text(self._scene.end_line())  # the same terminal shows both
        self._thoughts.show(text)

    def end_line(self) -> None:
        """End a line that was left open."""
        self._thoughts.end()
        write_text(self._scene.end_line())

    def tell(self, text: str) -> None:
        """Write what is said beside the news."""
        self.end_line()
        write_text(text)

    def _cut(self, texts: list[tuple[str, str]]) -> list[tuple[str, str]]:
        said = [place for place, (method, text) in enumerate(texts) if method == "event" and text]
        if len(said) <= self.limit:
            return texts
        first = said[-self.limit] if self.limit else len(texts)
        return [each for place, each in enumerate(texts) if place >= first or each[0] != "event"]


class JsonView:
    """Writes one object a line: events as they are, all else under its method as `type`.

    Of what was said before, it begins with the first of the last messages.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._begun = False

    def tells_enough(self, events: Sequence[Map]) -> bool:
        """Whether more than the last messages is in them."""
        return len(find_said(events)) > self.limit

    def show(self, found: list[News]) -> None:
        """Write what is new."""
        if not self._begun:
            self._begun = True
            found = self._cut(found)
        for news in found:
            record = dict(news.fields)
            if not is_event(news):
                record = {"type": news.method, **record}
            write_text(encode_record(record) + "\n")

    def end_line(self) -> None:
        """No line is ever left open."""

    def tell(self, text: str) -> None:
        """Nothing: what a program should know is among the news."""

    def _cut(self, found: list[News]) -> list[News]:
        places = [place for place, each in enumerate(found) if is_event(each)]
        said = [places[each] for each in find_said([found[place].fields for place in places])]
        if len(said) <= self.limit:
            return found
        first = said[-self.limit] if self.limit else len(found)
        return [each for place, each in enumerate(found) if place >= first or not is_event(each)]


def find_said(events: Sequence[Map]) -> list[int]:
    """Where among events the messages are, those that were withdrawn left out."""
    gone = {each["turn_id"] for each in events if each["type"] == "prompt_withdrawn"}
    return [
        place
        for place, each in enumerate(events)
        if is_message(each) and each.get("turn_id") not in gone
    ]


def is_event(news: News) -> bool:
    """Whether it is part of the log, and not only passing by."""
    return news.method == "event"
