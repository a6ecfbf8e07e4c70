"""The table of kinds: what turns cause is there, and each has a limit."""

from askd.jobs.kinds import make_kinds
from askd.jobs.title import MODEL_WAIT_S
from askd.store.log import TURN_KIND
from tests.fakes.sessions import open_room


async def test_whatever_a_turn_causes_is_a_kind_with_a_limit() -> None:
    async with open_room(title="model") as room:
        accepted = await room.ask("hi")
        await room.finish(accepted)
        kinds = make_kinds(room.sessions)
        assert {job.job.kind for job in room.store.jobs.values()} == {"title"}
        assert set(kinds) == {"title", "compact", "prune", "notify"}
        assert TURN_KIND not in kinds, "turns are run by their sessions"
        assert all(kind.timeout_s > 0 and kind.limit >= 2 for kind in kinds.values())


async def test_a_title_has_time_left_when_its_model_does_not_answer() -> None:
    async with open_room() as room:
        assert make_kinds(room.sessions)["title"].timeout_s > MODEL_WAIT_S
