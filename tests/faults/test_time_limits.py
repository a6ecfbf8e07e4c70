"""How long an answer may take, to the second, in every dialect: on events, not on bytes."""

from dataclasses import replace

import pytest
import trio
from trio.testing import MockClock

from askd.errors import Unavailable
from tests.fakes.fault_network import DRIP_S, Fault, Wire
from tests.faults.recordings import RECORDINGS, Recording
from tests.faults.sweep import LIMITS, Result, make_wire, run_case

DIALECTS = sorted(RECORDINGS)


async def late(recording: Recording, wire: Wire, fault: Fault) -> Result:
    """A case that must end because of the time alone."""
    result = await run_case(recording, wire, fault, codec=recording.codec)
    assert isinstance(result.error, Unavailable), result
    assert result.requests == 1  # a server that was silent once will be silent again
    return result


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_the_head_has_a_limit(dialect: str, autojump_clock: MockClock) -> None:
    recording = RECORDINGS[dialect]
    wire = make_wire(recording, "chunked")
    for kind in ("stall", "trickle"):
        result = await late(recording, wire, Fault(kind, 20))
        assert result.took_s == LIMITS.first_s
        assert "60 seconds" in str(result.error)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_silence_has_a_limit(dialect: str, autojump_clock: MockClock) -> None:
    """Also where keep-alives come all the time: a comment, a ping, an empty line."""
    recording = RECORDINGS[dialect]
    wire = make_wire(recording, "chunked")
    for at in wire.find_ends(recording.events)[:-2]:
        for kind in ("stall", "drip"):
            result = await late(recording, wire, Fault(kind, at + len(b"\r\n")))
            assert result.took_s == LIMITS.gap_s
            assert "120 seconds" in str(result.error)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_keep_alives_behind_the_head_are_silence(
    dialect: str, autojump_clock: MockClock
) -> None:
    recording = RECORDINGS[dialect]
    wire = make_wire(recording, "chunked")
    result = await late(recording, wire, Fault("drip", wire.head))
    assert result.took_s == LIMITS.gap_s


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_the_whole_has_a_limit(dialect: str, autojump_clock: MockClock) -> None:
    """A model that never stops talking, slowly."""
    recording = RECORDINGS[dialect]
    delta = next(event for event in recording.events if b"llo" in event)
    talking = replace(recording, keep_alive=delta)
    wire = make_wire(talking, "chunked")
    end = wire.find_ends(recording.events)[recording.events.index(delta)]
    result = await late(talking, wire, Fault("drip", end + len(b"\r\n")))
    assert result.took_s == LIMITS.total_s
    assert "30 minutes" in str(result.error)
    assert result.text.count("llo") == LIMITS.total_s // DRIP_S


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_slow_reader_is_not_the_servers_fault(
    dialect: str, autojump_clock: MockClock
) -> None:
    recording = RECORDINGS[dialect]
    wire = make_wire(recording, "chunked")

    async def dawdle() -> None:
        await trio.sleep(LIMITS.gap_s * 2)

    result = await run_case(recording, wire, Fault("none"), codec=recording.codec, between=dawdle)
    assert result.ended
