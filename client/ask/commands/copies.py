"""Copies of the database, and of its rollouts: what a deletion says of them, what removes them.

They lie beside what they are of, and hold what was deleted since they were made. The
daemon knows them; nothing here looks into a directory.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import click

from ask.commands.calls import Map
from ask.exits import Failed

if TYPE_CHECKING:
    from ask.connection import Client

DATABASE = "ask.db."
"""So begin the names of copies of the database; others are directories of rollouts."""
LOOKUP = 1000
"""Conversations that copies are searched for at once."""


def find_copies(client: "Client", ids: Sequence[str] | None) -> list[Map]:
    """Copies of the database that hold one of these conversations; None: all of them."""
    if ids is None:
        return list(client.call("backup/list", {})["data"])
    found: dict[str, Map] = {}
    for start in range(0, len(ids), LOOKUP):
        answer = client.call("backup/list", {"holding": list(ids[start : start + LOOKUP])})
        found |= {each["name"]: each for each in answer["data"]}
    return list(found.values())


def tell_copies(client: "Client", gone: Sequence[str], *, backups: bool) -> None:
    """Say which copies still hold what was deleted, or remove them."""
    try:
        copies = find_copies(client, gone)
    except Failed as error:
        if backups or error.data.get("reason") != "unknown_method":
            raise
        return  # an older daemon
    if backups:
        remove_copies(client, copies)
    elif copies:
        verb = "holds" if len(copies) == 1 else "hold"
        click.echo(
            f"{count_copies(copies)} still {verb} what was deleted. "
            f"Remove {'it' if len(copies) == 1 else 'them'}: ask history delete --backups",
            err=True,
        )


def remove_copies(client: "Client", copies: Sequence[Map]) -> None:
    """Remove these, and say so; one that is gone already is no error."""
    if not copies:
        click.echo("No copy of the database holds what was deleted.", err=True)
        return
    for each in copies:
        try:
            client.call("backup/remove", {"name": each["name"]})
        except Failed as error:
            if error.data.get("reason") != "backup_not_found":
                raise
    click.echo(f"Deleted {count_copies(copies)}.", err=True)


def count_copies(copies: Sequence[Map]) -> str:
    """`2 copies of the database and 1 copy of the rollouts`."""
    ours = sum(each["name"].startswith(DATABASE) for each in copies)
    return " and ".join(
        f"{number} {'copy' if number == 1 else 'copies'} of the {what}"
        for number, what in ((ours, "database"), (len(copies) - ours, "rollouts"))
        if number
    )


def lay_out_copies(copies: Iterable[Map]) -> list[str]:
    """One copy a line: its name, when it was written, its size."""
    return [
        f"{each['name']}  {datetime.fromtimestamp(each['at']).strftime('%Y-%m-%d %H:%M')}"
        f"  {max(1, each['bytes'] >> 10)} KiB"
        for each in copies
    ]
