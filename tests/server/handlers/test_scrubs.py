"""Scrubbing over the wire: what is asked, what is answered, who is told to look again."""

import pytest

from askd.core.scrubbing import MARK
from askd.errors import Busy
from askd.server.handlers.scrubs import SHOWN
from askd.sessions.scrubs import Order
from askd.store.scrub.plans import Scrubbed
from tests.fakes.house import Refused, Server, open_server, prompt
from tests.fakes.scrubs import FakeScrubs

SECRET = "hunter22"


def found(id: str = "c") -> Scrubbed:
    return Scrubbed(
        conversation_id=id,
        name=None,
        title=MARK,
        events=2,
        blobs=1,
        occurrences=3,
        is_busy=False,
    )


def fake(server: Server) -> FakeScrubs:
    scrubs = server.house.scrubs
    assert isinstance(scrubs, FakeScrubs)
    return scrubs


async def test_a_look_changes_nothing() -> None:
    async with open_server() as server:
        peer = await server.greet()
        fake(server).holding = [found()]
        answer = await peer.call("conversation/scrub", {"pattern": SECRET, "dry_run": True})
        assert fake(server).orders == [("find", Order(pattern=SECRET))]
        assert answer["data"] == [
            {
                "conversation_id": "c",
                "name": None,
                "title": MARK,
                "events": 2,
                "blobs": 1,
                "occurrences": 3,
                "is_busy": False,
            }
        ]
        assert (answer["total"], answer["occurrences"], answer["rows"]) == (1, 3, 2)
        assert (answer["files"], answer["files_total"]) == (["/log", "/keys"], 2)
        assert (answer["left"], answer["backups"], answer["erased"]) == ([], [], True)


async def test_who_follows_a_conversation_is_told_to_look_again() -> None:
    async with open_server() as server:
        peer = await server.greet()
        started = await peer.call("turn/start", prompt("one", follow=True))
        await peer.follow("turn_finished")
        id = started["conversation_id"]
        fake(server).holding = [found(id), found("not live")]
        params = {"pattern": SECRET, "regex": True, "short": True, "backups": True}
        answer = await peer.call("conversation/scrub", params)
        assert fake(server).orders == [
            ("run", Order(pattern=SECRET, regex=True, allow_short=True, backups=True))
        ]
        assert (answer["files"], answer["backups"], answer["left"]) == (["/log"], ["/b"], ["/keys"])
        assert await peer.notification() == ("gap", {"conversation_id": id})


async def test_many_are_counted_and_not_all_named() -> None:
    async with open_server() as server:
        peer = await server.greet()
        fake(server).holding = [found(str(n)) for n in range(SHOWN + 7)]
        answer = await peer.call("conversation/scrub", {"pattern": SECRET, "dry_run": True})
        assert (len(answer["data"]), answer["total"]) == (SHOWN, SHOWN + 7)


async def test_a_refusal_and_a_bad_parameter_do_not_repeat_it() -> None:
    async with open_server() as server:
        peer = await server.greet()
        fake(server).refusal = Busy("A turn is at work.")
        with pytest.raises(Refused) as caught:
            await peer.call("conversation/scrub", {"pattern": SECRET})
        assert (caught.value.code, caught.value.reason) == (8, "busy")
        with pytest.raises(Refused) as caught:
            await peer.call("conversation/scrub", {"pattern": [SECRET]})
        assert caught.value.code == 2
        assert SECRET not in str(caught.value)
    assert SECRET not in repr(Order(pattern=SECRET))
