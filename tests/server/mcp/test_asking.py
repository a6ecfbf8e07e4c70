"""One call of `ask` on a whole house: who is asked, who answers first, what is stopped."""

from collections.abc import Iterable
from typing import Any

import pytest
import trio
import trio.testing

from ask.protocol.messages import (
    ConversationDelete,
    McpOpen,
    QuestionAnswer,
    Target,
    TurnOptions,
    TurnStart,
)
from ask.protocol.messages import PromptPart as Said
from askd.errors import Busy, NotFound
from askd.providers.base import ModelRequest
from askd.server.handlers import conversations, turns
from askd.server.mcp.asking import INNER, Ask, find_conversation
from askd.server.mcp.calls import AskArguments, Reply
from askd.server.mcp.forms import Filled
from askd.server.peer import Peer
from tests.fakes.faces import FakeAsker
from tests.fakes.house import ListedModels, Server, open_server
from tests.fakes.models import Step
from tests.server.mcp.test_face import Bell, ends_of, hold, ring_once

YES = Filled(action="accept", content={"decision": "yes"})


def ask(
    server: Server,
    prompt: str = "Why?",
    *,
    asker: FakeAsker | None = None,
    is_inner: bool = False,
    wish: McpOpen | None = None,
    **arguments: Any,
) -> Ask:
    return Ask(
        house=server.house,
        wish=wish or McpOpen(tools=["all"]),
        arguments=AskArguments(prompt=prompt, **arguments),
        asker=asker or FakeAsker(),
        is_inner=is_inner,
    )


async def start(server: Server, text: str, **options: Any) -> None:
    """A prompt of somebody else's, in the conversation `shared`."""
    request = TurnStart(
        target=Target(kind="session", value="shared", create=True),
        key=text,
        parts=[Said(type="text", text=text)],
        options=TurnOptions(**options),
    )
    await turns.start(server.house, Peer(), request)


# ---- a person's word ------------------------------------------------------------------------


async def test_who_answers_first_wins_and_the_form_is_taken_back() -> None:
    bell, asker = Bell(), FakeAsker(can_be_asked=True, never=True)
    replies: list[Reply] = []

    async def run() -> None:
        replies.append(await ask(server, asker=asker).run())

    async with open_server(models=ListedModels(script=ring_once), tools=[bell]) as server:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run)
            await trio.testing.wait_all_tasks_blocked()
            (session,) = server.house.sessions.live()
            (question,) = session.conversation.open_questions.values()
            answer = QuestionAnswer(
                conversation_id=session.id,
                question_id=question.question_id,
                digest=question.digest,
                decision="yes",
            )
            await turns.answer_question(server.house, Peer(client="another"), answer)
        (record,) = session.conversation.turns.values()
    assert [each.by for each in record.answers.values()] == ["another"]
    assert (len(asker.forms), bell.rung, replies[0].is_error) == (1, 1, False)


async def test_nobody_is_asked_in_the_name_of_those_who_wait_behind() -> None:
    """Whoever waits in the queue is not there for the turns before it."""
    bell, asker = Bell(), FakeAsker(can_be_asked=True, answer=lambda form: YES)
    go_on = trio.Event()

    def script(request: ModelRequest) -> Iterable[Step]:
        if len(server.models.requests) == 1:
            yield go_on
        yield from ring_once(request)

    async with open_server(models=ListedModels(script=script), tools=[bell]) as server:
        await start(server, "before it", tools=["all"])
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask(server, conversation="shared", asker=asker).run)
            await trio.testing.wait_all_tasks_blocked()
            go_on.set()
        (session,) = server.house.sessions.live()
        first, second = session.conversation.turns.values()
    assert (len(first.questions), len(second.questions)) == (0, 1)
    assert (bell.rung, len(asker.forms)) == (1, 1)


async def test_what_does_not_fit_a_question_counts_as_nobodys_answer() -> None:
    class Odd(FakeAsker):
        async def put(self, form: Any) -> Filled | None:
            await super().put(form)
            return Filled(action="accept", content={"decision": "yes", "reason": 7})

    bell, asker = Bell(), Odd(can_be_asked=True)
    async with open_server(models=ListedModels(script=ring_once), tools=[bell]) as server:
        reply = await ask(server, asker=asker).run()
    assert (bell.rung, reply.is_error) == (1, False)  # the reason alone was odd, and is left out


# ---- how far it is, and how long it may take -------------------------------------------------


async def test_progress_grows_and_is_not_told_too_often(autojump_clock: trio.abc.Clock) -> None:
    def script(request: ModelRequest) -> Iterable[Step]:
        for number in range(20):
            yield f"word{number} "
            yield 0.3

    asker = FakeAsker()
    async with open_server(models=ListedModels(script=script)) as server:
        await ask(server, asker=asker).run()
    assert 4 <= len(asker.reports) <= 7
    assert asker.reports[0][1].startswith("word0 word1")
    assert all(len(sentence) <= 200 for _, sentence in asker.reports)


async def test_who_waits_in_the_queue_too_long_is_taken_out(
    autojump_clock: trio.abc.Clock,
) -> None:
    models = ListedModels(script=hold(trio.Event()))
    asker = FakeAsker()
    async with open_server(models=models) as server:
        await start(server, "for ever")
        reply = await ask(server, conversation="shared", timeout_s=5, asker=asker).run()
        assert ends_of(server) == ["withdrawn"]
    assert reply.is_error
    assert reply.texts[0] == "The prompt was withdrawn."


async def test_a_turn_ends_at_its_limit_with_what_it_said(autojump_clock: trio.abc.Clock) -> None:
    models = ListedModels(script=hold(trio.Event()))
    async with open_server(models=models) as server:
        reply = await ask(server, timeout_s=5).run()
    assert reply.is_error
    assert reply.data is not None
    assert (reply.data["text"], reply.data["outcome"]) == ("first", "interrupted")


async def test_a_call_that_is_cancelled_while_it_is_accepted_leaves_nothing_running() -> None:
    models = ListedModels(script=hold(trio.Event()))
    async with open_server(models=models) as server:
        for steps in range(40):  # cancelled at every point of its way
            with trio.CancelScope() as scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(ask(server).run)
                    for _ in range(steps):
                        await trio.lowlevel.checkpoint()
                    scope.cancel()
        await trio.testing.wait_all_tasks_blocked()
        turns_of = [
            record
            for session in server.house.sessions.live()
            for record in session.conversation.turns.values()
        ]
        assert turns_of
        assert all(record.finished is not None for record in turns_of)


async def test_whoever_has_left_leaves_its_turn_alone() -> None:
    models = ListedModels(script=hold(trio.Event()))
    async with open_server(models=models) as server:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask(server, asker=FakeAsker(has_left=True)).run)
            await trio.testing.wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()
        await trio.testing.wait_all_tasks_blocked()
        (session,) = server.house.sessions.live()
        assert session.active_turn is not None


async def test_a_conversation_that_is_deleted_meanwhile_is_said_to_be() -> None:
    models = ListedModels(script=hold(trio.Event()))
    async with open_server(models=models) as server:

        async def run() -> None:
            with pytest.raises(NotFound, match="deleted meanwhile"):
                await ask(server).run()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(run)
            await trio.testing.wait_all_tasks_blocked()
            (session,) = server.house.sessions.live()
            gone = ConversationDelete(conversation_id=session.id, interrupt=True)
            await conversations.delete(server.house, Peer(), gone)


# ---- a tool of ours that asks -----------------------------------------------------------------


async def test_a_tool_of_this_daemon_gets_no_tools() -> None:
    async with open_server(tools=[Bell()]) as server:
        reply = await ask(server, is_inner=True).run()
        outer = await ask(server).run()
    assert [bool(each.tools) for each in server.models.requests] == [False, True]
    assert INNER in reply.texts
    assert INNER not in outer.texts


async def test_and_does_not_wait_for_who_may_be_waiting_for_it() -> None:
    models = ListedModels(script=hold(trio.Event()))
    async with open_server(models=models) as server:
        await start(server, "at work")
        with pytest.raises(Busy):
            await ask(server, conversation="shared", is_inner=True).run()


# ---- what is hidden ---------------------------------------------------------------------------


async def test_what_is_kept_in_memory_only_is_not_there() -> None:
    async with open_server() as server:
        request = TurnStart(
            target=Target(kind="new", value="secret"),
            key="k",
            parts=[Said(type="text", text="hush")],
            ephemeral=True,
        )
        answer = await turns.start(server.house, Peer(), request)
        for text in ("secret", answer.result.conversation_id):
            with pytest.raises(NotFound) as caught:
                await find_conversation(server.house, text)
            assert caught.value.reason == "conversation_not_found"
