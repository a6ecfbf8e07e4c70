"""Whatever text is in a request, its bytes are JSON that everybody can read."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.providers.codecs.sent_body import fit_json, fit_text, write_body

TEXTS = st.text(st.characters() | st.sampled_from("\x00\ud800\udfff\\u0"), max_size=12)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(TEXTS, VALUES, max_size=4))
def test_what_arrives_is_what_was_meant_without_bad_text(body: dict[str, Any]) -> None:
    arrived = json.loads(write_body(body).decode("utf-8"))
    assert arrived == fit_json(body)
    again = json.dumps(arrived, ensure_ascii=False)
    assert "\\u0000" not in again.replace("\\\\", "")
    again.encode("utf-8")


@given(TEXTS)
def test_a_text_keeps_its_length_and_all_that_can_be_sent(text: str) -> None:
    fit = fit_text(text)
    assert len(fit) == len(text)
    assert all(new in (old, "\ufffd") for old, new in zip(text, fit, strict=True))
    assert fit_text(fit) == fit


def test_a_body_is_compact_and_readable() -> None:
    assert write_body({"a": ["é", 1, None]}) == '{"a":["é",1,null]}'.encode()


def test_letters_that_look_like_an_escape_stay() -> None:
    assert json.loads(write_body({"a": "\\u0000"})) == {"a": "\\u0000"}
    assert json.loads(write_body({"a": "\\u0000 \x00"})) == {"a": "\\u0000 \ufffd"}


def test_a_number_that_is_none_is_no_body() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        write_body({"a": float("nan")})
