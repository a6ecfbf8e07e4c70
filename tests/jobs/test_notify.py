"""What a notification says is read when its job runs, and what is no news is not said."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from askd.core.events import QuestionAnswered, QuestionAsked, Titled, TurnOptions
from askd.core.items import PART_LIMIT_BYTES, Blob, Text
from askd.core.notifications import Notification
from askd.errors import Refused
from askd.jobs.base import GaveUp, NothingToDo
from askd.jobs.kinds import make_kinds
from askd.jobs.notify import send_nowhere
from askd.sessions.notifying import NOTIFY_KIND
from askd.sessions.prompts import Accepted
from askd.store.log import ClaimedJob, Fence
from tests.fakes.log import FakeStore
from tests.fakes.models import ScriptedModels
from tests.fakes.notifiers import FakeNotifier
from tests.fakes.sessions import Room, open_room

OPTIONS = TurnOptions(notify=True)
QUESTION = QuestionAsked("t", "q", "approval", "d", {"text": "May I?"}, 1e12)


async def run(
    room: Room, arguments: Mapping[str, str], people: FakeNotifier | None = None
) -> Notification | None:
    """What one try of the job has said; None: nothing."""
    people = people or FakeNotifier()
    job = ClaimedJob(
        fence=Fence("j", "b", 1),
        kind=NOTIFY_KIND,
        conversation_id=arguments.get("conversation_id"),
        arguments=dict(arguments),
        attempt=1,
        max_attempts=1,
    )
    outcome = await make_kinds(room.sessions, people.send)[NOTIFY_KIND].run(job)
    assert outcome == NothingToDo()
    return people.told[0] if people.told else None


async def tell(room: Room, accepted: Accepted, **more: str) -> Notification | None:
    about = {"conversation_id": accepted.session.id, "about_turn": accepted.turn_id}
    return await run(room, about | more)


async def test_an_end_by_its_first_line_and_its_first_words() -> None:
    async with open_room(
        models=ScriptedModels(lambda request: ["\nIt", " is.\n", "More."])
    ) as room:
        accepted = await room.ask("is it?", options=OPTIONS)
        await room.finish(accepted)
        (job,) = [each.job for each in room.store.jobs.values() if each.job.kind == NOTIFY_KIND]
        told = await run(room, job.arguments)
        assert told is not None
        assert (told.title, told.body.splitlines()[0]) == ("ask: is it?", "Done: It is.")
        assert (told.outcome, told.code, told.about.turn_id) == ("completed", 0, accepted.turn_id)
        await accepted.session.append([Titled("Being")])
        titled = await tell(room, accepted)
        assert titled is not None
        assert titled.title == "ask: Being"


async def test_one_that_failed_says_why() -> None:
    async with open_room(models=ScriptedModels(lambda request: [Refused("Not today.")])) as room:
        accepted = await room.ask("hi", options=OPTIONS)
        await room.finish(accepted)
        told = await tell(room, accepted)
        assert told is not None
        assert told.body.startswith("Failed: Not today.\n")


async def test_what_is_large_is_read_at_its_beginning() -> None:
    answer = "first\n" + "x" * PART_LIMIT_BYTES
    async with open_room(models=ScriptedModels(lambda request: [answer])) as room:
        accepted = await room.ask(parts=[Text("y" * PART_LIMIT_BYTES * 2)], options=OPTIONS)
        await room.finish(accepted)
        record = accepted.session.conversation.turns[accepted.turn_id]
        assert any(isinstance(part, Blob) for item in record.prompt.items for part in item.parts), (
            "the prompt lies beside the log"
        )
        told = await tell(room, accepted)
        assert told is not None
        assert told.title.startswith("ask: yyyy")
        assert told.body.startswith("Done: first\n")


async def test_a_question_is_news_until_it_is_answered() -> None:
    async with open_room(models=ScriptedModels(lambda request: [60.0])) as room:
        accepted = await room.ask("hi", options=OPTIONS)
        asked = replace(QUESTION, turn_id=accepted.turn_id)
        await accepted.session.append([asked])
        told = await tell(room, accepted, question_id="q")
        assert told is not None
        assert told.body.startswith("Asks you: May I?\n")
        assert await tell(room, accepted, question_id="another") is None
        assert await tell(room, accepted) is None, "it has not ended"
        await accepted.session.append([QuestionAnswered(accepted.turn_id, "q", "me", "yes")])
        assert await tell(room, accepted, question_id="q") is None


async def test_what_is_gone_has_no_news() -> None:
    async with open_room() as room:
        accepted = await room.ask("hi", options=OPTIONS)
        await room.finish(accepted)
        assert await run(room, {}) is None
        assert await run(room, {"conversation_id": "gone", "about_turn": "t"}) is None
        assert await run(room, {"conversation_id": accepted.session.id}) is None


async def test_it_reads_what_is_not_in_memory() -> None:
    store = FakeStore()
    async with open_room(store=store) as room:
        accepted = await room.ask("hello there", options=OPTIONS)
        await room.finish(accepted)
    async with open_room(store=store) as room:
        told = await tell(room, accepted)
        assert room.sessions.live() == []
        assert told is not None
        assert told.title == "ask: hello there"


async def test_a_failure_is_logged_once_and_ends_the_job(caplog: pytest.LogCaptureFixture) -> None:
    async with open_room() as room:
        accepted = await room.ask("hi", options=OPTIONS)
        await room.finish(accepted)
        about = {"conversation_id": accepted.session.id, "about_turn": accepted.turn_id}
        with pytest.raises(GaveUp, match="nobody there"):
            await run(room, about, FakeNotifier(failing="nobody there"))
        said = [each.getMessage() for each in caplog.records if "nobody there" in each.getMessage()]
        assert said == [f"Nobody was notified: id={accepted.session.id}: nobody there"]


async def test_a_daemon_that_notifies_nobody() -> None:
    async with open_room() as room:
        accepted = await room.ask("hi", options=OPTIONS)
        await room.finish(accepted)
        told = await tell(room, accepted)
        assert told is not None
        await send_nowhere(told)
