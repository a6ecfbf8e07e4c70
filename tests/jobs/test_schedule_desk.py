"""Orders for schedules: what is wrong is said when one is added, and changes ring the bell."""

import pytest
from trio.testing import MockClock

from askd.core.events import PromptAccepted
from askd.errors import AskdError, NotFound, RequestError, SecretsNeeded, UnknownModel
from askd.jobs.schedule_desk import Wanted, check_schedule_name
from askd.providers.base import Caller, Model
from tests.fakes.models import ScriptedModels
from tests.fakes.schedules import Straight, Timekeeping, keep_time, make_prompt

NOW = 1_800_000_000.0  # 2027-01-15 08:00 UTC, a Friday


def want(prompt: PromptAccepted | None = None, **fields: object) -> Wanted:
    said: dict[str, object] = {"cron": "0 9 * * *", "zone": "UTC", **fields}
    return Wanted(prompt=prompt or make_prompt(), **said)  # type: ignore[arg-type]


@pytest.fixture
def store() -> Straight:
    return Straight(lambda: NOW)


async def test_one_is_added_and_found(autojump_clock: MockClock, store: Straight) -> None:
    async with keep_time(store) as room:
        heard = room.clock.bell.listen()
        sight, warning = await room.desk.add(want(name="nine", session="work"))
        assert heard.is_set()
        assert (sight.next_at, sight.trouble, warning) == (NOW + 3600, None, None)
        for text in ("nine", sight.schedule.id, sight.schedule.id[:5]):
            assert (await room.desk.find(text)).schedule == sight.schedule
        (listed,) = await room.desk.list_all()
    assert listed == sight
    assert sight.schedule.prompt.options.detach
    assert (sight.schedule.session, sight.schedule.conversation_id) == ("work", None)


async def test_a_conversation_that_is_there_is_found_at_once(
    autojump_clock: MockClock, store: Straight
) -> None:
    async with keep_time(store) as room:
        first, _ = await room.desk.add(want(session="work"))
        accepted = await room.desk.run(first.schedule.id, key="k")
        second, _ = await room.desk.add(want(session="work"))
    assert second.schedule.conversation_id == accepted.session.id


async def test_without_a_zone_it_is_the_machines(
    autojump_clock: MockClock, store: Straight, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("askd.jobs.schedule_desk.find_machine_zone", lambda: "Asia/Tokyo")
    async with keep_time(store) as room:
        sight, _ = await room.desk.add(want(zone=None))
    assert sight.schedule.zone == "Asia/Tokyo"
    assert sight.next_at == NOW + 16 * 3600  # 17:00 there, until 09:00 of the next day


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"cron": "61 * * * *"}, "bad_cron"),
        ({"cron": "0 0 * 2 mon#5"}, None),  # in 2044
        ({"cron": "0 0 31 2,4 mon"}, None),  # a Monday, or the 31st
        ({"zone": "Atlantis/Capital"}, "bad_zone"),
        ({"name": "a/b"}, "bad_name"),
        ({"session": "a/b"}, "bad_name"),
        ({"session": "deadbeef"}, "conversation_not_found"),
        ({"prompt": make_prompt(tools=("no_such",))}, "unknown_tool"),
        ({"prompt": make_prompt(answer_schema={"type": 7})}, "bad_schema"),
        ({"prompt": make_prompt(model="no/such")}, "unknown_model"),
    ],
)
async def test_what_is_wrong_is_said_at_once(
    autojump_clock: MockClock, store: Straight, fields: dict[str, object], reason: str | None
) -> None:
    async with keep_time(store) as room:
        if reason is None:
            await room.desk.add(want(**fields))  # type: ignore[arg-type]
            return
        with pytest.raises(AskdError) as caught:
            await room.desk.add(want(**fields))  # type: ignore[arg-type]
        assert caught.value.reason == reason
        assert await room.desk.list_all() == []


async def test_a_name_is_free_or_refused(autojump_clock: MockClock, store: Straight) -> None:
    async with keep_time(store) as room:
        await room.desk.add(want(name="nine"))
        with pytest.raises(RequestError) as caught:
            await room.desk.add(want(name="nine"))
    assert caught.value.reason == "name_taken"
    with pytest.raises(RequestError, match="Not a name for a schedule"):
        check_schedule_name("-x")


class Needy(ScriptedModels):
    """No model of it can do without a key of the caller's."""

    async def resolve(self, name: str | None, caller: Caller) -> Model:
        raise SecretsNeeded("Set TEST_KEY where you run `ask`, or keep a key.")


async def test_whoever_would_set_a_key_in_a_shell_is_told_that_it_does_not_help(
    autojump_clock: MockClock, store: Straight
) -> None:
    async with keep_time(store, Needy()) as room:
        _, warning = await room.desk.add(want())
    assert warning == (
        "As things are, it would be refused: Set TEST_KEY where you run `ask`, or keep a key. "
        "For a schedule only a key that is kept counts."
    )


async def test_keys_that_the_daemon_lacks_are_a_warning(
    autojump_clock: MockClock, store: Straight
) -> None:
    models = ScriptedModels()
    models.key_needed = "TEST_KEY"
    async with keep_time(store, models) as room:
        sight, warning = await room.desk.add(want())
        assert warning == "As things are, it would be refused: No key: set TEST_KEY."
        with pytest.raises(AskdError, match="No key"):
            await room.desk.run(sight.schedule.id, key="k")
        models.key_needed = None
        _, warning = await room.desk.add(want())
        assert warning is None


async def test_the_model_of_its_conversation_is_the_one_that_is_looked_for(
    autojump_clock: MockClock, store: Straight
) -> None:
    models = ScriptedModels()
    async with keep_time(store, models) as room:
        first, _ = await room.desk.add(want(session="work"))
        accepted = await room.desk.run(first.schedule.id, key="k")
        await accepted.session.wait_finished(accepted.turn_id)
        assert accepted.session.conversation.settings.model == "test/small"
        models.known = ("test/large",)
        with pytest.raises(UnknownModel):
            await room.desk.add(want(session="work"))


async def test_pausing_and_resuming(autojump_clock: MockClock, store: Straight) -> None:
    async with keep_time(store) as room:
        sight, _ = await room.desk.add(want(name="nine"))
        for _ in range(2):
            paused = await room.desk.pause("nine")
            assert (paused.next_at, paused.trouble) == (None, None)
        assert (await room.desk.run("nine", key="k")).job_id, "a paused one can be run"
        resumed = await room.desk.resume("nine")
        assert resumed.next_at == NOW + 3600
        assert len(resumed.slots) == 1
        assert await room.desk.remove("nine") == resumed.schedule
        for order in (room.desk.find, room.desk.pause, room.desk.resume, room.desk.remove):
            with pytest.raises(NotFound):
                await order(sight.schedule.id)


async def test_one_whose_conversation_cannot_be_made_again_is_not_resumed(
    autojump_clock: MockClock, store: Straight
) -> None:
    async with keep_time(store) as room:
        id = await _begin(room)
        sight, _ = await room.desk.add(want(session=id[:8]))
        await room.sessions.delete(id)
        assert (await room.desk.find(sight.schedule.id)).trouble == "Its conversation was deleted."
        with pytest.raises(NotFound):
            await room.desk.resume(sight.schedule.id)


async def _begin(room: Timekeeping) -> str:
    """A conversation without a name."""
    first, _ = await room.desk.add(want())
    accepted = await room.desk.run(first.schedule.id, key="begin")
    await accepted.session.wait_finished(accepted.turn_id)
    return accepted.session.id


async def test_an_ephemeral_conversation_does_not_last(
    autojump_clock: MockClock, store: Straight
) -> None:
    async with keep_time(store) as room:
        await room.sessions.open("0c0ffee0", ephemeral=True)
        with pytest.raises(RequestError, match="does not last"):
            await room.desk.add(want(session="0c0ffee0"))
