"""A title is found once, whatever the model does."""

from collections.abc import Iterable

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from askd.core.events import PromptWithdrawn, Titled, TurnFinished
from askd.core.items import Blob, Text
from askd.errors import RateLimited
from askd.jobs.base import Effect, NothingToDo
from askd.jobs.kinds import make_kinds
from askd.jobs.title import MODEL_WAIT_S
from askd.providers.base import ModelRequest
from askd.sessions.needs import TitleMode
from askd.store.log import ClaimedJob, Fence
from tests.fakes.log import FakeStore
from tests.fakes.long_talks import at_work
from tests.fakes.models import ScriptedModels, Step, texts_of
from tests.fakes.sessions import Room, open_room, to

SAID = "why is the sky blue, and what has the sea to do with it?"


def proposing(*steps: Step) -> ScriptedModels:
    """Models that answer `because`, and these steps when they are asked for a title."""

    def script(request: ModelRequest) -> Iterable[Step]:
        return steps if request.max_output_tokens else ["because"]

    return ScriptedModels(script)


async def find_title(room: Room, conversation_id: str) -> str | None:
    """What one try of the job answers."""
    job = ClaimedJob(
        fence=Fence("j", "b", 1),
        kind="title",
        conversation_id=conversation_id,
        arguments={},
        attempt=1,
        max_attempts=3,
    )
    outcome = await make_kinds(room.sessions)["title"].run(job)
    if outcome == NothingToDo():
        return None
    assert isinstance(outcome, Effect)
    (body,) = outcome.bodies
    assert isinstance(body, Titled)
    return body.title


async def talk(models: ScriptedModels, mode: TitleMode, text: str = SAID) -> str | None:
    """The title of a conversation of one turn, in which nobody has looked for one before."""
    store = FakeStore()
    async with open_room(store=store, models=models, title="off") as room:
        accepted = await room.ask(text)
        await room.finish(accepted)
    async with open_room(store=store, models=models, title=mode) as room:
        return await find_title(room, accepted.session.id)


async def test_first_words() -> None:
    models = proposing("no")
    assert await talk(models, "first-words") == "why is the sky blue, and what has the sea to do"
    assert len(models.requests) == 1


async def test_the_models_proposal() -> None:
    models = proposing('"Sky ', 'colour."\n\nHope this helps!')
    assert await talk(models, "model") == "Sky colour"
    (shown,) = texts_of(models.requests[1].items)
    assert SAID in shown
    assert "because" in shown
    assert models.requests[1].model == "small"


@pytest.mark.parametrize(
    "steps",
    [
        [RateLimited("Slow down.")],
        [""],
        [' "" '],
        [ExceptionGroup("nursery", [RateLimited("Slow.")])],
        [MODEL_WAIT_S + 5],
    ],
)
async def test_whatever_the_model_does_there_is_a_title(
    steps: list[Step], autojump_clock: trio.testing.MockClock
) -> None:
    title = await talk(proposing(*steps), "model")
    assert title == "why is the sky blue, and what has the sea to do"
    assert trio.current_time() < MODEL_WAIT_S + 1


async def test_the_embedded_model_and_a_model_without_a_key_are_not_asked() -> None:
    models = proposing("no")
    models.dialect = "local"
    assert (await talk(models, "model") or "").startswith("why is the sky")
    assert len(models.requests) == 1
    async with open_room(models=proposing("no"), title="model") as room:
        accepted = await room.ask(SAID, secrets={"KEY": "s"})
        await room.finish(accepted)
        room.models.key_needed = "KEY"
        assert (await find_title(room, accepted.session.id) or "").startswith("why is the sky")


async def test_nothing_to_do() -> None:
    assert await talk(ScriptedModels(), "off") is None
    async with open_room(title="model") as room:
        accepted = await room.ask("hi")
        await room.finish(accepted)
        assert await find_title(room, "somewhere else") is None
        await accepted.session.append([Titled("By hand")])
        assert await find_title(room, accepted.session.id) is None


async def test_it_reads_what_is_not_in_memory() -> None:
    store = FakeStore()
    async with open_room(store=store, title="off") as room:
        accepted = await room.ask("hello there")
        await room.finish(accepted)
    async with open_room(store=store) as room:
        assert await find_title(room, accepted.session.id) == "hello there"
        assert room.sessions.live() == []


async def test_attachments_are_no_words_unless_there_is_nothing_else() -> None:
    models, store = ScriptedModels(window=10_000_000), FakeStore()
    async with open_room(models=models, store=store, title="off") as room:
        log = Text("ERROR: the disk is full", "stdin")
        both = await room.ask(parts=[log, Text("what failed?")])
        only = await room.ask(parts=[log])
        blob = Blob("0" * 64, 300_000, "text/plain")
        large = await room.ask(parts=[blob], blobs={blob.sha256: b"words " * 50_000})
        for accepted in (both, only, large):
            await room.finish(accepted)
    async with open_room(store=store) as room:
        titles = [await find_title(room, each.session.id) for each in (both, only, large)]
        assert titles[:2] == ["what failed?", "ERROR: the disk is full"]
        assert (titles[2] or "").startswith("words words")


WORDS = st.builds(Text, st.text(max_size=60), st.none() | st.just("stdin"))


@given(st.lists(WORDS, min_size=1).filter(lambda parts: any(part.text.strip() for part in parts)))
def test_it_says_what_a_turn_s_end_would_have_said(parts: list[Text]) -> None:
    async def find_both() -> tuple[str | None, str | None]:
        store = FakeStore()
        async with open_room(store=store, title="off") as room:
            late = await room.ask(parts=parts)
            await room.finish(late)
        async with open_room(store=store) as room:
            at_once = await room.ask(parts=parts)
            await room.finish(at_once)
            return await find_title(room, late.session.id), at_once.session.conversation.title

    by_job, by_turn = trio.run(find_both)
    assert by_job == by_turn


async def test_a_prompt_that_was_taken_back_does_not_name_the_conversation() -> None:
    async with open_room(models=ScriptedModels(lambda request: [trio.Event()])) as room:
        first = await room.ask("never mind")
        room.sessions.draining = True
        await trio.testing.wait_all_tasks_blocked()
        end = TurnFinished(first.turn_id, "withdrawn", 1)
        await first.session.append([PromptWithdrawn(first.turn_id), end])
        room.sessions.draining = False
        second = await room.ask("the real thing", target=to(first.session))
        assert await find_title(room, second.session.id) == "the real thing"


async def test_the_whole_way_from_a_turn_to_its_title(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with (
        open_room(models=proposing("A greeting"), title="model") as room,
        at_work(room),
    ):
        accepted = await room.ask("hello there")
        await room.finish(accepted)
        await trio.sleep(1)
        assert accepted.session.conversation.title == "A greeting"
        assert [job.state for job in room.store.jobs.values()] == ["completed"]
        await room.finish(await room.ask("again", target=to(accepted.session)))
        assert len(room.store.jobs) == 1
