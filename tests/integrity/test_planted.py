"""A test that cannot fail is none: each healing step is switched off, and a row must notice."""

import itertools
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from askd.core import pairs
from askd.core.items import Item, Text, ToolOutput
from askd.core.pairs import Fault
from tests.integrity import test_rows as rows
from tests.integrity.wires import DIALECTS

Healed = tuple[tuple[Item, ...], list[Fault]]
heal = pairs.heal
NUMBERS = itertools.count()


def leave(items: Sequence[Item]) -> Healed:
    """Heals nothing."""
    return tuple(items), []


def keep_orphans(items: Sequence[Item]) -> Healed:
    """Drops no output."""
    healed, faults = heal(items)
    lost = {fault.item_id for fault in faults if fault.is_dropped}
    return (*healed, *(each for each in items if each.id in lost)), []


def forget_synthetic(items: Sequence[Item]) -> Healed:
    """Leaves calls without an output."""
    healed, _ = heal(items)
    return tuple(e for e in healed if not (isinstance(e, ToolOutput) and e.synthetic)), []


def change_synthetic(items: Sequence[Item]) -> Healed:
    """Says something new at every request, which no cache fits."""
    healed, _ = heal(items)
    words = (Text(f"try {next(NUMBERS)}"),)
    return tuple(
        replace(e, parts=words) if isinstance(e, ToolOutput) and e.synthetic else e for e in healed
    ), []


def replace_arrived(items: Sequence[Item]) -> Healed:
    """Answers all calls of a message anew if one of them has no output."""
    healed, faults = heal(items)
    if any(fault.kind == "unanswered" for fault in faults):
        words = (Text(pairs.SYNTHETIC_TEXT),)
        healed = tuple(replace(e, parts=words) if isinstance(e, ToolOutput) else e for e in healed)
    return healed, []


def take_last(items: Sequence[Item]) -> Healed:
    """Of two outputs, keeps the second."""
    outputs = [each for each in items if isinstance(each, ToolOutput)]
    turned = iter(outputs[::-1])
    return heal([next(turned) if isinstance(each, ToolOutput) else each for each in items])


def leave_displaced(items: Sequence[Item]) -> Healed:
    """Leaves outputs where they are."""
    healed, faults = heal(items)
    return (tuple(items) if any(f.kind == "displaced" for f in faults) else healed), []


def accept_early(items: Sequence[Item]) -> Healed:
    """Takes an output from before its call for an answer."""
    outputs = [each for each in items if isinstance(each, ToolOutput)]
    return heal([*(e for e in items if not isinstance(e, ToolOutput)), *outputs])


CODECS = "askd.providers.codecs"
HEAL = ("askd.core.context.heal", "askd.core.pairs.heal")
NAMES = (
    "askd.core.pairs.fit_name",
    *(f"{CODECS}.{each}_messages.fit_name" for each in ("chat", "anthropic", "ollama")),
    f"{CODECS}.responses_items.fit_name",
)


def same(value: Any, *_: Any) -> Any:
    """What it is given."""
    return value


Row = Callable[[], Awaitable[None]]
no_call = rows.test_a_tool_output_with_no_call_is_dropped
early = rows.test_a_tool_output_placed_before_its_call_is_an_orphan
stable = rows.test_a_call_without_output_gets_a_synthetic_one_with_a_stable_text
arrived = rows.test_a_synthetic_output_never_replaces_one_that_arrived
first_kept = rows.test_of_two_outputs_for_one_call_the_first_is_kept
moved = rows.test_an_output_apart_from_its_call_is_moved_there
no_id = rows.test_a_tool_output_without_an_id_is_dropped
names = rows.test_bad_text_in_names_is_replaced_for_call_and_output_alike
anywhere = rows.test_bad_text_anywhere_is_replaced
foreign = rows.test_foreign_reasoning_is_not_sent
told_apart = rows.test_ids_that_come_again_are_told_apart
merged = rows.test_neighbours_of_one_role_are_merged
begins = rows.test_a_history_that_begins_with_an_assistant_message_begins_with_the_user
any_boundary = rows.test_a_view_cut_at_any_boundary_has_no_orphan

PLANTED: list[tuple[str, Sequence[str], Any, Sequence[Callable[..., Awaitable[None]]]]] = [
    ("nothing is healed", HEAL, leave, [no_call, early, stable, first_kept]),
    ("orphans stay", HEAL, keep_orphans, [no_call, partial(no_id, call_id="")]),
    ("calls stay unanswered", HEAL, forget_synthetic, [early, stable]),
    ("synthetic outputs change", HEAL, change_synthetic, [stable]),
    ("synthetic outputs replace", HEAL, replace_arrived, [arrived]),
    ("the last output is kept", HEAL, take_last, [first_kept]),
    ("outputs stay apart", HEAL, leave_displaced, [moved]),
    ("early outputs are taken", HEAL, accept_early, [early]),
    ("views are cut anyhow", HEAL, leave, [partial(any_boundary, boundary=1, pinned=None)]),
    ("names are sent as they are", NAMES, same, [partial(names, name="a b")]),
    ("text is sent as it is", [f"{CODECS}.sent_body.fit_json"], same, [anywhere]),
    ("thoughts go to anybody", ["askd.providers.http.answer.keep_own_thoughts"], same,
     [partial(foreign, claims="no mark")]),
    ("doubled ids stay", [f"{CODECS}.sent_calls.SentIds._take"],
     lambda self, call_id: call_id, [told_apart]),
]  # fmt: skip
"""What is planted, where, and the rows that must fail."""


@pytest.mark.parametrize(
    ("places", "planted", "found_by"),
    [each[1:] for each in PLANTED],
    ids=[each[0].replace(" ", "_") for each in PLANTED],
)
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_what_is_planted_is_found(
    dialect: Any,
    places: Sequence[str],
    planted: Any,
    found_by: Sequence[Callable[..., Awaitable[None]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tests = [_bind(each, dialect) for each in found_by]
    for test in tests:
        await test()
    for place in places:
        monkeypatch.setattr(place, planted)
    for test in tests:
        with pytest.raises((Exception, ExceptionGroup)):
            await test()


MADE_BY = {"anthropic": "anthropic", "openai-responses": "openai-responses"}


def _bind(test: Callable[..., Awaitable[None]], dialect: str) -> Row:
    """The row in this dialect; a thought is one that the dialect would send."""
    if isinstance(test, partial) and test.func is foreign:
        if dialect == "ollama":  # it sends no raw thoughts at all; it is held by the others' rules
            return partial(_find_raw_thoughts)
        return partial(test, dialect=dialect, made_by=MADE_BY.get(dialect, "openai-chat"))
    return partial(test, dialect=dialect)


async def _find_raw_thoughts() -> None:
    """The check that stands for Ollama: with nothing kept back, another dialect shows it."""
    await foreign("anthropic", made_by="anthropic", claims="no mark")


@pytest.mark.parametrize(
    ("dialect", "place"),
    [
        ("openai-chat", f"{CODECS}.chat_messages._Writer._add"),
        ("copilot", f"{CODECS}.chat_messages._Writer._add"),
        ("local", f"{CODECS}.chat_messages._Writer._add"),
        ("ollama", f"{CODECS}.ollama_messages._can_merge"),
        ("openai-responses", f"{CODECS}.responses_items._add"),
    ],
)
async def test_neighbours_that_are_not_merged_are_found(
    dialect: Any, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await merged(dialect)

    def add(self: Any, message: Any) -> bool:
        target = self if isinstance(self, list) else getattr(self, "_messages", [])
        target.append(message)
        return False

    monkeypatch.setattr(place, add)
    with pytest.raises(AssertionError):
        await merged(dialect)


@pytest.mark.parametrize("dialect", ["openai-chat", "copilot", "local"])
async def test_a_beginning_without_the_user_is_found(
    dialect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await begins(dialect)
    monkeypatch.setattr(f"{CODECS}.chat_messages._Writer._begin", lambda self, system: None)
    with pytest.raises(AssertionError):
        await begins(dialect)
