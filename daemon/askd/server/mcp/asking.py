"""The tool `ask`: a prompt in a conversation, and its answer.

It is accepted like any other prompt, and is one: it waits in the same queue, is stored
before anything is said, and its tools need the same words of a person, who is asked
through the client if that can show questions. Cancelled, it is interrupted; a client that
goes away leaves it at work. A face that a tool of this daemon opened gets no tools, and
does not wait for a conversation that may be waiting for it.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

import trio

from ask.protocol.messages import (
    ConversationResolve,
    McpOpen,
    PromptPart,
    QuestionAnswer,
    Target,
    TurnOptions,
    TurnRef,
    TurnStart,
    TurnStartResult,
)
from askd.core.approval_questions import cut_middle
from askd.core.events import QuestionAsked, TurnFinished
from askd.core.items import PART_LIMIT_BYTES
from askd.errors import AskdError, NotFound, RequestError
from askd.server.handlers import conversations, turns
from askd.server.house import House
from askd.server.mcp.calls import AskArguments, Reply
from askd.server.mcp.forms import Filled, Form, make_form, read_form
from askd.server.mcp.watching import (
    Watch,
    describe_progress,
    find_denied,
    find_question,
    find_record,
    read_answer,
)
from askd.server.peer import Peer
from askd.sessions.live import LiveSession
from askd.store.refusals import conversation_not_found

PROGRESS_S = 1.0
"""Between two reports of how far an answer is: enough for a line that a person reads."""
WAIT_S = 2.0
"""Beyond a turn's own time limit: it ends itself, unless it never left the queue."""
STOP_S = 5.0
"""How long a turn that is interrupted may take to say that it is over."""
ANSWER_CHARACTERS = 400_000
INNER = "Asked by a tool of this very daemon: no tools were offered."


class Asker(Protocol):
    """The client that asks, as far as it can be spoken to while it waits."""

    @property
    def name(self) -> str:
        """Who it is, for whoever reads the conversation."""
        ...

    @property
    def can_be_asked(self) -> bool:
        """Whether it can put a question to a person."""
        ...

    @property
    def has_left(self) -> bool:
        """It has gone away, or is about to: what it asked for goes on."""
        ...

    async def report(self, progress: float, sentence: str) -> None:
        """Say how far it is; nothing where that was not asked for."""
        ...

    async def put(self, form: Form) -> Filled | None:
        """Put a question to a person; None: it could not. Raises nothing but cancellation."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One call of `ask`. `wish`: what holds for the face; `is_inner`: one of our tools asks."""

    house: House
    wish: McpOpen
    arguments: AskArguments
    asker: Asker
    is_inner: bool

    async def run(self) -> Reply:
        """Ask, wait, and say what came of it; raise an `AskdError` where nothing was accepted."""
        started = await self._start()
        session = await self.house.sessions.get(started.conversation_id)
        turn_id = started.turn_id
        watch = Watch(session, turn_id, can_be_asked=self.asker.can_be_asked)
        is_over = False
        try:
            with watch, trio.move_on_after(self.arguments.timeout_s + WAIT_S) as limit:
                await self._follow(session, turn_id, watch)
            is_over = not limit.cancelled_caught
        finally:
            if not (is_over or self.asker.has_left):
                # Cancelled, or too late. Whoever cancelled does not wait for this.
                with trio.CancelScope(shield=True):
                    await self._stop(started)
        return await self._describe(session, turn_id)

    # ---- the prompt ------------------------------------------------------------

    async def _start(self) -> TurnStartResult:
        request = await self._make_request()
        is_known = False
        try:
            answer = await turns.start(self.house, Peer(client=self.asker.name), request)
            is_known = True
        except AskdError:
            is_known = True  # it was refused: there is nothing to be stopped
            raise
        finally:
            if not (is_known or self.asker.has_left):
                with trio.CancelScope(shield=True):
                    await self._stop_unheard(request.key)
        found: TurnStartResult = answer.result
        return found

    async def _make_request(self) -> TurnStart:
        wish, said = self.wish, self.arguments
        if len(said.prompt.encode(errors="replace")) > PART_LIMIT_BYTES:
            raise RequestError(f"A prompt has {PART_LIMIT_BYTES:,} bytes at the most.")
        return TurnStart(
            target=await self._find_target(said.conversation or wish.conversation),
            key=self.house.sessions.means.new_id(),
            parts=[PromptPart(type="text", text=said.prompt)],
            options=TurnOptions(
                model=said.model or wish.model,
                timeout_s=said.timeout_s,
                tools=[] if self.is_inner else wish.tools,
                approve=wish.approve,
            ),
            busy="fail" if self.is_inner else "queue",
            cwd=wish.cwd,
            cwd_id=wish.cwd_id,
            env=wish.env,
            secrets=wish.secrets,
        )

    async def _find_target(self, conversation: str | None) -> Target:
        if conversation is None:
            return Target(kind="new")
        try:
            found = await find_conversation(self.house, conversation)
        except NotFound as error:
            if error.reason != "conversation_not_found":
                raise
            return Target(kind="session", value=conversation, create=True)
        return Target(kind="id", value=found)

    async def _stop(self, started: TurnStartResult) -> None:
        """Interrupt the turn, or take it out of the queue, and wait for its end a while."""
        reference = TurnRef(conversation_id=started.conversation_id, turn_id=started.turn_id)
        with trio.move_on_after(STOP_S):
            try:
                await turns.interrupt(self.house, Peer(client=self.asker.name), reference)
                session = await self.house.sessions.get(started.conversation_id)
                await session.wait_finished(started.turn_id)
            except AskdError:
                return  # it cannot be stored, or is gone: there is nothing left to stop

    async def _stop_unheard(self, key: str) -> None:
        """The same for a prompt that was accepted while its call was cancelled, if it was."""
        with trio.move_on_after(STOP_S):
            try:
                known = await self.house.reader.find_key(key)
            except AskdError:
                return
            if known is not None and known.seq:
                await self._stop(
                    TurnStartResult(
                        turn_id=known.turn_id,
                        conversation_id=known.conversation_id,
                        seq=known.seq,
                        position=0,
                    )
                )

    # ---- while it runs ---------------------------------------------------------

    async def _follow(self, session: LiveSession, turn_id: str, watch: Watch) -> None:
        # In it: what is told and asked meanwhile; both end with the turn.
        async with trio.open_nursery() as meanwhile:
            meanwhile.start_soon(self._report_all, session, turn_id, watch)
            if self.asker.can_be_asked:
                meanwhile.start_soon(self._answer_all, session, turn_id, watch)
            with suppress(NotFound):  # deleted: said when it is described
                await session.wait_finished(turn_id)
            meanwhile.cancel_scope.cancel()

    async def _report_all(self, session: LiveSession, turn_id: str, watch: Watch) -> None:
        said = 0.0
        while True:
            moved = watch.moved
            await trio.sleep(PROGRESS_S)
            await moved.wait()
            count, sentence = describe_progress(session, turn_id)
            # It has to grow, and does so while tools are at work and nothing is said.
            said = max(said + 1, count)
            await self.asker.report(said, sentence)

    async def _answer_all(self, session: LiveSession, turn_id: str, watch: Watch) -> None:
        passed: set[str] = set()
        while True:
            moved = watch.moved
            question = find_question(session, turn_id, passed)
            if question is None:
                await moved.wait()
                continue
            passed.add(question.question_id)
            await self._answer(session, question, watch)

    async def _answer(self, session: LiveSession, question: QuestionAsked, watch: Watch) -> None:
        """Put one question; somebody else may answer it first, or nobody in time."""
        filled: list[Filled | None] = []

        async def put() -> None:
            filled.append(await self.asker.put(make_form(question)))
            both.cancel_scope.cancel()

        async with trio.open_nursery() as both:
            both.start_soon(put)
            moved = watch.moved
            while question.question_id in session.conversation.open_questions:
                await moved.wait()
                moved = watch.moved
            both.cancel_scope.cancel()
        if not filled:
            return
        try:
            await self._decide(session, question, filled[0])
        except NotFound:
            return  # somebody was faster
        except RequestError:
            # What was filled in does not fit, or we are about to stop: nobody has decided.
            with suppress(RequestError):  # it stays open: whoever attaches can answer it
                await self._decide(session, question, None)

    async def _decide(
        self, session: LiveSession, question: QuestionAsked, filled: Filled | None
    ) -> None:
        decided = read_form(question, filled)
        answer = QuestionAnswer(
            conversation_id=session.id,
            question_id=question.question_id,
            digest=question.digest,
            decision=decided.decision,
            reason=decided.reason,
            content=None if decided.content is None else dict(decided.content),
        )
        await turns.answer_question(self.house, Peer(client=self.asker.name), answer)

    # ---- what came of it -------------------------------------------------------

    async def _describe(self, session: LiveSession, turn_id: str) -> Reply:
        record = find_record(session, turn_id)
        end = record.finished or session.closing.get(turn_id)
        text = cut_middle(await read_answer(self.house, record), ANSWER_CHARACTERS)
        notes = find_denied(record)
        if self.is_inner:
            notes.append(INNER)
        outcome = "unfinished" if end is None else end.outcome
        failure = _explain(end)
        if failure is not None:
            notes.insert(0, failure)
        name = session.conversation.name
        where = f"Conversation: {session.id}{f' ({name})' if name else ''}"
        data: dict[str, Any] = {
            "conversation_id": session.id,
            "turn_id": turn_id,
            "outcome": outcome,
            "text": text,
            "notes": notes,
        }
        return Reply(
            texts=tuple(each for each in (text, *notes, where) if each),
            data=data if name is None else {**data, "name": name},
            is_error=outcome != "completed",
        )


def _explain(end: TurnFinished | None) -> str | None:
    """The sentence about an end that is not simply an answer."""
    if end is None:
        return "It did not end in time; read the conversation later."
    if end.message:
        return end.message
    return None if end.outcome == "completed" else f"The prompt was {end.outcome}."


async def find_conversation(house: House, text: str) -> str:
    """The id of the conversation that a client means; those that are kept nowhere it never sees.

    Raises:
        NotFound: there is none, or more than one.
    """
    target = Target(kind="session", value=text)
    peer = Peer()
    found = await conversations.resolve(house, peer, ConversationResolve(target=target))
    if found.ephemeral:
        raise conversation_not_found(text)
    return found.id


OUTPUT: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "conversation_id": {"type": "string", "description": "Ask again in this one."},
        "name": {"type": "string"},
        "turn_id": {"type": "string"},
        "outcome": {"type": "string", "description": "completed, failed, interrupted, ..."},
        "text": {"type": "string", "description": "The answer."},
        "notes": {
            "type": "array",
            "items": {"type": "string"},
            "description": "What else there is to know: calls that were refused, and why.",
        },
    },
    "required": ["conversation_id", "turn_id", "outcome", "text", "notes"],
}
"""The JSON schema of a reply's data."""
