"""Schedules: added, listed, read, sent now, paused, resumed, removed.

A caller's keys are not parameters here: what is sent in a week is sent with the daemon's own.
"""

from ask.protocol.messages import (
    Empty,
    ScheduleAdd,
    SchedulePage,
    ScheduleRecord,
    ScheduleRef,
    ScheduleRun,
    SlotRecord,
    TurnStartResult,
)
from ask.protocol.names import KEYED_ADDRESSES
from askd.core.events import PromptAccepted, encode_body
from askd.core.items import PART_LIMIT_BYTES, Text, UserMessage
from askd.core.schedules import Schedule
from askd.errors import RequestError
from askd.jobs.schedule_desk import Sight, Wanted
from askd.server import wire
from askd.server.handlers.turns import KEY_LENGTH, check_options, pick_stored
from askd.server.house import House
from askd.server.peer import Peer
from askd.server.places import check_place
from askd.store.schedules.queries import SlotRow

EXCERPT_CHARACTERS = 200
"""Of a prompt in a list: 200 schedules fit one message."""
TEXT_ONLY = (
    "schedule/add: a schedule sends text, at most 256 KiB of it. What is larger, or an image, a "
    "tool can read when the time has come."
)


async def add(house: House, peer: Peer, params: ScheduleAdd) -> ScheduleRecord:
    """Keep a schedule; a prompt that would be refused as things are is kept with a warning."""
    check_options(params.options)
    texts = [part.text for part in params.parts if part.type == "text" and part.text is not None]
    if (
        len(texts) != len(params.parts)
        or sum(len(each.encode()) for each in texts) > PART_LIMIT_BYTES
    ):
        raise RequestError(TEXT_ONLY, reason="bad_blob")
    if not any(each.strip() for each in texts):
        raise RequestError("The prompt is empty.", reason="empty_prompt")
    if params.far and params.cwd is not None:
        await check_place(params.cwd)
    env = params.env or {}
    if params.far or params.env is None:
        env = {**house.own_env, **env}
    # They go with a key of the caller's, and there will be none.
    env = {name: value for name, value in env.items() if name not in KEYED_ADDRESSES}
    parts = tuple(wire.read_part(part) for part in params.parts)
    prompt = PromptAccepted(
        turn_id="",
        key="",
        items=(UserMessage("", parts),),
        options=wire.read_options(params.options),
        cwd=params.cwd,
        cwd_id=params.cwd_id,
        env=pick_stored(env),
    )
    sight, warning = await house.schedules.add(
        Wanted(
            cron=params.cron,
            prompt=prompt,
            zone=params.zone,
            name=params.name,
            session=params.session,
            missed=params.missed,
        )
    )
    return _describe(sight, warning=warning)


async def list_all(house: House, peer: Peer, params: Empty) -> SchedulePage:
    """Every schedule, with what it did last."""
    return SchedulePage(
        data=[_describe(each, is_listed=True) for each in await house.schedules.list_all()]
    )


async def read(house: House, peer: Peer, params: ScheduleRef) -> ScheduleRecord:
    """One, with what it did lately."""
    return _describe(await house.schedules.find(params.schedule))


async def run(house: House, peer: Peer, params: ScheduleRun) -> TurnStartResult:
    """Send its prompt now."""
    if not 1 <= len(params.key) <= KEY_LENGTH:
        raise RequestError(f"schedule/run: a key has 1 to {KEY_LENGTH} characters.")
    accepted = await house.schedules.run(params.schedule, key=params.key)
    return TurnStartResult(
        turn_id=accepted.turn_id,
        conversation_id=accepted.session.id,
        seq=accepted.seq,
        position=accepted.position,
        created=accepted.created,
        job_id=accepted.job_id,
        name=accepted.session.conversation.name,
    )


async def pause(house: House, peer: Peer, params: ScheduleRef) -> ScheduleRecord:
    """Send nothing until it is resumed."""
    return _describe(await house.schedules.pause(params.schedule))


async def resume(house: House, peer: Peer, params: ScheduleRef) -> ScheduleRecord:
    """Go on with its next time."""
    return _describe(await house.schedules.resume(params.schedule))


async def remove(house: House, peer: Peer, params: ScheduleRef) -> ScheduleRecord:
    """Forget it; answers with what it was."""
    sight = await house.schedules.find(params.schedule)
    await house.schedules.remove(sight.schedule.id)
    return _describe(sight)


def _describe(
    sight: Sight, *, is_listed: bool = False, warning: str | None = None
) -> ScheduleRecord:
    schedule = sight.schedule
    slots = [_describe_slot(each) for each in sight.slots]
    words = _read_words(schedule)
    said = encode_body(schedule.prompt).get("options") or {}
    return wire.describe(
        ScheduleRecord,
        schedule,
        prompt=words[:EXCERPT_CHARACTERS] if is_listed else words,
        model=schedule.prompt.options.model,
        next_at=sight.next_at,
        trouble=sight.trouble,
        last=slots[0] if slots else None,
        slots=None if is_listed else slots,
        options=None if is_listed else {k: v for k, v in said.items() if v is not None},
        cwd=schedule.prompt.cwd,
        warning=warning,
    )


def _describe_slot(row: SlotRow) -> SlotRecord:
    return wire.describe(SlotRecord, row, job_id=row.turn_id)


def _read_words(schedule: Schedule) -> str:
    parts = [part for item in schedule.prompt.items for part in item.parts]
    return "\n\n".join(part.text for part in parts if isinstance(part, Text))
