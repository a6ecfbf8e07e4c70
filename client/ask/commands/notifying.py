"""Whether anybody can be notified: what the daemon says, and what became of the last ones.

It sends one only if it is told to.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ask.commands.findings import Finding
from ask.exits import Failed
from ask.hits import SHORT_ID

if TYPE_CHECKING:
    from ask.connection import Client

CHECK = "notify"
WAY = 'A command of yours: ask config edit, [notify] command = ["PROGRAM", "{title}", "{body}"]'


def check_notifications(client: "Client", *, send: bool = False) -> Iterator[Finding]:
    """With what turns notify; with `send` one is sent. Nothing of an older daemon's."""
    try:
        found = client.call("notify/test", {"send": True} if send else {})
    except Failed as error:
        if error.data.get("reason") != "unknown_method":
            raise
        return
    text = str(found["text"])
    match found["state"]:
        case "ready":
            sent = f"a notification was sent {text}; it should be on your screen"
            yield Finding(CHECK, "ok", sent if send else f"turns with --notify notify {text}")
            if not send:
                yield from check_failures(client)
        case "failed":
            yield Finding(CHECK, "fail", text, WAY)
        case "missing":
            # Nobody has to be notified: it is a fault where somebody wants to be.
            if send or is_wanted(client):
                yield Finding(CHECK, "fail", text, WAY)
            else:
                yield Finding(CHECK, "ok", text)
        case _:
            yield Finding(CHECK, "ok", text)


def is_wanted(client: "Client") -> bool:
    """Whether the settings speak of it."""
    chosen = client.call("config/read")["settings"].get("notify") or {}
    return bool(chosen.get("command") or chosen.get("detached"))


def check_failures(client: "Client") -> Iterator[Finding]:
    """The newest notification, if it was one that nobody got; it is kept for a week."""
    page = client.call("job/list", {"kind": CHECK, "limit": 1})
    for job in page["data"]:
        if job["state"] == "discarded":
            short_id = job["id"][:SHORT_ID]
            hint = f"All about it: ask jobs show {short_id}; try it: ask doctor --notify"
            yield Finding(CHECK, "warn", f"the last one did not come: {job['error']}", hint)
