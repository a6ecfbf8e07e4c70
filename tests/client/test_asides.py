"""What is told beside an answer: when, where, and never in the middle of a line."""

import os

import pytest

from ask.asides import Asides
from ask.fast.codec import Answer
from ask.render import Screen
from ask.reveal import reveal_text
from tests.client.test_activity import calls, output

Captured = pytest.CaptureFixture[str]
CLEAR = "\r\x1b[K"
CALL = calls(("1", "read_file", {"path": "notes.md"}))


@pytest.fixture
def answer() -> Answer:
    return Answer({"conversation_id": "c", "turn_id": "t", "seq": 1})


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "isatty", lambda descriptor: descriptor in (1, 2))


def read(capfd: Captured) -> tuple[str, str]:
    out, err = capfd.readouterr()
    return out, err


@pytest.mark.usefixtures("terminal")
def test_a_call_turns_while_it_runs_and_is_a_line_when_it_has_ended(
    capfd: Captured, answer: Answer
) -> None:
    asides = Asides(Screen())
    asides.take_event(CALL, answer)
    assert read(capfd) == ("", f"{CLEAR}⠋ [read_file] notes.md")
    asides.take_event(output("1"), answer)
    assert read(capfd) == ("", f"{CLEAR}[read_file] notes.md\n")


@pytest.mark.usefixtures("terminal")
def test_the_answers_line_is_ended_before(capfd: Captured, answer: Answer) -> None:
    asides = Asides(Screen())
    answer.line_open = True
    asides.take_event(CALL, answer)
    out, _ = read(capfd)
    assert (out, answer.line_open) == ("\n", False)


@pytest.mark.usefixtures("terminal")
def test_several_at_once_and_how_far_they_are(capfd: Captured, answer: Answer) -> None:
    asides = Asides(Screen())
    asides.take_event(calls(("1", "a", {}), ("2", "b", {}), ("3", "c", {})), answer)
    assert read(capfd)[1].endswith("⠋ [a] and 2 more")
    asides.take_event(output("1", is_error=True), answer)
    assert "[a] (failed)\n" in read(capfd)[1]
    asides.take_progress({"kind": "tool", "text": "Run: b: 30 s,\n\x1b]0;x\x07 1 byte"})
    # A spinner that turns already takes its next step when it is due.
    assert "\x1b]" not in read(capfd)[1]


@pytest.mark.usefixtures("terminal")
def test_nothing_turns_while_somebody_is_asked(capfd: Captured, answer: Answer) -> None:
    """It would wipe out the line in which the answer is typed."""
    asides = Asides(Screen())
    asides.take_event({"type": "question_asked", "question_id": "q1"}, answer)
    asides.take_event({"type": "question_asked", "question_id": "q2"}, answer)
    asides.take_event(CALL, answer)
    asides.take_event({"type": "question_answered", "question_id": "q1"}, answer)
    assert read(capfd) == ("", "")
    asides.take_event({"type": "question_answered", "question_id": "q2"}, answer)
    assert read(capfd)[1].endswith("[read_file] notes.md")


@pytest.mark.usefixtures("terminal")
def test_how_far_a_call_is_waits_for_who_answers_it_in_its_middle(
    capfd: Captured, answer: Answer
) -> None:
    screen = Screen()
    asides = Asides(screen)
    asides.take_event(CALL, answer)
    asides.take_event({"type": "question_asked", "question_id": "q1"}, answer)
    screen.end_side()  # as whoever shows the question does
    capfd.readouterr()
    asides.take_progress({"kind": "tool", "text": "half of it"})
    assert read(capfd) == ("", "")
    asides.take_event({"type": "question_answered", "question_id": "q1"}, answer)
    asides.take_progress({"kind": "tool", "text": "all of it"})
    assert CLEAR in read(capfd)[1]


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("how", ["quiet", "json"])
def test_nobody_is_told_who_does_not_want_to(capfd: Captured, answer: Answer, how: str) -> None:
    asides = Asides(Screen(quiet=how == "quiet"), as_json=how == "json")
    for event in (CALL, output("1")):
        asides.take_event(event, answer)
    asides.take_progress({"kind": "tool", "text": "Run: b: 30 s"})
    assert read(capfd) == ("", "")


def test_a_script_is_told_of_denials_alone(capfd: Captured, answer: Answer) -> None:
    asides = Asides(Screen())
    for event in (CALL, output("1", synthetic="denied")):
        asides.take_event(event, answer)
    asides.take_progress({"kind": "tool", "text": "Run: make: 30 s"})
    asides.take_progress({"kind": "tool", "text": "Denied: x: y (nobody to ask)"})
    assert read(capfd) == ("", "Denied: x: y (nobody to ask)\n")


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize(
    "text", ["\x1b]52;c;eA==\x07", "\x1b[2J", "\x9b31m", "a\rb", "evil\u202etxt", "x" * 1_000_000]
)
def test_nothing_of_what_tools_are_told_or_say_reaches_a_terminal(
    capfd: Captured, answer: Answer, text: str
) -> None:
    asides = Asides(Screen())
    asides.take_event(calls(("1", f"t{text}", {"path": text})), answer)
    asides.take_event(output("1", text, is_error=True), answer)
    asides.take_progress({"kind": "tool", "text": f"Denied: {text}"})
    *shown, denied, last = read(capfd)[1].replace(CLEAR, "\n").split("\n")
    assert all(each.isprintable() and len(each) <= 80 for each in shown)
    # Where to allow it is said at its end: that is not cut.
    assert (denied, last) == (f"Denied: {reveal_text(' '.join(text.split()))}", "")


def test_a_change_waits_for_the_end_of_the_line(
    capfd: Captured, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "isatty", lambda descriptor: descriptor in (1, 2))
    asides = Asides(Screen())
    answer.line_open = True
    asides.take_change("Compacted.", answer)
    assert read(capfd) == ("", "")
    asides.tell(answer, at_end=True)
    assert read(capfd) == ("\n", "Compacted.\n")


SAID = {
    "type": "user_message",
    "id": "s.0",
    "parts": [{"type": "text", "text": "no,\x1b]0;x\x07 rhyme"}],
}


def steer(asides: Asides, answer: Answer) -> None:
    """Somebody says something to the turn, and it is heard."""
    common = {"conversation_id": "c", "turn_id": "t"}
    for event in (
        {**common, "seq": 2, "type": "prompt_steered", "items": [SAID]},
        {**common, "seq": 3, "type": "item_added", "item": SAID},
    ):
        answer.read_event(event)
        asides.take_event(event, answer)


@pytest.mark.usefixtures("terminal")
def test_what_somebody_says_to_the_turn_stands_between_the_answers(
    capfd: Captured, answer: Answer
) -> None:
    answer.line_open = True
    steer(Asides(Screen()), answer)
    assert read(capfd) == ("\n", "> no, rhyme\n")
    assert not answer.line_open


@pytest.mark.usefixtures("terminal")
def test_ones_own_message_is_not_said_again(capfd: Captured) -> None:
    accepted = {"conversation_id": "c", "turn_id": "t", "seq": 2, "steers": "s.0"}
    steer(Asides(Screen()), Answer(accepted))
    assert read(capfd) == ("", "")


@pytest.mark.parametrize("quiet", [False, True])
def test_a_program_is_told_nothing_of_it(capfd: Captured, answer: Answer, quiet: bool) -> None:
    steer(Asides(Screen(quiet=quiet), as_json=not quiet), answer)
    assert read(capfd) == ("", "")


def test_what_is_painted_is_parted_wherever_stderr_goes(answer: Answer) -> None:
    class Painted:
        finished = 0

        def finish(self) -> None:
            self.finished += 1

    painted = Painted()
    answer.line_open = True
    steer(Asides(Screen(live=painted)), answer)  # type: ignore[arg-type]  # it is only finished
    assert (painted.finished, answer.line_open) == (1, False)
