"""A conversation that streams to healthy followers, alone and beside hostile peers."""

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import trio

from tests.faults.peers_drips import LOOK_S, Drip
from tests.faults.peers_wire import Follower, Refused, Wire, read_journal
from tests.faults.wire_peer import House

HEALTHY = 4
EVENT_BYTES = 32 * 1024
WAKE_EVENTS = 100
"""Half of those that do not read begin to, this many events later: what the kernel and the
daemon hold for one connection is long full then, and nobody has been closed for it yet."""
GREETED_DRIPS = 4
"""So many say hello as one should and drip later: each takes one of the daemon's places for good,
and the proof needs the others."""


@dataclass(slots=True)
class Seen:
    """What came of one stream.

    Attributes:
        latencies: seconds from the writing of an event to its coming, for each healthy follower.
        largest: the most memory of the house in bytes.
        lag: the longest that a timer of this process came late, in seconds: its own share.
        newcomer: seconds until one who came amid all this was answered.
    """

    latencies: list[float] = field(default_factory=list)
    largest: int = 0
    lag: float = 0.0
    newcomer: float = math.nan
    silent_refused: int = 0
    silent: list[Follower] = field(default_factory=list)
    drips: list[Drip] = field(default_factory=list)
    greeted: list[Drip] = field(default_factory=list)
    harms: list[str] = field(default_factory=list)


class Scene:
    """A house and the conversation that is streamed in it.

    Args:
        patience: seconds after which a stream of so many events has not come, in all.
    """

    def __init__(self, house: House, events: int, patience: float) -> None:
        self._house = house
        self._events = events
        self._patience = patience
        self._sent: list[float] = []
        self._wake = trio.Event()

    async def play(self, drips: int, silent: int) -> Seen:
        """Stream once beside so many hostile peers."""
        path = self._house.socket
        seen = Seen(largest=self._house.weigh())
        self._sent, self._wake = [], trio.Event()
        feeder = await Wire.greet(path)
        made = await feeder.call("conversation/create", {})
        id, first = made["id"], len(await read_journal(feeder, made["id"]))
        last = first + self._events
        healthy = [Follower(path, id) for _ in range(HEALTHY)]
        for follower in healthy:
            await follower.subscribe()
        await self._seat_silent(seen, id, silent)
        stop = trio.Event()
        # In it: who measures, the hostile peers, and whoever comes amid them.
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._measure, seen)
            for number in range(drips):
                drip = Drip()
                if number < GREETED_DRIPS:
                    seen.greeted.append(drip)
                    nursery.start_soon(drip.greet_and_drip, path, stop)
                else:
                    seen.drips.append(drip)
                    nursery.start_soon(drip.drip_hello, path)
            nursery.start_soon(self._come_late, seen)
            with trio.move_on_after(self._patience) as patience:
                async with self._reading(healthy, last), self._waking(seen, last):
                    await self._stream(feeder, id)
            if patience.cancelled_caught:
                few = min(len(follower.digests) for follower in healthy)
                seen.harms.append(f"healthy followers had {few - first} of {self._events} events")
            else:
                await self._let_all_read(seen, last)
                journal = await read_journal(feeder, id)
                self._compare(seen, healthy, journal, first)
            stop.set()
            await self._await_drips(seen)
            nursery.cancel_scope.cancel()
        for follower in [*healthy, *seen.silent]:
            await follower.leave()
        await trio.aclose_forcefully(feeder.stream)
        return seen

    async def _seat_silent(self, seen: Seen, id: str, count: int) -> None:
        for _ in range(count):
            follower = Follower(self._house.socket, id)
            try:
                await follower.subscribe()
            except (Refused, EOFError):
                seen.silent_refused += 1
            else:
                seen.silent.append(follower)

    async def _stream(self, feeder: Wire, id: str) -> None:
        for number in range(self._events):
            if number == min(WAKE_EVENTS, self._events - 1):
                self._wake.set()
            self._sent.append(trio.current_time())
            text = f"{number} ".ljust(EVENT_BYTES, "x")
            await feeder.call("conversation/note", {"conversation_id": id, "text": text})

    @asynccontextmanager
    async def _reading(self, healthy: list[Follower], last: int) -> AsyncIterator[None]:
        async with trio.open_nursery() as nursery:
            for follower in healthy:
                nursery.start_soon(follower.follow_to, last)
            yield

    @asynccontextmanager
    async def _waking(self, seen: Seen, last: int) -> AsyncIterator[None]:
        async def wake() -> None:
            await self._wake.wait()
            for follower in seen.silent[::2]:
                nursery.start_soon(follower.follow_to, last)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wake)
            yield

    async def _let_all_read(self, seen: Seen, last: int) -> None:
        with trio.move_on_after(self._patience) as patience:
            async with trio.open_nursery() as nursery:
                for follower in seen.silent:
                    nursery.start_soon(follower.follow_to, last)
        if patience.cancelled_caught:
            seen.harms.append("those that had not read did not come to the end afterwards")

    def _compare(self, seen: Seen, healthy: list[Follower], journal: list[int], first: int) -> None:
        for kind, followers in (("healthy", healthy), ("silent", seen.silent)):
            for number, follower in enumerate(followers):
                wrongs = list(follower.wrongs)
                if follower.digests != journal:
                    wrongs.append("has other events than the journal")
                if kind == "healthy" and follower.gaps + follower.ends:
                    wrongs.append("was told of a gap, or was closed")
                seen.harms += [f"{kind} follower {number} {wrong}" for wrong in wrongs]
        for follower in healthy:
            arrived = follower.arrivals[first:]
            seen.latencies += [at - sent for at, sent in zip(arrived, self._sent, strict=False)]

    async def _measure(self, seen: Seen) -> None:
        while True:
            due = trio.current_time() + LOOK_S
            await trio.sleep_until(due)
            seen.lag = max(seen.lag, trio.current_time() - due)
            seen.largest = max(seen.largest, self._house.weigh())
            for drip in seen.drips:
                drip.look()

    async def _come_late(self, seen: Seen) -> None:
        await trio.sleep(LOOK_S)
        began = trio.current_time()
        try:
            wire = await Wire.greet(self._house.socket)
        except (Refused, EOFError) as error:
            seen.harms.append(f"a newcomer was sent away: {error}")
            return
        seen.newcomer = trio.current_time() - began
        await trio.aclose_forcefully(wire.stream)

    async def _await_drips(self, seen: Seen) -> None:
        """Until all are closed, or it is clear that they are not."""
        waited = [*seen.drips, *(drip for drip in seen.greeted if not drip.refused)]
        with trio.move_on_after(self._patience):
            for drip in waited:
                await drip.closed.wait()
