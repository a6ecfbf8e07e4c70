"""Notifications: what is said to somebody who looks elsewhere, when a turn ends or asks.

Pure values. What models, tools and people wrote is untrusted text that will stand on a
desktop and in the arguments of somebody's program: a line of it at the most, nothing but
visible characters, and never at the beginning, where a program would take it for an option.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, assert_never

from askd.core.events import QuestionAsked, TurnFinished
from askd.core.outcome import CUT
from askd.core.recovery import DRAINED, is_by_person
from askd.core.titling import UNTITLED, flatten

LINE_CHARACTERS = 200
"""Of an answer, a question or an error: what desktops show before they cut themselves."""
SCANNED_CHARACTERS = 4000
"""Where its first line is looked for: an answer may be megabytes of empty lines."""
SHORT_ID = 8
"""As everywhere where a person is to type it."""
PLACES = re.compile(r"\{(title|body|conversation|outcome|code)\}")
"""What an argument of the command may hold, and what it stands for."""
NOTIFY_SEND = "notify-send"


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """The conversation and the turn that it is about; `name` is what a list would call it."""

    conversation_id: str
    turn_id: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """One, as a command gets it.

    Attributes:
        outcome: of the turn; `asks` while it waits for a person.
        code: the turn's exit code; None: it has not ended.
        question_id: what it asks, if it does.
    """

    about: About
    event: Literal["turn_finished", "question_asked", "schedule_refused", "test"]
    title: str
    body: str
    outcome: str
    code: int | None = None
    question_id: str | None = None


def tell_end(about: About, end: TurnFinished, answer: str) -> Notification:
    """That a turn is over; `answer`: the beginning of what it said last."""
    line = find_line(answer if end.outcome == "completed" else end.message or answer)
    match end.outcome:
        case "completed":
            what = "Cut by a length limit" if end.code == CUT else "Done"
        case "failed":
            what = "Failed"
        case "interrupted":
            what = "Interrupted"
            line = line.removeprefix(f"{what}: ")
        case "withdrawn":
            what = "Taken back"
        case _:
            assert_never(end.outcome)
    return Notification(
        about=about,
        event="turn_finished",
        title=_entitle(about),
        body=_join(what, line, f"Read it: ask history show {about.conversation_id[:SHORT_ID]}"),
        outcome=end.outcome,
        code=end.code,
    )


def tell_question(about: About, asked: QuestionAsked) -> Notification:
    """That a turn waits for a person, and how to answer."""
    text = asked.detail.get("text")
    line = find_line(text) if isinstance(text, str) else ""
    return Notification(
        about=about,
        event="question_asked",
        title=_entitle(about),
        body=_join("Asks you", line, f"Answer it: ask attach {about.conversation_id[:SHORT_ID]}"),
        outcome="asks",
        question_id=asked.question_id,
    )


def tell_refusal(about: About, why: str, *, code: int) -> Notification:
    """That a schedule's prompt was never accepted; `about` knows no turn."""
    return Notification(
        about=about,
        event="schedule_refused",
        title=_entitle(about),
        body=_join("Not sent", find_line(why), "See what it did: ask schedule list"),
        outcome="failed",
        code=code,
    )


def make_test() -> Notification:
    """One that is about nothing: to see whether any comes."""
    return Notification(
        about=About(conversation_id="", turn_id="", name="a test"),
        event="test",
        title="ask: a test",
        body="Done: this is how you will hear of a turn's end.",
        outcome="completed",
        code=0,
    )


def is_owed(end: TurnFinished) -> bool:
    """Whether anybody is to hear of it: who took a turn back, or stopped it, knows."""
    # Whoever stops a daemon seldom knows which turns it had.
    return end.outcome != "withdrawn" and (not is_by_person(end) or end.message == DRAINED)


def find_line(text: str) -> str:
    """The first line with anything to read on it, without what no person would read."""
    for line in text.lstrip()[:SCANNED_CHARACTERS].splitlines():
        if line.lstrip().startswith("```"):
            continue  # the code is below
        shown = flatten(line)
        if len(shown) > LINE_CHARACTERS:
            shown = shown[: LINE_CHARACTERS - 1].rstrip() + "…"
        if shown:
            return shown
    return ""


def fill_command(command: Sequence[str], told: Notification) -> list[str]:
    """The arguments with what stands for their places; a command that has none gets two more.

    Args:
        command: a program and its arguments, not empty.
    """
    values = {
        "title": told.title,
        "body": told.body,
        "conversation": told.about.conversation_id,
        "outcome": told.outcome,
        "code": "" if told.code is None else str(told.code),
    }
    program, *arguments = command
    if not any(PLACES.search(each) for each in arguments):
        arguments += ["{title}", "{body}"]
    if program.rpartition("/")[2] == NOTIFY_SEND:
        values["body"] = escape_body(values["body"])
    # In one go: a title that says `{body}` is only a title.
    return [program, *(PLACES.sub(lambda found: values[found[1]], each) for each in arguments)]


def escape_body(body: str) -> str:
    """A body for `notify-send`, which reads C's escapes in it and hands it on as markup.

    Its `notify-send.c` calls `g_strcompress` on the body alone; what that leaves is markup by the
    Desktop Notifications Specification. Of escapes none is left, so none can make a `<`.
    """
    for character, escaped in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\\", "\\\\")):
        body = body.replace(character, escaped)
    return body


def encode_notification(told: Notification) -> bytes:
    """All of it as one line of JSON, for the command's standard input."""
    said: Mapping[str, str | int | None] = {
        "event": told.event,
        "title": told.title,
        "body": told.body,
        "conversation_id": told.about.conversation_id,
        "turn_id": told.about.turn_id,
        "name": told.about.name,
        "outcome": told.outcome,
        "code": told.code,
        "question_id": told.question_id,
    }
    return json.dumps(said).encode() + b"\n"


def _entitle(about: About) -> str:
    return f"ask: {find_line(about.name) or UNTITLED}"


def _join(what: str, line: str, hint: str) -> str:
    return f"{what}: {line}\n{hint}" if line else f"{what}.\n{hint}"
