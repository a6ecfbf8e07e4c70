"""What an import of other programs' servers would do: each server's name here, and its end.

Pure: listings and the names that there are in, outcomes out. It reads no file and writes no
setting.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from ask.mcp_entries import Origin, Untakable, read_entry
from ask.mcp_files import Listing

Map = dict[str, Any]

NAME_CHARACTERS = 32
"""The longest name of a server: it stands before the names of its tools, which have 64."""
NAME_RULE = f"letters, digits, - and single _, {NAME_CHARACTERS} characters at the most"
_NAME = re.compile(r"[a-zA-Z0-9-]+(_[a-zA-Z0-9-]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What becomes of one server of a file.

    Attributes:
        name: the one that it gets here; `named`: the one that it has there.
        state: `skipped`: there is one of this name.
        why: of one that is refused, after its name: `it ...`.
        settings: what is to be written; None: nothing.
    """

    name: str
    named: str
    source: str
    state: Literal["added", "replaced", "skipped", "refused"]
    why: str | None = None
    notes: tuple[str, ...] = ()
    settings: Map | None = field(default=None, repr=False)


def plan_import(
    listings: Sequence[Listing],
    known: Collection[str],
    *,
    environ: Mapping[str, str],
    force: bool = False,
) -> Iterator[Outcome]:
    """What becomes of each server, in the order of the listings; the first of a name has it.

    `known`: the servers that there are; with `force` they are replaced.
    """
    taken: set[str] = set()
    for listing in listings:
        origin = Origin(
            environ=environ,
            root=listing.root,
            is_shared=listing.is_shared,
            expands=listing.expands,
        )
        for key, value in listing.servers.items():
            named = str(key).encode(errors="replace").decode()
            name = fit_name(named)
            end = partial(Outcome, name=name, named=named, source=listing.source)
            if name in taken or (name in known and not force):
                yield end(state="skipped")
                continue
            try:
                found = read_entry(value, origin)
            except Untakable as error:
                yield end(state="refused", why=str(error))
                continue
            taken.add(name)
            renamed = () if name == named else (f"it was called {named!r}",)
            yield end(
                state="replaced" if name in known else "added",
                notes=(*renamed, *found.notes),
                settings=found.settings,
            )


def is_name(name: str) -> bool:
    """Whether the settings take it as a server's name."""
    return len(name) <= NAME_CHARACTERS and _NAME.fullmatch(name) is not None


def fit_name(name: str) -> str:
    """The nearest name that a server can have: `My Server (v2)` is `My-Server-v2`."""
    if is_name(name) and not name.startswith("-"):
        return name
    plain = re.sub("-+", "-", re.sub("[^a-zA-Z0-9_-]", "-", name))
    plain = re.sub("[-_]*_[-_]*", "_", plain).strip("-_")[:NAME_CHARACTERS].strip("-_")
    return plain or "server"


def lay_out_outcome(outcome: Outcome, *, dry_run: bool) -> list[str]:
    """A line for what becomes of it, and one for each thing to know."""
    if outcome.state == "skipped":
        return [f"Skipped: {outcome.name} (there is one; --force replaces it), {outcome.source}"]
    if outcome.state == "refused":
        return [f"Not taken: {outcome.named}, for it {outcome.why} ({outcome.source})"]
    word = {"added": "add", "replaced": "replace"}[outcome.state]
    done = f"Would {word}" if dry_run else outcome.state.capitalize()
    settings = outcome.settings or {}
    start = show_start(settings)
    off = "" if settings.get("enabled", True) else ", not enabled"
    lines = [f"{done}: {outcome.name} ({start}{off}), {outcome.source}"]
    return lines + [f"  {note}" for note in outcome.notes]


def describe_outcome(outcome: Outcome) -> Map:
    """The same for programs; no value that could be secret is in it."""
    return {
        "name": outcome.name,
        "named": outcome.named,
        "source": outcome.source,
        "state": outcome.state,
        "why": outcome.why,
        "notes": list(outcome.notes),
    }


def show_start(settings: Mapping[str, Any]) -> str:
    """The program or the host, without arguments, names or passwords: `npx ...`."""
    if settings.get("command"):
        return f"{settings['command']}{' ...' if settings.get('args') else ''}"
    host = re.match(r"(https?://)(?:[^/?#]*@)?([^/?#]*)", str(settings.get("url", "")))
    return f"{host[1]}{host[2]}" if host else "an address"
