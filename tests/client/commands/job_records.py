"""Jobs as the daemon's listings have them, for the tests of `ask jobs`."""

from typing import Any

from tests.client.commands.fake_log import NOW

ENDS = ("completed", "cancelled", "discarded")


def job(id: str, state: str = "available", **fields: Any) -> dict[str, Any]:
    """One record; it was made a minute after the fixed clock's hour."""
    return {
        "id": id,
        "kind": "title",
        "state": state,
        "conversation_id": "0c0ffee0-1111",
        "attempt": 1,
        "max_attempts": 3,
        "run_at": NOW + 60,
        "created_at": NOW + 60,
        "started_at": None,
        "finished_at": NOW + 120 if state in ENDS else None,
        "error": None,
        "code": None,
        "turn_id": None,
        "errors": None,
        "seq": None,
        "question": None,
        **fields,
    }
