"""Reasoning in "openai-chat": heard under every name, kept whole, sent back by the same name."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.core.items import Reasoning, ToolCall
from askd.providers.base import ReasoningSealed
from askd.providers.codecs.chat_thoughts import ThoughtReader, encode_call_extras, encode_thoughts
from tests.fakes.codec_streams import any_json, assistant


def seal(reader: ThoughtReader) -> Mapping[str, Any] | None:
    """The raw of the one seal."""
    [sealed] = reader.seal()
    assert isinstance(sealed, ReasoningSealed)
    return sealed.raw


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning", "reasoning_text"])
def test_text_goes_back_by_the_name_it_came_by(name: str) -> None:
    reader = ThoughtReader()
    assert reader.read({name: "Hm"}) + reader.read({name: "m."}) == "Hmm."
    raw = seal(reader)
    assert raw == {"type": "chat_reasoning", "field": name}
    message = assistant("A.", thoughts=[Reasoning("Hmm.", raw)])
    assert encode_thoughts(message, is_current=True) == {name: "Hmm."}
    assert encode_thoughts(message, is_current=False) == {}


def test_nothing_thought_is_nothing_sealed() -> None:
    reader = ThoughtReader()
    assert reader.read({"content": "Hi", "reasoning_content": "", "reasoning": None}) == ""
    assert reader.seal() == []


def test_a_seal_is_given_once() -> None:
    reader = ThoughtReader()
    reader.read({"reasoning": "Hm."})
    assert len(reader.seal()) == 1
    assert reader.seal() == []


def detail(**more: Any) -> dict[str, Any]:
    """A delta of OpenRouter's with one detail."""
    return {"reasoning_details": [{"type": "reasoning.text", "index": 0, **more}]}


def test_pieces_of_a_detail_become_one_with_its_signature() -> None:
    reader = ThoughtReader()
    shown = [
        reader.read({"reasoning": "Two", **detail(text="Two", signature=None)}),
        reader.read({"reasoning": " and", **detail(text=" and")}),
        reader.read({"reasoning": None, **detail(text="", signature="EqQ")}),
        reader.read({"reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]}),
        reader.read({"reasoning_details": [{"type": "reasoning.encrypted", "data": "y"}]}),
    ]
    assert "".join(shown) == "Two and"
    raw = seal(reader)
    details = [
        {"type": "reasoning.text", "index": 0, "text": "Two and", "signature": "EqQ"},
        {"type": "reasoning.encrypted", "data": "x"},
        {"type": "reasoning.encrypted", "data": "y"},
    ]
    message = assistant("A.", thoughts=[Reasoning("Two and", raw)])
    # What is signed goes back whole, also in later turns, and its text not a second time.
    assert encode_thoughts(message, is_current=False) == {"reasoning_details": details}
    assert encode_thoughts(message, is_current=True) == {"reasoning_details": details}


def test_details_alone_are_shown() -> None:
    reader = ThoughtReader()
    assert reader.read(detail(text="Hm.")) == "Hm."
    assert (
        reader.read({"reasoning_details": [{"type": "reasoning.summary", "summary": "S"}]}) == "S"
    )


def test_opaque_field_goes_back() -> None:
    reader = ThoughtReader()
    reader.read({"reasoning_text": "Hm."})
    reader.read({"content": "Four", "reasoning_opaque": "b3Bh"})
    message = assistant("A.", thoughts=[Reasoning("Hm.", seal(reader))])
    assert encode_thoughts(message, is_current=False) == {"reasoning_opaque": "b3Bh"}


def test_extra_content_goes_back_with_its_call() -> None:
    reader = ThoughtReader()
    extra = {"google": {"thought_signature": "CpcB"}}
    reader.read_call(0, {"id": "a"})
    reader.read_call(1, {"id": "b", "extra_content": extra})
    calls = (ToolCall("a", "f", "{}"), ToolCall("b", "f", "{}"))
    message = assistant("", *calls, thoughts=[Reasoning("", seal(reader))])
    assert encode_call_extras(message) == {1: {"extra_content": extra}}


@pytest.mark.parametrize("raw", [None, {}, {"type": "reasoning", "id": "rs"}, {"type": "thinking"}])
def test_raw_of_another_dialect_stays_here(raw: dict[str, Any] | None) -> None:
    message = assistant("A.", thoughts=[Reasoning("Hm.", raw)])
    assert encode_thoughts(message, is_current=True) == {}
    assert encode_call_extras(message) == {}


KEYS = ["type", "field", "details", "opaque", "calls", "index", "text", "summary", "data",
        "reasoning_details", "reasoning", "reasoning_opaque", "extra_content"]  # fmt: skip


@given(any_json(KEYS, ["chat_reasoning", "reasoning"]), any_json(KEYS))
def test_whatever_came_can_be_stored_and_sent(delta: Any, call: Any) -> None:
    reader = ThoughtReader()
    for each in (delta, {"reasoning_details": [delta, call]}):
        reader.read(each if isinstance(each, dict) else {"reasoning": each})
    reader.read_call(0, {"extra_content": call})
    for sealed in reader.seal():
        json.dumps(sealed.raw, ensure_ascii=False, allow_nan=False).encode()
        message = assistant("A.", thoughts=[Reasoning("Hm.", sealed.raw)])
        json.dumps(encode_thoughts(message, is_current=True), allow_nan=False)


@given(st.dictionaries(st.sampled_from(KEYS), any_json(KEYS)))
def test_whatever_was_stored_does_no_harm(raw: dict[str, Any]) -> None:
    message = assistant("A.", thoughts=[Reasoning("Hm.", {**raw, "type": "chat_reasoning"})])
    encode_thoughts(message, is_current=True)
    encode_call_extras(message)
