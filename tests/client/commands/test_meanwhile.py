"""Others are heard once, in the look of `attach`; the chat itself is not repeated."""

from typing import Any

from ask.commands.meanwhile import Meanwhile

Map = dict[str, Any]


def turn(turn_id: str, key: str, asked: str, said: str) -> list[Map]:
    prompt = {"type": "user_message", "id": f"{turn_id}.0", "parts": [part(asked)]}
    answer = {"type": "assistant_message", "id": f"{turn_id}.1", "parts": [part(said)]}
    return [
        {"type": "prompt_accepted", "turn_id": turn_id, "key": key, "items": [prompt]},
        {"type": "turn_started", "turn_id": turn_id, "attempt": 1},
        {"type": "item_added", "turn_id": turn_id, "item": answer},
        {"type": "turn_finished", "turn_id": turn_id, "outcome": "completed", "code": 0},
    ]


def part(text: str) -> Map:
    return {"type": "text", "text": text}


def notice(text: str) -> Map:
    return {"type": "item_added", "turn_id": None, "item": {"type": "notice", "text": text}}


CLEAR = {"type": "view_changed", "id": "v", "kind": "clear"}


def number(*events: Map) -> list[Map]:
    return [{**event, "seq": seq, "at": 0.0} for seq, event in enumerate(events, 1)]


def hear(chat: Meanwhile, *events: Map) -> str:
    return "".join(chat.take(event) for event in number(*events))


def test_others_are_shown_and_the_own_turn_is_not() -> None:
    chat = Meanwhile()
    chat.expect_prompt("mine")
    theirs = turn("b", "other", "who?", "\x1b[31mme")
    assert hear(chat, *turn("a", "mine", "why?", "because"), *theirs) == "> who?\n\nme\n\n"
    assert chat.seq == 8


def test_nothing_is_shown_twice() -> None:
    chat = Meanwhile()
    events = turn("b", "other", "who?", "me")
    assert hear(chat, *events[:3]) == "> who?\n\nme\n\n"
    assert hear(chat, *events, notice("bye")) == "* bye\n\n"


def test_what_others_did_to_the_view_is_told() -> None:
    sizes = {"tokens_before": 90, "tokens_after": 40}
    changes = [
        {"type": "view_changed", "id": kind, "kind": kind, **sizes}
        for kind in ("compact", "prune", "undo")
    ]
    chat = Meanwhile()
    chat.expect_change()
    assert hear(chat, changes[0], *changes) == (
        "* Compacted: 90 -> 40 tokens.\n\n"
        "* Pruned: 90 -> 40 tokens; the model does not see what left.\n\n"
        "* The last compaction or pruning was taken back.\n\n"
    )


def test_own_commands_are_left_out_once_each() -> None:
    chat = Meanwhile()
    chat.expect_notice("User viewed help")
    chat.expect_change()
    shown = hear(chat, notice("User viewed help"), CLEAR, notice("User viewed help"), CLEAR)
    assert shown == "* User viewed help\n\n* The model sees nothing of the above.\n\n"
