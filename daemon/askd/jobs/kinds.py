"""Every kind of background work: what does it, how long a try may take, how many run at once.

Turns are jobs too, and not here: their sessions run them. How often a job is tried
is written in its row by whoever causes it.
"""

from collections.abc import Mapping

from askd.core.conversation import Conversation
from askd.jobs.base import Kind
from askd.jobs.compact import CompactJob
from askd.jobs.notifier import LIMIT_S
from askd.jobs.notify import NotifyJob, Send, send_nowhere
from askd.jobs.prune import PruneJob
from askd.jobs.title import TitleJob
from askd.sessions.chores import RETRY_S
from askd.sessions.compaction import TIME_LIMIT_S
from askd.sessions.notifying import NOTIFY_KIND
from askd.sessions.registry import Sessions

TITLE_TIMEOUT_S = 30.0
"""Nobody waits for a title, and a model that needs longer for one is not working."""
COMPACT_TIMEOUT_S = TIME_LIMIT_S + 30.0
"""A compaction keeps its own time; so much longer, for a conversation has to be read first."""
COMPACT_LIMIT = 4
"""They wait for models, and each has a conversation of its own."""
PRUNE_TIMEOUT_S = 60.0
"""It asks no model; it may have to read a conversation."""
NOTIFY_TIMEOUT_S = LIMIT_S + 20.0
"""The command keeps its own time; so much longer, to read a conversation and to end a child."""


def make_kinds(sessions: Sessions, send: Send = send_nowhere) -> Mapping[str, Kind]:
    """The kinds by name, as they appear in the rows of jobs; `send` notifies people."""

    def find_live(conversation_id: str) -> Conversation | None:
        session = sessions.find_live(conversation_id)
        return None if session is None else session.conversation

    title = TitleJob(
        find_live=find_live,
        store=sessions.reader,
        models=sessions.means.models,
        mode=sessions.means.title_mode,
    )
    return {
        "title": Kind(run=title.run, timeout_s=TITLE_TIMEOUT_S),
        "compact": Kind(
            run=CompactJob(sessions).run,
            timeout_s=COMPACT_TIMEOUT_S,
            limit=COMPACT_LIMIT,
            delays_s=(RETRY_S,),
        ),
        "prune": Kind(run=PruneJob(sessions).run, timeout_s=PRUNE_TIMEOUT_S),
        NOTIFY_KIND: Kind(
            run=NotifyJob(find_live=find_live, store=sessions.reader, send=send).run,
            timeout_s=NOTIFY_TIMEOUT_S,
        ),
    }
