"""An orphan with the real daemon: kept, shown and counted by `show --raw`, and never sent."""

import json

from tests.core.rollouts import assistant, call, output, pack, user
from tests.system.world import World

LOST = (
    'Orphan tool message detected and dropped: tool_call_id=call_gone, content_preview="lost words"'
)


def test_an_orphan_is_kept_and_shown_and_never_sent(world: World) -> None:
    assert world.model is not None
    path = world.home / "rollout.jsonl"
    path.write_bytes(
        pack(
            user("what is 2+2?"),
            output("call_gone", "lost words"),
            call("call_x", "calculator"),
            output("call_x", "4"),
            assistant("It is 4."),
        )
    )
    conversation = world.ok("history", "import", str(path)).out.strip()
    for round_number in (1, 2):
        shown = json.loads(world.ok("history", "show", conversation, "--raw").out)
        assert [(each["role"], each.get("tool_call_id")) for each in shown["messages"]][:5] == [
            ("user", None),
            ("tool", "call_gone"),
            ("assistant", None),
            ("tool", "call_x"),
            ("assistant", None),
        ]
        assert shown["message_count"] == len(shown["messages"]) == 1 + 4 * round_number
        assert "lost words" in world.ok("history", "show", conversation).out
        seen = world.ok("history", "show", conversation, "--context").out
        assert "It is 4." in seen
        assert "call_x" in seen
        assert "lost words" not in seen
        assert "call_gone" not in seen
        assert world.ok("-s", conversation, f"ECHO:round {round_number}").out == (
            f"round {round_number}\n"
        )
        request = world.model.requests()[-1]
        assert [each["role"] for each in request["messages"]][:4] == [
            "user", "assistant", "tool", "assistant",
        ]  # fmt: skip
        assert "call_gone" not in json.dumps(request)
        # A warning for each load, and the second prompt of a load says nothing.
        world.ok("-s", conversation, "ECHO:again")
        assert world.log().count(LOST) == round_number
        world.ok("daemon", "stop")
    assert world.model.violations() == []
