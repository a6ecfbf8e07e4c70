"""What each method does: one function a method, one group of methods a file.

A handler gets the house, the peer, and checked parameters; it answers with the
result that the contract names, or raises an `AskdError`. It encodes nothing and
writes to no stream.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from askd.server.handlers import (
    auth,
    backups,
    blobs,
    context,
    conversations,
    daemon,
    forks,
    jobs,
    models,
    pins,
    scrubs,
    search,
    subscriptions,
    transfers,
    turns,
    usage,
    views,
)
from askd.server.house import House
from askd.server.peer import Peer

Handler = Callable[[House, Peer, Any], Awaitable[Any]]

HANDLERS: dict[str, Handler] = {
    "turn/start": turns.start,
    "turn/interrupt": turns.interrupt,
    "turn/withdraw": turns.withdraw,
    "turn/wait": turns.wait,
    "question/answer": turns.answer_question,
    "conversation/create": conversations.create,
    "conversation/list": conversations.list_page,
    "conversation/read": subscriptions.read,
    "conversation/subscribe": subscriptions.subscribe,
    "conversation/unsubscribe": subscriptions.unsubscribe,
    "conversation/resolve": conversations.resolve,
    "conversation/note": conversations.note,
    "conversation/rename": conversations.rename,
    "conversation/clear": views.clear,
    "conversation/compact": views.compact,
    "conversation/prune": views.prune,
    "conversation/undo": views.undo,
    "conversation/fork": forks.fork_conversation,
    "conversation/pin": pins.pin,
    "conversation/unpin": pins.unpin,
    "conversation/search": search.find,
    "conversation/context": context.show,
    "conversation/delete": conversations.delete,
    "conversation/scrub": scrubs.scrub,
    "conversation/export": transfers.export_chunk,
    "conversation/import": transfers.import_chunk,
    "backup/list": backups.list_all,
    "backup/remove": backups.remove,
    "blob/put": blobs.put,
    "blob/read": blobs.read,
    "job/list": jobs.list_page,
    "job/read": jobs.read,
    "job/wait": jobs.wait,
    "job/cancel": jobs.cancel,
    "job/retry": jobs.retry,
    "job/stats": jobs.stats,
    "model/list": models.list_all,
    "model/refresh": models.refresh_all,
    "usage/read": usage.read,
    "auth/status": auth.status,
    "auth/set": auth.set_key,
    "auth/logout": auth.log_out,
    "auth/login": auth.begin,
    "auth/wait": auth.wait,
    "config/read": daemon.read_config,
    "config/write": daemon.write_config,
    "daemon/status": daemon.status,
    "daemon/check": daemon.check,
    "daemon/drain": daemon.drain,
    "daemon/stop": daemon.stop,
}
"""Every method but `hello`, which `dispatch` answers: it makes the peer known."""
