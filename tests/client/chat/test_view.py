"""What a chat shows: each thing once and in order, however it came."""

from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ask.chat.view import INTERRUPTED, Piece, View, word_prompt
from ask.feed import Feed, Missed, News
from tests.client.histories import histories, play

Map = dict[str, Any]
ANSWER = "# Title\n\nSome *words*.\n\n- one\n- two\n\n```py\nx = 1\n```\nThe end"


class Talk:
    """A conversation that happens to a view."""

    def __init__(self) -> None:
        self.view = View()
        self.seq = 0

    def event(self, type: str, **fields: Any) -> None:
        self.seq += 1
        self.view.take(News("event", {"seq": self.seq, "type": type, **fields}))

    def accept(self, turn_id: str, text: str, key: str = "theirs") -> None:
        item = {"type": "user_message", "id": f"{turn_id}.0", "parts": [part(text)]}
        self.event("prompt_accepted", turn_id=turn_id, key=key, items=[item])

    def start(self, turn_id: str) -> None:
        self.event("turn_started", turn_id=turn_id, attempt=1, model="fake/m")

    def delta(self, turn_id: str, text: str, kind: str = "text", item: str = "i") -> None:
        fields = {"turn_id": turn_id, "item_id": item, "kind": kind, "offset": 0, "text": text}
        self.view.take(News("delta", fields))

    def answer(self, turn_id: str, text: str, item: str = "i", **fields: Any) -> None:
        said = {"type": "assistant_message", "id": item, "parts": [part(text)]}
        calls = fields.pop("calls", None)
        if calls:
            said["calls"] = calls
        self.event("item_added", turn_id=turn_id, item=said, **fields)

    def finish(self, turn_id: str, outcome: str = "completed", **fields: Any) -> None:
        self.event("turn_finished", turn_id=turn_id, outcome=outcome, code=0, **fields)


def part(text: str) -> Map:
    return {"type": "text", "text": text}


def read(pieces: list[Piece]) -> list[tuple[str, str]]:
    return [(each.kind, each.block.text if each.block else each.text) for each in pieces]


def join_blocks(pieces: list[Piece]) -> str:
    return "".join(each.block.text for each in pieces if each.block is not None)


# ---- one turn --------------------------------------------------------------------------


@given(st.lists(st.integers(0, len(ANSWER)), max_size=8))
def test_an_answer_is_the_same_however_it_is_cut(cuts: list[int]) -> None:
    talk = Talk()
    talk.view.expect_prompt("mine")
    talk.accept("t", "hi", key="mine")
    talk.start("t")
    shown: list[Piece] = []
    places = sorted({0, *cuts, len(ANSWER)})
    for first, last in pairwise(places):
        talk.delta("t", ANSWER[first:last])
        shown += talk.view.take_pieces()
        said = join_blocks(shown) + talk.view.tail
        assert said == ANSWER[:last]
    talk.answer("t", ANSWER)
    talk.finish("t")
    shown += talk.view.take_pieces()
    assert join_blocks(shown) == ANSWER
    assert talk.view.tail == ""
    assert read(shown)[0] == ("prompt", "> hi")
    assert talk.view.running is None


def test_an_answer_that_nobody_heard_grow_is_shown_whole() -> None:
    talk = Talk()
    talk.accept("t", "hi")
    talk.start("t")
    talk.answer("t", ANSWER)
    talk.finish("t")
    pieces = talk.view.take_pieces()
    assert read(pieces)[0] == ("prompt", "> (from another terminal) hi")
    assert join_blocks(pieces) == ANSWER


def test_the_final_text_is_what_counts() -> None:
    talk = Talk()
    talk.accept("t", "hi")
    talk.start("t")
    talk.delta("t", "one thing\n\nand")
    talk.answer("t", "another thing")
    assert join_blocks(talk.view.take_pieces()) == "one thing\n\nandanother thing"
    talk.start("t")
    talk.delta("t", "longer than what was kept", item="j")
    talk.answer("t", "longer", item="j")
    shown = read(talk.view.take_pieces())
    assert shown == [("notice", "Started again."), ("block", "longer than what was kept")]


def test_what_is_thought_is_live_and_leaves_with_the_first_word() -> None:
    talk = Talk()
    talk.accept("t", "hi")
    talk.start("t")
    assert talk.view.doing == "..."
    talk.delta("t", "Let me see", kind="reasoning")
    assert talk.view.thought == "Let me see"
    talk.delta("t", "Yes")
    assert (talk.view.thought, talk.view.doing, talk.view.tail) == ("", "", "Yes")


def test_an_interrupted_turn_says_so_once() -> None:
    talk = Talk()
    for turn_id, says in (("t", True), ("u", False)):
        talk.accept(turn_id, "hi")
        talk.start(turn_id)
        if says:
            talk.delta(turn_id, "half an")
            talk.answer(turn_id, "half an", status="interrupted")
        talk.finish(turn_id, "interrupted")
        shown = read(talk.view.take_pieces())
        assert [text for _, text in shown].count(INTERRUPTED) == 1


def test_how_a_turn_failed_is_shown() -> None:
    talk = Talk()
    talk.accept("t", "hi")
    talk.start("t")
    talk.delta("t", "so far")
    talk.finish("t", "failed", message="No answer came.")
    assert read(talk.view.take_pieces())[1:] == [
        ("block", "so far"), ("failure", "No answer came."),
    ]  # fmt: skip
    talk.accept("u", "hi")
    talk.start("u")
    talk.view.take(News("turn_unsaved", {"turn_id": "u", "reason": "the disk is full"}))
    assert read(talk.view.take_pieces())[-1] == (
        "failure", "Failed to save turn: the disk is full",
    )  # fmt: skip
    assert talk.view.running is None


def test_a_call_is_a_line_when_it_has_ended() -> None:
    talk = Talk()
    talk.accept("t", "hi")
    talk.start("t")
    talk.delta("t", "I look.")
    call = {"call_id": "c", "name": "read_file", "arguments": '{"path": "a.py"}'}
    talk.answer("t", "I look.", calls=[call])
    assert talk.view.doing == "[read_file] a.py"
    output = {"type": "tool_output", "id": "o", "call_id": "c", "name": "read_file", "parts": []}
    talk.event("item_added", turn_id="t", item=output)
    assert read(talk.view.take_pieces())[1:] == [
        ("block", "I look."), ("line", "[read_file] a.py"),
    ]  # fmt: skip


# ---- several ---------------------------------------------------------------------------


def test_what_waits_has_its_place_and_appears_when_it_begins() -> None:
    talk = Talk()
    talk.view.expect_prompt("mine")
    talk.accept("t", "first")
    talk.start("t")
    talk.accept("u", "second\nin two lines", key="mine")
    talk.accept("v", "third")
    assert [(each.words, each.is_own) for each in talk.view.queue] == [
        ("second in two lines", True), ("third", False),
    ]  # fmt: skip
    talk.event("prompt_withdrawn", turn_id="v")
    talk.finish("v", "withdrawn")
    talk.finish("t")
    talk.start("u")
    assert talk.view.queue == []
    assert talk.view.is_own
    assert [text for _, text in read(talk.view.take_pieces())] == [
        "> (from another terminal) first", "> second\n  in two lines",
    ]  # fmt: skip


def test_what_is_attached_to_a_prompt_that_waits_is_named_not_shown() -> None:
    parts = [
        part("look\nat"),
        {**part("x" * 9), "name": "notes.txt"},
        {"type": "blob", "sha256": "a", "bytes": 5, "media_type": "image/png"},
    ]
    words = word_prompt({"items": [{"type": "user_message", "id": "u", "parts": parts}]})
    assert words == "look at [notes.txt, 9 characters] [image image/png, 5 bytes]"


def say_to(talk: Talk, item_id: str, text: str, *, key: str = "else") -> dict[str, object]:
    """Somebody says something to the turn that runs."""
    item: dict[str, object] = {"type": "user_message", "id": item_id, "parts": [part(text)]}
    talk.event("prompt_steered", turn_id="t", key=key, items=[item])
    return item


def test_what_was_said_to_the_turn_waits_first_and_stands_where_it_was_heard() -> None:
    talk = Talk()
    talk.view.expect_prompt("mine")
    talk.accept("t", "first")
    talk.start("t")
    talk.accept("u", "second")
    one = say_to(talk, "s1", "no, rhyme", key="mine")
    two = say_to(talk, "s2", "and be brief")
    assert [(each.words, each.is_own) for each in talk.view.queue] == [
        ("no, rhyme", True), ("and be brief", False), ("second", False),
    ]  # fmt: skip
    talk.answer("t", "Once upon", status="interrupted")
    for item in (one, two):
        talk.event("item_added", turn_id="t", item=item)
    assert [each.words for each in talk.view.queue] == ["second"]
    assert read(talk.view.take_pieces())[1:] == [
        ("block", "Once upon"),
        ("line", "(interrupted)"),
        ("prompt", "> no, rhyme"),
        ("prompt", "> (from another terminal) and be brief"),
    ]
    talk.finish("t", "interrupted")
    assert read(talk.view.take_pieces()) == [("line", "(interrupted)")]  # the answer to that


def test_what_the_chat_did_itself_is_not_shown_again() -> None:
    talk = Talk()
    talk.view.expect_notice("User viewed help")
    talk.view.expect_change()
    for _ in range(2):
        notice = {"type": "notice", "id": "n", "text": "User viewed help"}
        talk.event("item_added", turn_id=None, item=notice)
        talk.event("view_changed", kind="clear")
    assert read(talk.view.take_pieces()) == [
        ("notice", "User viewed help"), ("notice", "The model sees nothing of the above."),
    ]  # fmt: skip


@settings(max_examples=60)
@given(histories, st.lists(st.integers(1, 60), max_size=4))
def test_a_lost_connection_shows_nothing_twice(steps: list[str], losses: list[int]) -> None:
    """Read on from any event, with pages that overlap: as if the connection had held."""
    events = play(steps).events
    whole, broken = View(), View()
    feed = Feed()
    for event in events:
        whole.take(News("event", event))
    for event in events:
        try:
            found = feed.take("event", event)
        except Missed:
            raise AssertionError from None
        if event["seq"] in losses:
            found += feed.take_page(events[: event["seq"]])
        for news in found:
            broken.take(news)
    assert broken.take_pieces() == whole.take_pieces()
    assert (broken.queue, broken.running) == (whole.queue, whole.running)


@settings(max_examples=60)
@given(histories)
def test_the_queue_is_what_was_accepted_and_not_begun(steps: list[str]) -> None:
    log = play(steps)
    view = View()
    for event in log.events:
        view.take(News("event", event))
    assert [each.turn_id for each in view.queue] == log.queue
    assert view.running == log.running
    prompts = [each for each in view.take_pieces() if each.kind == "prompt"]
    starts = [e for e in log.events if e["type"] == "turn_started" and e["attempt"] == 1]
    assert len(prompts) == len(starts)
