"""What the windows of a chat show at this moment, put together from its parts.

It changes nothing but what it is told to keep, and asks nobody.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ask.chat.status import NOBODY, Attached, Facts, lay_out_status, read_attached
from ask.chat.view import View, Waiting
from ask.elicit import MORE as MORE
from ask.questions import APPROVAL
from ask.reveal import shorten_line

MARK = "> "
OTHERS, SENDING = "(another terminal) ", "(sending) "
STOPS, LEAVES, Q_LEAVES = "Ctrl-C stops", "Ctrl-C leaves", "q leaves"


@dataclass(slots=True)
class Present:
    """The present of one chat.

    Attributes:
        name: of the conversation, for the status.
        sending: prompts that are on their way and not accepted yet.
        others: who else is attached to the conversation.
        lost: the connection is.
        label: what stands before the line that answers a question.
        follows: the conversation that is followed; None: there is none yet.
        detaches: Ctrl-C leaves, and never stops a turn.
        read_only: nothing can be typed.
    """

    view: View
    name: str = ""
    facts: Facts = field(default_factory=Facts)
    others: Attached = NOBODY
    sending: list[str] = field(default_factory=list)
    lost: bool = False
    question: str = ""
    follows: str | None = None
    detaches: bool = False
    read_only: bool = False
    _written: str = ""
    _asked: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    # ---- what is asked -------------------------------------------------------------

    def write(self, text: str) -> None:
        """What the asker writes: whole lines go above, the rest stands before the line."""
        self._written += text

    def take_written(self) -> str:
        """The lines that are whole; what is not becomes the label."""
        lines, end, rest = self._written.rpartition("\n")
        if end or rest:
            self.question = rest
            self._written = ""
        return lines + end

    @property
    def label(self) -> str:
        """What stands before the line that is typed."""
        return self.question or MARK

    @label.setter
    def label(self, text: str) -> None:
        self.question = text

    def take_question(self, event: Mapping[str, Any]) -> None:
        """Follow which questions are open, in the order in which they are asked."""
        match event.get("type"):
            case "question_asked":
                self._asked[str(event["question_id"])] = event
            case "question_answered":
                self._asked.pop(str(event["question_id"]), None)
            case "turn_finished":
                turn_id = event.get("turn_id")
                for each in [k for k, v in self._asked.items() if v.get("turn_id") == turn_id]:
                    del self._asked[each]
            case _:
                pass

    def take_attached(self, told: Mapping[str, Any]) -> None:
        """Somebody has come, or left."""
        self.others = read_attached(told, os.getpid())

    @property
    def is_approval(self) -> bool:
        """Whether the first question asks for a word on a call."""
        first = next(iter(self._asked.values()), {})
        return first.get("kind") == APPROVAL

    def word_answer(self, line: str) -> str:
        """A line as the asker reads it: one word shows all of any question."""
        return "more" if line == MORE and self.is_approval else line

    # ---- what is drawn (`ask.chat.screen.Shown`) -----------------------------------

    @property
    def tail(self) -> str:
        """What of the answer still grows."""
        return self.view.tail

    @property
    def thought(self) -> str:
        """What the model thinks aloud."""
        return self.view.thought

    @property
    def doing(self) -> str:
        """What takes time."""
        return self.view.doing

    @property
    def _queue(self) -> list[Waiting]:
        """Accepted prompts that wait; without a turn that runs the next one does not."""
        return self.view.queue if self.view.running is not None else self.view.queue[1:]

    @property
    def waiting(self) -> list[str]:
        """Prompts that wait, in words; the last ones are on their way."""
        accepted = [each.words if each.is_own else f"{OTHERS}{each.words}" for each in self._queue]
        return accepted + [f"{SENDING}{shorten_line(each, None)}" for each in self.sending]

    @property
    def keys(self) -> str:
        """What Ctrl-C does now, where that is not known anyway."""
        if self.read_only:
            return Q_LEAVES
        if self.detaches:
            return LEAVES
        return STOPS if self.view.running is not None else ""

    def word_status(self, columns: int) -> str:
        """The line at the bottom."""
        return lay_out_status(
            self.facts,
            name=self.name,
            queued=len(self._queue),
            lost=self.lost,
            keys=self.keys,
            columns=columns,
            others=self.others,
        )
