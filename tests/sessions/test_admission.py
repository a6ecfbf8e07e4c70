"""What is accepted is stored, what is refused is not, and a key is one turn for ever."""

from typing import Any

import pytest
import trio
import trio.testing

from ask.protocol import names
from askd.core.events import PromptAccepted, TurnOptions
from askd.core.items import PART_LIMIT_BYTES, Blob, Text
from askd.core.outcome import BUSY, DONE, OVERFLOW
from askd.errors import (
    AskdError,
    Busy,
    NotConfigured,
    NotFound,
    RequestError,
    StorageFailed,
    TooLarge,
    UnknownModel,
)
from askd.providers.base import Manners
from askd.sessions.admission import Draining
from askd.sessions.prompts import Accepted
from askd.sessions.targets import Target
from askd.sessions.turn_status import RunningTurn
from askd.store.log import KnownKey
from tests.fakes.log import FakeStore
from tests.fakes.models import ScriptedModels, last_words, texts_of
from tests.fakes.sessions import Room, open_room, to

NAMED = Target("session", "work", create=True)
JPEG = b"\xff\xd8\xff\xe0 and so on"


def blocked() -> ScriptedModels:
    """Models that never answer."""
    return ScriptedModels(lambda request: [trio.Event()])


async def test_a_prompt_for_a_new_conversation_is_one_write() -> None:
    async with open_room() as room:
        options = TurnOptions(temperature=0.1)
        accepted = await room.ask(
            "hi",
            target=NAMED,
            key="k",
            options=options,
            cwd="/tmp",
            env={"LANG": "C"},
            terminal="t",
        )
        (write, *_) = room.store.writes
        assert (write.create, write.terminal) == (True, "t")
        assert (accepted.created, accepted.position, accepted.seq) == (True, 0, 2)
        prompt = write.bodies[1]
        assert isinstance(prompt, PromptAccepted)
        assert (prompt.key, prompt.options, prompt.cwd, prompt.env) == (
            "k",
            options,
            "/tmp",
            {"LANG": "C"},
        )
        assert prompt.items[0].id == f"{accepted.turn_id}.0"
        assert accepted.session.conversation.name == "work"
        again = await room.ask("ho", target=Target("terminal", "t"))
        assert again.session is accepted.session
        assert not again.created


async def test_secrets_stay_in_memory_and_only_as_long_as_the_turn() -> None:
    gate = trio.Event()
    models = ScriptedModels(lambda request: [gate, "ok"], key_needed="KEY")
    async with open_room(models=models) as room:
        accepted = await room.ask(secrets={"KEY": "hush-hush"})
        assert accepted.session.callers[accepted.turn_id].secrets == {"KEY": "hush-hush"}
        gate.set()
        await room.finish(accepted)
        assert accepted.session.callers == {}
        assert models.callers[0].secrets == {"KEY": "hush-hush"}
        stored = repr(room.store.writes) + repr(await room.store.load(accepted.session.id))
        assert "hush-hush" not in stored
        assert "caller_credentials=True" in stored


async def test_the_embedded_model_needs_no_key_so_none_is_waited_for() -> None:
    async with open_room(models=ScriptedModels(dialect="local")) as room:
        accepted = await room.ask(secrets={"KEY": "s"})
        assert not accepted.session.conversation.turns[accepted.turn_id].prompt.caller_credentials


# ---- refusals ------------------------------------------------------------------------


async def refuse(room: Room, error: type[AskdError], text: str = "hi", **more: object) -> str:
    """Insist that the prompt is refused and that nothing of it is left; answer the reason."""
    writes, live = len(room.store.writes), room.sessions.live()
    with pytest.raises(error) as caught:
        await room.ask(text, **more)  # type: ignore[arg-type]
    assert len(room.store.writes) == writes
    assert room.sessions.live() == live
    assert all(set(each.callers) <= set(each.conversation.turns) for each in live)
    return caught.value.reason


async def test_refusals_before_acceptance() -> None:
    models = ScriptedModels(window=1000, reserved=200)
    async with open_room(models=models) as room:
        assert await refuse(room, RequestError, " \n") == "empty_prompt"
        assert await refuse(room, RequestError, target=Target("new", "-x")) == "bad_name"
        assert await refuse(room, NotFound, target=Target("session", "x")) != ""
        assert await refuse(room, NotFound, target=Target("id", "x")) == "conversation_not_found"
        assert await refuse(room, UnknownModel, options=TurnOptions(model="x")) == "unknown_model"
        assert await refuse(room, TooLarge, "word " * 1000) == "overflow"
        sound = Blob("sha", 1, "audio/wav")
        assert await refuse(room, RequestError, parts=[sound]) == "bad_params"
        drawing = Blob("sha", 6, "image/svg+xml")
        assert await refuse(room, RequestError, parts=[drawing]) == "bad_params"
        image = Blob("sha", 1, "image/png")
        assert await refuse(room, RequestError, parts=[image], blobs={"sha": JPEG}) == "bad_blob"
        options = TurnOptions(answer_schema={"type": "int"})
        assert await refuse(room, RequestError, options=options) == "bad_schema"
        text = Blob("sha", 1, "text/plain")
        assert await refuse(room, RequestError, parts=[text], blobs={"sha": b"\xff"}) == "bad_blob"
        room.store.failing = True
        assert await refuse(room, StorageFailed) == "storage_failed"
        room.store.failing = False
        models.key_needed = "KEY"
        assert await refuse(room, NotConfigured) == "not_configured"
        room.sessions.draining = True
        assert await refuse(room, Draining) == "draining"


async def test_a_prompt_that_alone_exceeds_the_window_is_refused_with_the_numbers() -> None:
    async with open_room(models=ScriptedModels(window=1000, reserved=200)) as room:
        fits = ", ".join(["word"] * 483)
        await room.finish(await room.ask(fits))
        with pytest.raises(
            TooLarge, match=r"about 801 tokens.* window of 1000, 200 of it"
        ) as caught:
            await room.ask(f"{fits}, word")
        assert caught.value.code == OVERFLOW
        with pytest.raises(TooLarge):
            await room.ask(fits, options=TurnOptions(system="x"))
        size = 4000
        with pytest.raises(TooLarge):
            await room.ask(parts=[Blob("sha", size, "text/plain")], blobs={"sha": b"x" * size})


async def test_an_image_is_for_models_that_can_see() -> None:
    models = ScriptedModels(blind=("test/small",))
    async with open_room(models=models) as room:
        picture = Blob("sha", len(JPEG), "image/jpeg", "cat.jpg")
        shown: dict[str, Any] = {"parts": [picture], "blobs": {"sha": JPEG}}
        with pytest.raises(RequestError, match=r"test/small cannot see images\.") as caught:
            await room.ask(**shown)
        assert (caught.value.code, caught.value.reason) == (2, "bad_params")
        assert room.sessions.live() == []
        accepted = await room.ask(options=TurnOptions(model="test/large"), **shown)
        assert (await room.finish(accepted)).code == DONE
        assert models.requests[0].images == {"sha": JPEG}


async def test_images_and_schemas_count_against_the_window() -> None:
    async with open_room(models=ScriptedModels(window=1000, reserved=200)) as room:
        picture = Blob("sha", len(JPEG), "image/jpeg")
        with pytest.raises(TooLarge, match="about 16"):
            await room.ask(parts=[picture], blobs={"sha": JPEG})
        # One that the model is only told of takes part of its window.
        schema = {"description": "x " * 2000}
        await room.finish(await room.ask(options=TurnOptions(answer_schema=schema)))
        room.models.manners = Manners(schema=False)
        with pytest.raises(TooLarge):
            await room.ask(options=TurnOptions(answer_schema=schema))


async def test_a_proxy_is_no_key_that_would_be_waited_for() -> None:
    async with open_room() as room:
        secrets = dict.fromkeys(names.PROXY_NAMES, "http://user:pass@127.0.0.1:1")
        accepted = await room.ask(secrets=secrets)
        turns = accepted.session.conversation.turns
        assert not turns[accepted.turn_id].prompt.caller_credentials
        with_key = await room.ask(
            secrets={**secrets, "OPENAI_API_KEY": "sk"}, target=to(accepted.session)
        )
        assert turns[with_key.turn_id].prompt.caller_credentials


async def test_in_a_conversation_its_model_decides() -> None:
    async with open_room() as room:
        first = await room.ask(options=TurnOptions(model="test/large"))
        await room.finish(first)
        room.models.known = ("test/small",)
        with pytest.raises(UnknownModel):
            await room.ask(target=to(first.session))
        accepted = await room.ask(target=to(first.session), options=TurnOptions(model="test/small"))
        assert (await room.finish(accepted)).code == DONE


# ---- busy ------------------------------------------------------------------------------


async def test_fail_busy() -> None:
    async with open_room(models=blocked()) as room:
        first = await room.ask("1", busy="fail")
        with pytest.raises(Busy) as caught:
            await room.ask("2", target=to(first.session), busy="fail")
        assert caught.value.code == BUSY
        queued = await room.ask("3", target=to(first.session))
        assert queued.position == 1


async def test_a_turn_that_has_its_end_keeps_nobody_busy_though_it_still_goes() -> None:
    async with open_room() as room:
        first = await room.ask("1")
        await room.finish(first)
        session = first.session
        session.running = RunningTurn(first.turn_id, lambda happened: None, lambda: False)
        assert session.active_turn is None
        second = await room.ask("2", target=to(session), busy="fail")
        assert (await room.finish(second)).code == DONE


async def test_of_many_who_will_not_wait_one_is_accepted() -> None:
    async with open_room() as room:
        first = await room.ask("0")
        await room.finish(first)
        room.models.script = lambda request: [trio.Event()]
        outcomes = []

        async def ask(number: int) -> None:
            try:
                await room.ask(str(number), target=to(first.session), busy="fail")
                outcomes.append("accepted")
            except Busy:
                outcomes.append("busy")

        async with trio.open_nursery() as nursery:
            for number in range(10):
                nursery.start_soon(ask, number)
        assert sorted(outcomes) == ["accepted", *["busy"] * 9]


# ---- keys ------------------------------------------------------------------------------


async def test_a_key_that_comes_again_is_the_same_turn_whatever_has_happened_since() -> None:
    async with open_room(models=blocked()) as room:
        first = await room.ask("hi", target=NAMED, key="k", busy="fail")
        await trio.testing.wait_all_tasks_blocked()
        for change in ("nothing", "draining", "no model", "no storage"):
            room.sessions.draining = change == "draining"
            room.models.known = () if change == "no model" else ("test/small",)
            room.store.failing = change == "no storage"
            again = await room.ask("hi", target=NAMED, key="k", busy="fail")
            assert (again.session, again.turn_id, again.seq) == (
                first.session,
                first.turn_id,
                first.seq,
            )
            assert not again.created
        assert len(first.session.conversation.turns) == 1


async def test_a_key_for_a_new_conversation_makes_one() -> None:
    async with open_room() as room:
        found: list[Accepted] = []

        async def ask() -> None:
            found.append(await room.ask("hi", key="k"))

        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(ask)
        assert len({accepted.turn_id for accepted in found}) == 1
        assert len({accepted.session.id for accepted in found}) == 1
        assert [accepted.created for accepted in found].count(True) == 1
        assert len(room.store.rows()) == len(room.sessions.live()) == 1


async def test_a_key_of_another_prompt_is_refused() -> None:
    async with open_room() as room:
        first = await room.ask("hi", key="k")
        await room.finish(first)
        with pytest.raises(RequestError) as caught:
            await room.ask("something else", key="k")
        assert caught.value.reason == "key_reused"


async def test_a_key_of_a_deleted_conversation_is_not_a_new_prompt() -> None:
    async with open_room() as room:
        first = await room.ask("hi", key="k")
        await room.finish(first)
        await room.sessions.delete(first.session.id)
        with pytest.raises(NotFound):
            await room.ask("hi", key="k")
        assert room.store.rows() == []


async def test_a_key_of_an_ephemeral_prompt_is_remembered_too() -> None:
    async with open_room() as room:
        first = await room.ask("hi", key="k", ephemeral=True)
        again = await room.ask("hi", key="k", ephemeral=True)
        assert again.turn_id == first.turn_id
        assert len(room.sessions.live()) == 1


async def test_when_a_key_cannot_be_looked_up_the_first_refusal_stands() -> None:
    async with open_room() as room:

        async def fail(key: str) -> KnownKey | None:
            raise StorageFailed("The disk is gone.")

        room.store.find_key = fail  # type: ignore[method-assign]
        with pytest.raises(UnknownModel):
            await room.ask(options=TurnOptions(model="x"))


# ---- names -----------------------------------------------------------------------------


async def test_of_many_who_want_a_new_name_one_creates_and_the_others_join() -> None:
    async with open_room() as room:
        found: list[Accepted] = []

        async def ask(number: int) -> None:
            found.append(await room.ask(str(number), target=NAMED))

        async with trio.open_nursery() as nursery:
            for number in range(10):
                nursery.start_soon(ask, number)
        assert len({accepted.session.id for accepted in found}) == 1
        assert [accepted.created for accepted in found].count(True) == 1
        for accepted in found:
            await room.finish(accepted)
        said = texts_of(room.models.requests[-1].items)
        assert sorted(said[::2]) == [str(number) for number in range(10)]
        assert len(room.sessions.live()) == 1


async def test_a_name_that_is_asked_for_as_new_is_not_joined() -> None:
    async with open_room() as room:
        await room.ask(target=NAMED)
        with pytest.raises(RequestError) as caught:
            await room.ask(target=Target("new", "work"))
        assert caught.value.reason == "name_taken"


# ---- large prompts -----------------------------------------------------------------------


async def test_large_parts_are_stored_beside_the_log_and_asked_whole() -> None:
    large = "ä" * PART_LIMIT_BYTES
    models = ScriptedModels(lambda request: [str(len(last_words(request)))], window=10_000_000)
    async with open_room(models=models) as room:
        sent = Blob("0" * 64, 4, "text/plain", "b.txt")
        accepted = await room.ask(parts=[Text(large, "stdin"), sent], blobs={sent.sha256: b"four"})
        await room.finish(accepted)
        assert texts_of(models.requests[0].items) == [large + "four"]
        prompt = accepted.session.conversation.turns[accepted.turn_id].prompt
        assert [type(part) for part in prompt.items[0].parts] == [Blob, Blob]


async def test_a_blob_that_nobody_sent_is_refused() -> None:
    async with open_room() as room:
        assert await refuse(room, NotFound, parts=[Blob("1" * 64, 4, "text/plain")])


# ---- ephemeral ---------------------------------------------------------------------------


async def test_nothing_of_an_ephemeral_conversation_is_stored() -> None:
    async with open_room() as room:
        first = await room.ask(
            "one", target=Target("session", "scratch", create=True), ephemeral=True, terminal="t"
        )
        await room.finish(first)
        second = await room.ask("two", target=Target("terminal", "t"), ephemeral=True)
        await room.finish(second)
        third = await room.ask("three", target=Target("session", "scratch"))
        await room.finish(third)
        assert first.session is second.session is third.session
        assert texts_of(room.models.requests[-1].items)[::2] == ["one", "two", "three"]
        assert room.store.writes == []
        assert room.store.saved == []
        assert room.store.terminals == {}
        stored = await room.ask("four", target=NAMED, terminal="t")
        assert (await room.ask("five", target=Target("terminal", "t"))).session is stored.session


async def test_a_stored_conversation_is_not_continued_in_memory() -> None:
    async with open_room() as room:
        await room.ask(target=NAMED)
        with pytest.raises(RequestError, match="is stored"):
            await room.ask(target=NAMED, ephemeral=True)


# ---- a caller who hangs up -----------------------------------------------------------------


async def test_a_caller_who_hangs_up_at_any_moment_leaves_nothing_half_done() -> None:
    """Whatever was committed is answered; whatever was not has left nothing behind."""
    seen = set()
    for moment in range(100):
        store = FakeStore()
        async with open_room(store=store) as room:
            done = False
            with trio.CancelScope() as scope:
                async with trio.open_nursery() as nursery:

                    async def ask(room: Room = room, scope: trio.CancelScope = scope) -> None:
                        nonlocal done
                        await room.ask("hi", key="k")
                        done = True
                        scope.cancel()

                    nursery.start_soon(ask)
                    for _ in range(moment):
                        await trio.lowlevel.checkpoint()
                    scope.cancel()
            stored = bool(store.rows())
            seen.add(stored)
            assert len(room.sessions.live()) == stored
            if stored:
                (session,) = room.sessions.live()
                (turn_id,) = session.conversation.turns
                assert (await session.wait_finished(turn_id)).outcome == "completed"
        if done:
            break
    assert seen == {True, False}


# ---- detached ----------------------------------------------------------------------------


async def test_a_detached_prompt_is_a_job_from_its_acceptance_on() -> None:
    async with open_room() as room:
        options = TurnOptions(detach=True)
        accepted = await room.ask("hi", key="k", options=options)
        (write,) = [each for each in room.store.writes if each.key is not None]
        (job,) = write.jobs
        assert (job.id, job.kind, job.unique_key) == (accepted.turn_id, "turn", accepted.turn_id)
        assert job.arguments == {
            "conversation_id": accepted.session.id,
            "turn_id": accepted.turn_id,
        }
        assert accepted.job_id == job.id
        assert (await room.ask("hi", key="k", options=options)).job_id == job.id
        await room.finish(accepted)
        assert room.store.jobs[job.id].state == "completed"


async def test_one_that_is_watched_is_none() -> None:
    async with open_room() as room:
        accepted = await room.ask("hi", key="k")
        assert accepted.job_id is None
        assert (await room.ask("hi", key="k")).job_id is None
        assert not any(job.job.kind == "turn" for job in room.store.jobs.values())


async def test_nothing_ephemeral_can_be_detached() -> None:
    async with open_room() as room:
        with pytest.raises(RequestError, match="cannot be ephemeral and detached"):
            await room.ask("hi", options=TurnOptions(detach=True), ephemeral=True)
