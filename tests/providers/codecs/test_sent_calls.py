"""Calls made fit to be sent: always the same way, and never more than is needed."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.core.items import ToolCall
from askd.providers.codecs.sent_calls import (
    NINE_IDS,
    PLAIN_IDS,
    UNREADABLE,
    USUAL_IDS,
    SentIds,
    fit_arguments,
    fit_call_id,
)

RULES = st.sampled_from([USUAL_IDS, PLAIN_IDS, NINE_IDS])


@given(st.text(max_size=80), RULES)
def test_every_id_becomes_one_that_is_taken(call_id: str, allowed: re.Pattern[str]) -> None:
    sent = fit_call_id(call_id, allowed)
    assert allowed.fullmatch(sent)
    assert fit_call_id(call_id, allowed) == sent
    assert fit_call_id(sent, allowed) == sent


@given(st.sets(st.text(max_size=80), min_size=2, max_size=4), RULES)
def test_different_ids_stay_different(ids: set[str], allowed: re.Pattern[str]) -> None:
    assert len({fit_call_id(each, allowed) for each in ids}) == len(ids)


@pytest.mark.parametrize(
    "call_id", ["call_x", "toolu_01", "functions.read:0", "x" * 40, "chatcmpl-tool-0f"]
)
def test_ids_of_the_vendors_stay(call_id: str) -> None:
    assert fit_call_id(call_id) == call_id


@pytest.mark.parametrize("call_id", ["x" * 41, "call_x#2", "", "a b", "a\n"])
def test_ids_that_are_refused_change(call_id: str) -> None:
    assert re.fullmatch(r"call_[0-9a-f]{24}", fit_call_id(call_id))


@given(st.text())
def test_arguments_are_always_an_object(raw: str) -> None:
    sent = fit_arguments(raw)
    sent.encode()
    assert isinstance(json.loads(sent), dict)


@pytest.mark.parametrize("raw", ["{}", '{"a": [1, 2]}', ' {"ü": "\u2028"}\n'])
def test_an_object_stays_as_it_was_written(raw: str) -> None:
    assert fit_arguments(raw) == raw


@pytest.mark.parametrize("raw", ['{"a": ', "[1]", "null", "text", '{"a": NaN}', "[" * 5000])
def test_what_is_none_is_wrapped_whole(raw: str) -> None:
    assert json.loads(fit_arguments(raw)) == {UNREADABLE: raw}


def test_nothing_is_an_empty_object() -> None:
    assert fit_arguments("") == fit_arguments(" \n") == "{}"


def test_half_characters_are_replaced_however_they_are_written() -> None:
    assert fit_arguments('{"a":"\\ud83d"}') == '{"a":"\ufffd"}'
    assert fit_arguments('{"a":"\ud83d"}') == '{"a":"\ufffd"}'
    assert fit_arguments('{"a":"\\ud83d\\ude00"}') == '{"a":"\U0001f600"}'
    assert json.loads(fit_arguments("\ud83d")) == {UNREADABLE: "\ufffd"}


def test_nul_is_replaced_however_it_is_written() -> None:
    assert fit_arguments('{"a":"b\\u0000"}') == '{"a":"b\ufffd"}'
    assert fit_arguments('{"a\\u0000":1}') == '{"a\ufffd":1}'
    assert json.loads(fit_arguments('{"a":"\x00"}')) == {UNREADABLE: '{"a":"\ufffd"}'}
    # A backslash and five letters are no NUL; they mean the same afterwards.
    assert json.loads(fit_arguments('{"a":"\\\\u0000"}')) == {"a": "\\u0000"}


@pytest.mark.parametrize("other", ["a\ud800", "a?"])
def test_ids_that_differ_in_half_a_character_stay_different(other: str) -> None:
    ids = {fit_call_id(each) for each in ("a\ud801", other)}
    assert len(ids) == 2


@given(st.lists(st.lists(st.sampled_from(["", "a", "a#2", "b c", "x" * 70]), max_size=3)), RULES)
def test_the_ids_of_a_request_come_once_and_their_outputs_find_them(
    messages: list[list[str]], allowed: re.Pattern[str]
) -> None:
    def send() -> list[list[str]]:
        ids = SentIds(allowed)
        sent = []
        for calls in messages:
            taken = ids.begin([ToolCall(each, "f", "{}") for each in calls])
            # Of ids that come twice in a message, which `heal` renames, the last is found.
            assert [ids.answer(each) in taken for each in dict.fromkeys(calls)] == [True] * len(
                set(calls)
            )
            assert ids.answer("nobody's") is None
            sent.append(taken)
        return sent

    sent = send()
    flat = [each for taken in sent for each in taken]
    assert len(set(flat)) == len(flat)
    assert all(allowed.fullmatch(each) for each in flat)
    assert send() == sent


def test_an_id_that_may_be_sent_stays_the_first_time() -> None:
    ids, call = SentIds(), ToolCall("call_0", "f", "{}")
    assert ids.begin([call]) == ["call_0"]
    assert ids.answer("call_0") == "call_0"
    assert ids.answer("call_0") is None
    (second,) = ids.begin([call])
    assert second != "call_0"
    assert ids.answer("call_0") == second
