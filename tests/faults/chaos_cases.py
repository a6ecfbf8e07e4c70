"""What can go wrong with an answer, as a list of cases: every fault, dialect and byte.

Two kinds: a `Broken` answer breaks at one byte of it, and `sweep` plays and judges it; a `Busy`
server refuses a few times first, and says, or does not say, when to come back.
"""

import random
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from email.utils import formatdate
from itertools import pairwise

import httpcore
import trio

from askd.errors import ProviderError
from askd.providers.http.retry import LONGEST_WAIT_S, RetryRules
from askd.providers.http.transport import Transport
from tests.fakes.fault_network import (
    Fault,
    FaultNetwork,
    FaultStream,
    FaultTransport,
    Framing,
    Kind,
    Wire,
)
from tests.faults.recordings import RECORDINGS, REQUEST, TEXT
from tests.faults.sweep import LIMITS, make_wire

FAULTS: Sequence[tuple[Kind, Framing, int]] = (
    ("split", "chunked", 1),
    ("cut", "chunked", 1),
    ("cut", "length", 1),
    ("cut", "close", 1),  # the one that httpx takes for a good end
    ("reset", "chunked", 1),
    ("stall", "length", 1),
    ("drip", "chunked", 1),
    ("garble", "chunked", 1),
    ("insert", "close", 1),
    ("trickle", "close", 40),  # a case of it costs as much as forty others
)
"""The fault, how the body is framed, and at which bytes of the response: every one, or so many."""

STATUSES = (408, 409, 429, 500, 503, 529)
"""That may be another one a moment later."""
FORMS = ("none", "seconds", "milliseconds", "date")
"""How a server says when to come back."""
ASKED_S = (1.0, 7.0, 59.0, 3600.0)
"""How long it asks to wait; the last is more than anybody waits for."""
REFUSALS = (1, 3, 9)
"""How often it refuses: within the tries, as often as is tried again, for good."""

EPOCH_S = 1_800_000_000.0
"""The unix time at the mock clock's 0: a whole second, as a date's are."""
WAIT_ERROR = 0.1
"""Of what was asked for: a wait may be longer by this part, and not shorter."""
WAIT_ERROR_S = 1.0
"""A date has whole seconds."""
TRIES = RetryRules().tries


@dataclass(frozen=True, slots=True)
class Broken:
    """An answer that breaks at one byte."""

    dialect: str
    kind: Kind
    framing: Framing
    at: int


@dataclass(frozen=True, slots=True)
class Busy:
    """A server that refuses so often, and says in a form how long to wait."""

    dialect: str
    status: int
    form: str
    asked_s: float
    refusals: int


Case = Broken | Busy


@dataclass(slots=True)
class Waited:
    """What came of a busy server: when it was asked, on the mock clock, and the answer."""

    asked_at: list[float]
    text: str = ""
    error: Exception | None = None
    left_open: int = 0


def choose(size: int, seed: int) -> list[Case]:
    """So many cases, or all; each fault of each dialect in turn, at bytes chosen by the seed."""
    chance = random.Random(seed)
    groups = [list(group) for group in _list_groups()]
    for group in groups:
        chance.shuffle(group)
    chosen: list[Case] = []
    while len(chosen) < size and any(groups):
        chosen += [group.pop() for group in groups if group]
    return chosen[:size]


def _list_groups() -> Iterator[Iterator[Case]]:
    for dialect, recording in RECORDINGS.items():
        for kind, framing, every in FAULTS:
            length = len(make_wire(recording, framing).bytes)
            yield iter([Broken(dialect, kind, framing, at) for at in range(0, length + 1, every)])
        yield iter(
            [
                Busy(dialect, status, form, asked_s, refusals)
                for status in STATUSES
                for form in FORMS
                for asked_s in (ASKED_S if form != "none" else ASKED_S[:1])
                for refusals in REFUSALS
            ]
        )


class BusyNetwork(FaultNetwork):
    """Refuses the first connections with a status, then answers whole. Each takes one request."""

    def __init__(self, wire: Wire, refusal: Wire, refusals: int) -> None:
        super().__init__(wire, Fault("none"))
        self._answer, self._refusal, self._refusals = wire, refusal, refusals
        self.asked_at: list[float] = []

    async def connect_tcp(self, *_: object, **__: object) -> httpcore.AsyncNetworkStream:
        is_refused = len(self.streams) < self._refusals
        self.wire = self._refusal if is_refused else self._answer
        self.asked_at.append(trio.current_time())
        stream = FaultStream(self)
        self.streams.append(stream)
        return stream


def _say_when(case: Busy, asked_at: float) -> list[tuple[str, str]]:
    match case.form:
        case "seconds":
            return [("retry-after", f"{case.asked_s:g}")]
        case "milliseconds":
            return [("retry-after-ms", f"{case.asked_s * 1000:g}")]
        case "date":
            return [("retry-after", formatdate(EPOCH_S + asked_at + case.asked_s, usegmt=True))]
        case _:
            return []


async def wait_for(case: Busy, transport: type[Transport], rules: RetryRules) -> Waited:
    """Ask a busy server until it answers, or the transport gives up."""
    recording = RECORDINGS[case.dialect]
    refusal = Wire(
        [b'{"error":{"message":"Too much is asked of us."}}'],
        framing="length",
        content_type="application/json",
        keep_alive=b"",
        status=case.status,
        headers=[("connection", "close"), *_say_when(case, trio.current_time())],
    )
    network = BusyNetwork(make_wire(recording, "close"), refusal, case.refusals)
    faulty = FaultTransport(network)
    client = transport(mock=faulty, rules=rules, now=lambda: EPOCH_S + trio.current_time())
    said: list[str] = []
    waited = Waited(network.asked_at)
    with suppress(ProviderError):
        try:
            async with client.stream(
                recording.endpoint,
                recording.codec,
                REQUEST,
                progress=lambda *_: None,
                limits=LIMITS,
            ) as events:
                async for event in events:
                    said.append(getattr(event, "text", ""))
        except Exception as caught:
            waited.error = caught
            raise
    waited.text = "".join(said)
    waited.left_open = network.count_open() - faulty.count_idle()
    await client.aclose()
    return waited


def judge_wait(case: Busy, waited: Waited) -> Iterator[str]:
    """Every promise about tries and waits that was not kept, as a sentence."""
    tries = len(waited.asked_at)
    is_patient = case.form == "none" or case.asked_s <= LONGEST_WAIT_S
    wanted = min(case.refusals + 1, TRIES) if is_patient else 1
    if tries != wanted:
        yield f"asked {tries} times and not {wanted}"
    if (waited.error is None) != (case.refusals < wanted):
        yield f"ended with {waited.error!r} after {case.refusals} refusals"
    if waited.error is None and waited.text != "".join(TEXT):
        yield f"said {waited.text!r}"
    if waited.left_open:
        yield f"left {waited.left_open} connections open"
    if case.form == "none":
        return
    waits = [after - before for before, after in pairwise(waited.asked_at)]
    # A date is a moment, not a wait: who has come to it once need not wait again.
    for wait_s in waits[:1] if case.form == "date" else waits:
        least_s = case.asked_s * (1 - WAIT_ERROR) - (WAIT_ERROR_S if case.form == "date" else 0)
        if not least_s <= wait_s <= case.asked_s * (1 + WAIT_ERROR) + WAIT_ERROR_S:
            yield f"waited {wait_s:g} s and not {case.asked_s:g} s"


def describe(case: Case) -> str:
    """The case in a few words, to find it again."""
    match case:
        case Broken():
            return f"{case.dialect} {case.kind}@{case.at} {case.framing}"
        case Busy():
            return f"{case.dialect} {case.status} x{case.refusals}, {case.form} {case.asked_s:g} s"
