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
from askd.errors import NotConfigured
from askd.providers.registry import Caller
from askd.server import wire
from askd.server.house import House, SignIns
from askd.server.peer import Peer

WAIT_LIMIT_S = 20.0
"""One `auth/wait` takes no longer: a client gives a request 30 s, and asks again."""


async def status(house: House, peer: Peer, params: AuthStatus) -> AuthPage:
    """Every provider, and how it would be asked in this caller's name."""
    caller = Caller(env=params.env or {}, secrets=params.secrets or {})
    found = await _find_auth(house).status(caller)
    return AuthPage(data=[wire.describe(AuthRecord, each) for each in found])


async def set_key(house: House, peer: Peer, params: AuthSet) -> AuthChanged:
    """Keep a provider's key for all callers that bring none of their own."""
    return wire.describe(AuthChanged, await _find_auth(house).set_key(params.provider, params.key))


async def log_out(house: House, peer: Peer, params: AuthRef) -> AuthChanged:
    """Forget a provider's kept key or sign-in."""
    return wire.describe(AuthChanged, await _find_auth(house).log_out(params.provider))


async def begin(house: House, peer: Peer, params: AuthLogin) -> AuthLoginResult:
    """Begin to sign in: what a person opens in a browser."""
    return wire.describe(AuthLoginResult, await _find_auth(house).begin(params.provider))


async def wait(house: House, peer: Peer, params: AuthWait) -> AuthWaitResult:
    """Answer when the sign-in is over, or that it is not."""
    done = await _find_auth(house).wait(
        params.login_id,
        pasted=params.pasted,
        timeout_s=min(max(params.timeout_s, 0.0), WAIT_LIMIT_S),
    )
    if done is None:
        return AuthWaitResult(state="pending")
    return wire.describe(AuthWaitResult, done, state="done")


def _find_auth(house: House) -> SignIns:
    if house.auth is None:
        raise NotConfigured("This daemon keeps no credentials.")
    return house.auth
