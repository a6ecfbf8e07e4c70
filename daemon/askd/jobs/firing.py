"""Sending a schedule's prompt: what it is asked with, and what becomes of a refusal.

The prompt and its slot are one transaction, under a key that belongs to the slot: whatever dies
in between, it is accepted once or not at all. A prompt is a detached one, asked with the
daemon's own keys; nobody's are stored. When is not decided here.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress

import trio

from askd.core.items import Text
from askd.core.notifications import About, tell_refusal
from askd.core.schedules import Fire, Schedule, make_key
from askd.core.titling import title_from
from askd.errors import AskdError, NotFound
from askd.jobs.base import GaveUp
from askd.jobs.notify import Send
from askd.sessions.admission import Admission
from askd.sessions.notifying import wants_notice
from askd.sessions.prompts import Accepted, Prompt
from askd.sessions.targets import Target
from askd.store.log import Firing

Tell = Callable[[Schedule, AskdError], Awaitable[None]]
"""Hears that a slot is given up, and why."""


async def send_slot(admission: Admission, schedule: Schedule, fire: Fire) -> Accepted:
    """Have the prompt of a slot accepted, and the slot handled with it.

    Raises:
        ConversationGone: it was to be sent to a conversation that is not there any more.
        StaleFence: the schedule was paused, or the slot handled, meanwhile.
        AskdError: whatever keeps a prompt from being accepted; the slot is as it was.
    """
    firing = Firing(schedule_id=schedule.id, slot=fire.slot, skipped=fire.skipped)
    return await _send(admission, schedule, make_key(schedule.id, fire.slot), firing)


async def send_now(admission: Admission, schedule: Schedule, key: str) -> Accepted:
    """Have it accepted because somebody wants it now, under a key of theirs; raises the same."""
    return await _send(admission, schedule, key, Firing(schedule_id=schedule.id, slot=None))


class ConversationGone(NotFound):
    """The conversation of a schedule is not there any more."""


async def _send(admission: Admission, schedule: Schedule, key: str, firing: Firing) -> Accepted:
    said = schedule.prompt
    try:
        return await admission.accept(
            Prompt(
                target=_find_target(schedule),
                key=key,
                digest=f"schedule {schedule.id}",
                parts=tuple(part for item in said.items for part in item.parts),
                options=said.options,
                cwd=said.cwd,
                cwd_id=said.cwd_id,
                env=said.env,
                firing=firing,
            )
        )
    except NotFound as error:
        if error.reason == "conversation_not_found" and schedule.session is not None:
            raise ConversationGone(error.message) from error
        raise


def _find_target(schedule: Schedule) -> Target:
    if schedule.conversation_id is not None:
        return Target("id", schedule.conversation_id)
    if schedule.session is not None:
        return Target("session", schedule.session, create=True)
    return Target("new")


async def tell_nobody(schedule: Schedule, error: AskdError) -> None:
    """For a daemon that notifies nobody."""
    await trio.lowlevel.checkpoint()


def make_tell(send: Send, is_wanted: Callable[[], bool]) -> Tell:
    """Notifies of a slot that was given up, as the prompt or `is_wanted` (the settings) says."""

    async def tell(schedule: Schedule, error: AskdError) -> None:
        said = schedule.prompt
        if not wants_notice(said.options, is_wanted()):
            return
        parts = [part for item in said.items for part in item.parts]
        words = "".join(part.text for part in parts if isinstance(part, Text))
        about = About(
            conversation_id=schedule.conversation_id or "",
            turn_id="",
            name=schedule.name or schedule.session or title_from(words),
        )
        with suppress(GaveUp):  # the list says it, too
            await send(tell_refusal(about, error.message, code=error.code))

    return tell
