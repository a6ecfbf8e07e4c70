"""Providers that break: every fault, in every dialect, at every byte, on the mock clock."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import trio
from trio.testing import MockClock

from askd.errors import ProviderError
from askd.providers.base import Codec
from askd.providers.http.retry import RetryRules
from askd.providers.http.transport import Transport
from tests.fakes.fault_network import Fault
from tests.faults import sweep
from tests.faults.chaos_cases import Broken, Busy, Case, choose, describe, judge_wait, wait_for
from tests.faults.programmes import Outcome
from tests.faults.recordings import RECORDINGS, Recording
from tests.faults.sweep import Ask, ask_properly
from tests.faults.wrong_readers import Splitlines, Spoiled, ask_until_eof

CLAIM = (
    "However an answer breaks off, stalls or is garbled, and however busy a provider says it is, "
    "the answer ends in its time, says nothing that was not sent, and is whole only if it was."
)
CONTROL = (
    "A reader that splits lines as Python's text does, takes the end of a connection for the end "
    "of an answer, and comes back to a busy provider when it likes and as often as it likes."
)
UNIT = "broken answers"
CI = 300
FULL = 52_000

ENOUGH_HARMS = 3
"""Of each fault of the control; there is no need to find them all."""


@dataclass(frozen=True, slots=True)
class Reader:
    """The parts that read an answer: the daemon's own, or wrong ones."""

    codec: Callable[[Recording], Codec]
    ask: Ask
    transport: type[Transport]
    rules: RetryRules


class Impatient(Transport):
    """Hears no provider's word about when to come back."""

    def seconds_until_retry(self, error: ProviderError) -> float | None:
        return None


OWN = Reader(lambda recording: recording.codec, ask_properly, Transport, RetryRules())
WRONG = (
    replace(OWN, codec=lambda recording: Spoiled(recording.codec, Splitlines)),
    replace(OWN, ask=ask_until_eof),
    replace(OWN, transport=Impatient),
    replace(OWN, rules=RetryRules(tries=8)),
)
"""Each with one fault: what one of them does is no excuse for another that goes unseen."""


def prove(size: int, seed: int, directory: Path) -> Outcome:
    """The daemon's own reader."""
    return _run(size, seed, OWN, enough=None)


def control(size: int, seed: int, directory: Path) -> Outcome:
    """Each of the wrong ones, until it has done harm enough; if one does none, nothing counts."""
    outcomes = [_run(size, seed, reader, enough=ENOUGH_HARMS) for reader in WRONG]
    harms = [harm for outcome in outcomes for harm in outcome.harms]
    is_blind = any(not outcome.harms for outcome in outcomes)
    return Outcome(sum(outcome.cases for outcome in outcomes), () if is_blind else tuple(harms))


def _run(size: int, seed: int, reader: Reader, *, enough: int | None) -> Outcome:
    cases = choose(size, seed)
    run, harms, longest_s = 0, list[str](), 0.0

    async def run_all() -> None:
        nonlocal run, longest_s
        for case in cases:
            began = trio.current_time()
            harms.extend(f"{describe(case)}: {each}" for each in await _run_case(case, reader))
            longest_s = max(longest_s, trio.current_time() - began)
            run += 1
            if enough is not None and len(harms) >= enough:
                return

    trio.run(run_all, clock=MockClock(autojump_threshold=0))
    return Outcome(run, tuple(harms), {"longest answer, on the mock clock": f"{longest_s:.0f} s"})


async def _run_case(case: Case, reader: Reader) -> list[str]:
    match case:
        case Broken():
            recording, fault = RECORDINGS[case.dialect], Fault(case.kind, case.at)
            wire = sweep.make_wire(recording, case.framing)
            result = await sweep.run_case(
                recording, wire, fault, codec=reader.codec(recording), ask=reader.ask
            )
            return list(sweep.judge(recording, wire, fault, result))
        case Busy():
            return list(judge_wait(case, await wait_for(case, reader.transport, reader.rules)))
