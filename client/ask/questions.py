"""Questions to a person: shown at a terminal, answered by the number of a choice.

Events go in, and lines that were typed; what is shown goes to `write`. The first
answer wins, wherever it was given: one that was given elsewhere is said. It reads no
input itself, and a line that is no choice is no answer. An approval may be answered
by a letter too, and a no may say why.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ask.approve import Approval, Sight, lay_out_approval, lay_out_label, read_approval
from ask.elicit import (
    ACCEPT,
    MORE,
    Elicitation,
    Filling,
    lay_out_elicitation,
    read_decision,
    read_elicitation,
)
from ask.exits import Failed
from ask.reveal import shorten_line
from ask.terminal import strip_controls, tell_where

Map = Mapping[str, Any]
NOT_ANSWERED = {
    "expiry": "Nobody answered in time.",
    "closed": "Not asked any more: the call that asked has ended.",
}
"""What is said of a question that nobody answered, by what answered in their place."""
APPROVAL = "approval"
ELICITATION = "elicitation"
"""The kinds of question that ask whether a tool may do something, and what a server wants."""
NO = "no"
"""The decision that may come with a reason."""
ALL_OF_IT = ("m", "more")
"""What is typed to see all of what an approval has cut."""
REASON_COLUMNS = 200
"""How much is shown of a reason that was given elsewhere."""
UNANSWERED = "No answer; the question stays open for other terminals: ask attach {id}"


class Question(NamedTuple):
    """What a turn waits for. `choices`: what is kept, and what a person reads.

    `approval`: what it asks about, if it is a call of a tool. `elicitation`: what a server wants.
    """

    conversation_id: str
    turn_id: str
    question_id: str
    digest: str
    text: str
    prompt: str
    choices: tuple[tuple[str, str], ...]
    approval: Approval | None = None
    elicitation: Elicitation | None = None


class Answer(NamedTuple):
    """What a person decided, and why, if that was said; `content`: what a form was filled with."""

    decision: str
    reason: str | None = None
    content: Map | None = None


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
    text = str(detail.get("text", ""))
    is_approval = event.get("kind") == APPROVAL
    return Question(
        conversation_id=str(event["conversation_id"]),
        turn_id=str(event["turn_id"]),
        question_id=str(event["question_id"]),
        digest=str(event["digest"]),
        text=text,
        prompt=str(detail.get("prompt") or _word_prompt(choices, str(event.get("kind")))),
        choices=choices,
        approval=read_approval(detail, text) if is_approval else None,
        elicitation=read_elicitation(detail, text) if event.get("kind") == ELICITATION else None,
    )


def _word_prompt(choices: tuple[tuple[str, str], ...], kind: str) -> str:
    if kind == ELICITATION:
        return f"Answer? (1-{len(choices)} or y/d/c)"
    if kind != APPROVAL:
        return f"Enter your choice (1-{len(choices)}):"
    letters = "/".join(decision[:1] for decision, _ in choices)
    return f"Allow it? (1-{len(choices)} or {letters}; n REASON tells why)"


def lay_out_question(
    question: Question, sight: Sight | None = None, *, more: str = "", fills: bool = False
) -> str:
    """What stands above the line in which it is answered; it ends with an empty line.

    Args:
        sight: where an approval is shown; None: all of it, and plain.
        more: how to see what an approval has cut.
        fills: the fields of a form follow one by one, and then the choices.
    """
    if question.approval is not None:
        sight = sight or Sight()
        lines = lay_out_approval(question.approval, sight, more=more)
        labels = [lay_out_label(label, sight) for _, label in question.choices]
    elif question.elicitation is not None:
        sight = sight or Sight()
        lines = lay_out_elicitation(question.elicitation, sight, more=more, whole=not fills)
        if fills:
            return "\n".join([*lines, "", ""])
        labels = [lay_out_label(label, sight) for _, label in question.choices]
    else:
        lines = [strip_controls(question.text)]
        labels = [strip_controls(label) for _, label in question.choices]
    numbered = [f"{place}. {label}" for place, label in enumerate(labels, start=1)]
    return "\n".join([*lines, "", *numbered, "", ""])


def _ways_to_see(question: Question) -> tuple[str, ...]:
    """What is typed to see all of a question of which something was cut."""
    if question.elicitation is not None:
        return (MORE,)
    return ALL_OF_IT if question.approval is not None else ()


def read_choice(question: Question, line: str) -> str | None:
    """The decision that a typed line is; None: it is none."""
    text = line.strip()
    if not (text.isascii() and text.isdigit() and len(text) < 4):
        return None
    place = int(text) - 1
    return question.choices[place][0] if 0 <= place < len(question.choices) else None


def read_answer(question: Question, line: str) -> Answer | None:
    """What a typed line decides; None: nothing. Of an approval `n because ...` is a no with a
    reason; a yes with more words is none, for they may take it back."""
    decision = read_choice(question, line)
    if decision is None and question.elicitation is not None:
        decision = read_decision(line)
    if decision is not None:
        return Answer(decision)
    if question.approval is None:
        return None
    word, rest = _split_word(line)
    if word.isdigit():
        decision = read_choice(question, word)
    else:
        ways = {way: each for each, _ in question.choices for way in (each, each[:1])}
        decision = ways.get(word.lower())
    if decision is None or (rest and decision != NO):
        return None
    return Answer(decision, rest or None)


def _split_word(line: str) -> tuple[str, str]:
    """The first word, and what follows it without a `because`."""
    text = strip_controls(line).strip()
    word = text.split(maxsplit=1)[0] if text else ""
    rest = text[len(word) :].strip()
    first, _, after = rest.partition(" ")
    if first.lower().rstrip(",:") == "because":
        rest = after.strip()
    return word.rstrip(",.:;"), rest


def encode_answer(question: Question, answer: Answer, terminal: str | None) -> dict[str, Any]:
    """The parameters of `question/answer`; `terminal`: who answers, if that is known."""
    params: dict[str, Any] = {
        "conversation_id": question.conversation_id,
        "question_id": question.question_id,
        "digest": question.digest,
        "decision": answer.decision,
    }
    if answer.reason is not None:
        params["reason"] = answer.reason
    if answer.content is not None:
        params["content"] = answer.content
    return params if terminal is None else {**params, "terminal": terminal}


@dataclass(slots=True)
class Asker:
    """The questions of one conversation at one terminal, one after the other.

    Attributes:
        write: shows a text to the person.
        can_answer: what is typed here can be an answer; else questions are only shown.
        terminal: who this terminal is, for the others to be told.
        look: what the terminal can show now.
        filling: the form that is filled in, of which every line that is typed is one.
    """

    write: Callable[[str], None]
    can_answer: bool = True
    terminal: str | None = None
    look: Callable[[], Sight] = Sight
    filling: Filling | None = None
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
                    self._close(question, event)
            case "item_added" if self._shown in self._open:
                self._end_line()  # its turn is stopped, and what is told of that comes first
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
            wanted, can = question.elicitation, self.can_answer
            self.filling = Filling(wanted) if can and wanted and wanted.fields else None
            key = next(iter(_ways_to_see(question)), "")
            more = f": {key} shows it" if can else f": ask attach, then {key}"
            fills = self.filling is not None
            self.write(lay_out_question(question, self.look(), more=more, fills=fills))
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
        answer = self._read(question, line)
        if answer is None:
            if line.strip().lower() in _ways_to_see(question):
                sight, fills = replace(self.look(), rows=None), self.filling is not None
                self.write(lay_out_question(question, sight, fills=fills))
            self._ask(question)
            return
        self._own.add(question.question_id)
        try:
            send(encode_answer(question, answer, self.terminal))
        except Failed as error:
            self._own.discard(question.question_id)
            match error.data.get("reason"):
                case "no_daemon":
                    self._shown = None  # shown again when there is one
                    raise
                case "question_not_found":
                    return  # who was faster is told by the event
                case _:
                    amiss, said = error.data.get("fields"), [error.message]
                    if self.filling is not None and isinstance(amiss, Mapping):
                        said = self.filling.reopen(amiss)
                    self.write("".join(f"{strip_controls(each)}\n" for each in said))
                    self._ask(question)

    def _read(self, question: Question, line: str) -> Answer | None:
        """What a typed line decides, or fills in; None: nothing is decided yet."""
        filling = self.filling
        if filling is None:
            return read_answer(question, line)
        decision, amiss = filling.hear(line)
        if amiss is not None:
            self.write(f"{amiss}\n")
        if decision is None:
            return None
        return Answer(decision, content=dict(filling.values) if decision == ACCEPT else None)

    def give_up(self) -> None:
        """Nobody types here any more: what is open stays so, for others."""
        question = self._open.get(self._shown or "")
        if question is not None:
            self._end_line()
            self.write(f"{UNANSWERED.format(id=question.conversation_id[:8])}\n")
        self.can_answer = False

    def _ask(self, question: Question) -> None:
        if self.can_answer:
            if self.filling is None:
                self.write(f"{strip_controls(question.prompt)} ")
            else:
                labels = [label for _, label in question.choices]
                self.write(self.filling.show(labels, self.look()))
            self._in_line = True

    def _close(self, question: Question, answered: Map | None) -> None:
        """A question is not open any more; `answered` None: its turn ended."""
        if self._shown != question.question_id:
            return
        self._shown = None
        self._end_line()
        if question.question_id in self._own or answered is None:
            return
        decision, by = str(answered.get("decision")), str(answered.get("by"))
        if by in NOT_ANSWERED:
            self.write(f"{NOT_ANSWERED[by]}\n")
            return
        label = dict(question.choices).get(decision, decision)
        said = f"Answered elsewhere: {label}{tell_where(by)}"
        if answered.get("reason"):
            said += f": {shorten_line(str(answered['reason']), REASON_COLUMNS)}"
        self.write(strip_controls(f"{said}\n"))

    def _end_line(self) -> None:
        if self._in_line:
            self.write("\n")
            self._in_line = False
