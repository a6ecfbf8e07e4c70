"""A sign-in is renewed: once for all who need it, and only where nobody else was faster.

Under a lock between processes, with a second look at what lies there. It knows
no vendor and no file's format: looking and asking are the sign-in's.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol, TypeVar

import trio

from askd.errors import NotConfigured, ProviderError
from askd.providers.addresses import LOCAL_ONLY
from askd.providers.credentials.file_lock import hold_lock
from askd.providers.credentials.sign_in import is_over

FRESH_S = 30.0
"""A token that we got this recently is not renewed again: several callers heard of one refusal."""


class Renewable(Protocol):
    """Tokens of a sign-in, as far as renewing them goes."""

    @property
    def access_token(self) -> str | None:
        """What is sent; another one means that it was renewed."""
        ...

    @property
    def valid_until_at(self) -> float | None:
        """Unix seconds; None: nobody said."""
        ...


T = TypeVar("T", bound=Renewable)


class Renewals:
    """The renewals of one way to sign in. `now` in unix seconds."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._got: dict[Path, tuple[str | None, float]] = {}

    def note(self, path: Path, tokens: Renewable) -> None:
        """These were got just now, and lie at `path`."""
        self._got[path] = (tokens.access_token, trio.current_time())

    def is_fresh(self, path: Path, tokens: Renewable) -> bool:
        """They were got a moment ago, so they are good, whatever a clock or a late refusal says."""
        token, at = self._got.get(path, (None, 0.0))
        is_known = token is not None and token == tokens.access_token
        return is_known and trio.current_time() - at < FRESH_S

    async def renew(
        self,
        path: Path,
        seen: T,
        *,
        what: str,
        is_refused: bool,
        look: Callable[[], T],
        exchange: Callable[[T], Awaitable[T]],
    ) -> T:
        """Other tokens than `seen`, or `seen` where they may do.

        Args:
            path: where they lie; its lock is held.
            what: whose sign-in it is, for an error's sentence.
            is_refused: the server has refused `seen`.
            look: what lies there now; raises `NotConfigured` if nothing does.
            exchange: asks the vendor, and keeps what it gave.

        Raises:
            ProviderError: they cannot be renewed, and the old ones will not do.
        """
        try:
            async with hold_lock(path):
                found = look()
                if found.access_token != seen.access_token:
                    return found  # somebody else was faster
                return await exchange(found)
        except OSError as error:
            trouble: ProviderError = NotConfigured(
                f"{what} cannot be renewed: {path.parent}: {error.strerror}"
            )
        except ProviderError as error:
            trouble = error
        if is_refused or is_over(seen.valid_until_at, self._now()) or trouble.reason == LOCAL_ONLY:
            raise trouble
        return seen  # it cannot be renewed now, and the old one may still be taken
