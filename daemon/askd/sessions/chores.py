"""Compactions and prunings in the background: what one try does, wherever it is kept.

A conversation on the disk has jobs, and the worker runs them. One that is in memory only
has none that last: they are run here, one after the other.
"""

import logging
from collections.abc import Mapping

import trio

from askd.core.events import ViewChanged
from askd.core.sight import find_sight
from askd.errors import AskdError, find_known
from askd.sessions.compaction import CompactionFailed, Wish, compact
from askd.sessions.contents import ReadBlob
from askd.sessions.live import LiveSession
from askd.sessions.needs import Means
from askd.sessions.shrinking import prune
from askd.sessions.triggers import (
    THRESHOLD,
    count_messages,
    estimate_request,
    is_due_for_pruning,
    make_job,
)
from askd.store.log import Fence, NewJob, Write

log = logging.getLogger(__name__)

RETRY_S = 5.0
"""Before a second try: the first one has tried for some seconds already."""

Arguments = Mapping[str, str]
"""Of a job: `target`, the model whose window it is for; `reason`; `model`, who summarises."""


async def do_compact(
    session: LiveSession,
    arguments: Arguments,
    *,
    means: Means,
    read_blob: ReadBlob,
    is_last: bool,
    fence: Fence | None = None,
) -> ViewChanged | None:
    """One try of a compaction. When it was the last and failed, pruning takes over.

    Raises:
        CompactionFailed: `helps`, and not `is_last`: another try may do better.
        AskdError: as `compact`.
    """
    reason = arguments.get("reason", THRESHOLD)
    wish = Wish(
        reason=reason,
        target=arguments.get("target"),
        writer=arguments.get("model"),
        fulfils=fence,
        is_last=is_last,
    )
    try:
        return await compact(session, wish, means=means, read_blob=read_blob)
    except CompactionFailed as failure:
        if failure.helps and not is_last:
            session.compactions.expect()
        elif reason == THRESHOLD:
            await _prune_instead(session, arguments, means)
        raise


async def do_prune(
    session: LiveSession, arguments: Arguments, *, means: Means, fence: Fence | None = None
) -> ViewChanged | None:
    """One try of a pruning; None: nothing that may leave would help.

    Raises:
        AskdError: the model is not there any more, or storage fails.
    """
    name = arguments.get("target") or session.conversation.settings.model
    model = await means.models.resolve(name, session.compactions.last_caller)
    reason = arguments.get("reason", THRESHOLD)
    return await prune(session, model, means=means, reason=reason, fulfils=fence)


async def hand_over(session: LiveSession, job: NewJob) -> None:
    """Have a job run that belongs to no turn; raise `StorageFailed`."""
    if session.ephemeral:
        session.memory_jobs.add(job)
        return
    await session.log.append(Write(conversation_id=session.id, bodies=[], jobs=[job]))


async def _prune_instead(session: LiveSession, arguments: Arguments, means: Means) -> None:
    """A job for it, if the next request has come so near to the limit."""
    name = arguments.get("target") or session.conversation.settings.model
    try:
        model = await means.models.resolve(name, session.compactions.last_caller)
        conversation = session.conversation
        items = find_sight(conversation, conversation.running).items
        tokens = estimate_request(conversation, items, model=model, means=means)
        bounds = means.context().bounds(model)
        if is_due_for_pruning(tokens, bounds, messages=count_messages(items)):
            await hand_over(session, make_job("prune", session, model.name, means))
    except AskdError as error:
        log.warning("Not pruned either: id=%s: %s", session.id, error.message)


async def run_memory_jobs(session: LiveSession, *, means: Means, read_blob: ReadBlob) -> None:
    """Run the jobs of a conversation in memory as they come, until cancelled."""
    while True:
        job = await session.memory_jobs.take()
        for attempt in range(1, job.max_attempts + 1):
            is_last = attempt == job.max_attempts
            if await _try(session, job, means=means, read_blob=read_blob, is_last=is_last):
                break
            await trio.sleep(RETRY_S)


async def _try(
    session: LiveSession, job: NewJob, *, means: Means, read_blob: ReadBlob, is_last: bool
) -> bool:
    """One try; whether that was the end of it."""
    try:
        if job.kind == "compact":
            await do_compact(
                session, job.arguments, means=means, read_blob=read_blob, is_last=is_last
            )
        else:
            await do_prune(session, job.arguments, means=means)
    except Exception as error:
        if find_known(error) is None:
            log.error("Job failed: kind=%s", job.kind, exc_info=error)
        return is_last or (isinstance(error, CompactionFailed) and not error.helps)
    return True
