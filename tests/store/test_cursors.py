"""Cursors come back as they went, and nothing else is taken for one."""

import base64
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.errors import RequestError
from askd.store.cursors import decode_cursor, encode_cursor


@given(st.floats(allow_nan=False, allow_infinity=False), st.text())
def test_a_cursor_comes_back(at: float, id: str) -> None:
    assert decode_cursor(encode_cursor(at, id)) == (at, id)


@pytest.mark.parametrize(
    "cursor",
    ["", "x", "!!", "é", *[base64.urlsafe_b64encode(each).decode() for each in (
        b"[1]", b'["a","b"]', b"{}", b"[true,\"x\"]", b"\xff", b"[" * 3000,
        b'[1%s,"x"]' % (b"0" * 400), b'[NaN,"x"]', b'[Infinity,"x"]', b'[1,"\\ud800"]',
    )]],
)  # fmt: skip
def test_other_words_are_refused(cursor: str) -> None:
    with pytest.raises(RequestError, match="cursor"):
        decode_cursor(cursor)


@given(st.text())
def test_any_word_is_read_or_refused(word: str) -> None:
    with contextlib.suppress(RequestError):
        decode_cursor(word)
