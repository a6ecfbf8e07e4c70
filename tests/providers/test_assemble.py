"""Stream events to one message: offsets, whole calls only, ids of their own."""

from hypothesis import given
from hypothesis import strategies as st

from askd.core.arguments import ARGUMENTS_LIMIT_BYTES, find_refusal
from askd.core.items import AssistantMessage, Reasoning, Text, ToolCall
from askd.core.outcome import Failure, Usage
from askd.providers.assemble import Assembler, Piece
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


def assemble(*events: StreamEvent) -> Assembler:
    """An assembler that was fed these events."""
    assembler = Assembler("turn.1", "openai", "openai/gpt-5")
    for event in events:
        assembler.feed(event)
    return assembler


def test_whole_answer() -> None:
    usage = Usage(10, 2)
    answer = assemble(
        ReasoningDelta("Hm"), ReasoningDelta("m."), TextDelta("He"), TextDelta("llo"),
        Stopped("end"), UsageReported(usage), Ended(),
    )  # fmt: skip
    assert answer.message() == AssistantMessage(
        "turn.1", (Text("Hello"),), (Reasoning("Hmm."),), (), "openai", "openai/gpt-5"
    )
    assert (answer.stop, answer.usage, answer.ended, answer.text) == ("end", usage, True, "Hello")


@given(st.lists(st.tuples(st.sampled_from([TextDelta, ReasoningDelta]), st.text(max_size=5))))
def test_offsets_count_code_points_of_their_kind(
    parts: list[tuple[type[TextDelta] | type[ReasoningDelta], str]],
) -> None:
    assembler = Assembler("i")
    shown = {"text": "", "reasoning": ""}
    for kind, text in parts:
        for piece in assembler.feed(kind(text)):
            assert piece.offset == len(shown[piece.kind])
            shown[piece.kind] += piece.text
    message = assembler.message()
    assert "".join(part.text for part in message.parts if isinstance(part, Text)) == shown["text"]
    assert "".join(each.text for each in message.reasoning) == shown["reasoning"]


def test_arguments_are_shown_and_joined() -> None:
    assembler = assemble(CallDelta(0, "call_a", "read", '{"pa'))
    assert assembler.feed(CallDelta(0, arguments='th":1}')) == [Piece("arguments", 4, 'th":1}')]
    assembler.feed(Stopped("calls"))
    assert assembler.message().calls == (ToolCall("call_a", "read", '{"path":1}'),)


def test_half_a_call_is_no_call() -> None:
    answer = assemble(TextDelta("Let me look."), CallDelta(0, "call_a", "read", '{"pa'))
    assert answer.message().parts == (Text("Let me look."),)
    assert answer.message().calls == ()
    assert answer.stop == "unknown"


def test_calls_without_a_word_of_them_at_the_end() -> None:
    assert assemble(CallDelta(0, "a", "f"), Stopped("end"), Ended()).stop == "calls"
    assert assemble(CallDelta(0, "a", "f"), Ended()).stop == "calls"
    assert assemble(CallDelta(0, "a", "f"), Stopped("length"), Ended()).stop == "length"


def test_every_call_has_an_id_of_its_own() -> None:
    events: list[StreamEvent] = [
        CallDelta(0, "same", "f"), CallDelta(1, "same", "g"), CallDelta(2, None, "h"),
        CallDelta(3, None, None, "{}"), Stopped("calls"),
    ]  # fmt: skip
    first, second = assemble(*events).message().calls, assemble(*events).message().calls
    assert first == second
    ids = [call.call_id for call in first]
    assert ids[:2] == ["same", "same#2"]
    assert len(set(ids)) == 4
    assert all(0 < len(each) <= 40 for each in ids)
    assert [call.name for call in first] == ["f", "g", "h", ""]


def test_nothing_is_a_message_without_parts() -> None:
    assert assemble(Ended()).message().parts == ()
    assert Assembler("i").feed(TextDelta("")) == []


def test_failure_is_kept_beside_the_text() -> None:
    failure = Failure(1, "unavailable", "It broke.")
    answer = assemble(TextDelta("Half"), Failed(failure))
    assert answer.failure == failure
    assert answer.text == "Half"


def test_arguments_said_whole_stand_in_place_of_their_pieces() -> None:
    answer = Assembler("i")
    shown = answer.feed(CallDelta(0, "a", "f", '{"x"'))
    assert answer.feed(CallDelta(0, arguments='{"y": 1}', is_whole=True)) == []
    answer.feed(Stopped("calls"))
    assert [piece.text for piece in shown] == ['{"x"']
    assert answer.message().calls == (ToolCall("a", "f", '{"y": 1}'),)


def test_arguments_that_no_event_could_hold_are_left_out_and_it_is_said() -> None:
    assembler = Assembler("t.1")
    shown = 0
    for _ in range(80):  # 5 MiB in pieces
        shown += sum(
            len(each.text) for each in assembler.feed(CallDelta(0, "a", "write_file", "x" * 65_536))
        )
    assembler.feed(CallDelta(1, "b", "read_file", "{}"))
    assembler.feed(Stopped("calls"))
    huge, small = assembler.message().calls
    assert "5,242,880 bytes" in (find_refusal(huge.arguments) or "")
    assert small == ToolCall("b", "read_file", "{}")
    assert assembler.left_out() == [("write_file", 5_242_880)]
    assert shown <= ARGUMENTS_LIMIT_BYTES


def test_arguments_said_whole_count_for_themselves_and_not_with_their_pieces() -> None:
    assembler = Assembler("t.1")
    assembler.feed(CallDelta(0, "a", "t", "x" * ARGUMENTS_LIMIT_BYTES))
    assembler.feed(CallDelta(0, "a", "t", "y" * ARGUMENTS_LIMIT_BYTES, is_whole=True))
    assembler.feed(CallDelta(1, "b", "t", "z" * (ARGUMENTS_LIMIT_BYTES + 1), is_whole=True))
    assembler.feed(Stopped("calls"))
    kept, left_out = assembler.message().calls
    assert kept.arguments == "y" * ARGUMENTS_LIMIT_BYTES
    assert find_refusal(left_out.arguments) is not None


def test_many_calls_together_are_no_larger_than_an_event_allows() -> None:
    assembler = Assembler("t.1")
    for index in range(5):
        assembler.feed(CallDelta(index, f"c{index}", "t", "x" * (ARGUMENTS_LIMIT_BYTES * 3 // 4)))
    assembler.feed(Stopped("calls"))
    kept = [find_refusal(call.arguments) is None for call in assembler.message().calls]
    assert kept == [True, True, False, False, False]
    assert len(assembler.left_out()) == 3


def test_nothing_is_said_of_calls_that_do_not_count() -> None:
    assembler = Assembler("t.1")
    assembler.feed(CallDelta(0, "a", "t", "x" * (ARGUMENTS_LIMIT_BYTES + 1)))
    assert assembler.left_out() == []


def test_a_name_and_an_id_without_end_do_not_fill_an_event() -> None:
    assembler = Assembler("t.1")
    assembler.feed(CallDelta(0, "i" * 5_000_000, "n" * 5_000_000, "{}"))
    assembler.feed(Stopped("calls"))
    (call,) = assembler.message().calls
    assert len(call.call_id) + len(call.name) < 2048
    assert call.call_id.startswith("call_")
