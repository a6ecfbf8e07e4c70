"""Events whose data is JSON: objects, the word at the end, and what is neither."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.errors import BadAnswer
from askd.providers.codecs.json_events import JsonEvent, JsonEvents
from tests.fakes.codec_streams import cut


def read(*pieces: bytes) -> list[JsonEvent | BadAnswer]:
    """What one reader makes of these bytes."""
    events = JsonEvents("work")
    return [event for piece in pieces for event in events.feed(piece)]


def test_objects_come_with_their_names() -> None:
    assert read(b'event: note\ndata: {"a":\ndata: 1}\n\ndata: {}\n\n') == [
        JsonEvent("note", {"a": 1}),
        JsonEvent("message", {}),
    ]


def test_word_at_the_end() -> None:
    assert read(b"data: [DONE]\n\ndata:  [DONE] \n\n") == [JsonEvent("message", None)] * 2


def test_blank_data_and_comments_pass_over() -> None:
    assert read(b"data:\n\n: ping\n\ndata:   \n\n") == []


@pytest.mark.parametrize("data", [b"[]", b"1", b'"x"', b"null", b"{", b"<html>", b"[" * 5000])
def test_what_is_no_object_is_a_bad_answer(data: bytes) -> None:
    [problem] = read(b"data: " + data + b"\n\n")
    assert isinstance(problem, BadAnswer)
    assert "work" in problem.message


def test_caps_name_the_provider() -> None:
    with pytest.raises(BadAnswer, match=r"^work: a line"):
        read(b"x" * (1 << 21))


@given(st.lists(st.integers(0, 10_000), max_size=8))
def test_any_cut_gives_the_same_events(places: list[int]) -> None:
    data = (
        'data: {"a":"\u2028é"}\r\n\r\nevent: x\rdata: {"b":\rdata: 2}\r\rdata: [DONE]\n\n'.encode()
    )
    assert read(*cut(data, places)) == read(data)
    assert len(read(data)) == 3
