"""The daemon as it is, in a process that ends itself by SIGKILL at the moment that it was told.

Each line on stdin is an `Order` as JSON: a fork runs `askd run` and says `pid N` on stdout, and
`dead STATUS` when it is gone. Forks of one warm process, for the imports would be most of the
time. What is put around functions here only counts and kills; the one exception is the house
that is built wrong, which tells everybody of a commit before it is one.
"""

import json
import os
import signal
import sqlite3
import sys
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import trio

from askd import app
from askd.providers.http.transport import Transport
from askd.server.handlers import HANDLERS
from askd.server.outbox import Outbox
from askd.store import writer
from askd.store.rollouts.files import RolloutFile
from askd.tools.registry import Registry

P = ParamSpec("P")
T = TypeVar("T")

STEP = "step"
"""The place that every step of trio's loop passes; the others are in `POINTS`."""
POINTS = (
    *("before commit", "after commit"),
    *("before acknowledgement", "after acknowledgement"),
    *("before rollout", "within rollout", "after rollout"),
    *("before send", "after send"),
    *("before tool", "after tool"),
)
LATE_S = 0.03
"""How much later than it says so the house that is built wrong commits."""


@dataclass(frozen=True, slots=True)
class Order:
    """How one daemon is to run.

    Attributes:
        place: where it ends itself: `STEP`, one of `POINTS`, or none: it is killed from outside.
        count: when it comes there for the so-many-th time.
        early: it tells of commits before they are made.
    """

    place: str = ""
    count: int = 0
    early: bool = False

    def encode(self) -> str:
        """A line."""
        return json.dumps(asdict(self)) + "\n"


class Death(trio.abc.Instrument):
    """Counts how often each place was passed, and ends the process at the one in the order."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._passed: Counter[str] = Counter()

    def is_due(self, place: str) -> bool:
        """Whether this passing is the one."""
        if place != self._order.place:
            return False
        self._passed[place] += 1
        return self._passed[place] == self._order.count

    def pass_by(self, place: str) -> None:
        """End here, if this is where."""
        if self.is_due(place):
            die()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        """Trio's loop has done one step of one task."""
        self.pass_by(STEP)


def die() -> None:
    """End as by `kill -9`: nothing more is done, in no thread."""
    os.kill(os.getpid(), signal.SIGKILL)


class Connection(sqlite3.Connection):
    """The writer's, with a place before and after each commit."""

    death: Death

    def execute(self, sql: str, *arguments: Any) -> sqlite3.Cursor:
        """As it is, but around COMMIT."""
        if sql != "COMMIT":
            return super().execute(sql, *arguments)
        self.death.pass_by("before commit")
        cursor = super().execute(sql)
        self.death.pass_by("after commit")
        return cursor


class EarlyConnection(sqlite3.Connection):
    """Says that it has committed, and does so `LATE_S` later, or when it is used again."""

    death: Death
    _lock: threading.RLock
    _pending = False

    @property
    def in_transaction(self) -> bool:
        """As if it had committed."""
        return super().in_transaction and not self._pending

    def execute(self, sql: str, *arguments: Any) -> sqlite3.Cursor:
        """As it is, but for COMMIT, which is put off."""
        with self._lock:
            if sql == "COMMIT":
                self._pending = True
                timer = threading.Timer(LATE_S, self.settle)
                timer.daemon = True
                timer.start()
                return super().execute("SELECT 1")
            self.settle()
            return super().execute(sql, *arguments)

    def settle(self) -> None:
        """Commit what was put off."""
        with self._lock:
            if self._pending:
                self._pending = False
                self.death.pass_by("before commit")
                super().execute("COMMIT")
                self.death.pass_by("after commit")


def surround(
    function: Callable[P, Awaitable[T]], death: Death, name: str
) -> Callable[P, Awaitable[T]]:
    """The function, with places `before name` and `after name`."""

    async def run(*arguments: P.args, **named: P.kwargs) -> T:
        death.pass_by(f"before {name}")
        found = await function(*arguments, **named)
        death.pass_by(f"after {name}")
        return found

    return run


def connect(path: Path, *, kind: type[Connection | EarlyConnection]) -> sqlite3.Connection:
    """As `writer.connect`."""
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        factory=kind,
    )


def put(owner: object, name: str, function: object) -> None:
    """Have this function in the place of the owner's own."""
    setattr(owner, name, function)


def put_places(death: Death, *, early: bool) -> None:
    """Put the places around the functions of this process."""
    kind: type[Connection | EarlyConnection] = EarlyConnection if early else Connection
    kind.death = death
    if early:
        EarlyConnection._lock = threading.RLock()
    put(writer, "connect", partial(connect, kind=kind))
    put(Transport, "open", surround(Transport.open, death, "send"))
    put(Registry, "run", surround(Registry.run, death, "tool"))
    put_acknowledgement(death)
    put_rollout(death)


def put_acknowledgement(death: Death) -> None:
    """Before a prompt is answered, and after an answer's last byte is in the socket."""
    start, post = HANDLERS["turn/start"], Outbox.post
    sent: set[int] = set()

    async def answer(*arguments: Any) -> Any:
        found = await start(*arguments)
        death.pass_by("before acknowledgement")
        sent.add(id(arguments[1].outbox))  # this one's next answer is most likely that
        return found

    def post_noting(
        outbox: Outbox, frame: bytes, *, on_sent: Callable[[], None] | None = None
    ) -> None:
        is_wanted = id(outbox) in sent
        sent.discard(id(outbox))

        def note() -> None:
            if on_sent is not None:
                on_sent()
            if is_wanted:
                death.pass_by("after acknowledgement")

        post(outbox, frame, on_sent=note)

    HANDLERS["turn/start"] = answer
    put(Outbox, "post", post_noting)


def put_rollout(death: Death) -> None:
    """Around the lines that are added to a rollout, and in the middle of them."""
    write = RolloutFile._write

    def write_in_pieces(file: RolloutFile) -> None:
        death.pass_by("before rollout")
        if death.is_due("within rollout"):
            os.write(file._descriptor, bytes(file._buffer[: len(file._buffer) // 2]))
            die()
        write(file)
        death.pass_by("after rollout")

    put(RolloutFile, "_write", write_in_pieces)


def run_daemon(order: Order) -> int:
    """Be the daemon."""
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)  # it has a log
    death = Death(order)
    put_places(death, early=order.early)
    if order.place == STEP:
        put(trio, "run", partial(trio.run, instruments=[death]))
    return app.run()


def main() -> None:
    """Fork a daemon for each order, one at a time, until stdin ends."""
    for line in sys.stdin:
        order = Order(**json.loads(line))
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                code = run_daemon(order)
            finally:
                os._exit(code)
        print(f"pid {pid}", flush=True)
        _, status = os.waitpid(pid, 0)
        print(f"dead {status}", flush=True)


if __name__ == "__main__":
    main()
