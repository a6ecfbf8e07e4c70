"""Any MessagePack-RPC client can drive the daemon: here one that knows nothing of us."""

import json
import sys

from tests.system.test_asking import TOKENS
from tests.system.world import ROOT, World


def test_somebody_elses_client_asks_and_listens(world: World) -> None:
    assert world.model is not None
    world.ok("daemon", "start")
    note = world.owner()
    assert note is not None
    client = world.start(
        str(ROOT / "tests" / "system" / "foreign_client.py"),
        note["socket"],
        world.model.base_url,
        "test-key",
        command=(sys.executable,),
    )
    client.wait_for("subscribed")
    world.model.release()
    result = client.finish()
    assert result.code == 0, result
    saw = json.loads(result.out.splitlines()[-1])
    assert saw["hello"]["protocol"] == 1
    assert saw["hello"]["pid"] == world.daemon_pid()
    text = "".join(live["text"] for live in saw["page"]["live"] if live["kind"] == "text")
    for method, params in saw["seen"]:
        if method == "delta":
            assert params["offset"] <= len(text)
            text = text[: params["offset"]] + params["text"]
    assert text == TOKENS
    events = saw["page"]["data"] + [params for method, params in saw["seen"] if method == "event"]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[-1]["outcome"] == "completed"
    assert saw["started"]["seq"] == 2
