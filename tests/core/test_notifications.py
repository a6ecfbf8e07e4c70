"""What is said of a turn's end, and that whatever anybody wrote is only a text in it."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.core.events import QuestionAsked, TurnFinished
from askd.core.notifications import (
    LINE_CHARACTERS,
    About,
    Notification,
    encode_notification,
    escape_body,
    fill_command,
    find_line,
    is_owed,
    make_test,
    tell_end,
    tell_question,
    tell_refusal,
)
from askd.core.outcome import CUT, DONE, FAILED, TIME_LIMIT, Outcome
from askd.core.recovery import DOUBT, DRAINED, STOPPED

ABOUT = About(conversation_id="0123456789abcdef", turn_id="t", name="work")
TEXTS = st.text(st.characters(codec="utf-8"))


def tell(
    outcome: Outcome = "completed",
    code: int = DONE,
    message: str | None = None,
    answer: str = "yes",
) -> Notification:
    end = TurnFinished("t", outcome, code, message=message)
    return tell_end(ABOUT, end, answer)


@pytest.mark.parametrize(
    ("outcome", "code", "message", "answer", "first"),
    [
        ("completed", DONE, None, "\n \n# All *well*\nmore", "Done: # All *well*"),
        ("completed", DONE, None, "```python\nprint(1)\n```", "Done: print(1)"),
        ("completed", DONE, None, "", "Done."),
        ("completed", CUT, "It was cut.", "so far", "Cut by a length limit: so far"),
        ("failed", FAILED, "HTTP 500\nand more", "so far", "Failed: HTTP 500"),
        ("interrupted", TIME_LIMIT, "Too late.", "so far", "Interrupted: Too late."),
        ("interrupted", FAILED, None, "so far", "Interrupted: so far"),
        ("interrupted", FAILED, DRAINED, "x", "Interrupted: the daemon was stopped."),
        ("withdrawn", FAILED, None, "", "Taken back."),
    ],
)
def test_an_end(outcome: Outcome, code: int, message: str | None, answer: str, first: str) -> None:
    told = tell(outcome, code, message, answer)
    assert told.title == "ask: work"
    assert told.body == f"{first}\nRead it: ask history show 01234567"
    assert (told.event, told.outcome, told.code) == ("turn_finished", outcome, code)


@pytest.mark.parametrize(
    ("name", "title"),
    [("\u202egpj.x\x1b[31m", "ask: gpj.x"), ("\u200b", "ask: Untitled"), ("a\nb", "ask: a")],
)
def test_a_name_is_text_too(name: str, title: str) -> None:
    about = About(conversation_id="c", turn_id="t", name=name)
    assert tell_end(about, TurnFinished("t", "completed", DONE), "").title == title


def test_a_question_says_how_to_answer() -> None:
    asked = QuestionAsked("t", "t.q1", "approval", "d", {"text": "Run it?\n  rm x"}, 1.0)
    told = tell_question(ABOUT, asked)
    assert told.body == "Asks you: Run it?\nAnswer it: ask attach 01234567"
    assert (told.event, told.outcome, told.code, told.question_id) == (
        "question_asked",
        "asks",
        None,
        "t.q1",
    )
    odd = QuestionAsked("t", "t.q1", "approval", "d", {"text": 3}, 1.0)
    assert tell_question(ABOUT, odd).body.startswith("Asks you.\n")


@pytest.mark.parametrize(
    ("outcome", "code", "message", "owed"),
    [
        ("completed", DONE, None, True),
        ("failed", FAILED, "no", True),
        ("interrupted", FAILED, "Interrupted by ask jobs cancel.", False),
        ("interrupted", FAILED, STOPPED, True),
        ("interrupted", FAILED, DRAINED, True),
        ("interrupted", FAILED, DOUBT, True),
        ("interrupted", TIME_LIMIT, "Too late.", True),
        ("withdrawn", FAILED, None, False),
    ],
)
def test_who_ended_it_knows(outcome: Outcome, code: int, message: str | None, owed: bool) -> None:
    assert is_owed(TurnFinished("t", outcome, code, message=message)) is owed


@given(TEXTS)
def test_a_line_is_short_and_shows_all_that_it_has(text: str) -> None:
    line = find_line(text)
    assert len(line) <= LINE_CHARACTERS
    assert len(line.splitlines()) <= 1
    for character in line:
        assert character == "\u200d" or unicodedata.category(character)[0] not in "C"


def test_a_long_line_says_that_it_goes_on() -> None:
    assert find_line("x" * 500) == "x" * (LINE_CHARACTERS - 1) + "…"
    assert find_line("\n" * 10_000_000 + "late") == "late"
    assert find_line("\u200b\n" * 5000 + "late") == "", "nobody looks further"


# ---- the command ---------------------------------------------------------------------------


@given(TEXTS, TEXTS)
def test_no_text_makes_another_argument_or_begins_one(name: str, answer: str) -> None:
    about = About(conversation_id="0123456789abcdef", turn_id="t", name=find_line(name))
    told = tell_end(about, TurnFinished("t", "completed", DONE), answer)
    argv = fill_command(["say", "-t", "{title}", "{body}", "{outcome} {code}", "{x}"], told)
    assert argv[:2] == ["say", "-t"]
    assert argv[2:] == [told.title, told.body, "completed 0", "{x}"]
    assert argv[2].startswith("ask: ")
    assert argv[3].startswith("Done")
    assert fill_command(["say"], told) == ["say", told.title, told.body]


def test_what_stands_for_a_place_is_not_looked_into() -> None:
    about = About(conversation_id="c", turn_id="t", name="{body} {code}")
    told = tell_end(about, TurnFinished("t", "completed", DONE), "{title}")
    assert fill_command(["say", "{title}|{code}|{conversation}"], told) == [
        "say",
        "ask: {body} {code}|0|c",
    ]
    asked = QuestionAsked("t", "q", "approval", "d", {}, 1.0)
    assert fill_command(["say", "<{code}>{body}"], tell_question(about, asked))[1].startswith("<>")


def compress(text: str) -> str:
    """GLib's `g_strcompress`, as its manual has it: escapes of C become what they stand for."""
    out, at = "", 0
    while at < len(text):
        if text[at] != "\\" or at + 1 == len(text):
            out, at = out + text[at], at + 1
            continue
        digits = ""
        while len(digits) < 3 and text[at + 1 + len(digits) :][:1] in tuple("01234567"):
            digits += text[at + 1 + len(digits)]
        if digits:
            out, at = out + chr(int(digits, 8)), at + 1 + len(digits)
        else:
            after = text[at + 1]
            out, at = out + {"n": "\n", "t": "\t"}.get(after, after), at + 2
    return out


@given(st.one_of(TEXTS, st.from_regex(r"[\\0-7<>&a-z]*", fullmatch=True)))
def test_what_notify_send_makes_of_a_body_shows_the_body(body: str) -> None:
    markup = compress(escape_body(body))
    assert "<" not in markup
    assert markup.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") == body


def test_only_notify_send_is_escaped_for() -> None:
    told = tell(answer="a < b \\074")
    for program, line in (
        ("notify-send", "Done: a &lt; b \\\\074"),
        ("/usr/bin/notify-send", "Done: a &lt; b \\\\074"),
        ("/usr/bin/my-notify-send", "Done: a < b \\074"),
    ):
        assert fill_command([program], told)[2].splitlines()[0] == line


def test_all_of_it_as_json() -> None:
    line = encode_notification(tell(answer="¿qué?"))
    assert line.endswith(b"\n")
    assert line.isascii()
    assert json.loads(line)["body"].startswith("Done: ¿qué?")
    assert json.loads(encode_notification(make_test()))["event"] == "test"


def test_a_prompt_that_was_never_sent() -> None:
    told = tell_refusal(ABOUT, "There is no key.\nand more", code=4)
    assert (told.event, told.outcome, told.code) == ("schedule_refused", "failed", 4)
    assert told.body == "Not sent: There is no key.\nSee what it did: ask schedule list"
