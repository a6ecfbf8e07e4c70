"""What is planned for a turn that was left open is carried out, once."""

import pytest

from askd.core.events import (
    ItemAdded,
    PromptAccepted,
    QuestionAsked,
    TurnOptions,
    TurnStarted,
)
from askd.core.items import PART_LIMIT_BYTES, AssistantMessage, Text, ToolCall, UserMessage
from askd.errors import StorageFailed
from askd.sessions.live import LiveSession
from askd.sessions.recovery import recover_session
from askd.store.log import Partial
from tests.sessions.test_live import make_session

QUESTION = QuestionAsked("a", "q", "approval", "digest", {}, 9e9)


def prompt(*, detach: bool = False, secrets: bool = False) -> PromptAccepted:
    words = (UserMessage("a.0", (Text("hi"),)),)
    options = TurnOptions(detach=detach)
    return PromptAccepted("a", "key", words, options, caller_credentials=secrets)


async def recover(session: LiveSession, *texts: str) -> list[str]:
    """Recover, and answer with the statuses of the turn's items."""
    session.needs_recovery = True
    partials = [Partial("c", "a", "a.1", "text", text) for text in texts]
    await recover_session(session, partials, harmless_tools=frozenset({"clock"}))
    assert not session.needs_recovery
    return [added.status for added in session.conversation.turns["a"].items]


async def test_what_had_not_started_stays_in_the_queue() -> None:
    session = await make_session(prompt())
    assert await recover(session) == []
    assert session.queue == ["a"]


async def test_a_turn_is_closed_with_the_text_so_far() -> None:
    session = await make_session(prompt(), TurnStarted("a", 1))
    assert await recover(session, "half") == ["interrupted"]
    assert session.status("a").outcome == "interrupted"
    assert session.resumable == set()


async def test_a_long_text_so_far_is_stored_beside_the_log() -> None:
    session = await make_session(prompt(), TurnStarted("a", 1))
    assert await recover(session, "x" * (PART_LIMIT_BYTES + 1)) == ["interrupted"]
    (added,) = session.conversation.turns["a"].items
    assert isinstance(added.item, AssistantMessage)
    assert not isinstance(added.item.parts[0], Text)


@pytest.mark.parametrize("secrets", [False, True])
async def test_a_detached_turn_is_made_ready_to_run_again(secrets: bool) -> None:
    session = await make_session(prompt(detach=True, secrets=secrets), TurnStarted("a", 1))
    assert await recover(session, "half") == ["superseded"]
    assert session.resumable == {"a"}
    assert session.status("a").state == "running"
    again = await make_session(prompt(detach=True, secrets=secrets), TurnStarted("a", 1))
    assert await recover(again) == []
    assert again.resumable == {"a"}


@pytest.mark.parametrize(("tool", "runs_again"), [("clock", True), ("rm", False)])
async def test_a_tool_with_effects_is_not_run_twice(tool: str, runs_again: bool) -> None:
    call = AssistantMessage("a.1", calls=(ToolCall("call", tool, "{}"),))
    session = await make_session(prompt(detach=True), TurnStarted("a", 1), ItemAdded("a", call, 1))
    await recover(session)
    assert session.resumable == ({"a"} if runs_again else set())


async def test_an_unanswered_question_stays_parked() -> None:
    session = await make_session(prompt(), TurnStarted("a", 1), QUESTION)
    await recover(session)
    assert session.state == "needs_you"
    assert session.resumable == set()


async def test_while_storage_fails_recovery_is_still_due() -> None:
    session = await make_session(prompt(), TurnStarted("a", 1))
    session.needs_recovery = True

    async def refuse(write: object) -> None:
        raise StorageFailed("The disk is full.")

    session.log.append = refuse  # type: ignore[assignment, method-assign]
    with pytest.raises(StorageFailed):
        await recover_session(session, [], harmless_tools=frozenset())
    assert session.needs_recovery
