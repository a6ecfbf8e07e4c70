"""Whatever a log holds, what is sent has each call with its output, and nothing else changes."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.core.items import AssistantMessage, Item, Notice, Text, ToolCall, ToolOutput, UserMessage
from askd.core.pairs import (
    NAMES,
    SYNTHETIC_TEXT,
    Fault,
    describe_fault,
    describe_healing,
    describe_pair,
    find_faults,
    fit_name,
    heal,
    interrupt_call,
    is_whole,
    rename_calls,
)

USER = UserMessage("u", (Text("2+2?"),))
CALL = ToolCall("call_x", "calculator", "{}")
ASKS = AssistantMessage("t.1", (Text("Let me see."),), calls=(CALL,))
ANSWER = ToolOutput("o", "call_x", "calculator", (Text("4"),))
SAYS = AssistantMessage("t.2", (Text("4."),))


def kinds(items: list[Item]) -> list[str]:
    return [fault.kind for fault in find_faults(items)]


def test_an_output_without_a_call_is_dropped() -> None:
    healed, faults = heal([USER, ANSWER])
    assert healed == (USER,)
    assert faults == [
        Fault(kind="orphan", item_id="o", call_id="call_x", name="calculator", preview="4")
    ]


def test_a_pair_is_sent() -> None:
    assert heal([USER, ASKS, ANSWER, SAYS]) == ((USER, ASKS, ANSWER, SAYS), [])


def test_an_output_before_its_call_is_an_orphan_and_the_call_unanswered() -> None:
    healed, faults = heal([USER, ANSWER, ASKS])
    assert healed == (USER, ASKS, interrupt_call(CALL, "t.1.1"))
    assert [fault.kind for fault in faults] == ["orphan", "unanswered"]


@pytest.mark.parametrize("call_id", ["", "  "])
def test_an_output_without_an_id_is_dropped(call_id: str) -> None:
    nameless = ToolOutput("o", call_id, "calculator", (Text("4"),))
    healed, faults = heal([USER, nameless])
    assert healed == (USER,)
    assert [fault.kind for fault in faults] == ["missing_id"]


def test_text_only_is_untouched() -> None:
    assert heal([USER, SAYS, USER]) == ((USER, SAYS, USER), [])


def test_three_calls_with_and_without_text() -> None:
    calls = tuple(ToolCall(each, "f", "{}") for each in "abc")
    outputs = [ToolOutput(f"o{each}", each, "f", ()) for each in "cab"]
    for parts in ((), (Text(""),), (Text("so"),)):
        message = AssistantMessage("t.1", parts, calls=calls)
        assert heal([USER, message, *outputs]) == ((USER, message, *outputs), [])


def test_an_unanswered_call_gets_the_same_synthetic_output_every_time() -> None:
    first, second = heal([USER, ASKS, USER])[0], heal([USER, ASKS])[0]
    synthetic = first[2]
    assert synthetic == second[2]
    assert isinstance(synthetic, ToolOutput)
    assert (synthetic.id, synthetic.parts) == ("t.1.1", (Text(SYNTHETIC_TEXT),))
    assert synthetic.synthetic == "interrupted"
    assert first[3] == USER


def test_a_synthetic_output_never_replaces_one_that_arrived() -> None:
    both = AssistantMessage("t.1", calls=(CALL, ToolCall("b", "f", "{}")))
    healed, faults = heal([both, ANSWER])
    assert healed[:2] == (both, ANSWER)
    assert [fault.call_id for fault in faults] == ["b"]


def test_of_two_outputs_the_first_is_kept() -> None:
    second = ToolOutput("p", "call_x", "calculator", (Text("5"),))
    healed, faults = heal([ASKS, ANSWER, second, SAYS])
    assert healed == (ASKS, ANSWER, SAYS)
    assert [(fault.kind, fault.item_id) for fault in faults] == [("doubled", "p")]


def test_an_output_apart_from_its_call_moves_there() -> None:
    healed, faults = heal([ASKS, USER, ANSWER])
    assert healed == (ASKS, ANSWER, USER)
    assert [fault.kind for fault in faults] == ["displaced"]


def test_an_id_may_come_again_in_a_later_message() -> None:
    again = AssistantMessage("t.2", calls=(CALL,))
    second = ToolOutput("p", "call_x", "calculator", (Text("5"),))
    assert kinds([ASKS, ANSWER, again, second]) == []
    # The first was never answered: the output belongs to the latest.
    assert heal([ASKS, again, second])[0] == (
        ASKS, interrupt_call(CALL, "t.1.1"), again, second,
    )  # fmt: skip


def test_calls_that_share_an_id_are_renamed_with_their_outputs_in_order() -> None:
    twice = AssistantMessage("t.1", calls=(CALL, CALL))
    second = ToolOutput("p", "call_x", "calculator", (Text("5"),))
    healed, faults = heal([twice, ANSWER, second])
    message, first_output, second_output = healed
    assert isinstance(message, AssistantMessage)
    assert [call.call_id for call in message.calls] == ["call_x", "call_x#2"]
    assert first_output == ANSWER
    assert second_output == ToolOutput("p", "call_x#2", "calculator", (Text("5"),))
    assert [fault.kind for fault in faults] == ["bad_call_id"]


def test_a_call_without_an_id_gets_one_and_an_output() -> None:
    nameless = AssistantMessage("t.1", calls=(ToolCall("", "f", "{}"),))
    healed, faults = heal([nameless])
    assert [fault.kind for fault in faults] == ["bad_call_id", "unanswered"]
    assert isinstance(healed[1], ToolOutput)
    assert healed[1].call_id == "call_1"


BAD_NAMES = ["", " ", "a b", "a\x00b", "x\n", "é", "計算", "x" * 65, "\ud800", "functions.f"]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_name_that_no_provider_takes_is_replaced_in_call_and_output(name: str) -> None:
    call = ToolCall("call_x", name, "{}")
    asks, answer = replace(ASKS, calls=(call,)), replace(ANSWER, name=name)
    healed, faults = heal([USER, asks, answer])
    message, output = healed[1:]
    assert isinstance(message, AssistantMessage)
    assert isinstance(output, ToolOutput)
    assert NAMES.fullmatch(message.calls[0].name)
    assert output.name == message.calls[0].name == fit_name(name)
    assert [(fault.kind, fault.name) for fault in faults] == [("bad_name", output.name)]
    assert asks.calls[0].name == answer.name == name
    # Also where the output is one of ours.
    synthetic = heal([USER, asks])[0][2]
    assert isinstance(synthetic, ToolOutput)
    assert synthetic.name == output.name


def test_an_output_has_the_name_of_its_call() -> None:
    healed, faults = heal([USER, ASKS, replace(ANSWER, name="other")])
    assert healed == (USER, ASKS, ANSWER)
    assert [(fault.kind, fault.item_id) for fault in faults] == [("bad_name", "o")]


@given(st.text())
def test_every_name_becomes_one_that_is_taken(name: str) -> None:
    assert NAMES.fullmatch(fit_name(name))
    assert fit_name(fit_name(name)) == fit_name(name)
    assert fit_name("read_file") == "read_file"
    assert fit_name("") == "unknown"


IDS = st.sampled_from(["", "a", "b", "a#2", "call_1"])
NAMED = st.sampled_from(["f", "g", *BAD_NAMES])
CALLS = st.builds(ToolCall, IDS, NAMED, st.just("{}"))
HISTORIES: st.SearchStrategy[list[Item]] = st.lists(
    st.one_of(
        st.just(USER),
        st.just(Notice("n", "x")),
        st.builds(
            AssistantMessage,
            st.sampled_from(["m", "n", "o"]),
            calls=st.lists(CALLS, max_size=3).map(tuple),
        ),
        st.builds(ToolOutput, st.text("xyz"), IDS, NAMED, st.just((Text("4"),))),
    ),
    max_size=12,
)


@given(HISTORIES)
def test_any_history_can_be_sent_once_healed(history: list[Item]) -> None:
    healed, faults = heal(history)
    waiting: list[tuple[str, str]] = []
    for item in healed:
        if isinstance(item, ToolOutput):
            assert item.call_id.strip()
            assert (item.call_id, item.name) in waiting
            waiting.remove((item.call_id, item.name))
            continue
        assert waiting == []
        if isinstance(item, AssistantMessage):
            waiting = [(call.call_id, call.name) for call in item.calls]
            assert len({call_id for call_id, _ in waiting}) == len(waiting)
            assert all(NAMES.fullmatch(name) for _, name in waiting)
    assert waiting == []
    # Healthy or not: once healed, nothing is left to heal, and nothing but outputs has gone.
    assert heal(healed) == (healed, [])
    assert (healed == tuple(history)) == (faults == [])
    assert find_faults(history) == faults
    kept = [i.id for i in history if not isinstance(i, ToolOutput)]
    assert [i.id for i in healed if not isinstance(i, ToolOutput)] == kept
    arrived = sum(isinstance(item, ToolOutput) for item in history)
    real = sum(isinstance(item, ToolOutput) and not item.synthetic for item in healed)
    assert real == arrived - sum(fault.is_dropped for fault in faults)


@given(st.lists(CALLS, max_size=8).map(tuple), st.frozensets(IDS))
def test_renamed_calls_have_ids_of_their_own(
    calls: tuple[ToolCall, ...], used: frozenset[str]
) -> None:
    renamed = rename_calls(calls, used)
    ids = [call.call_id for call in renamed]
    assert len(set(ids)) == len(ids)
    assert used.isdisjoint(ids)
    assert all(each.strip() for each in ids)
    assert rename_calls(renamed) == renamed


def test_many_calls_of_one_id_are_renamed_in_a_moment() -> None:
    assert rename_calls((CALL,) * 20_000)[-1].call_id == "call_x#20000"


@pytest.mark.parametrize(
    ("call", "whole"),
    [
        (CALL, True),
        (ToolCall("a", "", "{}"), False),
        (ToolCall("a", "f", ""), False),
        (ToolCall("a", "f", '{"x": '), False),
        (ToolCall("a", "f", "[]"), False),
        (ToolCall("a", "f", "[" * 100_000), False),
    ],
)
def test_half_calls_are_known(call: ToolCall, whole: bool) -> None:
    assert is_whole(call) is whole


def test_texts_of_the_log() -> None:
    long = ToolOutput("o", "call_x", "f", (Text("line\none " + "x" * 80),))
    orphan = find_faults([long])[0]
    assert describe_fault(orphan) == (
        "Orphan tool message detected and dropped: "
        f'tool_call_id=call_x, content_preview="line one {"x" * 41}"'
    )
    assert describe_fault(find_faults([ToolOutput("o", "", "f", ())])[0]) == (
        "Tool message missing tool_call_id, dropping message"
    )
    assert describe_pair(CALL) == "Preserved tool call pair: call_id=call_x, tool_name=calculator"
    healed, faults = heal([USER, ANSWER, ASKS])
    assert describe_healing(faults, len(healed)) == (
        "Sanitized message sequence: dropped 1 orphans, kept 3 valid"
    )


@pytest.mark.parametrize("kind", ["doubled", "unanswered", "displaced", "bad_call_id", "bad_name"])
def test_every_fault_names_its_call(kind: str) -> None:
    fault = Fault(kind=kind, item_id="o", call_id="call_x", name="f")  # type: ignore[arg-type]  # one of the kinds
    assert "call_id=call_x" in describe_fault(fault)


def test_no_id_or_name_forges_a_line_of_the_log() -> None:
    forged = "x\n2026-01-01 ERROR all is lost\ud800"
    call = ToolCall(forged, forged, "{}")
    lines = [describe_pair(call)]
    lines += [describe_fault(each) for each in find_faults([replace(ASKS, calls=(call, call))])]
    lines += [describe_fault(each) for each in find_faults([replace(ANSWER, call_id=forged)])]
    assert len(lines) == 7
    assert all(line.isprintable() for line in lines)
