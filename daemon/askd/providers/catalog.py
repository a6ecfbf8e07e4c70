"""What models' names mean: reading listings, matching bare names, suggesting near ones.

Pure. A name is `provider/model`, and the model's own part may hold slashes. It
does not decide which provider is used.
"""

import difflib
from collections.abc import Iterable, Sequence
from typing import Any

from askd.errors import UnknownModel

NOT_FOR_CHAT = (
    "audio", "babbage", "dall-e", "davinci", "embedding", "image", "instruct", "moderation",
    "realtime", "search", "sora", "transcribe", "tts", "whisper",
)  # fmt: skip
"""Words in the names of models that OpenAI lists and that do not chat."""

SUGGESTIONS = 3


def read_listing(listing: Any, *, is_openai: bool) -> list[str]:
    """The ids of `{"data": [{"id": ...}]}`, in their order; of OpenAI's, those that chat."""
    data = listing.get("data") if isinstance(listing, dict) else None
    rows = [row for row in data if isinstance(row, dict)] if isinstance(data, list) else []
    names = [str(row["id"]) for row in rows if row.get("id")]
    if is_openai:
        return [name for name in names if not any(word in name for word in NOT_FOR_CHAT)]
    return names


def find_matches(name: str, candidates: Iterable[str]) -> list[str]:
    """The full names whose part behind the provider is exactly this name."""
    return [each for each in candidates if each.partition("/")[2] == name]


def explain_unknown(
    name: str, candidates: Sequence[str], *, warnings: Sequence[str] = ()
) -> UnknownModel:
    """The error, with the nearest names; `warnings` say who could not be asked."""
    bare = {each.partition("/")[2]: each for each in candidates}
    near = difflib.get_close_matches(name, candidates, n=SUGGESTIONS)
    near += [bare[each] for each in difflib.get_close_matches(name, bare, n=SUGGESTIONS)]
    shown = list(dict.fromkeys(near))[:SUGGESTIONS]
    hint = f"Did you mean {' or '.join(shown)}?" if shown else "List them: ask models list"
    said = f" ({'; '.join(warnings)})" if warnings else ""
    return UnknownModel(f"Unknown model: {name}. {hint}{said}", data={"candidates": shown})
