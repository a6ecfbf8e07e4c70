"""What the windows show: the asker's last line is a label, what waits has its place."""

from ask.chat.present import MARK, Present
from ask.chat.view import View, Waiting


def test_whole_lines_go_above_and_the_rest_before_the_line() -> None:
    present = Present(View())
    assert (present.take_written(), present.label) == ("", MARK)
    present.write("Write a?\n\n1. Yes\n")
    present.write("Allow it? ")
    assert present.take_written() == "Write a?\n\n1. Yes\n"
    assert present.label == "Allow it? "
    assert (present.take_written(), present.label) == ("", "Allow it? ")
    present.write("\n")
    assert (present.take_written(), present.label) == ("\n", MARK)


def read_kind(present: Present) -> bool:
    return present.is_approval


def test_a_key_answers_an_approval_alone() -> None:
    present = Present(View())
    assert not read_kind(present)
    ask = {"type": "question_asked", "turn_id": "t"}
    present.take_question({**ask, "question_id": "a", "kind": "overflow"})
    present.take_question({**ask, "question_id": "b", "kind": "approval"})
    assert not read_kind(present)
    present.take_question({"type": "question_answered", "question_id": "a"})
    assert read_kind(present)
    present.take_question({"type": "turn_finished", "turn_id": "t"})
    assert not read_kind(present)


def test_the_next_prompt_waits_only_while_another_is_answered() -> None:
    view = View()
    present = Present(view)
    view.queue = [Waiting("t", "one", is_own=True), Waiting("u", "two", is_own=False)]
    present.sending = ["three\nlines"]
    assert present.waiting == ["(another terminal) two", "(sending) three lines"]
    view.running = "s"
    assert present.waiting[0] == "one"
    assert "2 queued" in present.word_status(80)
