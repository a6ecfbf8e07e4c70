"""What the ways to sign in have in common: what one has, what it is good for, until when.

Values and small pure checks; no file is read and nobody is asked here.

About clocks: until when a token is good is the server's word, ours is a guess
from a clock that may be wrong. So a token is renewed 5 minutes early; if it
cannot be renewed, it is still sent until 5 minutes after its end, for the
server's refusal is the truth; past that a sentence says what to do, and names
the clock. A token that we got ourselves a moment ago is never found too old.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from askd.errors import NotConfigured
from askd.providers.credentials.token_server import TokenServer
from askd.providers.known import ProviderConfig

RENEW_EARLY_S = 5 * 60.0
"""Before its end; an answer that begins now may last that long. Codex does the same."""

CLOCK_DOUBT_S = 5 * 60.0
"""How far a clock may be off before a token that cannot be renewed is not sent any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A sign-in as it lies there, without what is secret in it.

    Attributes:
        source: where it is from, in words.
        valid_until_at: unix seconds; None: nobody said.
        renews: it is renewed when it has ended.
    """

    source: str
    valid_until_at: float | None = None
    account: str | None = None
    renews: bool = True
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What is sent: a token, headers that go with it, and where it is taken.

    Attributes:
        base_url: in place of the provider's usual address; None: that one.
        account: whose the token is; None: nobody said.
    """

    token: str = field(repr=False)
    base_url: str | None = None
    account: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


class SignIn(Protocol):
    """One way to sign in. `env` is the caller's, the daemon's own is known."""

    def look(self, config: ProviderConfig, env: Mapping[str, str]) -> Standing | None:
        """What there is; None: nobody has signed in. Raises `NotConfigured` over a bad file."""
        ...

    async def fetch(
        self, config: ProviderConfig, env: Mapping[str, str], server: TokenServer
    ) -> Grant:
        """What to send now, renewed if it is about to end.

        Raises:
            NotConfigured: nobody has signed in, or it has ended for good.
            ProviderError: the server that renews it failed.
        """
        ...

    async def renew(
        self, config: ProviderConfig, env: Mapping[str, str], server: TokenServer
    ) -> Grant | None:
        """After a refusal: another token, or None if there is none. Raises as `fetch`."""
        ...

    def explain(self, provider: str) -> str:
        """How to sign in."""
        ...


def is_ending(valid_until_at: float | None, now: float) -> bool:
    """Whether a token should be renewed before its use."""
    return valid_until_at is not None and valid_until_at - now < RENEW_EARLY_S


def is_over(valid_until_at: float | None, now: float) -> bool:
    """Whether a token has ended, whatever the clock."""
    return valid_until_at is not None and now - valid_until_at > CLOCK_DOUBT_S


def explain_over(what: str, valid_until_at: float, now: float, *, remedy: str) -> NotConfigured:
    """The error for a sign-in that has ended and cannot be renewed."""
    return NotConfigured(
        f"{what} ended at {_say(valid_until_at)} (this machine's clock says {_say(now)}): {remedy}"
    )


def fail_login(sentence: str) -> NotConfigured:
    """The error for a sign-in that did not come about."""
    return NotConfigured(sentence, reason="login_failed")


def _say(at: float) -> str:
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (ValueError, OverflowError, OSError):
        return "an unknown time"
