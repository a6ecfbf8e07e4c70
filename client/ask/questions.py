"""Questions to a person: shown at a terminal, answered by the number of a choice.

Events go in, and lines that were typed; what is shown goes to `write`. The first
answer wins, wherever it was given: one that was given elsewhere is said. It reads no
input itself, and a line that is no choice is no answer.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ask.exits import Failed
from ask.terminal import strip_controls

Map = Mapping[str, Any]
EXPIRED = "expired"
"""The decision of a question that nobody answered in time."""
UNANSWERED = "No answer; the question stays open for other terminals: ask attach {id}"


class Question(NamedTuple):
    """What a turn waits for. `choices`: what is kept, and what a person reads."""

    conversation_id: str
    turn_id: str
    question_id: str
    digest: str
    text: str
    prompt: str
    choices: tuple[tuple[str, str], ...]


def read_question(event: Map) -> Question | None:
    """The question of a `question_asked`; None: it cannot be answered by choosing."""
    detail = event.get("detail")
    if not isinstance(detail, Mapping):
        return None
    choices = tuple(
        (str(each["decision"]), str(each.get("label", each["decision"])))
        for each in detail.get("choices", ())
        if isinstance(each, Mapping) and "decision" in each
    )
    if not choices:
        return None
    return Question(
        conversation_id=str(event["conversation_id"]),
        turn_id=str(event["turn_id"]),
        question_id=str(event["question_id"]),
        digest=str(event["digest"]),
        text=str(detail.get("text", "")),
        prompt=str(detail.get("prompt") or f"Enter your choice (1-{len(choices)}):"),
        choices=choices,
    )


def lay_out_question(question: Question) -> str:
    """What stands above the line in which it is answered; it ends with an empty line."""
    labels = [f"{place}. {label}" for place, (_, label) in enumerate(question.choices, start=1)]
    return strip_controls("\n".join([question.text, "", *labels, "", ""]))


def read_choice(question: Question, line: str) -> str | None:
    """The decision that a typed line is; None: it is none."""
    text = line.strip()
    if not (text.isascii() and text.isdigit() and len(text) < 4):
        return None
    place = int(text) - 1
    return question.choices[place][0] if 0 <= place < len(question.choices) else None


def encode_answer(question: Question, decision: str, terminal: str | None) -> dict[str, Any]:
    """The parameters of `question/answer`; `terminal`: who answers, if that is known."""
    params = {
        "conversation_id": question.conversation_id,
        "question_id": question.question_id,
        "digest": question.digest,
        "decision": decision,
    }
    return params if terminal is None else {**params, "terminal": terminal}


def tell_where(by: str) -> str:
    """Where a question was answered, in brackets; nothing if it was at no terminal."""
    kind, _, rest = by.partition(":")
    match kind:
        case "name":
            return f" (in {rest})"
        case "tty":
            return f" (in {rest.split(':')[0]})"
        case "tmux":
            return f" (in the tmux pane {rest.rpartition(':')[2]})"
        case _:
            return ""


@dataclass(slots=True)
class Asker:
    """The questions of one conversation at one terminal, one after the other.

    Attributes:
        write: shows a text to the person.
        can_answer: what is typed here can be an answer; else questions are only shown.
        terminal: who this terminal is, for the others to be told.
    """

    write: Callable[[str], None]
    can_answer: bool = True
    terminal: str | None = None
    _open: dict[str, Question] = field(default_factory=dict)
    _shown: str | None = None
    _own: set[str] = field(default_factory=set)
    _in_line: bool = False

    @property
    def waits(self) -> bool:
        """Whether the next line that is typed is for a question."""
        return self.can_answer and self._shown is not None

    def take(self, event: Map) -> None:
        """Take in any event of the conversation; `show` is to follow."""
        match event["type"]:
            case "question_asked":
                question = read_question(event)
                if question is not None:
                    self._open[question.question_id] = question
            case "question_answered":
                question = self._open.pop(str(event["question_id"]), None)
                if question is not None:
                    self._close(question, str(event.get("decision")), str(event.get("by")))
            case "turn_finished":
                ended = [each for each in self._open.values() if each.turn_id == event["turn_id"]]
                for question in ended:
                    del self._open[question.question_id]
                    self._close(question, None)
            case _:
                pass

    @property
    def is_due(self) -> bool:
        """Whether `show` has something to show."""
        return self._shown is None and bool(self._open)

    def show(self) -> None:
        """Show the first open question, unless one is shown already."""
        if self.is_due:
            question = next(iter(self._open.values()))
            self._shown = question.question_id
            self.write(lay_out_question(question))
            self._ask(question)

    def answer(self, line: str, send: Callable[[dict[str, Any]], object]) -> None:
        """Take a typed line as the answer to what is shown; what is no answer asks again.

        Args:
            send: calls `question/answer` with these parameters.

        Raises:
            Failed: the daemon is gone. What else is wrong is shown, and it is asked again.
        """
        question = self._open.get(self._shown or "")
        if question is None:
            return
        self._in_line = False
        decision = read_choice(question, line)
        if decision is None:
            self._ask(question)
            return
        self._own.add(question.question_id)
        try:
            send(encode_answer(question, decision, self.terminal))
        except Failed as error:
            self._own.discard(question.question_id)
            match error.data.get("reason"):
                case "no_daemon":
                    self._shown = None  # shown again when there is one
                    raise
                case "question_not_found":
                    return  # who was faster is told by the event
                case _:
                    self.write(f"{strip_controls(error.message)}\n")
                    self._ask(question)

    def give_up(self) -> None:
        """Nobody types here any more: what is open stays so, for others."""
        question = self._open.get(self._shown or "")
        if question is not None:
            self._end_line()
            self.write(f"{UNANSWERED.format(id=question.conversation_id[:8])}\n")
        self.can_answer = False

    def _ask(self, question: Question) -> None:
        if self.can_answer:
            self.write(f"{strip_controls(question.prompt)} ")
            self._in_line = True

    def _close(self, question: Question, decision: str | None, by: str = "") -> None:
        """A question is not open any more; `decision` None: its turn ended."""
        if self._shown != question.question_id:
            return
        self._shown = None
        self._end_line()
        if question.question_id in self._own or decision is None:
            return
        if decision == EXPIRED:
            self.write("Nobody answered in time.\n")
            return
        label = dict(question.choices).get(decision, decision)
        self.write(strip_controls(f"Answered elsewhere: {label}{tell_where(by)}\n"))

    def _end_line(self) -> None:
        if self._in_line:
            self.write("\n")
            self._in_line = False
