"""Signing in at GitHub by a code that is typed in a browser anywhere (RFC 8628).

It asks GitHub for a code, then asks as often as GitHub allows whether somebody
has typed it, until they have, have said no, or the code is too old. It keeps
nothing: what comes of it is handed back.
"""

from dataclasses import dataclass, field
from urllib.parse import quote

import trio

from askd.errors import ProviderError
from askd.providers.addresses import read_host
from askd.providers.credentials.sign_in import fail_login
from askd.providers.credentials.token_server import TokenServer, explain_failure

GITHUB_URL = "https://github.com"
CODE_PATH = "/login/device/code"
TOKEN_PATH = "/login/oauth/access_token"
GRANT = "urn:ietf:params:oauth:grant-type:device_code"
SCOPE = "read:user"

INTERVAL_S = 5.0
"""Between two questions, where GitHub does not say; what RFC 8628 says then."""

INTERVAL_MAX_S = 60.0

URL_CHARACTERS = "/:?&=%#@+,;!$'()*~-._"
"""Everything else in an address is written as %XX: it is shown on a terminal."""

SLOW_DOWN_S = 5.0
"""Is added for each `slow_down`."""

LIFE_S = 900.0
"""Of a code, where GitHub does not say; also the longest that we wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceCode:
    """A code that waits to be typed."""

    device_code: str = field(repr=False)
    user_code: str
    url: str
    interval_s: float
    life_s: float


async def ask_code(
    provider: str, server: TokenServer, *, github_url: str, client_id: str
) -> DeviceCode:
    """A fresh code. Raises `ProviderError`."""
    fields = {"client_id": client_id, "scope": SCOPE}
    answer = await server.post_form(github_url + CODE_PATH, fields)
    device_code, user_code = answer.read_text("device_code"), answer.read_text("user_code")
    url = answer.read_text("verification_uri")
    if not answer.is_ok or device_code is None or user_code is None or read_host(url or "") is None:
        error = explain_failure(provider, "GitHub gives no code", answer)
        raise fail_login(error.message) if answer.is_refusal else error
    return DeviceCode(
        device_code=device_code,
        user_code="".join(each for each in user_code if each.isprintable())[:32],
        url=quote(url or "", safe=URL_CHARACTERS),
        interval_s=_clamp(answer.read_number("interval"), INTERVAL_S, INTERVAL_MAX_S),
        life_s=_clamp(answer.read_number("expires_in"), LIFE_S, LIFE_S),
    )


async def wait_for_token(
    provider: str, server: TokenServer, code: DeviceCode, *, github_url: str, client_id: str
) -> str:
    """GitHub's token, when somebody has typed the code.

    Raises:
        NotConfigured: they said no, or it took too long (`login_failed`).
    """
    interval_s = code.interval_s
    fields = {"client_id": client_id, "device_code": code.device_code, "grant_type": GRANT}
    with trio.move_on_after(code.life_s):
        while True:
            await trio.sleep(interval_s)
            try:
                answer = await server.post_form(github_url + TOKEN_PATH, fields)
            except ProviderError as error:
                if error.reason != "unavailable":
                    raise
                continue  # the way there is broken for now; the code is still good
            token = answer.read_text("access_token")
            if answer.is_ok and token is not None:
                return token
            if answer.code == "expired_token":
                break
            if answer.code == "access_denied":
                raise fail_login(f"{provider}: the sign-in was not allowed.")
            if answer.code == "slow_down":
                said = min(answer.read_number("interval") or 0.0, INTERVAL_MAX_S)
                interval_s = max(interval_s + SLOW_DOWN_S, said)
            elif answer.code != "authorization_pending" and (answer.is_refusal or answer.code):
                raise fail_login(explain_failure(provider, "the sign-in failed", answer).message)
    raise fail_login(f"{provider}: the code was not typed in time; begin again.")


def _clamp(value: float | None, default: float, largest: float) -> float:
    return min(value, largest) if value is not None and value > 0 else default
