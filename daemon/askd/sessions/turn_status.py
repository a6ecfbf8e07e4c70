"""Where a turn is, as its session knows it. Values only: nothing here ends or begins one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from askd.core.outcome import Outcome
from askd.core.turn import Input


@dataclass(frozen=True, slots=True)
class TurnStatus:
    """Where a turn is. `outcome` and `code` once it is finished, stored or not."""

    turn_id: str
    state: Literal["queued", "running", "finished"]
    outcome: Outcome | None = None
    code: int | None = None


@dataclass(frozen=True, slots=True)
class RunningTurn:
    """The turn that the driver has in hand, and where to send what happens to it.

    `can_join`: whether a message that steers it would still be answered by it.
    """

    turn_id: str
    post: Callable[[Input], None]
    can_join: Callable[[], bool]
