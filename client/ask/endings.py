"""How a turn ended for whoever asked: the exit code, and a sentence if it did not go well.

Pure: what the daemon said of the end goes in. It shows nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ask.exits import DONE, FAILED, INTERRUPTED, STORAGE, TIME_LIMIT


@dataclass(frozen=True, slots=True)
class End:
    """How a turn ended for us: the exit code, a sentence if it did not go well, what was said.

    `left`: it has not ended; we are leaving, and nobody is there to be told anything.
    """

    code: int
    message: str | None = None
    text: str = ""
    usage: Mapping[str, Any] | None = None
    left: bool = False


def end_unsaved(unsaved: Mapping[str, Any], text: str) -> End:
    """The end of a turn that could not be stored; `unsaved`: the notification."""
    return End(STORAGE, f"Failed to save turn: {unsaved.get('reason', '')}", text)


def judge_end(ended: Mapping[str, Any], text: str, *, interrupted: bool, late: bool) -> End:
    """The end of a turn.

    Args:
        ended: the `turn_finished` event.
        text: the last answer.
        interrupted: we have asked for it.
        late: we have asked for it, for its time was over.
    """
    outcome, code = ended.get("outcome"), ended.get("code", FAILED)
    message = ended.get("message")
    if outcome in ("interrupted", "withdrawn") and interrupted:
        code = INTERRUPTED
        message = "The prompt was taken back." if outcome == "withdrawn" else None
    elif outcome in ("interrupted", "withdrawn") and late:
        code, message = TIME_LIMIT, "The time limit was reached."
    elif outcome != "completed":
        code = code or FAILED
        message = message or f"The turn was {outcome} by someone else."
    elif code != DONE:
        message = message or "The answer was cut by a length limit."
    return End(code, message, text, ended.get("usage"))
