"""What is said becomes another; ids, types, statuses and everything else stay."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from askd.core.context import build_context
from askd.core.conversation import fold
from askd.core.events import (
    Body,
    CompletionFinished,
    ConversationCreated,
    Event,
    InstructionsChanged,
    ItemAdded,
    PromptAccepted,
    QuestionAsked,
    Renamed,
    SettingsChanged,
    Titled,
    TurnFinished,
    TurnOptions,
    TurnStarted,
    UnknownBody,
    ViewChanged,
    decode_body,
    encode_body,
)
from askd.core.instructions import InstructionFile
from askd.core.items import (
    AssistantMessage,
    Blob,
    Copy,
    Notice,
    Reasoning,
    Snapshot,
    Summary,
    Text,
    ToolCall,
    ToolOutput,
    Unknown,
    UserMessage,
)
from askd.core.pairs import heal
from askd.core.rewriting import (
    LOST_ARGUMENTS,
    Rewrite,
    rewrite_body,
    rewrite_fields,
    rewrite_free,
    rewrite_json,
    rewrite_record,
)
from askd.core.scrubbing import MARK, Scrub

SECRET = 'p"s\\w\nörd'
SCRUB = Scrub([SECRET])
REWRITE = Rewrite(
    text=SCRUB.replace, token=SCRUB.replace_token, name=lambda name: SCRUB.replace(name)[:64]
)


def say(text: str) -> str:
    return f"before {text} after"


def make_log(text: str) -> list[Body]:
    """A conversation in which every text that can be is this one."""
    said = (Text(say(text), text), Blob("a" * 64, 9, "text/plain", text))
    arguments = json.dumps({"city": text, text: [1, {"x": text}], "nested": json.dumps([text])})
    call = ToolCall("call_1", "look", arguments)
    options = TurnOptions(system=text, stop=(text,), answer_schema={text: {"const": text}})
    return [
        ConversationCreated("c", text),
        Renamed(text),
        SettingsChanged("provider/" + text, text),
        InstructionsChanged((InstructionFile(f"/{text}/AGENTS.md", say(text), 7),)),
        PromptAccepted("t", "key", (UserMessage("t.0", said),), options, text, {"LANG": text}),
        TurnStarted("t", 1, "m"),
        ItemAdded(
            "t",
            AssistantMessage(
                "t.1", said, (Reasoning(text, {"id": text, text: [text]}),), (call,), text, text
            ),
            1,
        ),
        ItemAdded("t", ToolOutput("t.2", "call_1", "look", said), 1),
        QuestionAsked("t", "q", "approval", "d", {text: text}, 1.0),
        ItemAdded("t", Snapshot("s", text, "c0ffee", None, (text,))),
        ItemAdded("t", Summary("u", text)),
        ItemAdded(None, Notice("n", text)),
        ItemAdded(None, Unknown({"type": "new", "id": "x", "text": text, "more": {text: text}})),
        UnknownBody({"type": "newer", "turn_id": "t", "text": text, "deep": [{"a b": text}]}),
        ViewChanged("v", "clear", None, (), Summary("w", text)),
        Titled(text),
        CompletionFinished("t", 1, "end"),
        TurnFinished("t", "completed", 0, message=text),
    ]


def fold_all(bodies: list[Body]) -> Any:
    return fold("c", [Event("c", seq, 1.0, body) for seq, body in enumerate(bodies, 1)])


@pytest.mark.parametrize("body", make_log(SECRET), ids=lambda body: type(body).__name__)
def test_every_text_of_every_event_is_rewritten(body: Body) -> None:
    if isinstance(body, TurnStarted | CompletionFinished):
        assert rewrite_body(body, REWRITE) is body
        return
    changed = rewrite_body(body, REWRITE)
    assert changed != body
    stored = json.dumps(encode_body(changed))
    assert MARK in stored
    assert SCRUB.count(stored) == 0
    assert not [each for each in _strings(json.loads(stored)) if SECRET in each]
    assert decode_body(json.loads(stored)) == changed
    assert rewrite_body(changed, REWRITE) is changed


def _strings(data: Any) -> list[str]:
    match data:
        case str():
            return [data]
        case list():
            return [text for each in data for text in _strings(each)]
        case dict():
            return [text for each in (*data, *data.values()) for text in _strings(each)]
        case _:
            return []


def test_the_rest_is_as_if_the_mark_had_been_said() -> None:
    scrubbed = [rewrite_body(body, REWRITE) for body in make_log(SECRET)]
    wanted = make_log(MARK)
    for found, expected in zip(scrubbed, wanted, strict=True):
        if isinstance(found, ItemAdded) and isinstance(found.item, AssistantMessage):
            assert isinstance(expected, ItemAdded)
            assert isinstance(expected.item, AssistantMessage)
            (call,), (other,) = found.item.calls, expected.item.calls
            assert json.loads(call.arguments) == json.loads(other.arguments)
            item = replace(found.item, calls=expected.item.calls)
            assert replace(found, item=item) == expected
        elif isinstance(found, ItemAdded) and isinstance(found.item, Snapshot):
            # It says that it is not what it was: nobody puts that back.
            assert replace(found, item=replace(found.item, altered=False)) == expected
            assert found.item.altered
        else:
            assert found == expected


def test_the_context_is_built_and_healed_as_before() -> None:
    scrubbed = [rewrite_body(body, REWRITE) for body in make_log(SECRET)]
    (before, faults), (after, same) = (
        heal(build_context(fold_all(log), None, system=None).items)
        for log in (make_log(SECRET), scrubbed)
    )
    assert [item.id for item in after] == [item.id for item in before]
    assert same == faults


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
secrets = st.text(st.characters(exclude_categories=["Cs"]), min_size=4, max_size=8)


@given(secrets, json_values)
def test_arguments_stay_json_whatever_they_are(secret: str, value: Any) -> None:
    assume(MARK not in secret)
    scrub = Scrub([secret])
    rewrite = Rewrite(text=scrub.replace, token=scrub.replace_token)
    for text in (json.dumps([value, secret, {secret: value}]), json.dumps(json.dumps([secret]))):
        changed = rewrite_json(text, rewrite)
        json.loads(changed)
        assert scrub.count(changed) == 0
        assert rewrite_json(changed, rewrite) == changed


@given(secrets, json_values)
def test_any_json_without_it_stays(secret: str, value: Any) -> None:
    scrub = Scrub([secret])
    assume(not scrub.may_stand_in(json.dumps(value, ensure_ascii=False)))
    rewrite = Rewrite(text=scrub.replace, token=scrub.replace_token)
    assert rewrite_free(value, rewrite) == value
    assert rewrite_record(value, rewrite) == value


def with_secret(secret: str) -> Rewrite:
    scrub = Scrub([secret])
    return Rewrite(text=scrub.replace, token=scrub.replace_token)


def test_of_arguments_nothing_else_moves() -> None:
    text = '{ "a" : 1.0e5,\n "b": "hunter22 \\u00e4", "a": 007 }'.replace("007", "7")
    changed = '{ "a" : 1.0e5,\n "b": "[scrubbed] \\u00e4", "a": 7 }'
    assert rewrite_json(text, with_secret("hunter22")) == changed


def test_numbers_are_replaced_where_they_may_be_secrets_and_only_there() -> None:
    rewrite = with_secret("31337")
    assert rewrite_json('{"pin": 31337, "x": -1313370}', rewrite) == (
        '{"pin": "[scrubbed]", "x": "-1[scrubbed]0"}'
    )
    finished = {"type": "turn_finished", "turn_id": "31337", "outcome": "failed", "code": 31337}
    assert rewrite_record(finished, rewrite) == finished


def test_a_text_across_the_bounds_of_a_value_takes_the_arguments_with_it() -> None:
    rewrite = with_secret('city": "Pa')
    assert rewrite_json('{"city": "Paris"}', rewrite) == LOST_ARGUMENTS
    assert rewrite_json('{"city": "Pa', rewrite) == '{"[scrubbed]'


def test_keys_that_become_one_keep_their_values() -> None:
    changed = rewrite_free({"hunter22": 1, MARK: 2, "hunter22hunter22": 3}, with_secret("hunter22"))
    assert sorted(changed.values()) == [1, 2, 3]


def test_ids_types_and_words_for_programs_stay_whatever_they_look_like() -> None:
    for word in ("item_added", "user_message", "complete", "text", "abcd"):
        added = ItemAdded("abcd", UserMessage("abcd.0", (Text("x"),)), status="complete")
        assert rewrite_body(added, with_secret(word)) == added
    end = TurnFinished("t", "failed", 1, reason="interrupted")
    assert rewrite_body(end, with_secret("interrupted")) is end
    foreign = {"type": "text", "text": "the text", "id": "text"}
    assert rewrite_fields(foreign, with_secret("text")) == {**foreign, "text": f"the {MARK}"}


def test_calls_and_outputs_change_their_id_and_name_alike() -> None:
    rewrite = with_secret("hunter22")
    call = ToolCall("call-hunter22", "f_hunter22", "{}")
    asked = rewrite_body(ItemAdded("t", AssistantMessage("a", calls=(call,))), rewrite)
    answer = ToolOutput("o", "call-hunter22", "f_hunter22", ())
    told = rewrite_body(ItemAdded("t", answer), rewrite)
    assert isinstance(asked, ItemAdded)
    assert isinstance(told, ItemAdded)
    assert asked.item == AssistantMessage(
        "a", calls=(ToolCall("call-scrubbed", "f_scrubbed", "{}"),)
    )
    assert told.item == ToolOutput("o", "call-scrubbed", "f_scrubbed", ())


def test_a_blob_that_changed_is_named_by_its_new_digest_everywhere() -> None:
    rewrite = Rewrite(text=str, token=str, blobs={"a" * 64: ("b" * 64, 7)})
    part = Blob("a" * 64, 9, "text/plain")
    added = ItemAdded("t", ToolOutput("o", "c", "f", (part,)))
    changed = rewrite_body(added, rewrite)
    assert changed == ItemAdded("t", ToolOutput("o", "c", "f", (Blob("b" * 64, 7, "text/plain"),)))
    unknown = {"type": "new", "parts": [{"sha256": "a" * 64, "bytes": 9}]}
    assert rewrite_record(unknown, rewrite)["parts"] == [{"sha256": "b" * 64, "bytes": 7}]


def test_a_copy_that_is_not_what_it_was_says_so() -> None:
    rewrite = replace(REWRITE, blobs={"a" * 64: ("b" * 64, 7)})
    same = Copy("same", Blob("c" * 64, 9, "text/plain"), 0o600)
    copies = (
        same,
        Copy("content", Blob("a" * 64, 9, "text/plain")),
        Copy(say(SECRET)),
        Copy("text", Text(SECRET)),
    )
    changed = rewrite_body(ItemAdded("t", Snapshot("s", "/w", "", copies=copies)), rewrite)
    assert isinstance(changed, ItemAdded)
    assert isinstance(changed.item, Snapshot)
    assert [each.altered for each in changed.item.copies] == [False, True, True, True]
    assert not changed.item.altered, "the others are what they were"
    assert changed.item.copies[0] == same
    assert rewrite_body(changed, rewrite) is changed


def test_a_record_that_is_broken_is_rewritten_all_the_same() -> None:
    rewrite = with_secret("hunter22")
    broken = {"type": "item_added", "item": ["hunter22"], "turn_id": 3, "more": {"hunter22": 1}}
    assert json.dumps(rewrite_record(broken, rewrite)).count(MARK) == 2
    assert rewrite_record(["hunter22"], rewrite) == [MARK]
