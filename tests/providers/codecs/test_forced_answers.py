"""What a model writes in forced JSON, read as calls and answers, however it is cut in pieces."""

import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.core.items import join_text
from askd.core.outcome import Usage
from askd.providers.assemble import Assembler
from askd.providers.base import (
    CallDelta,
    Ended,
    Failed,
    ReasoningDelta,
    Stopped,
    StreamEvent,
    TextDelta,
    UsageReported,
)
from askd.providers.codecs.forced_answers import ForcedAnswer, ForcedEvents

END: Sequence[StreamEvent] = (Stopped("end"), UsageReported(Usage(1, 2)), Ended())


def read(pieces: Sequence[str], *, is_structured: bool = False) -> list[StreamEvent]:
    answer = ForcedAnswer(is_structured=is_structured)
    events: list[StreamEvent] = [*map(TextDelta, pieces), *END]
    return [each for event in events for each in answer.feed(event)]


def read_text(pieces: Sequence[str], *, is_structured: bool = False) -> str:
    found = read(pieces, is_structured=is_structured)
    return "".join(each.text for each in found if isinstance(each, TextDelta))


def cut(text: str, places: list[int]) -> list[str]:
    ends = sorted({place % (len(text) + 1) for place in places})
    return [text[a:b] for a, b in zip([0, *ends], [*ends, len(text)], strict=True)]


CALL = '{\n "next": {"tool": "read_file", "arguments": {"path": "notes.txt"}}}'


def test_a_call_is_one() -> None:
    found = read(list(CALL))
    assert found == [CallDelta(0, name="read_file", arguments='{"path":"notes.txt"}'), *END]
    assembler = Assembler("a1")
    for event in found:
        assembler.feed(event)
    assert assembler.stop == "calls"
    assert [call.name for call in assembler.message().calls] == ["read_file"]
    assert not join_text(assembler.message().parts)


@given(st.text(), st.lists(st.integers(min_value=0)), st.booleans(), st.booleans())
def test_an_answer_is_its_text_wherever_it_is_cut(
    text: str, places: list[int], is_ascii: bool, is_wide: bool
) -> None:
    spaces: dict[str, Any] = {"indent": 2} if is_wide else {"separators": (",", ":")}
    said: dict[str, Any] = {"next": {"answer": text}}
    written = json.dumps(said, ensure_ascii=is_ascii, **spaces)
    clean = text.encode("utf-8", "replace").decode() if not is_ascii else text
    assert read_text(cut(written, places)) == clean


def test_an_answers_text_is_shown_as_it_comes() -> None:
    answer = ForcedAnswer(is_structured=False)
    shown = [
        answer.feed(TextDelta(piece))
        for piece in (
            '{"ne',
            'xt": {"answer": "The ',
            "sea\\",
            "n is \\ud83d",
            '\\ude00 blue"',
            "}}",
        )
    ]
    assert shown == [
        [],
        [TextDelta("The ")],
        [TextDelta("sea")],
        [TextDelta("\n is ")],
        [TextDelta("\U0001f600 blue")],
        [],
    ]
    assert answer.feed(Stopped("end")) == [Stopped("end")]


def test_an_answer_that_is_cut_short_keeps_its_text() -> None:
    assert read_text(['{"next": {"answer": "The sea is']) == "The sea is"


@pytest.mark.parametrize(
    "written",
    [
        "Just words.",
        " so it is",
        '{"next": {"tool": "read_file", "argum',
        '{"next": {"tool": "read_file"}}',
        '{"next": []}',
        '{"other": 1}',
        "{" * 5000,
        '{"next": ' + "[" * 100_000,
    ],
)
def test_what_is_in_no_such_form_is_text_and_no_call(written: str) -> None:
    found = read(cut(written, [3, 7]))
    assert not [each for each in found if isinstance(each, CallDelta)]
    assert read_text(cut(written, [3, 7])) == written


def test_a_structured_answer_is_json() -> None:
    written = '{"next": {"answer": {"name": "Ä"}}}'
    assert read_text([written], is_structured=True) == '{"name":"Ä"}'
    assert read_text(['{"next": {"answer": "Ä"}}'], is_structured=True) == '"Ä"'
    assert read_text(['{"next": {"answer": 7}}']) == "7"


def test_half_characters_go_no_further() -> None:
    found = read([r'{"next": {"tool": "a\ud800", "arguments": {"b": "\udfff"}}}'])
    assert found[0] == CallDelta(0, name="a�", arguments='{"b":"�"}')
    assert read_text([r'{"next": {"answer": "\ud800 x"}}']) == "� x"


def test_everything_else_passes_and_an_end_is_read_once() -> None:
    answer = ForcedAnswer(is_structured=False)
    thought = ReasoningDelta("hm")
    assert answer.feed(thought) == [thought]
    assert answer.feed(TextDelta(CALL)) == []
    assert len(answer.feed(Stopped("end"))) == 2
    assert answer.feed(Ended()) == [Ended()]


async def test_the_events_of_a_stream() -> None:
    class Stream:
        """A stream that ends with an error."""

        def __init__(self) -> None:
            self._events = [TextDelta('{"next": {"answer": "a'), TextDelta('b"}}')]

        def __aiter__(self) -> AsyncIterator[StreamEvent]:
            return self

        async def __anext__(self) -> StreamEvent:
            if self._events:
                return self._events.pop(0)
            raise StopAsyncIteration

    found = [each async for each in ForcedEvents(Stream(), is_structured=False)]
    assert found == [TextDelta("a"), TextDelta("b")]
    assert not any(isinstance(each, Failed) for each in found)
