"""Sign-ins at servers of tools: begun and forgotten; `auth/wait` waits for their ends.

No answer says what is kept, only where.
"""

from ask.protocol.messages import AuthLoginResult, McpRef, McpSignedOut
from askd.server import wire
from askd.server.house import House
from askd.server.peer import Peer


async def begin(house: House, peer: Peer, params: McpRef) -> AuthLoginResult:
    """Begin to sign in: what a person opens in a browser."""
    return wire.describe(AuthLoginResult, await house.server_logins.begin(params.server))


async def log_out(house: House, peer: Peer, params: McpRef) -> McpSignedOut:
    """Forget our sign-in at a server."""
    return wire.describe(McpSignedOut, await house.server_logins.log_out(params.server))
