"""What can be seen of a conversation, piece by piece."""

from askd.core.conversation import Conversation, fold
from askd.core.events import (
    Body,
    ConversationCreated,
    Event,
    ItemAdded,
    ItemPinned,
    TurnFinished,
    TurnStarted,
    ViewChanged,
)
from askd.core.items import AssistantMessage, Summary, Text, UserMessage
from askd.core.sight import CUT, find_sight
from tests.core.turn_world import accept

SUMMARY = Summary("s", "It was said.")


def tell(*bodies: Body) -> Conversation:
    numbered = enumerate((ConversationCreated("c"), *bodies), start=1)
    return fold("c", [Event("c", seq, float(seq), body) for seq, body in numbered])


def turn(turn_id: str) -> list[Body]:
    answer = AssistantMessage(f"{turn_id}.1", (Text("so"),))
    return [
        accept(turn_id),
        TurnStarted(turn_id, 1),
        ItemAdded(turn_id, answer, 1),
        TurnFinished(turn_id, "completed", 0),
    ]


def test_each_piece_has_its_place() -> None:
    kept = UserMessage("t.0", (Text("x"),))
    change = ViewChanged("v", "compact", "u", summary=SUMMARY, kept=(kept,))
    it = tell(*turn("t"), *turn("u"), *turn("v"), ItemPinned("u.1"), change, accept("now"))
    sight = find_sight(it, "now")
    assert [item.id for item in sight.pinned] == ["u.1"]
    assert sight.head == (kept, SUMMARY)
    assert [(each.turn_id, each.position) for each in sight.turns] == [("v", 2)]
    assert sight.asking is not None
    assert [item.id for item in sight.asking.items] == ["now.0"]
    assert [item.id for item in sight.items] == ["u.1", "t.0", "s", "v.0", "v.1", "now.0"]


def test_a_turn_that_nobody_accepted_asks_nothing() -> None:
    assert find_sight(tell(*turn("t")), "nobody").asking is None
    assert find_sight(tell(*turn("t")), None).items == find_sight(tell(*turn("t")), "x").items


def test_the_asking_turn_is_seen_whole_though_the_view_was_cleared() -> None:
    it = tell(accept("t"), TurnStarted("t", 1), ViewChanged("c", "clear"))
    assert [item.id for item in find_sight(it, "t").items] == ["t.0"]
    assert find_sight(it, None).items == []


def test_what_stands_whole_does_not_stand_cut_too() -> None:
    cut = UserMessage(f"t.0{CUT}", (Text("x"),))
    change = ViewChanged("v", "compact", "t", summary=SUMMARY, kept=(cut,))
    assert find_sight(tell(*turn("t"), change), None).head == (cut, SUMMARY)
    pinned = find_sight(tell(*turn("t"), change, ItemPinned("t.0")), None)
    assert [item.id for item in pinned.items] == ["t.0", "s"]
