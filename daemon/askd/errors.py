"""What can go wrong, by who can do something about it.

    AskdError                    code, reason (a word for programs), message (a sentence), data
    ├── RequestError             the caller asked for something that cannot be
    │   ├── NotFound             no such conversation, turn, job, blob - or more than one
    │   ├── Busy                 a turn is running and the caller did not want to wait
    │   └── TooLarge             the prompt or the conversation exceeds the model's window
    ├── StorageFailed            the disk said no; nothing was acknowledged
    │   ├── StaleFence           an attempt that is no longer the current one
    │   └── NewerSchema          the database was written by a newer askd
    ├── ProviderError            a model's server, or the way to it
    │   ├── NotConfigured        no provider, no key
    │   ├── SecretsNeeded        the endpoint needs a key that only the caller may have
    │   ├── Unauthenticated      the key was refused
    │   ├── RateLimited          try again at `retry_at`
    │   ├── Overflowed           the server says that the request exceeds its window
    │   ├── Refused              the server understood and will not
    │   ├── Unavailable          no answer, a cut stream, a 5xx
    │   └── BadAnswer            an answer that is not one
    ├── ServerFailed             a server of tools does not start, or will not
    └── BadConfig                the configuration file: key and line

A message is a sentence that the reader can act on. No message, `data` or log
line holds a secret.
"""

from collections.abc import Iterator
from typing import Any

from askd.core import outcome
from askd.core.outcome import Failure


class AskdError(Exception):
    """Anything that is reported to a person. Subclasses set `code` and `reason`."""

    code: int = outcome.FAILED
    reason: str = "internal"

    def __init__(
        self, message: str, *, reason: str | None = None, data: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason or self.reason
        self.data: dict[str, Any] = data or {}

    @property
    def failure(self) -> Failure:
        """The same, as a value that the core can hold."""
        return Failure(self.code, self.reason, self.message, self.data)


class RequestError(AskdError):
    """The caller asked for something that cannot be."""

    code = outcome.USAGE
    reason = "bad_params"


class NotFound(RequestError):
    """There is no such thing, or more than one; `data` may hold `candidates`."""

    code = outcome.NOT_FOUND
    reason = "conversation_not_found"


class Busy(RequestError):
    """A turn is running and the caller did not want to wait."""

    code = outcome.BUSY
    reason = "busy"


class TooLarge(RequestError):
    """The prompt or the conversation exceeds the model's window."""

    code = outcome.OVERFLOW
    reason = "overflow"


class StorageFailed(AskdError):
    """The disk said no; nothing was acknowledged."""

    code = outcome.STORAGE
    reason = "storage_failed"


class StaleFence(StorageFailed):
    """This attempt of a job is no longer the current one; its effect was not applied."""


class NewerSchema(StorageFailed):
    """The database was written by a newer askd and is left alone."""


class ProviderError(AskdError):
    """A model's server, or the way to it."""

    reason = "unavailable"


class NotConfigured(ProviderError):
    """No provider is configured, or no key for it."""

    code = outcome.CREDENTIALS
    reason = "not_configured"


class SecretsNeeded(ProviderError):
    """The endpoint needs a key that only the caller may have; `data` holds `names`."""

    code = outcome.CREDENTIALS
    reason = "secrets_needed"


class Unauthenticated(ProviderError):
    """The server refused the key."""

    code = outcome.CREDENTIALS
    reason = "unauthenticated"


class RateLimited(ProviderError):
    """Too many requests; `data` may hold `retry_at` in unix seconds."""

    code = outcome.RATE_LIMITED
    reason = "rate_limited"


class Overflowed(ProviderError):
    """The server says that the request exceeds its window."""

    code = outcome.OVERFLOW
    reason = "overflow"


class Refused(ProviderError):
    """The server understood the request and will not answer it."""

    reason = "refused"


class Unavailable(ProviderError):
    """No answer, a cut stream, or a server error; trying again may help."""

    reason = "unavailable"


class BadAnswer(ProviderError):
    """The server's answer is not one that its dialect allows."""

    reason = "bad_answer"


class ServerFailed(AskdError):
    """A server of tools does not start, or will not do what was asked of it."""

    reason = "server_failed"


class UnknownModel(ProviderError):
    """No configured provider has a model of that name."""

    code = outcome.USAGE
    reason = "unknown_model"


class BadConfig(AskdError):
    """The configuration file; the message names key and line."""

    code = outcome.USAGE
    reason = "bad_config"


def find_leaves(error: Exception) -> Iterator[Exception]:
    """The errors themselves: a nursery anywhere below wraps what it raises into groups."""
    if isinstance(error, ExceptionGroup):
        for each in error.exceptions:
            yield from find_leaves(each)
    else:
        yield error


def find_known(error: Exception) -> AskdError | None:
    """What went wrong, without the groups around it; None: something that nobody foresaw."""
    leaves = list(find_leaves(error))
    known = [each for each in leaves if isinstance(each, AskdError)]
    return known[0] if len(known) == len(leaves) else None


def find_causes(error: BaseException) -> Iterator[BaseException]:
    """The exception and all below it; a group's members too."""
    found: list[BaseException] = [error]
    seen: set[int] = set()
    while found:
        each = found.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        found += [below for below in (each.__cause__, each.__context__) if below is not None]
        if isinstance(each, BaseExceptionGroup):
            found += each.exceptions
