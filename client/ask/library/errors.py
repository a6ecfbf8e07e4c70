"""What the library raises: one class for each code that the command line would end with.

It decides nothing: what the daemon, or the connection to it, said is told again
as an exception. `str(error)` is a sentence for people.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ask import connection, exits
from ask.protocol.errors import APPROVAL_NEEDED


class Error(Exception):
    """Something did not go well. Every error of the library is one.

    Attributes:
        code: what `ask` would exit with, as on the page of exit codes.
        message: the sentence.
        reason: a word for programs, as on the same page; `internal` if there is none.
        hint: what to do about it, a sentence; None: nothing is known.
        data: what the reason brings along.
        conversation_id, turn_id: where it happened, if it was in a turn.
        text: what the model had said by then.
    """

    def __init__(
        self,
        code: int,
        message: str,
        *,
        hint: str | None = None,
        data: dict[str, Any] | None = None,
        conversation_id: str | None = None,
        turn_id: str | None = None,
        text: str = "",
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.data = data or {}
        self.conversation_id = conversation_id
        self.turn_id = turn_id
        self.text = text

    @property
    def reason(self) -> str:
        """The word for programs."""
        return str(self.data.get("reason", "internal"))


class TurnFailed(Error):
    """Code 1: the turn failed, was refused, or was stopped by someone else; or a job failed."""


class UsageError(Error):
    """Code 2: what was asked for makes no sense: an unknown model, an unreadable file, ..."""


class NotFound(Error):
    """Code 3: no such conversation, job or question, or more than one."""


class CredentialsError(Error):
    """Code 4: no or wrong credentials, or no provider."""


class RateLimited(Error):
    """Code 5: the provider takes no more for now."""


class ApprovalNeeded(Error):
    """Code 6: an approval was needed, and nobody was there to be asked."""


class Overflow(Error):
    """Code 7: the conversation, or the prompt alone, does not fit the model's window."""


class Busy(Error):
    """Code 8: the conversation is at work, and `busy="fail"` was said; or the daemon is full."""


class AnswerCut(Error):
    """Code 9: a length limit cut the answer; `text` is as far as it came."""


class NoDaemon(Error):
    """Code 69: no daemon runs and none can be started, or it speaks another protocol."""


class ConnectionLost(NoDaemon):
    """Code 69: the daemon went away and did not come back in time. Turns are safe with it."""


class StorageFailed(Error):
    """Code 74: what should be kept cannot be written."""


class TimeLimit(Error):
    """Code 124: the time that was given is over."""


class Interrupted(Error):
    """Code 130: the turn was stopped by `Turn.interrupt`."""


BY_CODE: dict[int, type[Error]] = {
    exits.FAILED: TurnFailed,
    exits.USAGE: UsageError,
    exits.NOT_FOUND: NotFound,
    exits.CREDENTIALS: CredentialsError,
    exits.RATE_LIMITED: RateLimited,
    APPROVAL_NEEDED: ApprovalNeeded,
    exits.OVERFLOW: Overflow,
    exits.BUSY: Busy,
    exits.CUT: AnswerCut,
    exits.NO_DAEMON: NoDaemon,
    exits.STORAGE: StorageFailed,
    exits.TIME_LIMIT: TimeLimit,
    exits.INTERRUPTED: Interrupted,
}
"""Which class a code has; one that is not here is a plain `Error`."""


def make_error(code: int, message: str, **details: Any) -> Error:
    """The error of a code; `details` as `Error` takes them."""
    return BY_CODE.get(code, Error)(code, message, **details)


def misuse(message: str) -> UsageError:
    """What is raised for a call that the library itself refuses."""
    return UsageError(exits.USAGE, message, data={"reason": "usage"})


@contextmanager
def translated(
    conversation_id: str | None = None, turn_id: str | None = None, text: str = ""
) -> Iterator[None]:
    """Raise what fails in the block as an error of the library, and say where it happened."""
    try:
        yield
    except exits.Failed as failed:
        lost = isinstance(failed, connection.ConnectionLost)
        kind = ConnectionLost if lost else BY_CODE.get(failed.code, Error)
        raise kind(
            failed.code,
            failed.message,
            hint=failed.hint,
            data=failed.data,
            conversation_id=conversation_id,
            turn_id=turn_id,
            text=text,
        ) from failed
