"""Which background work a turn's write causes: exactly at a threshold, and one token over it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import trio.testing

from askd.core.bounds import Bounds, find_bounds
from askd.core.events import Titled
from askd.core.items import Blob, Part, Text
from askd.providers.base import CallDelta, ModelRequest, Stopped
from askd.sessions.compactions import COOL_DOWN_S
from askd.sessions.rules import ContextRules
from askd.sessions.triggers import Relief, choose_relief
from askd.tools.base import Result, Site
from tests.fakes.log import FakeStore
from tests.fakes.long_talks import (
    Scribe,
    at_work,
    changes_of,
    fill,
    is_summary_request,
    jobs_of,
    make_models,
    now,
    settle,
    talk,
)
from tests.fakes.models import ScriptedModels, Step
from tests.fakes.sessions import Watcher, open_room, to
from tests.fakes.tools import Plain

RULES = ContextRules(compaction_threshold=0.4, prune_threshold=0.6, summary_tokens=100)
"""Compacted above 1,000 tokens, pruned from 1,500 on; 2,000 fit."""


def bounds_of(window: int, reserved: int) -> Bounds:
    return find_bounds(
        window,
        window - reserved,
        compaction_threshold=0.8,
        prune_threshold=0.9,
        user_tokens=20_000,
        summary_tokens=500,
        min_turns=2,
    )


@pytest.mark.parametrize(
    ("window", "reserved", "threshold"),
    [
        (8_192, 2_048, 6_144),
        (8_192, 512, 6_553),
        (100_000, 4_096, 80_000),
        (200_000, 32_000, 160_000),
    ],
)
@pytest.mark.parametrize(("over", "relief"), [(0, None), (1, "compact")])
def test_compaction_begins_one_over_its_threshold(
    window: int, reserved: int, threshold: int, over: int, relief: Relief | None
) -> None:
    bounds = bounds_of(window, reserved)
    # Where the budget is the lower bound, pruning begins just there; it is off here.
    bounds = replace(bounds, prune_from=bounds.window)
    assert choose_relief(threshold + over, bounds, messages=2, may_compact=True) == relief


@pytest.mark.parametrize(
    ("tokens", "may_compact", "relief"),
    [
        (89_999, False, None),
        (90_000, False, "prune"),
        (90_000, True, "compact"),
        (96_000, True, "compact"),
    ],
)
def test_pruning_begins_at_its_threshold_where_compaction_cannot(
    tokens: int, may_compact: bool, relief: Relief | None
) -> None:
    bounds = bounds_of(100_000, 4_096)
    assert choose_relief(tokens, bounds, messages=2, may_compact=may_compact) == relief


@pytest.mark.parametrize(("messages", "relief"), [(8, None), (9, "prune")])
def test_the_coming_prompt_and_its_answer_count(messages: int, relief: Relief | None) -> None:
    bounds = replace(bounds_of(100_000, 4_096), max_messages=10)
    assert choose_relief(10, bounds, messages=messages, may_compact=True) == relief


# ---- titles ----------------------------------------------------------------------------

TYPED, ATTACHED = Blob("0" * 64, 300_000, "text/plain"), Blob("0" * 64, 300_000, "text/plain", "a")
CONTENT = {TYPED.sha256: b"words " * 50_000}


async def test_first_words_stand_behind_the_end_in_its_own_write() -> None:
    async with open_room() as room:
        accepted = await room.ask("why is the sky blue?")
        watcher = Watcher()
        accepted.session.subscribe(watcher)
        await room.finish(accepted)
        end, titled = room.store.writes[-1].bodies[-2:]
        assert (end.TYPE, titled) == ("turn_finished", Titled("why is the sky blue?"))
        assert watcher.events[-1].body == titled
        await talk(room, accepted.session, "and the sea?")
        assert room.store.writes[-1].bodies[-1].TYPE == "turn_finished"
        assert accepted.session.conversation.title == "why is the sky blue?"
        assert jobs_of(room) == []


@pytest.mark.parametrize(
    ("parts", "title"),
    [([TYPED], None), ([Text("see: "), TYPED], None), ([Text("sum it up"), ATTACHED], "sum it up")],
)
async def test_words_that_must_be_read_are_left_to_a_job(
    parts: list[Part], title: str | None
) -> None:
    async with open_room(models=ScriptedModels(window=10_000_000)) as room:
        accepted = await room.ask(parts=parts, blobs=CONTENT)
        await room.finish(accepted)
        assert accepted.session.conversation.title == title
        assert jobs_of(room) == ([] if title else [("title", "available")])


async def test_neither_is_found_in_memory_only_or_where_titles_are_off() -> None:
    async with open_room() as room:
        accepted = await room.ask("hi", ephemeral=True)
        await room.finish(accepted)
        assert accepted.session.conversation.title is None
    async with open_room(title="off") as room:
        assert (await talk(room, None, "hi")).conversation.title is None
        assert jobs_of(room) == []


async def test_a_prompt_that_was_taken_back_names_nothing() -> None:
    gate = trio.Event()
    async with open_room(models=ScriptedModels(lambda request: [gate, "ok"]), turns=1) as room:
        await room.ask("in the way")
        await trio.testing.wait_all_tasks_blocked()
        first = await room.ask("never mind")
        second = await room.ask("the real thing", target=to(first.session))
        assert (await first.session.withdraw(first.turn_id)).outcome == "withdrawn"
        assert first.session.conversation.title is None
        gate.set()
        await room.finish(second)
        assert second.session.conversation.title == "the real thing"


async def test_a_later_turn_makes_up_for_it_with_the_first_words() -> None:
    store = FakeStore()
    async with open_room(store=store, title="off") as room:
        session = await talk(room, None, "one")
    async with open_room(store=store) as room:
        accepted = await room.ask("two", target=to(session))
        await room.finish(accepted)
        assert accepted.session.conversation.title == "one"


# ---- the view, in turns ----------------------------------------------------------------


async def test_the_job_is_committed_with_the_turn_s_end() -> None:
    async with open_room(models=make_models(Scribe()), title="off", context=RULES) as room:
        session = await talk(room, None, *(fill(str(n), 230) for n in range(4)))
        assert jobs_of(room) == []
        await talk(room, session, fill("4", 230))
        await trio.testing.wait_all_tasks_blocked()
        (write,) = [each for each in room.store.writes if each.jobs]
        assert write.bodies[-1].TYPE == "turn_finished"
        (job,) = write.jobs
        assert (job.kind, job.unique_key, job.max_attempts) == ("compact", session.id, 2)
        assert job.arguments == {"conversation_id": session.id, "target": "test/small"}
        assert session.compactions.is_due
        await talk(room, session, "while it waits")
        assert jobs_of(room) == [("compact", "available")]


async def test_without_compaction_the_view_is_pruned() -> None:
    rules = replace(RULES, compaction=False)
    async with (
        open_room(models=make_models(Scribe()), title="off", context=rules) as room,
        at_work(room) as worker,
    ):
        session = await talk(room, None, *(fill(str(n), 230) for n in range(6)))
        assert jobs_of(room) == []
        await talk(room, session, fill("6", 230))
        await settle(room, worker)
        assert jobs_of(room) == [("prune", "completed")]
        assert [change.reason for change in changes_of(session)] == ["threshold"]


async def test_too_many_messages_are_pruned() -> None:
    rules = ContextRules(max_messages=8)
    async with (
        open_room(models=make_models(Scribe()), title="off", context=rules) as room,
        at_work(room) as worker,
    ):
        session = None
        for n in range(8):
            session = await talk(room, session, f"line {n}")
            await settle(room, worker)
        assert ("prune", "completed") in jobs_of(room)
        longest = max(len(request.items) for request in room.models.requests)
        assert longest <= 8, "the note that tells what left is none of the messages"


async def test_one_compaction_a_minute_by_itself_and_pruning_between(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = FakeStore(now=now)
    async with (
        open_room(store=store, models=make_models(Scribe()), title="off", context=RULES) as room,
        at_work(room) as worker,
    ):
        session = None
        for n in range(12):
            session = await talk(room, session, fill(str(n), 240))
            await settle(room, worker)
        kinds = [kind for kind, _ in jobs_of(room)]
        assert kinds.count("compact") == 1
        assert kinds.count("prune") >= 1
        await trio.sleep(COOL_DOWN_S)
        for n in range(12, 16):
            session = await talk(room, session, fill(str(n), 240))
            await settle(room, worker)
        assert [kind for kind, _ in jobs_of(room)].count("compact") == 2


@dataclass
class Pages(Plain):
    """A tool with a long answer."""

    name: str = "reader"
    description: str = "Reads."
    effects: bool = False
    schema: Mapping[str, Any] = field(default_factory=dict)

    async def run(self, arguments: Mapping[str, Any], site: Site) -> Result:
        return Result((Text(fill("page", 240)),))


async def test_between_the_completions_of_a_long_turn_too() -> None:
    calls = 8
    scribe = Scribe()

    def play(request: ModelRequest) -> list[Step]:
        nonlocal calls
        if is_summary_request(request):
            return list(scribe(request))
        calls -= 1
        if calls < 0:
            return ["done"]
        return [CallDelta(0, f"call_{calls}", "reader", "{}"), Stopped("calls")]

    async with (
        open_room(models=make_models(play), title="off", context=RULES, tools=[Pages()]) as room,
        at_work(room) as worker,
    ):
        session = await talk(room, None, "Read it all. FACT-goal")
        await settle(room, worker)
        assert room.models.rejected == []
        compacted = [c for c in changes_of(session) if c.kind == "compact"]
        assert len(compacted) == 1, "one a turn"
        assert compacted[0].dropped_items
        assert "FACT-goal" in str(room.models.requests[-1].items), "the prompt itself stays"
