"""A message joins the turn that runs: durably, once, where it belongs, and it is answered."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
import trio
import trio.testing

from askd.core.approval import Approval
from askd.core.events import (
    Body,
    ItemAdded,
    PromptSteered,
    QuestionAnswered,
    QuestionAsked,
    TurnFinished,
    TurnOptions,
)
from askd.core.items import (
    PART_LIMIT_BYTES,
    AssistantMessage,
    Blob,
    Text,
    ToolOutput,
    UserMessage,
    join_text,
)
from askd.core.outcome import DONE, FAILED
from askd.core.sight import find_sight
from askd.errors import RequestError, StorageFailed, TooLarge
from askd.providers.base import ModelRequest
from askd.sessions.live import LiveSession
from askd.sessions.prompts import Accepted
from askd.sessions.rules import ToolRules
from askd.sessions.steering import STEERING, explain_kept
from askd.sessions.targets import Target
from askd.tools.base import Result, Site
from tests.fakes.log import FakeStore
from tests.fakes.models import ScriptedModels, Step, call_tools, last_words, texts_of
from tests.fakes.sessions import Room, Watcher, ends_of, open_room, to
from tests.fakes.tools import Plain
from tests.sessions.test_driver import check_log

RED = b"\x89PNG\r\n\x1a\n and so on"


@dataclass
class Slow(Plain):
    """A tool that returns when it is told to."""

    name: str = "slow"
    needs: Approval = "auto"
    description: str = "Takes its time."
    effects: bool = True
    schema: Mapping[str, Any] = field(default_factory=dict)
    goes: trio.Event = field(default_factory=trio.Event)
    ran: int = 0

    async def run(self, arguments: Mapping[str, Any], site: Site) -> Result:
        self.ran += 1
        await self.goes.wait()
        return Result((Text("done"),))


def stuck(*said: Step) -> ScriptedModels:
    """Models that say this and then nothing, unless they were steered."""

    def script(request: ModelRequest) -> Iterable[Step]:
        if last_words(request).startswith("no"):
            return ["as you wish: ", last_words(request)]
        return [*said, trio.Event()]

    return ScriptedModels(script)


async def steer(room: Room, text: str, session: LiveSession, **more: object) -> Accepted:
    return await room.ask(text, target=to(session), busy="steer", **more)  # type: ignore[arg-type]  # fields of Prompt


async def wait_quiet() -> None:
    await trio.testing.wait_all_tasks_blocked()


def tell(accepted: Accepted) -> list[tuple[str, str]]:
    """What was said in the turn: who, and what; of an answer that was cut with a mark."""
    told = []
    for added in accepted.session.conversation.turns[accepted.turn_id].items:
        match added.item:
            case AssistantMessage(parts=parts):
                mark = "cut" if added.status == "interrupted" else "said"
                told.append((mark, join_text(parts)))
            case UserMessage(parts=parts):
                told.append(("user", join_text(parts)))
            case ToolOutput(parts=parts, synthetic=synthetic):
                told.append((synthetic or "tool", join_text(parts)))
            case _:
                pass
    return told


# ---- the common course ---------------------------------------------------------------


async def test_a_message_cuts_the_answer_and_is_answered_in_the_same_turn() -> None:
    async with open_room(models=stuck("Once ", "upon")) as room:
        first = await room.ask("tell")
        watcher = Watcher()
        first.session.subscribe(watcher)
        await wait_quiet()
        second = await steer(room, "no, rhyme", first.session, key="k2")
        assert (second.turn_id, second.session, second.position) == (
            first.turn_id,
            first.session,
            0,
        )
        (event,) = [each for each in watcher.events if isinstance(each.body, PromptSteered)]
        assert event.seq == second.seq
        assert isinstance(event.body, PromptSteered)
        (message,) = event.body.items
        assert second.steers == message.id
        assert await room.finish(first) == await room.finish(second)
        assert tell(first) == [
            ("cut", "Once upon"),
            ("user", "no, rhyme"),
            ("said", "as you wish: no, rhyme"),
        ]
        assert texts_of(room.models.requests[1].items) == ["tell", "Once upon", "no, rhyme"]
        assert room.models.rejected == []
        assert len(first.session.conversation.turns) == 1
        assert first.session.conversation.message_count == 4
        bodies = [each.body for each in watcher.events]
        cut, joined, said = [each for each in bodies if isinstance(each, ItemAdded)]
        assert (cut.status, joined.item, said.completion) == ("interrupted", message, 2)
        assert "".join(each.text for each in watcher.deltas).startswith("Once upon")
        await check_log(room.store, first.session.id)


async def test_before_the_first_word_nothing_is_cut() -> None:
    async with open_room(models=stuck()) as room:
        first = await room.ask("tell")
        await wait_quiet()
        await steer(room, "no", first.session)
        await room.finish(first)
        assert tell(first) == [("user", "no"), ("said", "as you wish: no")]


async def test_a_tool_that_runs_ends_and_what_it_found_is_kept() -> None:
    tool = Slow()

    def script(request: ModelRequest) -> Iterable[Step]:
        return ["so be it"] if last_words(request) == "no" else call_tools("slow", "slow")

    async with open_room(models=ScriptedModels(script), tools=[tool]) as room:
        first = await room.ask("work")
        await wait_quiet()
        await steer(room, "no", first.session)
        await wait_quiet()
        assert tell(first) == [("said", "")]
        assert [each.parts for each in waiting(first)] == [(Text("no"),)]
        tool.goes.set()
        assert (await room.finish(first)).outcome == "completed"
        assert tool.ran == 2
        assert [who for who, _ in tell(first)] == ["said", "tool", "tool", "user", "said"]
        assert waiting(first) == []
        assert room.models.rejected == []


def waiting(accepted: Accepted) -> list[UserMessage]:
    return accepted.session.conversation.turns[accepted.turn_id].waiting


async def test_two_at_once_both_join_in_their_order_and_are_answered_together() -> None:
    async with open_room(models=stuck("Once")) as room:
        first = await room.ask("tell")
        await wait_quiet()
        async with trio.open_nursery() as nursery:
            for text in ("no 1", "no 2"):
                nursery.start_soon(steer, room, text, first.session)
        await room.finish(first)
        events = await room.store.load(first.session.id)
        accepted = [e.body.items[0] for e in events if isinstance(e.body, PromptSteered)]
        joined = [
            e.body.item
            for e in events
            if isinstance(e.body, ItemAdded) and isinstance(e.body.item, UserMessage)
        ]
        assert accepted == joined
        assert sorted(texts_of(joined)) == ["no 1", "no 2"]
        assert texts_of(room.models.requests[-1].items)[1:] == ["Once", *texts_of(joined)]


async def test_an_interrupt_after_it_keeps_the_message() -> None:
    async with open_room(models=stuck("on")) as room:
        first = await room.ask("tell")
        await wait_quiet()
        await steer(room, "rather this", first.session)
        await first.session.interrupt(first.turn_id, "me")
        end = await room.finish(first)
        assert (end.outcome, end.code) == ("interrupted", FAILED)
        assert ("user", "rather this") in tell(first)
        await room.finish(await steer(room, "no, next", first.session))
        assert "rather this" in texts_of(room.models.requests[-1].items)


async def test_a_turn_that_is_being_stopped_is_not_joined() -> None:
    tool = Slow()
    models = ScriptedModels(
        lambda request: ["yes"] if last_words(request) == "no" else call_tools("slow")
    )
    async with open_room(models=models, tools=[tool]) as room:
        first = await room.ask("work")
        await wait_quiet()
        await first.session.interrupt(first.turn_id, "me")
        second = await steer(room, "no", first.session)
        assert second.turn_id != first.turn_id
        assert second.steers is None
        assert (await room.finish(second)).outcome == "completed"


# ---- where there is nothing to steer -------------------------------------------------


async def test_where_nothing_runs_it_is_a_prompt_like_any_other() -> None:
    async with open_room() as room:
        first = await room.ask("a", busy="steer", target=Target("session", "work", create=True))
        assert (first.created, first.steers) == (True, None)
        await room.finish(first)
        second = await steer(room, "b", first.session)
        assert second.turn_id != first.turn_id
        assert (await room.finish(second)).code == DONE


async def test_where_turns_wait_and_none_runs_it_waits_too() -> None:
    async with open_room(turns=1, models=stuck("x")) as room:
        await room.ask("takes the only place")
        await wait_quiet()
        first = await room.ask("waits", target=Target("session", "work", create=True))
        second = await steer(room, "no", first.session)
        assert second.turn_id != first.turn_id
        assert (second.position, second.steers) == (1, None)


@pytest.mark.parametrize("delay", [0, 1, 2, 3, 5, 8, 13])
async def test_whoever_races_the_end_gets_one_turn_or_the_next(delay: int) -> None:
    """At no moment of a turn is a message accepted that nobody answers."""
    models = ScriptedModels(lambda request: ["a", "b", "c"])
    async with open_room(models=models) as room:
        first = await room.ask("tell")
        for _ in range(delay):
            await trio.lowlevel.checkpoint()
        second = await steer(room, "no", first.session)
        assert (await room.finish(second)).outcome == "completed"
        said = tell(second)
        if second.turn_id == first.turn_id:
            assert said.index(("user", "no")) < len(said) - 1
        assert "no" in texts_of(room.models.requests[-1].items)
        assert room.models.rejected == []
        await check_log(room.store, first.session.id)


async def test_of_many_who_steer_at_any_moment_nobody_is_lost() -> None:
    tool = Slow()
    tool.goes.set()
    answers: list[list[Step]] = [call_tools("slow"), ["a", "b"]] * 40
    models = ScriptedModels(lambda request: answers.pop(0))
    async with open_room(models=models, tools=[tool]) as room:
        first = await room.ask("tell")
        accepted = [first]
        for number in range(12):
            for _ in range(number):
                await trio.lowlevel.checkpoint()
            accepted.append(await steer(room, f"no {number}", first.session))
        for each in accepted:
            await room.finish(each)
        sight = find_sight(first.session.conversation, None)
        said = sorted(text for text in texts_of(sight.items) if text.startswith("no"))
        assert said == sorted(f"no {number}" for number in range(12))
        assert any(each.steers for each in accepted)
        assert room.models.rejected == []
        await check_log(room.store, first.session.id)


# ---- keys, refusals, options -----------------------------------------------------------


async def test_the_same_key_is_the_same_turn_while_it_runs_and_after() -> None:
    async with open_room(models=stuck("Once")) as room:
        first = await room.ask("tell")
        await wait_quiet()
        one = await steer(room, "no", first.session, key="k", secrets={"OTHER": "s"})
        again = await steer(room, "no", first.session, key="k")
        await room.finish(first)
        late = await steer(room, "no", first.session, key="k")
        for each in (again, late):
            assert (each.turn_id, each.seq, each.steers) == (one.turn_id, one.seq, one.steers)
            assert (each.position, each.job_id) == (0, None)
        assert [text for who, text in tell(first) if who == "user"] == ["no"]
        with pytest.raises(RequestError, match="key"):
            await steer(room, "no, else", first.session, key="k")


async def test_what_storage_does_not_take_is_not_said() -> None:
    async with open_room(models=stuck("Once")) as room:
        first = await room.ask("tell")
        await wait_quiet()
        room.store.fail_if = lambda write: any(isinstance(b, PromptSteered) for b in write.bodies)
        with pytest.raises(StorageFailed):
            await steer(room, "no", first.session)
        room.store.fail_if = lambda write: False
        await wait_quiet()
        assert len(room.models.requests) == 1  # the answer goes on
        await first.session.interrupt(first.turn_id, "me")
        await room.finish(first)
        assert tell(first) == [("cut", "Once")]


async def test_who_hangs_up_while_it_is_stored_has_said_it() -> None:
    async with open_room(models=stuck("Once")) as room:
        first = await room.ask("tell")
        await wait_quiet()
        slow = room.store.slow[PromptSteered] = trio.Event()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(steer, room, "no", first.session)
            await wait_quiet()
            nursery.cancel_scope.cancel()
            slow.set()
        await room.finish(first)
        assert tell(first)[-1] == ("said", "as you wish: no")


async def test_the_turn_keeps_its_options_and_it_is_said_which() -> None:
    async with open_room(models=stuck("Once")) as room:
        own = TurnOptions(effort="low", stop=("END",))
        first = await room.ask("tell", options=own)
        await wait_quiet()
        said = TurnOptions(model="test/large", system="Rhyme.", effort="low", timeout_s=9.0)
        second = await steer(room, "no", first.session, options=said)
        assert second.warning == (
            "The turn that this message joins keeps its own model and system prompt."
        )
        await room.finish(second)
        assert [request.model for request in room.models.requests] == ["small", "small"]
        assert [request.system for request in room.models.requests] == [None, None]


async def test_options_that_are_the_turns_own_are_taken_in_silence() -> None:
    async with open_room(models=stuck("Once")) as room:
        options = TurnOptions(model="test/large", system="Be brief.", tools=("none",))
        first = await room.ask("tell", options=options)
        await wait_quiet()
        assert (await steer(room, "no", first.session, options=options)).warning is None


def test_the_sentence_about_options() -> None:
    assert explain_kept([]) is None
    assert explain_kept(["model"]) == "The turn that this message joins keeps its own model."
    assert (explain_kept(["a", "b", "c"]) or "").endswith("its own a, b and c.")


@pytest.mark.parametrize(
    "options",
    [TurnOptions(detach=True), TurnOptions(answer_schema={"type": "object"})],
    ids=["detach", "schema"],
)
async def test_what_cannot_be_promised_is_refused(options: TurnOptions) -> None:
    async with open_room(models=stuck("Once")) as room:
        first = await room.ask("tell")
        await wait_quiet()
        before = first.session.conversation.last_seq
        with pytest.raises(RequestError):
            await steer(room, "no", first.session, options=options)
        assert first.session.conversation.last_seq == before


async def test_one_that_can_never_fit_is_refused() -> None:
    async with open_room(models=stuck("Once")) as room:
        first = await room.ask("tell")
        await wait_quiet()
        with pytest.raises(TooLarge):
            await steer(room, "no " * 400_000, first.session)


async def test_images_and_large_texts_are_seen() -> None:
    async with open_room(models=stuck("Once")) as room:
        first = await room.ask("tell")
        await wait_quiet()
        parts = (
            Text("no"),
            Text("x" * (PART_LIMIT_BYTES + 1), "big"),
            Blob("s", len(RED), "image/png"),
        )
        await steer(room, "no", first.session, parts=parts, blobs={"s": RED})
        await room.finish(first)
        request = room.models.requests[-1]
        assert request.images == {"s": RED}
        assert any(len(text) > PART_LIMIT_BYTES for text in texts_of(request.items))


# ---- questions -------------------------------------------------------------------------


async def ask_for_approval(room: Room) -> tuple[Accepted, QuestionAsked]:
    options = TurnOptions(detach=True, approve="ask")
    accepted = await room.ask("work", options=options)
    await wait_quiet()
    (question,) = accepted.session.conversation.open_questions.values()
    assert accepted.session.running is None
    return accepted, question


async def test_a_call_that_waits_for_a_yes_is_refused_by_it() -> None:
    tool = Slow(needs="ask")
    models = ScriptedModels(
        lambda request: ["so be it"] if last_words(request) == "no" else call_tools("slow")
    )
    async with open_room(models=models, tools=[tool]) as room:
        first, question = await ask_for_approval(room)
        second = await steer(room, "no", first.session, terminal="tty1")
        assert second.turn_id == first.turn_id
        assert (await room.finish(second)).outcome == "completed"
        record = first.session.conversation.turns[first.turn_id]
        answer = record.answers[question.question_id]
        assert (answer.by, answer.decision) == ("tty1", "no")
        assert tool.ran == 0
        assert [who for who, _ in tell(first)] == ["said", "denied", "user", "said"]
        assert record.attempt == 1
        assert room.models.rejected == []


@pytest.mark.parametrize("retried", [False, True])
async def test_a_parked_turn_is_steered_also_after_the_daemons_end(retried: bool) -> None:
    store, tool = FakeStore(), Slow(needs="ask")
    models = ScriptedModels(
        lambda request: ["so be it"] if last_words(request) == "no" else call_tools("slow")
    )
    async with open_room(store=store, models=models, tools=[tool]) as room:
        first, _ = await ask_for_approval(room)
        if retried:  # accepted, and then the daemon dies
            store.slow[ToolOutput] = trio.Event()
            await steer(room, "no", first.session, key="k")
    async with open_room(store=store, models=models, tools=[tool]) as room:
        await room.sessions.recover()
        session = await room.sessions.get(first.session.id)
        await wait_quiet()
        accepted = await steer(room, "no", session, key="k")
        assert accepted.turn_id == first.turn_id
        assert (await room.finish(accepted)).outcome == "completed"
        assert tool.ran == 0
        assert ("user", "no") in tell(accepted)


async def test_how_to_make_room_is_still_asked() -> None:
    models = ScriptedModels(lambda request: ["fine"], window=3000, reserved=100)
    async with open_room(models=models, overflow="ask") as room:
        first = await room.ask("x " * 2400)
        await room.finish(first)
        options = TurnOptions(detach=True)
        second = await room.ask("y " * 2400, target=to(first.session), options=options)
        await wait_quiet()
        session = first.session
        (question,) = session.conversation.open_questions.values()
        assert question.kind == "overflow"
        third = await steer(room, "no", session)
        await wait_quiet()
        assert third.turn_id == second.turn_id
        assert list(session.conversation.open_questions) == [question.question_id]
        await session.append(
            [QuestionAnswered(second.turn_id, question.question_id, "me", "reset")]
        )
        assert (await room.finish(third)).outcome == "completed"
        assert texts_of(room.models.requests[-1].items)[-1] == "no"


async def test_a_question_that_was_just_being_asked_stays_the_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The request that it was about is cut, and the next one comes to the same point."""
    models = ScriptedModels(lambda request: ["fine"], window=3000, reserved=100)
    async with open_room(models=models, overflow="ask") as room:
        first = await room.ask("x " * 2400)
        await room.finish(first)
        session = first.session
        append, asked = session.append, trio.Event()

        async def append_and_dawdle(bodies: Sequence[Body]) -> None:
            await append(bodies)
            if isinstance(bodies[0], QuestionAsked) and not asked.is_set():
                asked.set()
                await trio.sleep_forever()

        monkeypatch.setattr(session, "append", append_and_dawdle)
        options = TurnOptions(detach=True)
        second = await room.ask("y " * 2400, target=to(session), options=options)
        await wait_quiet()
        assert session.running is not None
        assert asked.is_set()
        (question,) = session.conversation.open_questions.values()
        await steer(room, "no", session)
        await wait_quiet()
        assert list(session.conversation.open_questions) == [question.question_id]
        answer = QuestionAnswered(second.turn_id, question.question_id, "me", "reset")
        await append([answer])
        end = await room.finish(second)
        assert end.outcome == "completed", end


# ---- a daemon that dies ----------------------------------------------------------------


@pytest.mark.parametrize("detach", [False, True])
async def test_killed_at_any_moment_the_message_is_in_the_turn_once(detach: bool) -> None:
    """Kill after each event from the acceptance on; then boot again and look."""
    ends = set()
    for count in range(1, 12):
        store = FakeStore()
        async with open_room(store=store, models=stuck("Once")) as room:
            first = await room.ask("tell", options=TurnOptions(detach=detach))
            await wait_quiet()
            second = await steer(room, "no", first.session, key="k")
            for _ in range(count * 3):
                await trio.lowlevel.checkpoint()
        async with open_room(store=store, models=stuck("Once")) as room:
            await room.sessions.recover()
            again = await room.ask("no", target=Target("id", first.session.id), key="k")
            assert (again.turn_id, again.steers) == (first.turn_id, second.steers)
            end = await room.finish(again)
            ends.add(end.outcome)
            said = [text for who, text in tell(again) if who == "user"]
            assert said == ["no"]
            assert isinstance(ends_of(again.session)[first.turn_id], TurnFinished)
            if detach:
                assert (end.outcome, tell(again)[-1]) == ("completed", ("said", "as you wish: no"))
            assert len(again.session.conversation.turns) == 1
            await check_log(store, first.session.id)
            await room.finish(await room.ask("no more", target=to(again.session)))
            assert "no" in texts_of(room.models.requests[-1].items)
            assert room.models.rejected == []
    assert ends == {"completed"} if detach else ends == {"completed", "interrupted"}


async def test_in_memory_it_is_the_same() -> None:
    async with open_room(models=stuck("Once")) as room:
        first = await room.ask("tell", ephemeral=True)
        await wait_quiet()
        second = await steer(room, "no", first.session, ephemeral=True)
        await room.finish(second)
        assert tell(first)[-1] == ("said", "as you wish: no")
        assert room.store.writes == []


def test_who_answers_without_a_terminal_has_a_name() -> None:
    assert STEERING == "steering"


async def test_rules_of_tools_hold_for_what_follows() -> None:
    """The limit of requests in a turn counts those that were cut, too."""
    toolbox = ToolRules(max_completions=2)
    models = ScriptedModels(lambda request: ["on", trio.Event()])
    async with open_room(models=models, toolbox=toolbox) as room:
        first = await room.ask("tell")
        for _ in range(2):
            await wait_quiet()
            await steer(room, "no", first.session)
        end = await room.finish(first)
        assert (end.outcome, end.reason) == ("failed", "turn_failed")
        assert [who for who, _ in tell(first)] == ["cut", "user", "cut", "user"]
