"""The job that prunes: its effect and its end are one write; nothing to do is an end, too."""

import pytest

from askd.core.events import ViewChanged
from askd.jobs.base import NothingToDo
from askd.jobs.prune import PruneJob
from askd.sessions.rules import ContextRules
from askd.store.log import ClaimedJob, Fence
from tests.fakes.long_talks import (
    Scribe,
    at_work,
    changes_of,
    fill,
    jobs_of,
    make_models,
    settle,
    talk,
)
from tests.fakes.sessions import open_room

RULES = ContextRules(
    compaction=False, compaction_threshold=0.4, prune_threshold=0.4, summary_tokens=100
)


def claimed(conversation_id: str | None) -> ClaimedJob:
    return ClaimedJob(
        fence=Fence("j", "boot-1", 1),
        kind="prune",
        conversation_id=conversation_id,
        arguments={},
        attempt=1,
        max_attempts=3,
    )


async def test_past_its_threshold_the_view_is_pruned_by_itself() -> None:
    async with (
        open_room(models=make_models(Scribe()), title="off", context=RULES) as room,
        at_work(room) as worker,
    ):
        session = await talk(room, None, *(fill(str(n), 240) for n in range(4)))
        await settle(room, worker)
        assert jobs_of(room) == [("prune", "completed")]
        (change,) = changes_of(session)
        assert (change.kind, change.reason) == ("prune", "threshold")
        (write,) = [each for each in room.store.writes if each.fulfils is not None]
        assert [type(body) for body in write.bodies] == [ViewChanged]


async def test_what_is_small_enough_by_then_is_left_alone() -> None:
    async with open_room(models=make_models(Scribe()), title="off", context=RULES) as room:
        session = await talk(room, None, "hi")
        assert await PruneJob(room.sessions).run(claimed(session.id)) == NothingToDo()
        assert changes_of(session) == []


@pytest.mark.parametrize("conversation_id", [None, "no-such-conversation"])
async def test_without_a_conversation_there_is_nothing_to_do(conversation_id: str | None) -> None:
    async with open_room(title="off") as room:
        assert await PruneJob(room.sessions).run(claimed(conversation_id)) == NothingToDo()
