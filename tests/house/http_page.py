"""Renders `docs/reference/http.md` from the table of `http_face`.

Run `python -m tests.house.http_page` to write it, and `tests.house.openapi_file` for
the file beside it. The sentences around the tables are written here.
"""

from ask.protocol.messages import METHODS
from tests.house.http_face import (
    FACE,
    KEPT_BACK,
    NOT_TRAVELLING,
    ROUTES,
    STATUS,
    STREAMED,
    UNSTREAMED,
)
from tests.house.openapi_file import STREAM
from tests.house.pages import REFERENCE, render_table, write_page

PATH = REFERENCE / "http.md"

HEAD = """\
# askd over HTTP: a design

**No release serves this.** It is written down so that whoever needs it knows what it would be,
and so that the wire stays one that it can be made of; [a
decision](../decisions/0025-no-http-yet.md) says why it is not built. A program can have all of it
today from [the library](library.md), from `ask api`, or from [the protocol](protocol.md) with any
MessagePack-RPC client.

[http-openapi.json](http-openapi.json) is the same as an OpenAPI 3.1 file. Both are generated from
the types of the wire, so that they cannot say something else.

## Where it listens

On a Unix socket, `http.sock` beside the daemon's own (directory 0700, socket 0600, and the peer's
user is looked at), which is what `curl --unix-socket` and most HTTP libraries can use. On
loopback only if the settings say so, on a port of their choice; never on another address, and
there is no setting for that: `ssh -L` leads there from elsewhere. It speaks HTTP/1.1, and no TLS,
for nobody is in between.

It is a face of the daemon that runs, as the one for MCP is: it calls the handlers of the wire,
keeps no state of its own but running streams, and ends with the daemon.

## Who may use it

Every user of a machine, every container that shares its network and every page in a browser can
reach a port of loopback. A request to ask is a request to run tools, so whoever may use this face
is you.

"""

THREATS: tuple[tuple[str, str], ...] = (
    (
        "other users, containers",
        "a token of 256 random bits in the file `http-token` of the state directory, mode "
        "0600, made anew at each start: `Authorization: Bearer TOKEN`, compared in constant "
        "time. Never in a path, a query or a cookie, which end up in logs",
    ),
    (
        "a page whose name is made to mean 127.0.0.1 (DNS rebinding)",
        "`Host` must be `127.0.0.1`, `[::1]` or `localhost` with the port that is listened "
        "on, else 421, before anything else is looked at",
    ),
    (
        "a page that sends requests and need not read the answers (CSRF)",
        "nothing is ever sent along by a browser by itself, for there are no cookies; a body "
        "must be `application/json` or `application/octet-stream`, which a form cannot say, "
        "else 415",
    ),
    (
        "a page that asks as a program would",
        "a request with an `Origin`, and one with `Sec-Fetch-Site: cross-site`, is refused "
        "with 403, a preflight too, unless the settings name that origin; no `*`",
    ),
    (
        "a process of yours that is confined (a tool)",
        "the confinement of commands has no Unix socket, no TCP of this machine, and no sight of "
        "the state directory",
    ),
    (
        "a client that reads slowly, or not at all",
        "as on the wire: its deltas are dropped, not its events; 10 s without taking anything"
        " and it is disconnected",
    ),
    (
        "a body without end",
        "1 MiB, as a message; 32 MiB for a blob, 256 MiB for an import, each written off the "
        "heap; 60 s for all of it",
    ),
)
"""Against what, and what keeps it out."""

GRANTS = """
The token gives what the command line gives, except for what the last table keeps back: what a
person should do, and what would turn "may ask" into "may change how the daemon runs".

## Requests and answers

Paths begin with `/v1`, the major version of [the protocol](protocol.md). What stands in braces,
the query and the body together are the parameters of the method; one that is not known is
refused. In a query, a list is a name that comes more than once, `true` and `false` are words, and
what is null is left out. Answers are the results of the method as JSON; bytes within JSON are
base64. Times and sizes are as on the wire, and so are cursors and limits.

A prompt needs its `key`, as on the wire: a request that is sent again with the same key is the
same turn. Content that is too large for a message is sent with `PUT /v1/blobs/{sha256}` first and
waits for ten minutes for the prompt that takes it.

"""

STREAMS = f"""
## Streams

`POST /v1/turns` and `GET /v1/conversations/{{conversation_id}}/events` answer [server-sent
events](https://html.spec.whatwg.org/multipage/server-sent-events.html) to `Accept: {STREAM}`.
`event` says what comes, `data` is one line of JSON, and an event that is stored has its seq as
the `id`:

```text
event: event
id: 4
data: {{"conversation_id": "...", "seq": 4, "type": "turn_started", ...}}

event: delta
data: {{"conversation_id": "...", "item_id": "...", "kind": "text", "offset": 0, "text": "Be"}}
```

A reader that connects again says `Last-Event-ID`, and each event comes once and in order; the
texts so far of what runs come as deltas from offset 0, so print only what is beyond your own. A
turn's stream begins with its `prompt_accepted`, and ends after its `turn_finished` or
`turn_unsaved`; that of a conversation does not end. Where nothing happens a comment comes every
15 seconds. Closing a stream ends nothing but the stream: `POST .../interrupt` stops a turn.

`EventSource` of browsers can send no token; `fetch` can, and reads streams as well.

"""

ERRORS = """
## Errors

A refusal is `{code, message, data}` as on the wire, with a status. A turn that fails was not
refused: its end says how it ended. [Exit codes](exit-codes.md) has all codes and reasons.

"""

FOOT = """
This page is generated from `client/ask/protocol/messages.py` and `tests/house/http_face.py` by
`tests/house/http_page.py`, the file beside it by `tests/house/openapi_file.py`.
"""


def render() -> str:
    """The whole page."""
    streamed = [(f"`{name}`", text) for name, text in STREAMED.items()]
    streamed += [(f"`{name}`", f"not sent: {text}") for name, text in UNSTREAMED.items()]
    statuses = [(str(code), str(status)) for code, status in sorted(STATUS.items())]
    routes = [
        (f"`{name}`", f"`{route.verb.upper()} {route.path}`", route.answer, METHODS[name].text)
        for name, route in ROUTES.items()
    ]
    return "".join(
        (
            HEAD,
            render_table(("against", "what keeps it out"), THREATS),
            GRANTS,
            "Some parameters of the wire no request has:\n\n",
            render_table(("parameter", "why"), _name(NOT_TRAVELLING)),
            STREAMS,
            render_table(("`event`", "what it brings"), streamed),
            ERRORS,
            render_table(("code", "status"), statuses),
            "\nBefore any method is called the face itself refuses with these:\n\n",
            render_table(("status", "when"), [(str(each), text) for each, text in FACE.items()]),
            "\n## Methods\n\n",
            render_table(("method", "request", "answer", "what it does"), routes),
            "\n## Kept back\n\n",
            render_table(("method", "why"), _name(KEPT_BACK)),
            FOOT,
        )
    )


def _name(table: dict[str, str]) -> list[tuple[str, str]]:
    return [(f"`{name}`", text) for name, text in table.items()]


if __name__ == "__main__":
    write_page(PATH, render())
