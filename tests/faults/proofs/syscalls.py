"""Every call to the disk that may fail: refused with a reason, nothing lost, and well again."""

import itertools
import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ask.connection import Client
from ask.exits import Failed
from tests.faults.programmes import Outcome
from tests.faults.syscalls_house import (
    ANY,
    DAEMON,
    FILES,
    FOLDER,
    HASTY,
    POLL_S,
    Fault,
    House,
    inject,
    try_call,
)

CLAIM = (
    "Whichever call to the disk fails, once or for good: the daemon runs on, answers no write that "
    "it could not store, says so with code 74, serves reads, and stores again within 5 s after the "
    "fault is gone. What it answered is there after a kill, in the rollout as well, and what was "
    "deleted is in none."
)
CONTROL = "The daemon answers a write before it knows whether the disk took it."
UNIT = "faults that fired"
CI = 60
FULL = 400

CALLS = (
    ("database", "pwrite64"),
    ("database", "fdatasync"),
    ("database", "openat"),
    ("database", "ftruncate"),
    ("log", "pwrite64"),
    ("log", "fdatasync"),
    ("log", "ftruncate"),
    ("log", "openat"),
    ("rollout", "openat"),
    ("rollout", "write"),
    (FOLDER, "openat"),
    (FOLDER, "fsync"),
    (ANY, "rename"),
    (ANY, "unlink"),
    ("notes of the daemon", "write"),
)
ERRORS = ("EIO", "ENOSPC", "EROFS", "EDQUOT")
COMMITTING = {("log", "pwrite64"), ("log", "fdatasync")}
"""Without these no commit can be: while they fail for good, no write may be answered well."""
STORAGE = 74
NOTES = 6
"""Writes while a fault is in force; the first calls of each kind are among them."""
BATCH = 20
"""Faults for one conversation and one daemon, which is killed then."""
RECOVERY_S = 5.0
MIRROR_S = 10.0
"""Rollouts follow a moment later, and a start looks through all of them."""
HARMS = 3
"""The control ends when it has shown so many."""
FOLLOW_S = 1.0
"""Rollouts come and go a moment after the answer: a call that is made for it has come by then."""
TRIES = 3
"""A call that has not come in this much work does not come."""


@dataclass
class Batch:
    """One conversation: what was answered well, what was refused, and what went wrong.

    `deleted` are others, by their ids.
    """

    house: House
    client: Client
    id: str
    numbers: Iterator[int]
    answered: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    harms: list[str] = field(default_factory=list)
    slowest_s: float = 0.0

    def write(self) -> bool:
        """A note; whether it was answered well."""
        text = f"note {next(self.numbers)}."
        _, error = try_call(self.client, "conversation/note", conversation_id=self.id, text=text)
        (self.answered if error is None else self.refused).append(text)
        if error is not None and error.code != STORAGE:
            self.harms.append(f"a write is refused with {error.code}: {error}")
        return error is None

    def read(self) -> str:
        """All that the conversation holds."""
        events = []
        after: int | None = 0
        while after is not None:
            page = self.client.call(
                "conversation/read", {"conversation_id": self.id, "after_seq": after}
            )
            events += page["data"]
            after = page["next_after_seq"]
        return " ".join(str(event) for event in events)

    def check(self, when: str) -> None:
        """What was answered well is there, and what was refused is not."""
        there = self.read()
        lost = [text for text in self.answered if text not in there]
        if lost:
            self.harms.append(f"{when}, {len(lost)} answered writes are gone: {lost[0]}")
        odd = [text for text in self.refused if text in there]
        if odd:
            self.harms.append(f"{when}, {len(odd)} refused writes are there: {odd[0]}")

    def await_rollout(self, id: str, *, there: bool) -> None:
        """Wait for a rollout to come or to go; not for long, a fault may keep it from that."""
        until = time.monotonic() + FOLLOW_S
        while bool(self.house.find_rollouts(id, "*")) is not there and time.monotonic() < until:
            time.sleep(POLL_S)
        time.sleep(POLL_S)  # what is done behind it, such as the sync of its folder

    def check_rollouts(self) -> None:
        """Some time after a start the rollouts are what they should be."""
        until = time.monotonic() + MIRROR_S
        while wrongs := self._find_wrong_rollouts():
            if time.monotonic() > until:
                self.harms += [f"{MIRROR_S} s after a start {wrong}" for wrong in wrongs]
                return
            time.sleep(POLL_S)

    def _find_wrong_rollouts(self) -> list[str]:
        files = self.house.find_rollouts(self.id)
        content = files[0].read_text(encoding="utf-8") if files else ""
        lost = [text for text in self.answered if text not in content]
        wrongs = [f"{len(lost)} answered writes are in no rollout: {lost[0]}"] if lost else []
        drafts = self.house.find_rollouts(self.id, ".partial")
        left = [file for id in self.deleted for file in self.house.find_rollouts(id, "*")]
        return [*wrongs, *(f"there is {file.name}" for file in (*drafts, *left))]

    def recover(self) -> None:
        """The fault is gone: it stores again, soon."""
        began = time.monotonic()
        while not self.write():
            if time.monotonic() > began + RECOVERY_S:
                self.harms.append(f"{RECOVERY_S} s after the fault it does not store")
                return
        self.slowest_s = max(self.slowest_s, time.monotonic() - began)


def prove(size: int, seed: int, directory: Path) -> Outcome:
    """So many faults, on as many daemons as it takes."""
    return _run(size, seed, directory, DAEMON, harms_max=None)


def control(size: int, seed: int, directory: Path) -> Outcome:
    """The same with a daemon that is too good to be true."""
    return _run(size, seed, directory, HASTY, harms_max=HARMS)


def _run(size: int, seed: int, directory: Path, module: str, *, harms_max: int | None) -> Outcome:
    faults = _Faults(random.Random(seed))
    harms: list[str] = []
    fired = 0
    by_call: Counter[str] = Counter()
    slowest = 0.0
    house = House(directory / "home", module)
    try:
        while fired < size and not faults.over and (harms_max is None or len(harms) < harms_max):
            with house.connect() as client:
                created = client.call("conversation/create")
                batch = Batch(house, client, created["id"], faults.numbers)
                for fault in itertools.islice(faults, min(BATCH, size - fired)):
                    before = len(batch.harms)
                    if _try(batch, fault):
                        fired += 1
                        by_call[f"{fault.call} of {fault.file}"] += 1
                    else:
                        faults.exhaust(fault)
                    harms += [f"{fault}: {harm}" for harm in batch.harms[before:]]
                    if not house.is_alive():
                        return Outcome(fired, (*harms, f"{fault}: the daemon has ended"))
            house.restart()
            with house.connect() as client:
                batch.client, batch.harms = client, []
                batch.refused.clear()  # of a write that failed in a sync, a kill may bring either
                batch.check("after a kill")
                batch.check_rollouts()
                harms += batch.harms
            slowest = max(slowest, batch.slowest_s)
    finally:
        house.kill()
    if fired < size and harms_max is None:
        harms.append(f"only {fired} faults could be made to fire")
    figures = {
        "stores again, slowest": f"{slowest:.2f} s",
        "by call": ", ".join(f"{call} {count}" for call, count in sorted(by_call.items())),
    }
    return Outcome(fired, tuple(harms), figures)


class _Faults:
    """Each call with each error at its first coming, once and for good, at its second, and so on.

    One that has not fired would not fire later either. `over`: none is left.
    """

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self._left = [(*call, error) for call in CALLS for error in ERRORS]
        self._round = 0
        self._waiting: list[Fault] = []
        self.numbers = itertools.count(1)

    @property
    def over(self) -> bool:
        return not self._left

    def __iter__(self) -> Iterator[Fault]:
        return self

    def __next__(self) -> Fault:
        if not self._left:
            raise StopIteration
        if not self._waiting:
            self._round += 1
            for for_good in (False, True):
                self._waiting += [Fault(*each, self._round, for_good) for each in self._left]
            self._dice.shuffle(self._waiting)
        return self._waiting.pop()

    def exhaust(self, fault: Fault) -> None:
        """This one has not fired."""
        self._left.remove(_name(fault))
        self._waiting = [each for each in self._waiting if _name(each) != _name(fault)]


def _name(fault: Fault) -> tuple[str, str, str]:
    return fault.file, fault.call, fault.error


def _try(batch: Batch, fault: Fault) -> bool:
    """Work while a fault is in force, and after; whether it fired at all."""
    if not batch.answered:
        batch.write()
    path = batch.house.find(fault.file, batch.id)
    is_hopeless = fault.for_good and fault.when == 1 and (fault.file, fault.call) in COMMITTING
    for _ in range(TRIES):
        with inject(batch.house, fault, path) as injection:
            try:
                _work(batch, fault, is_hopeless=is_hopeless)
            except Failed as error:
                batch.harms.append(f"the daemon cannot be talked to: {error}")
                return True
        batch.recover()
        batch.check("after the fault")
        if injection.fired:
            return True
    return False


def _work(batch: Batch, fault: Fault, *, is_hopeless: bool) -> None:
    """What callers do meanwhile: write, delete, read; and what may not happen then."""
    stored = [batch.write() for _ in range(NOTES)]
    if is_hopeless and any(stored):
        batch.harms.append(f"{sum(stored)} writes were answered that cannot be stored")
    created, error = try_call(batch.client, "conversation/create")
    follows = fault.file in {FOLDER, ANY}
    if error is None:
        if follows:
            batch.await_rollout(created["id"], there=True)
        # A deletion empties the log into the database at once.
        _, error = try_call(batch.client, "conversation/delete", conversation_id=created["id"])
        if error is None:
            batch.deleted.append(created["id"])
            if follows:
                batch.await_rollout(created["id"], there=False)
    if error is not None and error.code != STORAGE:
        batch.harms.append(f"a deletion is refused with {error.code}: {error}")
    # Of a running conversation, and of the database: which may have to be opened for it.
    reopens = fault.call == "openat" and fault.file in FILES
    for method, params in (
        ("conversation/read", {"conversation_id": batch.id}),
        ("conversation/list", {}),
        ("daemon/status", {}),
    ):
        _, error = try_call(batch.client, method, **params)
        if error is not None and not (reopens and error.code == STORAGE):
            batch.harms.append(f"{method} is refused with {error.code}: {error}")
    if reopens:
        # It opens the database itself, while all others have it open.
        _, error = try_call(batch.client, "daemon/check")
        if error is not None:
            batch.harms.append(f"daemon/check is refused with {error.code}: {error}")
    if is_hopeless:
        arguments = f'{{"conversation_id": "{batch.id}", "text": "by hand"}}'
        code = batch.house.ask("api", "conversation/note", arguments)
        if code != STORAGE:
            batch.harms.append(f"the client ends with {code}")
