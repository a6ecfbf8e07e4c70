"""What the messages of a turn have said: the last text is the answer, each thought is new once."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ask.said import Said


def message(item_id: str, *texts: str) -> dict[str, Any]:
    return {"id": item_id, "parts": [{"type": "text", "text": each} for each in texts]}


def test_the_last_message_with_a_text_is_the_answer() -> None:
    said = Said()
    assert said.answer == ""
    said.take_message(message("1", "one ", "two"))
    said.take_message(message("2"))
    assert said.answer == "one two"
    said.take_message({"id": "3", "parts": [{"type": "image"}]})
    assert said.answer == "one two"
    said.take_message(message("4", "more"))
    assert said.answer == "more"


def test_a_message_grows_by_pieces_until_it_is_whole() -> None:
    said = Said()
    said.take_piece("1", "on")
    said.take_piece("1", "e")
    assert said.answer == "one"
    said.take_message(message("1", "one."))
    assert said.answer == "one."


def test_events_of_a_turn_are_taken_by_what_they_mean() -> None:
    said = Said()

    def take(kind: str, item: dict[str, Any] | None = None, **fields: Any) -> str:
        said.take_event({"type": kind, **fields} | ({} if item is None else {"item": item}))
        return said.answer

    half = {"type": "assistant_message", **message("1", "half")}
    assert take("item_added", half) == "half"
    assert take("item_added", {"type": "tool_output", **message("2", "out")}) == "half"
    assert take("item_added", {"type": "user_message", **message("3", "no, this")}) == ""
    assert take("item_added", half, status="superseded") == ""
    assert take("item_added", half, status="interrupted") == "half"
    assert take("turn_started") == ""


def test_what_was_said_before_a_person_spoke_is_no_answer() -> None:
    said = Said()
    said.take_message(message("1", "cut"))
    assert said.take_thought("1", 0, "hm") == "hm"
    said.hear()
    assert said.answer == ""
    assert said.take_thought("1", 0, "hm") == ""


def test_a_turn_that_is_begun_again_has_said_nothing() -> None:
    said = Said()
    said.take_message(message("1", "first"))
    assert said.take_thought("1", 0, "hm") == "hm"
    said.begin_again()
    assert said.answer == ""
    assert said.take_thought("1", 0, "hm") == "hm"


def test_a_thought_after_a_gap_is_left_to_what_comes_whole() -> None:
    said = Said()
    assert said.take_thought("1", 3, "late") == ""
    assert said.take_thought("1", 0, "all of it") == "all of it"


@given(st.text(), st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20))))
def test_whatever_overlaps_each_character_of_a_thought_is_new_once(
    text: str, pieces: list[tuple[int, int]]
) -> None:
    said = Said()
    news = [said.take_thought("1", at, text[at : at + size]) for at, size in pieces]
    assert text.startswith("".join(news))
    news.append(said.take_thought("1", 0, text))
    assert "".join(news) == text
