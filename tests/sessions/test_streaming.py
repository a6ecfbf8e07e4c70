"""The text so far, in code points, and what of it is to be saved."""

from hypothesis import given
from hypothesis import strategies as st

from askd.sessions.streaming import LiveText, RunningTexts


@given(st.lists(st.text(max_size=20), max_size=20))
def test_offsets_and_fragments_make_the_text(fragments: list[str]) -> None:
    texts = RunningTexts()
    said = ""
    for fragment in fragments:
        assert texts.add("t", "t.1", kind="text", text=fragment) == len(said)
        said += fragment
        assert texts.snapshot() == [LiveText("t", "t.1", "text", said)]


def test_kinds_and_items_are_kept_apart() -> None:
    texts = RunningTexts()
    texts.add("t", "t.1", kind="reasoning", text="hm")
    assert texts.add("t", "t.1", kind="text", text="yes") == 0
    texts.add("t", "t.2", kind="text", text="no")
    texts.drop_item("t.1")
    assert texts.snapshot() == [LiveText("t", "t.2", "text", "no")]
    texts.drop_turn("other")
    assert texts.snapshot() != []
    texts.drop_turn("t")
    assert texts.snapshot() == []


def test_what_grew_is_taken_once_and_as_a_whole() -> None:
    texts = RunningTexts()
    texts.add("t", "t.1", kind="text", text="é" * 10)  # 20 bytes
    assert texts.take_unsaved(21) == []
    assert texts.take_unsaved(20) == [LiveText("t", "t.1", "text", "é" * 10)]
    assert texts.take_unsaved() == []
    texts.add("t", "t.1", kind="text", text="!")
    assert texts.take_unsaved() == [LiveText("t", "t.1", "text", "é" * 10 + "!")]
