"""Text that can be written, from text that JSON was made to hold."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from askd.core.writable import make_all_writable, make_writable

TEXTS = st.text(alphabet=st.characters(), max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=10,
)


def test_a_lone_surrogate_becomes_a_question_mark() -> None:
    assert make_writable("a\ud800b\udfffc") == "a?b?c"
    assert make_writable("für 😀") == "für 😀"


def test_wherever_it_stands() -> None:
    value = {"\ud800": ["\udc00", {"a": ("\ud83d", 1, None, True)}]}
    assert make_all_writable(value) == {"?": ["?", {"a": ["?", 1, None, True]}]}


@given(VALUES)
def test_any_value_can_be_written_and_what_could_be_is_as_it_was(value: Any) -> None:
    said = json.dumps(make_all_writable(value), ensure_ascii=False)
    said.encode()
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return
    assert json.loads(said) == value
