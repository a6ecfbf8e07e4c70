"""A store that starts on what a power cut has left, and what is wrong with it then."""

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import trio

from askd.core.events import ItemAdded
from tests.faults.power_writer import House, notice, open_house
from tests.store.builders import add, create

LIMIT_S = 30.0
"""For a start with everything that is checked after it; it takes some hundredths of a second."""


@dataclass
class Told:
    """What callers had been told, by conversation. `last`: the highest number they heard."""

    last: dict[str, int] = field(default_factory=dict)
    going: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)


def hear(text: str) -> Told:
    """The lines of `power_writer`."""
    told = Told()
    for line in text.splitlines():
        match line.split():
            case ["ack", id, seq]:
                told.last[id] = int(seq)
            case ["going", id]:
                told.going.add(id)
            case ["gone", id]:
                told.gone.add(id)
            case _:
                raise ValueError(f"no line of the writer's: {line!r}")
    return told


async def start(home: Path, told: Told) -> list[str]:
    """Start as the daemon does; what is lost, wrong or refused, a sentence each."""
    harms: list[str] = []
    try:
        with trio.fail_after(LIMIT_S):
            async with open_house(home) as house:
                harms += await _check_log(house, told)
                await house.mirror.settle()
                harms += await _check_rollouts(house)
                harms += await _check_writing(house)
    except Exception as error:
        return [*harms, f"it does not start: {_flatten(error)}"]
    return harms + _check_file(home / "ask.db")


async def _check_log(house: House, told: Told) -> list[str]:
    harms = []
    for id, last in sorted(told.last.items()):
        events = await house.reader.load(id)
        seqs = [event.seq for event in events]
        if not events and id in told.going:
            continue
        if id in told.gone:
            harms.append(f"{id} was deleted and is there")
        if len(seqs) < last:
            harms.append(f"{id} has {len(seqs)} events and its caller heard of {last}")
        if seqs != list(range(1, len(seqs) + 1)):
            harms.append(f"{id} is numbered {seqs}")
        for event in events[1:]:
            body = event.body
            if not isinstance(body, ItemAdded) or body != notice(id, event.seq):
                harms.append(f"{id} holds something else at {event.seq}")
    return harms


async def _check_rollouts(house: House) -> list[str]:
    """Every file holds a conversation that is there, all of it, and nothing that is no record."""
    harms = []
    for path in sorted((house.home / "rollouts").rglob("*.jsonl")):
        id = path.stem.rsplit("-", 1)[1]
        try:
            records: list[dict[str, Any]] = [
                json.loads(line) for line in path.read_bytes().splitlines()
            ]
        except ValueError as error:
            harms.append(f"the rollout of {id} has a line that is no record: {error}")
            continue
        seqs = [each["payload"]["seq"] for each in records if each["type"] == "ask_event"]
        events = await house.reader.load(id)
        if not events:
            harms.append(f"the rollout of {id} is there and the conversation is not")
        elif seqs != [event.seq for event in events]:
            harms.append(f"the rollout of {id} tells {seqs} of {len(events)} events")
    status = await house.mirror.status()
    if status.behind or status.trouble is not None:
        harms.append(f"{status.behind} rollouts are behind: {status.trouble}")
    return harms


async def _check_writing(house: House) -> list[str]:
    await house.writer.append(create("new", notice("new", 2)))
    committed = await house.writer.append(add("new", notice("new", 3)))
    return [] if committed.events[-1].seq == 3 else ["what is written now is numbered wrongly"]


def _check_file(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("PRAGMA integrity_check").fetchall()
        found += connection.execute("PRAGMA foreign_key_check").fetchall()
    return [] if found == [("ok",)] else [f"the database is damaged: {found[:3]}"]


def _flatten(error: BaseException) -> str:
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(_flatten(each) for each in error.exceptions)
    return f"{type(error).__name__}: {error}"
