"""The daemon over the wire: its state, its end, its settings."""

import pytest

from askd.store.checkup import Health, Soundness
from askd.store.surveys import Damaged, Survey
from tests.fakes.checkups import FakeCheckup
from tests.fakes.house import Refused, open_server


async def test_the_status_is_the_hosts() -> None:
    async with open_server() as server:
        peer = await server.greet()
        status = await peer.call("daemon/status")
        assert (status["pid"], status["clients"], status["draining"]) == (42, 1, False)


async def test_what_a_look_at_the_store_finds_is_told() -> None:
    checkup = FakeCheckup()
    async with open_server(checkup=checkup) as server:
        peer = await server.greet()
        found = await peer.call("daemon/check")
        assert found["rollouts"] == {
            "directory": "/r",
            "mirrored": 2,
            "behind": 0,
            "trouble": None,
            "strays": 0,
            "missing": 0,
        }
        assert (found["problems"], found["complete"], found["records"]) == ([], True, 9)
        damaged = Damaged(conversation_id="c", first="seq 2", unreadable=1)
        checkup.health = Health(
            soundness=Soundness(problems=["page 3"], strays=4),
            survey=Survey(unreadable=1, damaged=[damaged], complete=True),
            rollouts=None,
        )
        found = await peer.call("daemon/check")
        assert (found["rollouts"], found["complete"], found["strays"]) == (None, False, 4)
        assert found["damaged"] == [
            {"conversation_id": "c", "first": "seq 2", "unreadable": 1, "lost": 0}
        ]


@pytest.mark.parametrize("method", ["drain", "stop"])
@pytest.mark.parametrize(
    ("asked", "told"), [({}, 20.0), ({"wait_s": -3.0}, 0.0), ({"wait_s": 1e300}, 3600.0)]
)
async def test_the_end_is_answered_at_once(
    method: str, asked: dict[str, float], told: float
) -> None:
    async with open_server() as server:
        peer = await server.greet()
        assert await peer.call(f"daemon/{method}", asked) == {"conversation_id": None}
        assert server.host.told == [(method, told)]
        assert (await peer.call("daemon/status"))["draining"]


async def test_a_setting_is_written_and_read_back() -> None:
    async with open_server() as server:
        peer = await server.greet()
        written = await peer.call("config/write", {"key": "title", "value": "model"})
        assert written == await peer.call("config/read")
        assert written["settings"] == {"title": "model"}
        with pytest.raises(Refused) as caught:
            await peer.call("config/write", {"key": "none", "value": 1})
        assert (caught.value.code, caught.value.reason) == (2, "bad_config")
