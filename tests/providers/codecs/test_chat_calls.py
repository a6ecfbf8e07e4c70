"""Calls in "openai-chat": one way to send them, many ways to get them."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from askd.providers.assemble import Assembler
from askd.providers.base import CallDelta, StreamEvent
from askd.providers.codecs.chat_calls import CallPlaces
from askd.providers.codecs.openai_chat import OpenAIChat
from tests.fakes import codec_streams
from tests.fakes.chat_answers import call, chunk
from tests.fakes.codec_streams import hear

CODEC = OpenAIChat("work")


def decode(*data: bytes) -> list[StreamEvent]:
    """What one decoder makes of these bytes."""
    return codec_streams.decode(CODEC, *data)


def calls_of(*pieces: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """The calls (id, name, arguments) that these chunks' `tool_calls` make."""
    assembler = Assembler("i")
    data = b"".join(chunk({"tool_calls": piece}) for piece in pieces)
    for each in decode(data + chunk({}, finish="tool_calls")):
        assembler.feed(each)
    return [(each.call_id, each.name, each.arguments) for each in assembler.message().calls]


def test_calls_as_openai_streams_them() -> None:
    assert calls_of(
        [{"index": 0, "id": "a", "function": {"name": "f", "arguments": ""}}],
        [{"index": 0, "function": {"arguments": '{"x"'}}],
        [{"index": 1, "id": "b", "function": {"name": "g", "arguments": "{}"}}],
        [{"index": 0, "function": {"arguments": ":1}"}}],
    ) == [("a", "f", '{"x":1}'), ("b", "g", "{}")]


def test_calls_without_an_index() -> None:
    assert calls_of(
        [{"id": "a", "function": {"name": "f", "arguments": "{"}}],
        [{"function": {"arguments": "}"}}],
        [{"id": "b", "function": {"name": "g", "arguments": "{}"}}],
        [{"id": "a", "function": {"arguments": " "}}],
    ) == [("a", "f", "{} "), ("b", "g", "{}")]


def test_whole_calls_in_one_chunk_with_objects_for_arguments() -> None:
    assert calls_of(
        [{"id": "a", "function": {"name": "f", "arguments": {"x": 1}}},
         {"id": "b", "function": {"name": "f", "arguments": "{}"}}],
    ) == [("a", "f", '{"x":1}'), ("b", "f", "{}")]  # fmt: skip


def test_every_call_numbered_zero() -> None:
    assert calls_of(
        [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}],
        [{"index": 0, "id": "b", "function": {"name": "g", "arguments": "{"}}],
        [{"index": 0, "function": {"arguments": "}"}}],
    ) == [("a", "f", "{}"), ("b", "g", "{}")]


def test_id_repeated_with_every_piece() -> None:
    assert calls_of(
        [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{"}}],
        [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "}"}}],
    ) == [("a", "f", "{}")]


def test_calls_without_ids_are_apart() -> None:
    found = calls_of(
        [{"function": {"name": "f", "arguments": "{}"}}],
        [{"function": {"name": "g", "arguments": "{}"}}],
    )
    assert [name for _, name, _ in found] == ["f", "g"]
    assert found[0][0] != found[1][0]


def test_deltas_of_a_call_say_where_they_belong() -> None:
    steps = [step for step in call("c1", "f", "{}") if isinstance(step, bytes)]
    assert decode(*steps)[:2] == [
        CallDelta(0, "c1", "f", "{"),
        CallDelta(0, None, None, "}"),
    ]


def test_calls_numbered_zero_without_ids() -> None:
    found = calls_of(
        [{"index": 0, "id": "", "function": {"name": "f", "arguments": '{"x":1}'}}],
        [{"index": 0, "id": "", "function": {"name": "f", "arguments": '{"x":2}'}}],
    )
    assert [arguments for _, _, arguments in found] == ['{"x":1}', '{"x":2}']


def test_name_repeated_with_every_piece() -> None:
    assert calls_of(
        [{"index": 0, "id": "a", "function": {"name": "f", "arguments": '{"x":'}}],
        [{"index": 0, "function": {"name": "f", "arguments": "1"}}],
        [{"index": 0, "function": {"name": "f", "arguments": "}"}}],
        [{"index": 0, "function": {"name": "f", "arguments": ""}}],
    ) == [("a", "f", '{"x":1}')]


def test_call_as_it_was_before_calls_were_parallel() -> None:
    pieces = [{"name": "f", "arguments": ""}, {"arguments": '{"x"'}, {"arguments": ":1}"}]
    data = b"".join(chunk({"function_call": piece}) for piece in pieces)
    heard = hear(decode(data + chunk({}, finish="function_call")))
    assert [(call.name, call.arguments) for call in heard.calls] == [("f", '{"x":1}')]
    assert heard.stop == "calls"


def test_numbers_of_two_choices_are_apart() -> None:
    places = CallPlaces()
    first = places.place((0, 0), call_id="a", name="f", arguments="{")
    second = places.place((1, 0), call_id="b", name="f", arguments="{")
    assert (first, second) == (0, 1)
    assert places.place((0, 0), call_id=None, name=None, arguments="}") == 0
    assert places.place((1, 0), call_id=None, name=None, arguments="}") == 1


@given(st.lists(st.text("ab{}", min_size=1, max_size=4), min_size=1, max_size=5), st.data())
def test_calls_as_openai_numbers_them_never_mix(texts: list[str], data: st.DataObject) -> None:
    rest = dict(enumerate(texts))
    places, heard = CallPlaces(), dict.fromkeys(rest, "")
    for number in rest:
        assert places.place((0, number), call_id=f"c{number}", name="f", arguments="") == number
    while rest:
        number = data.draw(st.sampled_from(sorted(rest)))
        piece, rest[number] = rest[number][:1], rest[number][1:]
        place = places.place((0, number), call_id=None, name=None, arguments=piece)
        heard[place] += piece
        if not rest[number]:
            del rest[number]
    assert list(heard.values()) == texts
