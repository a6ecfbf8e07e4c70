"""Notifications: with what they are sent, and one to see whether any comes."""

from ask.protocol.messages import NotifyState, NotifyTest
from askd.core.notifications import make_test
from askd.jobs.base import GaveUp
from askd.server.house import House
from askd.server.peer import Peer


async def test(house: House, peer: Peer, params: NotifyTest) -> NotifyState:
    """With what; with `send` one is sent first, as far as there is anything to send it with."""
    road = house.notifier.find_road()
    if params.send and road.state == "ready":
        try:
            await house.notifier.send(make_test())
        except GaveUp as failure:
            return NotifyState(state="failed", text=str(failure))
    return NotifyState(state=road.state, text=road.text)
