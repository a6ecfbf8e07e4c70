"""A compaction from its plan to the view that comes of it, and what people hear of it.

The plan is made for the view as it is now, a model writes the summary while turns go on,
and the change is applied if the view is still the one that the plan was for: else it is
planned once more, and then given up quietly. Whatever fails, the history stays as it was.
It decides neither when nor how often.
"""

import logging
from dataclasses import dataclass

import trio

from askd.core.bounds import is_worth
from askd.core.compaction import (
    PREFIX,
    UNAVAILABLE,
    CompactionPlan,
    Count,
    make_change,
    plan_compaction,
)
from askd.core.conversation import Conversation
from askd.core.events import ViewChanged
from askd.core.items import Summary
from askd.errors import (
    AskdError,
    BadAnswer,
    Busy,
    NotFound,
    RateLimited,
    StaleFence,
    StorageFailed,
    Unavailable,
    find_leaves,
)
from askd.providers.base import Model
from askd.sessions.compactions import Settled
from askd.sessions.contents import ReadBlob
from askd.sessions.hub import CompactionNews, NewsState
from askd.sessions.live import LiveSession
from askd.sessions.needs import Means
from askd.sessions.shrinking import find_overhead
from askd.sessions.summaries import TRIMMED, Summarizer, Written, make_count
from askd.sessions.views import change_view
from askd.store.log import Fence

log = logging.getLogger(__name__)

TIME_LIMIT_S = 300.0
"""For all of it: pieces, tries, and a second plan."""
PLANS = 2
STARTED = "Compacting conversation history..."
FINISHED = "Compacted: {before} -> {after} tokens."
FAILED = "Compression failed, conversation may hit limits soon"
NOTHING = "There is nothing to compact."
STOPPED = "The compaction was stopped."
OUTRUN = "The view has changed meanwhile; it was not compacted."
NOT_SMALLER = "The summary would not have made the conversation at least 20 % smaller."


_PASSING = (Unavailable, RateLimited, BadAnswer, Busy, StorageFailed)
"""What may be over when it is tried again."""


class CompactionFailed(AskdError):
    """The history is as it was. `helps`: trying again may help."""

    reason = "compaction_failed"

    def __init__(self, message: str, *, helps: bool = False) -> None:
        super().__init__(message)
        self.helps = helps


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A compaction as it is to be.

    Attributes:
        target: the model whose window it is for, by name; None: the conversation's own.
        writer: the model that summarises; None: as the settings say.
        reason: what caused it, as the event says it.
        fulfils: the job whose effect it is.
        is_last: nobody will try again, if it fails.
    """

    reason: str
    target: str | None = None
    writer: str | None = None
    fulfils: Fence | None = None
    is_last: bool = True


async def compact(
    session: LiveSession, wish: Wish, *, means: Means, read_blob: ReadBlob
) -> ViewChanged | None:
    """Compact a conversation; who watches hears of it. None: there was nothing to do.

    Raises:
        CompactionFailed: no model summarised it, or not to any use.
        NotFound: the conversation was deleted.
        StaleFence: the job is another's by now, or cancelled.
    """
    state = session.compactions
    state.begin()
    try:
        with trio.fail_after(TIME_LIMIT_S):
            result = await _Compaction(session, wish, means, read_blob).run()
    except (trio.Cancelled, NotFound, StaleFence):
        _settle(session, Settled(state="idle", text=STOPPED), means)
        raise
    except Exception as error:
        failure = _explain(error)
        log.warning("%s: id=%s: %s", FAILED, session.id, failure.message)
        if wish.is_last or not failure.helps:
            _settle(session, Settled(state="failed", text=FAILED, why=failure.message), means)
        raise failure from error
    finally:
        state.pause()
    if isinstance(result, Settled):
        _settle(session, result, means)
        return None
    _settle(session, _describe(result), means)
    return result


class _Compaction:
    """One compaction in the making."""

    def __init__(self, session: LiveSession, wish: Wish, means: Means, read_blob: ReadBlob) -> None:
        self._session = session
        self._wish = wish
        self._means = means
        self._read_blob = read_blob
        self._refused = False

    async def run(self) -> ViewChanged | Settled:
        """The change, or why there is none."""
        for _ in range(PLANS):
            target, writer = await self._find_models()
            count = make_count(self._means, target)
            plan = self._plan(target, count)
            if plan is None:
                return Settled(state="idle", text=NOTHING)
            _announce(self._session)
            written = await self._summarize(plan, writer)
            change = await self._apply(plan, written, writer, count)
            if change is not None:
                return change
            if self._refused:
                raise CompactionFailed(NOT_SMALLER, helps=False)
        return Settled(state="idle", text=OUTRUN)

    async def _find_models(self) -> tuple[Model, Model]:
        """Whose window it is for, and who summarises."""
        models, caller = self._means.models, self._session.compactions.last_caller
        own = self._session.conversation.settings.model
        target = await models.resolve(self._wish.target or own, caller)
        name = self._wish.writer or self._means.context().model
        return target, target if name is None else await models.resolve(name, caller)

    def _plan(self, target: Model, count: Count) -> CompactionPlan | None:
        """The plan, if a summary of the fewest words would make enough of a difference."""
        conversation = self._session.conversation
        plan = plan_compaction(
            conversation,
            bounds=self._means.context().bounds(target),
            count=count,
            overhead=find_overhead(conversation, target, self._means),
        )
        if plan is None:
            return None
        least = plan.tokens_rest + count([Summary("", f"{PREFIX}\n{UNAVAILABLE}")])
        return plan if is_worth(plan.tokens_before, least) else None

    async def _summarize(self, plan: CompactionPlan, writer: Model) -> Written:
        rules = self._means.context()
        summarizer = Summarizer(
            model=writer,
            caller=self._session.compactions.last_caller,
            means=self._means,
            read_blob=self._read_blob,
            system=self._session.conversation.settings.system,
            summary_tokens=rules.bounds(writer).summary_tokens,
            report=lambda kind, text: log.info("Compaction: %s: %s", kind, text),
        )
        return await summarizer.summarize(plan.source)

    async def _apply(
        self, plan: CompactionPlan, written: Written, writer: Model, count: Count
    ) -> ViewChanged | None:
        new_id = self._means.new_id

        def make(conversation: Conversation) -> ViewChanged | None:
            if conversation.view.basis != plan.basis:
                return None  # too late
            change = make_change(
                plan,
                written.text,
                change_id=new_id(),
                summary_id=new_id(),
                count=count,
                model=writer.name,
                usage=written.usage,
                truncated=written.trimmed,
                reason=self._wish.reason,
            )
            self._refused = change is None
            return change

        return await change_view(self._session, make, fulfils=self._wish.fulfils)


def _announce(session: LiveSession) -> None:
    """Said once, however often it is tried."""
    if not session.compactions.announced:
        session.compactions.announced = True
        _publish(session, "started", STARTED)


def _settle(session: LiveSession, result: Settled, means: Means) -> None:
    """It is over: for those who wait, and for those who were told that it had begun."""
    state = session.compactions
    was_announced, state.announced = state.announced, False
    state.settle(result, at=means.now())
    if was_announced:
        how: NewsState = "failed" if result.state == "failed" else "finished"
        _publish(session, how, result.text, result.tokens_before, result.tokens_after)


def _publish(
    session: LiveSession,
    state: NewsState,
    text: str,
    before: int | None = None,
    after: int | None = None,
) -> None:
    session.hub.publish(
        CompactionNews(
            conversation_id=session.id,
            state=state,
            text=text,
            tokens_before=before,
            tokens_after=after,
        )
    )


def _describe(change: ViewChanged) -> Settled:
    text = FINISHED.format(before=change.tokens_before, after=change.tokens_after)
    if change.truncated:
        text = f"{TRIMMED.format(count=change.truncated)}\n{text}"
    return Settled(
        state="finished",
        text=text,
        tokens_before=change.tokens_before,
        tokens_after=change.tokens_after,
    )


def _explain(error: Exception) -> CompactionFailed:
    """What kept it from being done, and whether it may be done later."""
    leaves = list(find_leaves(error))
    for each in leaves:
        match each:
            case CompactionFailed():
                return each
            case trio.TooSlowError():
                return CompactionFailed(f"It took longer than {TIME_LIMIT_S:g} s.", helps=False)
            case AskdError():
                return CompactionFailed(each.message, helps=isinstance(each, _PASSING))
            case _:
                pass
    # Its words may hold anything: they are for the log, which hides what is secret.
    log.error("A compaction failed unexpectedly", exc_info=error)
    return CompactionFailed(f"Something went wrong ({type(leaves[0]).__name__}).", helps=True)
