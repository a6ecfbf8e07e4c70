"""With what notifications are sent, over the wire; and who hears that there is nobody to notify."""

from askd.jobs.notifier import NO_PROGRAM, OFF, Road
from tests.fakes.house import open_server, prompt
from tests.fakes.notifiers import FakeNotifier

MISSING = Road("missing", NO_PROGRAM)


async def test_what_there_is_is_said_and_nothing_sent() -> None:
    people = FakeNotifier()
    async with open_server(notifier=people) as server:
        peer = await server.greet()
        state = await peer.call("notify/test", {})
        assert state == {"state": "ready", "text": "with /usr/bin/notify-send"}
        assert people.told == []


async def test_one_is_sent_to_see_it() -> None:
    people = FakeNotifier()
    async with open_server(notifier=people) as server:
        peer = await server.greet()
        assert (await peer.call("notify/test", {"send": True}))["state"] == "ready"
        assert [each.event for each in people.told] == ["test"]
        people.failing = "no desktop"
        assert await peer.call("notify/test", {"send": True}) == {
            "state": "failed",
            "text": "no desktop",
        }
        for road in (MISSING, Road("off", OFF)):
            people.road = road
            found = await peer.call("notify/test", {"send": True})
            assert found == {"state": road.state, "text": road.text}
        assert len(people.told) == 1


async def test_who_wants_to_be_notified_hears_that_nobody_can_be() -> None:
    people = FakeNotifier(road=MISSING)
    async with open_server(notifier=people) as server:
        peer = await server.greet()
        left = await peer.call("turn/start", prompt(options={"notify": True, "detach": True}))
        assert left["warning"] == NO_PROGRAM
        unsaid = await peer.call("turn/start", prompt("b", options={"detach": True}))
        assert unsaid.get("warning") is None
        followed = await peer.call("turn/start", prompt("c", options={"notify": True}, follow=True))
        assert followed.get("warning") is None
        seen = await peer.follow("turn_finished")
        warnings = [params["text"] for method, params in seen if method == "progress"]
        assert warnings.count(NO_PROGRAM) == 1
        people.road = FakeNotifier().road
        fine = await peer.call("turn/start", prompt("d", options={"notify": True}))
        assert fine.get("warning") is None
