"""The sign-in servers of OpenAI and GitHub, in memory, with the rules that the vendors enforce.

A refresh token is good once, and using it again ends its whole family. A code is
good once, for the client, the address and the verifier that it was made for. Who
polls faster than allowed is told to slow down, and is remembered in `violations`.
Each is an `ask` for `Credentials`: no socket is opened.
"""

import base64
import hashlib
import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import trio

from askd.providers.base import Endpoint, HttpCall

PLAN = "openid profile email offline_access resource.invoke chatgpt.tokens.use.direct"

Json = dict[str, Any]


@dataclass(frozen=True)
class Said:
    """An answer."""

    status: int
    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)


def say(status: int, data: Any) -> Said:
    """An answer of JSON."""
    return Said(status, json.dumps(data).encode())


def make_jwt(**claims: Any) -> str:
    """A token with these claims, and a signature that nobody checks."""
    parts = [{"alg": "RS256"}, claims]
    encoded = [base64.urlsafe_b64encode(json.dumps(each).encode()).rstrip(b"=") for each in parts]
    return b".".join([*encoded, b"c2ln"]).decode()


@dataclass
class Server:
    """What both have: troubles to come, and a list of who asked what.

    Attributes:
        troubles: each spoils one call: an answer, or an error to raise.
        calls: method and URL of every call.
        hold: is waited for before each answer.
        late: is waited for when it is decided, and is on its way.
    """

    now: Callable[[], float]
    troubles: list[Said | Exception] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    endpoints: list[Endpoint] = field(default_factory=list)
    hold: trio.Event | None = None
    late: trio.Event | None = None
    numbers: Any = field(default_factory=itertools.count)

    async def __call__(self, endpoint: Endpoint, call: HttpCall) -> Said:
        """The `ask` of `Credentials`."""
        await trio.lowlevel.checkpoint()
        url = endpoint.base_url + call.path
        self.calls.append(f"{call.method} {url}")
        self.endpoints.append(endpoint)
        if self.hold is not None:
            await self.hold.wait()
        if self.troubles:
            trouble = self.troubles.pop(0)
            if isinstance(trouble, Exception):
                raise trouble
            return trouble
        kind = endpoint.headers.get("content-type", "")
        fields: Json = {}
        if "json" in kind:
            fields = json.loads(call.body)
        elif "form" in kind:
            fields = dict(parse_qsl(call.body.decode()))
        said = self.answer(call.method, urlsplit(url).path, fields, endpoint.headers)
        if self.late is not None:
            await self.late.wait()
        return said

    def answer(self, method: str, path: str, fields: Json, headers: Mapping[str, str]) -> Said:
        """What this server says."""
        raise AssertionError(f"nobody answers {method} {path}")

    def count(self, part: str) -> int:
        """How many calls have this in their URL."""
        return sum(part in each for each in self.calls)


@dataclass
class OpenAI(Server):
    """auth.openai.com.

    Attributes:
        scope: what is granted, whatever is asked for.
        life_s: of an access token.
        live: refresh tokens that are good, with whose they are.
        used: those that are not any more, with their family.
    """

    issuer: str = "https://auth.openai.com"
    scope: str = PLAN
    life_s: float = 3600.0
    email: str = "ada@example.com"
    live: dict[str, str] = field(default_factory=dict)
    used: dict[str, str] = field(default_factory=dict)
    codes: dict[str, Json] = field(default_factory=dict)

    def answer(self, method: str, path: str, fields: Json, headers: Mapping[str, str]) -> Said:
        match method, path:
            case "GET", "/.well-known/openid-configuration":
                return say(
                    200,
                    {
                        "issuer": self.issuer,
                        "authorization_endpoint": f"{self.issuer}/api/accounts/authorize",
                        "token_endpoint": f"{self.issuer}/api/accounts/oauth/token",
                    },
                )
            case "POST", "/api/accounts/oauth/token" | "/oauth/token":
                match fields.get("grant_type"):
                    case "authorization_code":
                        return self._exchange(fields)
                    case "refresh_token":
                        return self._refresh(fields)
                    case _:
                        return say(400, {"error": "unsupported_grant_type"})
            case _:
                return say(404, {"error": "not_found"})

    def authorize(self, url: str, *, allow: bool = True, client_id: str = "oaiapp_1") -> str:
        """What a browser does: opens the address, and ends at the one that comes back."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        assert asked["code_challenge_method"] == "S256"
        assert asked["ext_agent_host_id"].startswith("urn:uuid:")
        assert asked["redirect_uri"].startswith("http://127.0.0.1:")
        assert asked["resource"] == "https://api.openai.com/v1"
        is_first = asked["client_id"] == "dynamic_agent_client"
        assert ("agent_name_hint" in asked) == is_first
        back = asked["redirect_uri"]
        if not allow:
            said = {"error": "access_denied", "error_description": "No.", "state": asked["state"]}
            return f"{back}?{urlencode(said)}"
        code = f"code-{next(self.numbers)}-secret"
        issued = client_id if is_first else asked["client_id"]
        self.codes[code] = {**asked, "client_id": issued}
        return f"{back}?{urlencode({'code': code, 'state': asked['state'], 'client_id': issued})}"

    def grant(self, *, client_id: str, nonce: str | None = None, family: str = "family") -> Json:
        """Fresh tokens."""
        number = next(self.numbers)
        refresh = f"refresh-{number}-secret"
        self.live[refresh] = family
        identity = {"email": self.email, "aud": client_id, "nonce": nonce, "iss": self.issuer}
        ends_at = int(self.now() + self.life_s)
        return {
            "access_token": make_jwt(exp=ends_at, jti=number, client_id=client_id),
            "refresh_token": refresh,
            "id_token": make_jwt(
                **{name: each for name, each in identity.items() if each is not None},
                **{"https://api.openai.com/auth": {"chatgpt_account_id": "acc-1"}},
            ),
            "token_type": "Bearer",
            "expires_in": self.life_s,
            "scope": self.scope,
        }

    def _exchange(self, fields: Json) -> Said:
        asked = self.codes.pop(fields["code"], None)
        digest = hashlib.sha256(fields["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if (
            asked is None
            or asked["code_challenge"] != challenge
            or asked["client_id"] != fields["client_id"]
            or asked["redirect_uri"] != fields["redirect_uri"]
        ):
            self.violations.append("exchange")
            return say(400, {"error": "invalid_grant", "error_description": "Bad code."})
        return say(200, self.grant(client_id=fields["client_id"], nonce=asked["nonce"]))

    def _refresh(self, fields: Json) -> Said:
        token = fields["refresh_token"]
        family = self.live.pop(token, None)
        if family is None:
            self.violations.append("refresh")
            ended = self.used.get(token, "")
            self.live = {name: each for name, each in self.live.items() if each != ended}
            error = {
                # The server repeats what it was sent: nobody may show that.
                "message": f"Your refresh token was already used: {token}",
                "code": "refresh_token_reused",
            }
            return say(401, {"error": error})
        self.used[token] = family
        return say(200, self.grant(client_id=fields["client_id"], family=family))


@dataclass
class GitHub(Server):
    """github.com and api.github.com.

    Attributes:
        typed: whether somebody has typed the code; "denied": they said no.
        interval_s: between two polls.
        tokens: GitHub tokens that may use Copilot.
    """

    typed: bool | str = False
    interval_s: float = 5.0
    life_s: float = 900.0
    tokens: set[str] = field(default_factory=set)
    copilot_life_s: float = 1800.0
    base_url: str = "https://api.business.githubcopilot.com"
    polled_at: float | None = None

    def answer(self, method: str, path: str, fields: Json, headers: Mapping[str, str]) -> Said:
        match method, path:
            case "POST", "/login/device/code":
                self.polled_at = trio.current_time()
                return say(
                    200,
                    {
                        "device_code": "device-code-secret",
                        "user_code": "ABCD-1234",
                        "verification_uri": "https://github.com/login/device",
                        "interval": self.interval_s,
                        "expires_in": self.life_s,
                    },
                )
            case "POST", "/login/oauth/access_token":
                return say(200, self._poll(fields))
            case "GET", "/copilot_internal/v2/token":
                return self._exchange(headers)
            case _:
                return say(404, {"message": "Not Found"})

    def _poll(self, fields: Json) -> Json:
        assert fields["device_code"] == "device-code-secret"
        assert self.polled_at is not None
        waited_s, self.polled_at = trio.current_time() - self.polled_at, trio.current_time()
        if waited_s < self.interval_s - 0.001:
            self.violations.append(f"polled after {waited_s:g} s")
            self.interval_s += 5
            return {"error": "slow_down", "interval": self.interval_s}
        if self.typed == "denied":
            return {"error": "access_denied", "error_description": "No."}
        if self.typed == "too late":
            return {"error": "expired_token"}
        if not self.typed:
            return {"error": "authorization_pending"}
        token = f"ghu_{next(self.numbers)}_secret_token"
        self.tokens.add(token)
        return {"access_token": token, "token_type": "bearer", "scope": "read:user"}

    def _exchange(self, headers: Mapping[str, str]) -> Said:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme != "token" or token not in self.tokens:
            return say(401, {"message": f"Bad credentials: {token}"})
        return say(
            200,
            {
                "token": f"tid={next(self.numbers)};copilot-secret",
                "expires_at": int(self.now() + self.copilot_life_s),
                "refresh_in": int(self.copilot_life_s - 300),
                "endpoints": {"api": self.base_url},
            },
        )
