"""What a face of HTTP would offer of the wire, as a table; it is designed, and not built.

Every method of METHODS is a route here or is kept back with a reason; a test holds
that. What travels in path, query and body follows from the types of the contract.
"""

from typing import Literal, NamedTuple

from ask.protocol.errors import (
    APPROVAL_NEEDED,
    BUSY,
    CREDENTIALS,
    CUT,
    DONE,
    FAILED,
    INTERRUPTED,
    NO_DAEMON,
    NOT_FOUND,
    OVERFLOW,
    PIPE_CLOSED,
    RATE_LIMITED,
    STORAGE,
    TERMINATED,
    TIME_LIMIT,
    USAGE,
)

Verb = Literal["get", "post", "put", "delete"]
Content = Literal["json", "bytes", "stream", "json or stream"]


class Route(NamedTuple):
    """How a method is reached.

    Attributes:
        path: below `/v1`; what stands in braces are parameters of the method.
        answer: what comes back: JSON, bytes as they are, or server-sent events.
        bytes_in: the body is bytes as they are; other parameters go in the query.
        without: parameters that HTTP says in its own way.
    """

    verb: Verb
    path: str
    answer: Content = "json"
    bytes_in: bool = False
    without: tuple[str, ...] = ()


CONVERSATION = "/conversations/{conversation_id}"
TURN = f"{CONVERSATION}/turns/{{turn_id}}"

ROUTES: dict[str, Route] = {
    "turn/start": Route("post", "/turns", "json or stream"),
    "turn/interrupt": Route("post", f"{TURN}/interrupt"),
    "turn/withdraw": Route("post", f"{TURN}/withdraw"),
    "turn/wait": Route("get", TURN),
    "question/answer": Route("post", f"{CONVERSATION}/questions/{{question_id}}/answer"),
    "conversation/create": Route("post", "/conversations"),
    "conversation/list": Route("get", "/conversations"),
    "conversation/read": Route("get", f"{CONVERSATION}/events"),
    "conversation/subscribe": Route("get", f"{CONVERSATION}/events", "stream"),
    "conversation/resolve": Route("post", "/conversations/resolve"),
    "conversation/note": Route("post", f"{CONVERSATION}/notes"),
    "conversation/rename": Route("put", f"{CONVERSATION}/name"),
    "conversation/clear": Route("post", f"{CONVERSATION}/clear"),
    "conversation/compact": Route("post", f"{CONVERSATION}/compact"),
    "conversation/prune": Route("post", f"{CONVERSATION}/prune"),
    "conversation/undo": Route("post", f"{CONVERSATION}/undo"),
    "conversation/fork": Route("post", f"{CONVERSATION}/fork"),
    "conversation/pin": Route("put", f"{CONVERSATION}/pin"),
    "conversation/unpin": Route("delete", f"{CONVERSATION}/pin"),
    "conversation/search": Route("get", "/search"),
    "conversation/context": Route("get", f"{CONVERSATION}/context"),
    "conversation/delete": Route("delete", CONVERSATION),
    "conversation/export": Route("get", f"{CONVERSATION}/export", "bytes", without=("offset",)),
    "conversation/import": Route(
        "post", "/conversations/import", bytes_in=True, without=("size", "offset", "bytes")
    ),
    "backup/list": Route("get", "/backups"),
    "snapshot/list": Route("get", f"{CONVERSATION}/snapshots"),
    "snapshot/diff": Route("get", "/snapshots/{snapshot}/diff"),
    "snapshot/restore": Route("post", "/snapshots/{snapshot}/restore"),
    "blob/put": Route("put", "/blobs/{sha256}", bytes_in=True, without=("size", "offset", "bytes")),
    "blob/read": Route("get", "/blobs/{sha256}", "bytes", without=("offset", "limit")),
    "job/list": Route("get", "/jobs"),
    "job/read": Route("get", "/jobs/{job_id}"),
    "job/wait": Route("post", "/jobs/wait"),
    "job/cancel": Route("post", "/jobs/{job_id}/cancel"),
    "job/retry": Route("post", "/jobs/{job_id}/retry"),
    "job/stats": Route("get", "/job-stats"),
    "schedule/add": Route("post", "/schedules"),
    "schedule/list": Route("get", "/schedules"),
    "schedule/read": Route("get", "/schedules/{schedule}"),
    "schedule/run": Route("post", "/schedules/{schedule}/run"),
    "schedule/pause": Route("post", "/schedules/{schedule}/pause"),
    "schedule/resume": Route("post", "/schedules/{schedule}/resume"),
    "schedule/remove": Route("delete", "/schedules/{schedule}"),
    "model/list": Route("get", "/models"),
    "model/refresh": Route("post", "/models/refresh"),
    "tool/list": Route("get", "/tools"),
    "mcp/resources": Route("get", "/mcp/{server}/resources"),
    "mcp/resource": Route("post", "/mcp/{server}/resource"),
    "mcp/prompts": Route("get", "/mcp/{server}/prompts"),
    "mcp/prompt": Route("post", "/mcp/{server}/prompts/{name}"),
    "mcp/list": Route("get", "/mcp"),
    "mcp/test": Route("post", "/mcp/{server}/test"),
    "mcp/logs": Route("get", "/mcp/{server}/logs"),
    "notify/test": Route("post", "/notifications/test"),
    "usage/read": Route("get", "/usage"),
    "auth/status": Route("get", "/credentials"),
    "config/read": Route("get", "/settings"),
    "daemon/status": Route("get", "/daemon"),
    "daemon/check": Route("get", "/daemon/check"),
}
"""Every method that is offered."""

_CONNECTION = "It is about a connection of the wire, and a request of HTTP has none."
_CREDENTIAL = "Credentials are set by who sits at the machine, and never travel this way."
_MASTER = "How the daemon runs, and whether it does, is for the command line to say."

KEPT_BACK: dict[str, str] = {
    "hello": "The version stands in the path, and `GET /v1/daemon` says the rest.",
    "conversation/unsubscribe": "Close the stream.",
    "conversation/scrub": "It rewrites what is stored, in all conversations: for a person to do.",
    "backup/remove": "It takes away what a mistake could be mended with: for a person to do.",
    "mcp/open": _CONNECTION,
    "mcp/send": _CONNECTION,
    "mcp/close": _CONNECTION,
    "mcp/login": _CREDENTIAL,
    "mcp/logout": _CREDENTIAL,
    "auth/set": _CREDENTIAL,
    "auth/logout": _CREDENTIAL,
    "auth/login": _CREDENTIAL,
    "auth/wait": _CREDENTIAL,
    "config/write": "A setting can name a command to run (`api_key_cmd`, `[notify]`): "
    "a token for asking would become one for that.",
    "daemon/drain": _MASTER,
    "daemon/stop": _MASTER,
}
"""Every method that is not offered, and why."""

NOT_TRAVELLING: dict[str, str] = {
    "secrets": "the daemon's own credentials are used",
    "env": "tools get the daemon's own variables",
    "terminal": "a request comes from no terminal",
    "bind": "a request comes from no terminal",
    "cwd_id": "`cwd` names the directory; whoever may ask may name any",
    "far": "`cwd` is a directory of the daemon's machine",
    "follow": "`Accept: text/event-stream` says it",
}
"""Parameters that no request has, and why."""

STREAMED: dict[str, str] = {
    "event": "an event, with its seq as the `id`",
    "delta": "a fragment of an answer",
    "progress": "a turn waits for something, or chose it",
    "compaction": "a compaction has begun, or ended",
    "turn_unsaved": "a turn ended and could not be stored",
}
"""Notifications that a stream brings. A gap is mended before anybody sees it."""

UNSTREAMED: dict[str, str] = {
    "gap": "the face subscribes again, and the stream goes on",
    "attached": "who else follows is in the summary of the conversation",
    "mcp/message": _CONNECTION,
    "mcp/closed": _CONNECTION,
}
"""Notifications that no stream brings, and why; one that is not there yet is no fault."""

STATUS: dict[int, int] = {
    FAILED: 500,
    USAGE: 400,
    NOT_FOUND: 404,
    CREDENTIALS: 424,  # the provider's: 401 is about the token of this face
    RATE_LIMITED: 429,
    APPROVAL_NEEDED: 409,
    OVERFLOW: 422,
    BUSY: 409,
    NO_DAEMON: 503,
    STORAGE: 507,
    TIME_LIMIT: 504,
}
"""The status of a refused request, by its code. A turn that ends badly was not refused."""

NO_STATUS: dict[int, str] = {
    DONE: "no refusal",
    CUT: "how a turn ends; its request was answered",
    INTERRUPTED: "how a turn ends; its request was answered",
    PIPE_CLOSED: "of processes",
    TERMINATED: "of processes",
}
"""Codes that no request is refused with."""

FACE: dict[int, str] = {
    401: "no token, or a wrong one; over the Unix socket none is needed",
    403: "an `Origin` that the settings do not name, or `Sec-Fetch-Site: cross-site`",
    405: "another verb",
    406: "an `Accept` that this path cannot serve",
    413: "a body over its limit",
    415: "a body that is not said to be what it has to be",
    421: "a `Host` that is none of this face's own",
}
"""What the face itself refuses before any method is called."""
