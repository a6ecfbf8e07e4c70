"""`ask history delete`: conversations go for good: named ones, old ones, and copies of them.

It asks a person first, and without a person it wants to be told so. What is
removed with a conversation is the daemon's to know.
"""

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING

import click

from ask.commands import layout, listing
from ask.commands.calls import (
    Map,
    json_option,
    list_pages,
    open_client,
    resolve,
)
from ask.commands.completing import complete_conversation
from ask.commands.consent import ask_consent
from ask.commands.copies import (
    count_copies,
    find_copies,
    lay_out_copies,
    remove_copies,
    tell_copies,
)
from ask.commands.help import Command, Example
from ask.exits import DONE, NO_DAEMON, SIGNALLED, Failed
from ask.protocol import errors
from ask.signals import catch_signals
from ask.terminal import strip_controls

if TYPE_CHECKING:
    from ask.connection import Client

UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400, "y": 365 * 86_400}
"""What `--older-than 30d` counts in."""
SHOWN_ROWS = 20
"""What of a long list a person is shown before the question."""
DELETE_LIMIT_S = 120.0
"""A turn that is interrupted may take a while to end, and a long conversation to be wiped."""
WINDOW = 16
"""Deletions under way at once; so many more may go after a Ctrl-C."""
PROGRESS_COUNT = 50
"""With fewer there is nothing to watch."""
PROGRESS_S = 0.1
LOST_HINT = "See what is left: ask list; it can be run again with that."

Stopped = Callable[[], int]
"""The signal that asked to stop; 0: none did."""


class Span(click.ParamType[float]):
    """A length of time such as `30d`, in seconds."""

    name = "span"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read what was typed."""
        found = re.fullmatch(r"([0-9]{1,9})([smhdwy])", str(value))
        if found is None:
            self.fail(
                f"{value!r} is no length of time: a number and one of s, m, h, d, w, y, "
                "such as 30d or 1y."
            )
        return float(int(found[1]) * UNITS_S[found[2]])


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to go. `before_at`: only if nothing has changed since; `stay`: why others do not."""

    rows: list[Map]
    before_at: float | None = None
    stay: str | None = None


@click.command(
    "delete",
    cls=Command,
    examples=[
        Example("ask history delete work --yes", before=("ask new work",)),
        Example("ask history delete --older-than 30d --yes"),
        Example("ask history delete work --backups --yes", before=("ask new work",)),
        Example("ask history delete nobody --yes", code=errors.NOT_FOUND),
    ],
    codes=[errors.NOT_FOUND, errors.NO_DAEMON, errors.STORAGE],
)
@click.argument("conversations", metavar="[ID]...", nargs=-1, shell_complete=complete_conversation)
@click.option(
    "--older-than",
    type=Span(),
    metavar="SPAN",
    help="Those in which nothing was said for so long: 30d, 12h, 2w, 1y.",
)
@click.option("--backups", is_flag=True, help="Copies of the database too that still hold them.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@json_option
def delete_command(
    conversations: Sequence[str],
    older_than: float | None,
    backups: bool,
    yes: bool,
    as_json: bool,
) -> int:
    """Delete conversations and all that belongs to them.

    All of them are looked up before the first is deleted; one at work is
    interrupted. --older-than leaves alone what has a name or a pin, and what is
    at work. --backups without anything else removes every copy of the database.
    """
    if conversations and older_than is not None:
        raise click.UsageError("Give IDs or --older-than, not both.")
    if not conversations and older_than is None and not backups:
        raise click.UsageError("Say what to delete: an ID, or --older-than 30d, or --backups.")
    if not yes and not sys.stdin.isatty():
        raise click.UsageError("There is no terminal to ask on: say --yes to delete.")
    with open_client() as client:
        if not conversations and older_than is None:
            return _remove_all_copies(client, yes=yes, as_json=as_json)
        plan = (
            plan_named(client, conversations)
            if older_than is None
            else plan_old(client, older_than, now=time.time())
        )
        return _carry_out(client, plan, backups=backups, yes=yes, as_json=as_json)


def plan_named(client: "Client", texts: Sequence[str]) -> Plan:
    """Those that a person named, each once."""
    return Plan(list({each["id"]: each for each in [resolve(client, t) for t in texts]}.values()))


def plan_old(client: "Client", span_s: float, *, now: float) -> Plan:
    """Those in which nothing was said for a while, but for what is to be kept."""
    before_at = now - span_s
    old, _ = list_pages(client, live=False, before_at=before_at)
    named = [row for row in old if row.get("name")]
    pinned = [row for row in old if row.get("pinned") and not row.get("name")]
    rest = [row for row in old if not row.get("name") and not row.get("pinned")]
    busy = [row for row in rest if is_at_work(row)]
    reasons = [
        f"{len(rows)} {one if len(rows) == 1 else many}"
        for rows, one, many in (
            (named, "has a name", "have a name"),
            (pinned, "is pinned", "are pinned"),
            (busy, "is at work", "are at work"),
        )
        if rows
    ]
    count = len(named) + len(pinned) + len(busy)
    verb = "stays" if count == 1 else "stay"
    stay = f"{layout.count(count, 'old conversation')} {verb}: {', '.join(reasons)}."
    return Plan([row for row in rest if not is_at_work(row)], before_at, stay if reasons else None)


def is_at_work(row: Map) -> bool:
    """Whether a turn runs, waits or asks in a conversation."""
    return row["state"] in ("working", "needs_you") or bool(row.get("queued"))


def _carry_out(client: "Client", plan: Plan, *, backups: bool, yes: bool, as_json: bool) -> int:
    if plan.stay is not None:
        click.echo(plan.stay, err=True)
    if not plan.rows:
        why = "." if plan.stay is not None else ": no conversation is that old."
        click.echo(f"Nothing to delete{why}", err=True)
        _print_ids([], as_json)
        return DONE
    if not yes:
        copies = find_copies(client, [row["id"] for row in plan.rows]) if backups else []
        if not _confirm(plan, copies):
            click.echo("Nothing was deleted.", err=True)
            return DONE
    from ask.connection import ConnectionLost  # what only prints its help needs no connection

    gone: list[str] = []
    number = 0
    is_lost = False
    try:
        with stop_politely() as stopped:
            for id in delete_each(client, plan, stopped):
                gone.append(id)
            number = stopped()
    except ConnectionLost as error:
        is_lost = True
        error.hint = LOST_HINT
        raise
    finally:
        _print_ids(gone, as_json)
        told = _tell_lost if is_lost else partial(_tell, is_whole=not number)
        click.echo(told(plan, len(gone)), err=True)
    if gone:
        tell_copies(client, gone, backups=backups and not number)
    return SIGNALLED + number if number else DONE


def _tell(plan: Plan, gone: int, *, is_whole: bool) -> str:
    """What became of it."""
    asked = len(plan.rows)
    if gone == asked:
        return f"Deleted {layout.count(gone, 'conversation')}."
    if is_whole and plan.before_at is not None:
        rest = layout.count(asked - gone, "conversation")
        verb = "is" if asked - gone == 1 else "are"
        return f"Deleted {layout.count(gone, 'conversation')}; {rest} {verb} in use by now."
    return f"Deleted {gone} of {layout.count(asked, 'conversation')}."


def _tell_lost(plan: Plan, gone: int) -> str:
    """What is known of it where the daemon's answers have not come."""
    sure = f"Deleted {gone} of {layout.count(len(plan.rows), 'conversation')} for sure"
    return f"{sure}; what was asked for last may be gone too."


def delete_each(client: "Client", plan: Plan, stopped: Stopped) -> Iterator[str]:
    """Delete one after the other until told to stop; the ids of those that went.

    Old ones, of which there may be thousands, are asked for a few at once: they share a commit.
    """
    total = len(plan.rows)
    size = 1 if plan.before_at is None else WINDOW
    shows = total >= PROGRESS_COUNT and os.isatty(2)
    shown_at = 0.0
    try:
        for start in range(0, total, size):
            if stopped():
                return
            if shows and time.monotonic() - shown_at >= PROGRESS_S:
                shown_at = time.monotonic()
                _show(f"Deleting: {start} of {total}")
            yield from _delete_some(client, plan.rows[start : start + size], plan.before_at)
    finally:
        if shows:
            _show("")


def _delete_some(client: "Client", rows: Sequence[Map], before_at: float | None) -> Iterator[str]:
    sent = []
    for row in rows:
        params = {"conversation_id": row["id"]}
        if before_at is not None:
            params["before_at"] = before_at
        elif is_at_work(row):
            # What was at rest when a person was asked, and is not now, is refused.
            params["interrupt"] = True
        sent.append((row["id"], client.send("conversation/delete", params)))
    failed: Failed | None = None
    for id, request in sent:
        try:
            answer = client.wait(request, limit_s=DELETE_LIMIT_S)
        except Failed as error:
            if error.code == NO_DAEMON:
                raise
            if error.data.get("reason") != "conversation_not_found":  # somebody else was faster
                failed = failed or error
        else:
            if answer["deleted"]:
                yield id
    if failed is not None:
        raise failed


@contextmanager
def stop_politely() -> Iterator[Stopped]:
    """Let a signal, Ctrl-C first of all, end the work between two steps of it."""
    seen: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        seen.append(number)

    with catch_signals(note):
        yield lambda: seen[0] if seen else 0


def _remove_all_copies(client: "Client", *, yes: bool, as_json: bool) -> int:
    copies = find_copies(client, None)
    _print_ids([], as_json)
    if not copies:
        click.echo("Nothing to delete: there is no copy of the database.", err=True)
    elif yes or _ask(lay_out_copies(copies), f"Delete {count_copies(copies)} for good?"):
        remove_copies(client, copies)
    else:
        click.echo("Nothing was deleted.", err=True)
    return DONE


def _confirm(plan: Plan, copies: Sequence[Map]) -> bool:
    """Show what will go, and ask."""
    rows = listing.lay_out_rows(plan.rows[:SHOWN_ROWS], layout.find_columns(2))
    if len(plan.rows) > SHOWN_ROWS:
        rows.append(f"... and {len(plan.rows) - SHOWN_ROWS} more")
    busy = sum(map(is_at_work, plan.rows))
    if busy:
        verb = "is at work and is" if busy == 1 else "are at work and are"
        rows.append(f"Of these, {busy} {verb} interrupted.")
    rows += lay_out_copies(copies)
    too = f" and {count_copies(copies)}" if copies else ""
    return _ask(rows, f"Delete {layout.count(len(plan.rows), 'conversation')}{too} for good?")


def _ask(rows: Iterable[str], question: str) -> bool:
    """Show these lines, and ask."""
    for row in rows:
        click.echo(strip_controls(row), err=True)
    return ask_consent(question)


def _print_ids(ids: Iterable[str], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps([{"conversation_id": each} for each in ids]))


def _show(text: str) -> None:
    """One line of progress in place of the one before."""
    sys.stderr.write(f"\r\x1b[K{text}")
    sys.stderr.flush()
