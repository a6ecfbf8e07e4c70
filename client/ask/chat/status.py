"""The line at the bottom of a chat: who answers, how full the window is, cost, what waits, and
who else is here.

Pure but for `fetch_facts`, which asks the daemon for what no event says.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ask.chat.desk import Desk
from ask.chat.looks import find_usage
from ask.commands.calls import take_caller
from ask.commands.models import show_tokens
from ask.connection import Caller
from ask.exits import Failed
from ask.graphemes import find_width
from ask.render import show_cost
from ask.reveal import shorten_line

SEPARATOR = " | "
LOST = "connection lost, looking for it ..."
NAMED_LIMIT = 2
"""So many others are named; of more it is said how many are here."""
MODEL = 1
"""The place of the model among what is important."""
MODEL_COLUMNS = 20
"""What its name keeps where all of it does not fit: 40 columns hold the window too."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a conversation at rest.

    Attributes:
        tokens: of the next request, about.
        window: of the model, in tokens; None: not known.
        cost_usd: of all answers; None: no price is known.
        partial: some answers have no known price.
    """

    model: str | None = None
    tokens: int | None = None
    window: int | None = None
    cost_usd: float | None = None
    partial: bool = False


def fetch_facts(desk: Desk, caller: Caller) -> Facts:
    """Ask the daemon; what it cannot say is left out, for nobody waits for this line."""
    desk = replace(desk, caller=caller)
    said = desk.options.get("model") or os.environ.get("ASK_MODEL")
    try:
        if desk.conversation_id is None:
            # One that the daemon would have to look for is not asked after.
            settings = {} if said else caller.call("config/read")["settings"]
            return Facts(model=said or settings.get("default_model"))
        asked = {"conversation_id": desk.conversation_id, "limit": 1, "last": 1}
        asked |= {"model": said} if said else {}
        page = desk.caller.call("conversation/context", {**asked, **take_caller()})
        usage = find_usage(desk) or {}
    except Failed:
        return Facts(model=said)
    return Facts(
        model=page.get("model") or said,
        tokens=page.get("tokens"),
        window=page.get("context_window"),
        cost_usd=usage.get("cost_usd"),
        partial=bool(usage.get("unpriced")),
    )


@dataclass(frozen=True, slots=True)
class Attached:
    """Who else is attached.

    Attributes:
        count: of the others; they may be more than are named.
        names: their terminals, or what they call themselves without one.
    """

    count: int = 0
    names: tuple[str, ...] = ()


NOBODY = Attached()


def read_attached(told: Mapping[str, Any], pid: int) -> Attached:
    """Those whom the daemon names but this process; one that it does not know may be ourselves."""
    rows = [row for row in told.get("clients") or () if row.get("pid") != pid]
    names = tuple(str(row.get("tty") or row.get("client") or "") for row in rows)
    return Attached(max(int(told.get("attached") or 0) - 1, 0), names)


def word_attached(others: Attached) -> str:
    """`also pts/3`; more than two, or if it is not known who of them we are, `4 here`."""
    if others.count == len(others.names) <= NAMED_LIMIT:
        return f"also {', '.join(others.names)}" if others.names else ""
    return f"{others.count + 1} here" if others.count else ""


def lay_out_status(
    facts: Facts,
    *,
    name: str,
    queued: int,
    lost: bool,
    keys: str,
    columns: int,
    others: Attached = NOBODY,
) -> str:
    """One line that fits: the least important is left out first.

    `keys`: what a key does at this moment, in words.
    """
    parts = [  # in their order on the line; those with the highest number leave first
        (0, LOST if lost else ""),
        (MODEL, facts.model or ""),
        (2, _word_window(facts)),
        (5, _word_cost(facts)),
        (3, f"{queued} queued" if queued else ""),
        (4, "" if lost else word_attached(others)),
        (6, "" if lost else keys),
        (7, name),
    ]
    shown = [(rank, shorten_line(text, None)) for rank, text in parts if text]
    if name and _measure(shown) > columns:
        shown.pop()
    if _measure(shown) > columns:
        shown = [(rank, _shorten_model(text) if rank == MODEL else text) for rank, text in shown]
    while len(shown) > 1 and _measure(shown) > columns:
        shown.remove(max(shown))
    return shorten_line(SEPARATOR.join(text for _, text in shown), columns)


def _shorten_model(name: str) -> str:
    """Without who serves it, and short: a long name would leave no room for anything else."""
    return shorten_line(name.rpartition("/")[2], MODEL_COLUMNS)


def _measure(shown: Sequence[tuple[int, str]]) -> int:
    return find_width(SEPARATOR.join(text for _, text in shown))


def _word_window(facts: Facts) -> str:
    """`3.1k of 128k (2 %)`; without a known window the tokens alone."""
    if facts.tokens is None:
        return ""
    if not facts.window:
        return f"{show_tokens(facts.tokens)} tokens"
    share = round(100 * facts.tokens / facts.window)
    return f"{show_tokens(facts.tokens)} of {show_tokens(facts.window)} ({share} %)"


def _word_cost(facts: Facts) -> str:
    """`$0.2500`; `$0.2500+` where some of it is not known; `free`."""
    cost = facts.cost_usd
    if not cost:
        return "" if cost is None or facts.partial else "free"
    return f"{show_cost(cost)}{'+' if facts.partial else ''}"
