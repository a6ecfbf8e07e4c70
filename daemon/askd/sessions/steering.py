"""Steering: a prompt that joins the turn that runs, instead of waiting for that turn's end.

What a turn is run with stays its own: here is found which turn can be joined, what of a
prompt's options is not taken then, and what is committed. A person who steers has looked at
what was asked and wants something else: a call that waits for a yes is not run, a form is
not filled in. Only how to make room for the history stays to be answered: nothing that is
said says that. The message is fed to nobody before it is committed.
"""

from collections.abc import Sequence

import trio

from askd.core.approval_questions import NO
from askd.core.conversation import TurnRecord
from askd.core.elicitations import CANCEL
from askd.core.events import PromptSteered, QuestionAnswered, TurnOptions
from askd.core.items import UserMessage
from askd.core.questions import find_all_open
from askd.core.standing import Settings
from askd.core.turn import Steered
from askd.errors import RequestError
from askd.sessions.live import LiveSession
from askd.sessions.offload import offload_bodies
from askd.sessions.prompts import Prompt
from askd.store.log import Committed, PromptKey, Write

STEERING = "steering"
"""Who has refused a call with a message, if the message came from no terminal."""
DETACHED = "A message that steers has no turn of its own, and so no job: it cannot be detached."
NO_SCHEMA = (
    "The turn that runs does not answer in this shape, and keeps to what it began with. "
    "Ask without a schema, or wait for its end (busy: queue)."
)
KEPT = "The turn that this message joins keeps its own {what}."
OPTIONS = {
    "system": "system prompt",
    "temperature": "temperature",
    "max_output_tokens": "longest answer",
    "stop": "texts to stop at",
    "effort": "effort",
    "overflow": "way out of an overflow",
    "tools": "tools",
    "approve": "approval",
    "instructions": "instructions of the project",
    "notify": "notices",
}
"""What a turn keeps to, in words, but for its model; a time limit is kept by who set it."""


def find_joinable(session: LiveSession) -> TurnRecord | None:
    """The turn that a message can join now, running or parked; None: there is none.

    One that is being stopped is none: what is said to it would not be answered.
    """
    turn_id, running = session.active_turn, session.running
    if turn_id is None or session.is_stale or session.needs_recovery or session.deleted:
        return None
    if running is not None and not running.can_join():
        return None
    return session.conversation.turns.get(turn_id)


def check_promise(prompt: Prompt, record: TurnRecord) -> None:
    """Raise `RequestError` for a shape of the answer that the turn has not promised."""
    schema = prompt.options.answer_schema
    if schema is not None and schema != record.prompt.options.answer_schema:
        raise RequestError(NO_SCHEMA, reason="bad_params")


def find_kept(
    options: TurnOptions, record: TurnRecord, settings: Settings, *, model: str | None
) -> list[str]:
    """What a prompt asked for and the turn has otherwise, in words.

    Args:
        settings: the conversation's, which hold where the turn's prompt said nothing.
        model: the one that the prompt asked for, by its whole name; None: it asked for none.
    """
    kept = [] if model is None or model == record.model else ["model"]
    own = record.prompt.options
    for name, words in OPTIONS.items():
        wanted, has = getattr(options, name), getattr(own, name)
        if has is None:
            has = getattr(settings, name, None)
        if wanted is not None and wanted != has:
            kept.append(words)
    return kept


def explain_kept(kept: Sequence[str]) -> str | None:
    """The sentence for who asked for it; None: all is as it was asked for."""
    if not kept:
        return None
    *others, last = kept
    return KEPT.format(what=f"{', '.join(others)} and {last}" if others else last)


def answer_questions(record: TurnRecord, *, by: str) -> list[QuestionAnswered]:
    """What a message answers by being said: no to calls that wait, nothing to forms."""
    decisions = {"approval": NO, "elicitation": CANCEL}
    return [
        QuestionAnswered(each.turn_id, each.question_id, by, decisions[each.kind])
        for each in find_all_open(record)
        if each.kind in decisions
    ]


async def join_turn(
    session: LiveSession, turn_id: str, prompt: Prompt, *, item_id: str
) -> Committed | None:
    """Commit the prompt as part of the turn and let the turn hear of it; None: it can no more.

    Raises:
        RequestError: the key is that of another prompt.
        StorageFailed: nothing was accepted.
    """
    # The first: no question is answered beside this. The second: the turn does not end.
    async with session.admission, session.starting:
        record = find_joinable(session)
        if record is None or record.prompt.turn_id != turn_id:
            return None
        message = UserMessage(item_id, prompt.parts)
        answers = answer_questions(record, by=prompt.terminal or STEERING)
        bodies, blobs = offload_bodies([PromptSteered(turn_id, prompt.key, (message,)), *answers])
        write = Write(
            conversation_id=session.id,
            bodies=bodies,
            key=PromptKey(key=prompt.key, digest=prompt.digest, turn_id=turn_id),
            terminal=prompt.terminal,
            blobs=list({**prompt.blobs, **blobs}.items()),
        )
        # What is committed is heard of, also if whoever said it hangs up now.
        with trio.CancelScope(shield=True):
            committed = await session.log.append(write)
        running = session.running
        if running is not None and running.turn_id == turn_id:
            for event in committed.events:
                if isinstance(event.body, PromptSteered):
                    for item in event.body.items:
                        running.post(Steered(item))
        return committed
