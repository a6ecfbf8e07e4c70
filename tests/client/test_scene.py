"""A person sees every prompt, answer and end once, whatever way it came."""

import json
from typing import Any

import pytest

from ask.feed import News
from ask.scene import Scene, lay_out_call, lay_out_prompt, shorten_output
from ask.transcript import Call
from tests.client.test_transcript import answer, notice, number, prompt, started

Map = dict[str, Any]


def finished(turn_id: str, outcome: str = "completed", **fields: Any) -> Map:
    return {
        "type": "turn_finished",
        "turn_id": turn_id,
        "outcome": outcome,
        "code": 0 if outcome == "completed" else 1,
        **fields,
    }


def delta(text: str, item_id: str = "a.1", kind: str = "text") -> News:
    return News("delta", {"turn_id": "a", "item_id": item_id, "kind": kind, "text": text})


def play(*happenings: Map | News) -> str:
    scene = Scene()
    events = iter(number(*[each for each in happenings if isinstance(each, dict)]))
    news = [each if isinstance(each, News) else News("event", next(events)) for each in happenings]
    return "".join(scene.show(each) for each in news)


def test_a_stored_turn() -> None:
    assert play(prompt("a", "why?"), started("a"), answer("a", "so"), finished("a")) == (
        "> why?\n\nso\n\n"
    )


def test_a_streamed_turn_reads_the_same() -> None:
    begin = (prompt("a", "why?"), started("a"))
    end = (answer("a", "so it is"), finished("a"))
    whole = play(*begin, *end)
    assert play(*begin, delta("so "), delta("it is"), *end) == whole
    assert play(*begin, delta("so "), *end) == whole


def test_reasoning_is_not_shown() -> None:
    assert play(prompt("a", "x"), started("a"), delta("hm", kind="reasoning")) == "> x\n\n"


def test_a_queued_prompt_never_breaks_into_an_answer() -> None:
    assert (
        play(
            prompt("a", "1"),
            started("a"),
            delta("on"),
            prompt("b", "2"),
            delta("e"),
            answer("a", "one"),
            finished("a"),
            started("b"),
        )
        == "> 1\n\none\n\n> 2\n\n"
    )


def test_a_withdrawn_prompt_is_never_shown() -> None:
    shown = play(
        prompt("a", "1"), {"type": "prompt_withdrawn", "turn_id": "a"}, finished("a", "withdrawn")
    )
    assert shown == ""


def test_an_interrupted_answer_says_so() -> None:
    shown = play(
        prompt("a", "1"),
        started("a"),
        delta("on"),
        answer("a", "on", status="interrupted"),
        finished("a", "interrupted"),
    )
    assert shown == "> 1\n\non\n(interrupted)\n\n"


def test_a_crash_that_kept_less_than_was_shown_shows_nothing_twice() -> None:
    shown = play(
        prompt("a", "1"), started("a"), delta("one two"), answer("a", "one", status="interrupted")
    )
    assert shown.count("one") == 1


def test_a_long_answer_that_was_streamed_is_not_named_as_a_blob() -> None:
    stored = answer("a", "")
    stored["item"]["parts"] = [
        {"type": "blob", "sha256": "ab", "bytes": 300_000, "media_type": "text/plain"}
    ]
    assert play(prompt("a", "1"), started("a"), delta("long\n"), stored) == "> 1\n\nlong\n\n"
    assert "[file text/plain" in play(prompt("a", "1"), started("a"), stored)


def test_content_that_could_not_be_sent_is_said_to_be_missing() -> None:
    left_out = {"turn_id": "a", "left_out": "Not shown."}
    accepted = {"type": "prompt_accepted", **left_out}
    assert play(accepted, started("a"), {"type": "item_added", **left_out}) == (
        "> Not shown.\n\n* Not shown.\n\n"
    )


def test_another_text_than_the_streamed_one_is_shown_whole() -> None:
    shown = play(prompt("a", "1"), started("a"), delta("foo"), answer("a", "bar"))
    assert shown == "> 1\n\nfoo\nbar\n\n"


def test_another_attempt_begins_on_a_new_line() -> None:
    shown = play(
        prompt("a", "1"),
        started("a"),
        delta("one"),
        answer("a", "one", status="superseded"),
        started("a", 2),
        delta("one"),
        answer("a", "one"),
    )
    assert shown == "> 1\n\none\n* Started again.\n\none\n\n"


def test_a_failed_turn_says_why() -> None:
    shown = play(
        prompt("a", "1"), started("a"), delta("o"), finished("a", "failed", message="It is down.")
    )
    assert shown == "> 1\n\no\n* It is down.\n\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("one\ntwo\n", "one\ntwo"),
        ("\n".join("abcde"), "a\nb\nc\nd\ne"),
        ("\n".join("abcdef"), "a\nb\nc\nd\ne\n... (11 chars total)"),
        ("x" * 201, "x" * 200 + "... (201 chars total)"),
    ],
)
def test_of_what_a_tool_found_the_beginning_is_enough(text: str, shown: str) -> None:
    assert shorten_output(text) == shown


def test_a_call_is_one_line_whatever_it_holds() -> None:
    arguments = json.dumps({"command": "a\nb\x1b]0;x\x07" + "c" * 300})
    line = lay_out_call(Call("1", "run_command", arguments))
    assert line.startswith("[run_command] a b\\x1b]0;x\\x07ccc")
    assert line.isprintable()
    assert len(line) < 230


def test_notices_calls_outputs_and_a_cleared_view() -> None:
    calls: Map = {
        "type": "assistant_message",
        "id": "a.1",
        "parts": [],
        "calls": [{"call_id": "c", "name": "add", "arguments": "{}"}],
    }
    output: Map = {"type": "tool_output", "id": "o", "call_id": "c", "name": "add"}
    output["parts"] = [{"type": "text", "text": "4"}]
    shown = play(
        notice("User viewed help"),
        {"type": "item_added", "turn_id": "a", "item": calls},
        {"type": "item_added", "turn_id": "a", "item": output},
        {"type": "view_changed", "kind": "clear"},
        {"type": "item_added", "turn_id": "a", "item": {"type": "hologram"}},
        {"type": "titled", "title": "x"},
    )
    assert shown == (
        "* User viewed help\n\n[add]\n\n* 4\n\n* The model sees nothing of the above.\n\n"
    )


def test_a_message_that_joins_a_turn_is_a_prompt_too() -> None:
    joined = {"type": "item_added", "turn_id": "a", "item": prompt("a", "and this")["items"][0]}
    assert play(joined) == "> and this\n\n"


def test_an_unsaved_turn_is_said() -> None:
    shown = play(delta("x"), News("turn_unsaved", {"turn_id": "a", "reason": "disk full"}))
    assert shown == "x\nFailed to save turn: disk full\n\n"
    assert play(News("progress", {"text": "loading"})) == ""


def test_what_was_decided_of_an_overflow_is_said() -> None:
    fields = {"kind": "overflow", "text": "Clearing conversation history..."}
    shown = play(delta("x"), News("progress", fields))
    assert shown == "x\n* Clearing conversation history...\n\n"


def test_attachments_of_a_prompt_are_named_not_shown() -> None:
    item = {
        "type": "user_message",
        "id": "u",
        "parts": [
            {"type": "text", "text": "two\nlines\n"},
            {"type": "text", "text": "x" * 9000, "name": "stdin"},
            {"type": "blob", "sha256": "a", "bytes": 5, "media_type": "image/png"},
        ],
    }
    assert lay_out_prompt(item, {"at": 1}) == (
        "> two\n  lines\n  [stdin, 9000 characters]\n  [image image/png, 5 bytes]"
    )
    assert lay_out_prompt({"type": "hologram"}, {"at": 1}) == ""
