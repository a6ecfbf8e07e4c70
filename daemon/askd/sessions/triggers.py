"""Which background work a turn's write causes: a title, and a view that is made smaller.

A title of first words that are at hand is no work: it stands in the write itself. A view
is made smaller after a turn, and between the completions of a long one. Too large for
comfort is compacted; what has to become smaller and cannot be compacted is pruned. It
decides by what the next request would hold, and runs nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from askd.core.bounds import Bounds
from askd.core.conversation import Conversation
from askd.core.events import (
    Body,
    CompletionFinished,
    ItemAdded,
    Titled,
    TurnFinished,
    TurnOptions,
)
from askd.core.items import AssistantMessage, Item, ToolOutput, UserMessage
from askd.core.pruning import COMING_MESSAGES
from askd.core.sight import find_sight
from askd.core.titling import find_title
from askd.core.tokens import measure_request
from askd.providers.base import Model
from askd.sessions.instructions import find_told
from askd.sessions.live import LiveSession
from askd.sessions.needs import Means
from askd.sessions.outputs import list_tools
from askd.sessions.toolbox import find_toolbox
from askd.store.log import NewJob

Relief = Literal["compact", "prune"]
Work = Literal["title"] | Relief

ATTEMPTS: Mapping[Work, int] = {"title": 3, "compact": 2, "prune": 3}
"""How often each is tried. Without a title the listing shows the first words anyway; what could
not be compacted is pruned."""

THRESHOLD = "threshold"
REQUEST = "request"
"""Why a view is made smaller, as the event says it: by itself, or because somebody asked."""
NO_OPTIONS = TurnOptions()
"""Of a request that belongs to no turn yet: what the conversation has counts."""


def add_title(bodies: Sequence[Body], session: LiveSession, means: Means) -> list[Body]:
    """These bodies, and with a turn's end the title that needs no job: its first words.

    It stands behind the end, where a job's would, so that who leaves at the end misses nothing.
    """
    if means.title_mode() != "first-words" or not _lacks_title(session, bodies):
        return list(bodies)
    title = find_title(session.conversation)
    if title is None:
        return list(bodies)
    behind = 1 + next(i for i, body in enumerate(bodies) if isinstance(body, TurnFinished))
    return [*bodies[:behind], Titled(title), *bodies[behind:]]


def find_jobs(
    session: LiveSession,
    turn_id: str,
    bodies: Sequence[Body],
    *,
    model: Model | None,
    means: Means,
) -> list[NewJob]:
    """The jobs that are to be committed with these bodies; model None: none could be found."""
    jobs = []
    if means.title_mode() != "off" and _lacks_title(session, bodies):
        jobs.append(make_job("title", session, None, means))
    if model is not None and any(isinstance(b, TurnFinished | CompletionFinished) for b in bodies):
        relief = find_relief(session, turn_id, bodies, model=model, means=means)
        jobs += [] if relief is None else [relief]
    return jobs


def expect_jobs(session: LiveSession, turn_id: str, jobs: Sequence[NewJob]) -> None:
    """They were committed; those of a conversation in memory only are to be run from there."""
    for job in jobs:
        if job.kind == "compact":
            session.compactions.expect()
            session.compactions.spend(turn_id)
        if session.ephemeral:
            session.memory_jobs.add(job)


def find_relief(
    session: LiveSession, turn_id: str, bodies: Sequence[Body], *, model: Model, means: Means
) -> NewJob | None:
    """The job for a view that will be too large once these bodies are in it."""
    if session.compactions.is_due:
        return None  # another plan would only outrun that one
    rules, conversation = means.context(), session.conversation
    bounds = rules.bounds(model)
    items = _find_next_items(conversation, turn_id, bodies)
    options = conversation.turns[turn_id].prompt.options
    relief = choose_relief(
        estimate_request(conversation, items, model=model, means=means, options=options),
        bounds,
        messages=count_messages(items),
        may_compact=rules.compaction and session.compactions.may_begin(turn_id, means.now()),
    )
    return None if relief is None else make_job(relief, session, model.name, means)


def estimate_request(
    conversation: Conversation,
    items: Sequence[Item],
    *,
    model: Model,
    means: Means,
    options: TurnOptions = NO_OPTIONS,
) -> int:
    """About how many tokens a request with these items has: its frame, system prompt and tools."""
    toolbox = find_toolbox(conversation, options, means, model=model)
    tools = list_tools(conversation, toolbox) if model.manners.tools else ()
    size = measure_request(items, system=find_told(conversation, NO_OPTIONS), tools=tools)
    return means.rates.estimate(model.name, size)


def choose_relief(
    tokens: int, bounds: Bounds, *, messages: int, may_compact: bool
) -> Relief | None:
    """What a next request of so many tokens and messages calls for."""
    if tokens > bounds.compact_above and may_compact:
        return "compact"
    return "prune" if is_due_for_pruning(tokens, bounds, messages=messages) else None


def is_due_for_pruning(tokens: int, bounds: Bounds, *, messages: int) -> bool:
    """Whether the next request is so large that it is to be pruned, if nothing else helps."""
    most = bounds.max_messages
    has_too_many = most is not None and messages + COMING_MESSAGES > most
    return has_too_many or tokens >= bounds.prune_from


def make_job(
    kind: Work, session: LiveSession, target: str | None, means: Means, **more: str
) -> NewJob:
    """A job of this kind for a conversation; of each kind there is one at a time.

    Args:
        target: the model whose window it is for; None: the conversation's own.
        more: further arguments of the job.
    """
    about = {} if target is None else {"target": target}
    return NewJob(
        id=means.new_id(),
        kind=kind,
        unique_key=session.id,
        arguments={"conversation_id": session.id, **about, **more},
        run_at=means.now(),
        max_attempts=ATTEMPTS[kind],
    )


def count_messages(items: Sequence[Item]) -> int:
    """Those that count towards `max_history_messages`."""
    return sum(isinstance(item, UserMessage | AssistantMessage | ToolOutput) for item in items)


def _lacks_title(session: LiveSession, bodies: Sequence[Body]) -> bool:
    """Whether a turn ends with these bodies in a conversation that is to be called something."""
    if session.ephemeral or session.conversation.title is not None:
        return False
    ends = any(isinstance(body, TurnFinished) for body in bodies)
    return ends and not any(isinstance(body, Titled) for body in bodies)


def _find_next_items(
    conversation: Conversation, turn_id: str, bodies: Sequence[Body]
) -> list[Item]:
    """What the next request will hold, as far as it is known: these bodies among it."""
    added = [
        body.item for body in bodies if isinstance(body, ItemAdded) and body.status != "superseded"
    ]
    return [*find_sight(conversation, turn_id).items, *added]
