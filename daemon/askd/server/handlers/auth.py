"""Credentials: where they come from, kept, forgotten, signed in for.

A key passes through here and is neither logged nor repeated in an error. What
is answered says where a credential is, never what it is.
"""

from ask.protocol.messages import (
    AuthChanged,
    AuthLogin,
    AuthLoginResult,
    AuthPage,
    AuthRecord,
    AuthRef,
    AuthSet,
    AuthStatus,
    AuthWait,
    AuthWaitResult,
)
from askd.providers.base import Caller
from askd.server import wire
from askd.server.house import House
from askd.server.peer import Peer

WAIT_LIMIT_S = 20.0
"""One `auth/wait` takes no longer: a client gives a request 30 s, and asks again."""


async def status(house: House, peer: Peer, params: AuthStatus) -> AuthPage:
    """Every provider, and how it would be asked in this caller's name."""
    caller = Caller(env=params.env or {}, secrets=params.secrets or {})
    found = await house.auth.status(caller)
    return AuthPage(data=[wire.describe(AuthRecord, each) for each in found])


async def set_key(house: House, peer: Peer, params: AuthSet) -> AuthChanged:
    """Keep a provider's key for all callers that bring none of their own."""
    return wire.describe(AuthChanged, await house.auth.set_key(params.provider, params.key))


async def log_out(house: House, peer: Peer, params: AuthRef) -> AuthChanged:
    """Forget a provider's kept key or sign-in."""
    return wire.describe(AuthChanged, await house.auth.log_out(params.provider))


async def begin(house: House, peer: Peer, params: AuthLogin) -> AuthLoginResult:
    """Begin to sign in: what a person opens in a browser."""
    return wire.describe(AuthLoginResult, await house.auth.begin(params.provider))


async def wait(house: House, peer: Peer, params: AuthWait) -> AuthWaitResult:
    """Answer when the sign-in is over, or that it is not."""
    done = await house.auth.wait(
        params.login_id,
        pasted=params.pasted,
        timeout_s=min(max(params.timeout_s, 0.0), WAIT_LIMIT_S),
    )
    if done is None:
        return AuthWaitResult(state="pending")
    return wire.describe(AuthWaitResult, done, state="done")
