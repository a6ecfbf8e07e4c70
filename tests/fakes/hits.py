"""A hit of a search as the daemon answers it."""

from typing import Any

AT = 1_767_225_600.0
"""2026-01-01 00:00 UTC, which is where the tests are."""


def make_hit(snippet: str = "the red fox", **fields: Any) -> dict[str, Any]:
    """One of `red fox`, with other fields where a test wants them."""
    return {
        "conversation_id": "1f2e3d4c-0000",
        "name": None,
        "title": "Foxes",
        "seq": 7,
        "at": AT,
        "role": "assistant",
        "item_id": "t.1",
        "snippet": snippet,
        "marks": [[4, 7], [8, 11]],
        **fields,
    }
