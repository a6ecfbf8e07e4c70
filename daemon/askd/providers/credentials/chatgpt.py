"""Signing in with ChatGPT: our own sign-in first, else the one that Codex has.

"Sign in with ChatGPT for open-source apps", as OpenAI documents it at
developers.openai.com/siwc/token-sharing-open-source: the first sign-in registers
a client for this user, PKCE, a callback on the loopback, tokens that rotate, and
then the plain Responses API. Each refresh token is good once: it is used under a
lock, and what comes of it is on the disk before it is sent anywhere.
"""

import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

import trio

from askd.errors import NotConfigured
from askd.providers.addresses import is_loopback
from askd.providers.credentials.chatgpt_file import ChatGPTFile, Kept
from askd.providers.credentials.codex import CodexSignIn
from askd.providers.credentials.oauth import Attempt, Returned, make_url, read_account, read_claims
from askd.providers.credentials.renewal import Renewals
from askd.providers.credentials.sign_in import (
    Grant,
    Standing,
    explain_over,
    fail_login,
    is_ending,
)
from askd.providers.credentials.token_server import (
    Answer,
    TokenServer,
    explain_failure,
    explain_unrenewed,
)
from askd.providers.known import ProviderConfig
from askd.providers.redact import KnownSecrets

ISSUER = "https://auth.openai.com"
AUTHORIZE_PATH = "/api/accounts/authorize"
TOKEN_PATH = "/api/accounts/oauth/token"
DISCOVERY_PATH = "/.well-known/openid-configuration"
"""The paths are used where the discovery document does not name others of the same host."""

FIRST_CLIENT = "dynamic_agent_client"
"""The client of a first sign-in; the callback brings the one that was issued."""

AGENT_NAME = "ask"
RESOURCE = "https://api.openai.com/v1"
PLAN_SCOPE = "chatgpt.tokens.use.direct"
SCOPE = f"openid profile email offline_access resource.invoke {PLAN_SCOPE}"

LIFE_S = 3600.0
"""Of an access token whose answer does not say how long it lives."""

SIGN_IN_AGAIN = "sign in again with `ask auth login chatgpt`."


class ChatGPTSignIn:
    """Our own sign-in in `path`, and Codex's behind it.

    Args:
        issuer: OpenAI's sign-in server; tests have their own.
    """

    def __init__(
        self,
        path: Path,
        *,
        codex: CodexSignIn,
        issuer: str,
        secrets: KnownSecrets,
        now: Callable[[], float],
    ) -> None:
        self.path = path
        self._file = ChatGPTFile(path, secrets)
        self._codex = codex
        self._issuer = issuer.rstrip("/")
        self._secrets = secrets
        self._now = now
        self._renewals = Renewals(now)

    def look(self, config: ProviderConfig, env: Mapping[str, str]) -> Standing | None:
        """As `SignIn.look`."""
        kept = self._file.read()
        if kept is None or kept.access_token is None:
            return self._codex.look(config, env)
        return Standing(
            source=str(self.path),
            valid_until_at=kept.valid_until_at,
            account=kept.account,
            renews=kept.refresh_token is not None,
        )

    def explain(self, provider: str) -> str:
        """As `SignIn.explain`."""
        return f"{provider}: nobody is signed in: `ask auth login {provider}`, or `codex login`."

    async def fetch(
        self, config: ProviderConfig, env: Mapping[str, str], server: TokenServer
    ) -> Grant:
        """As `SignIn.fetch`."""
        await self._file.save_late()
        kept = self._file.read()
        if kept is None or kept.access_token is None:
            return await self._codex.fetch(config, env, server)
        if not self._renewals.is_fresh(self.path, kept) and is_ending(
            kept.valid_until_at, self._now()
        ):
            kept = await self._renew(config.name, kept, server, is_refused=False)
        return Grant(token=kept.access_token or "", account=kept.account)

    async def renew(
        self, config: ProviderConfig, env: Mapping[str, str], server: TokenServer
    ) -> Grant | None:
        """As `SignIn.renew`."""
        kept = self._file.read()
        if kept is None or kept.access_token is None:
            return await self._codex.renew(config, env, server)
        if not self._renewals.is_fresh(self.path, kept):
            kept = await self._renew(config.name, kept, server, is_refused=True)
        return Grant(token=kept.access_token or "", account=kept.account)

    async def log_out(self) -> bool:
        """Forget our own sign-in, whose machine this is is kept; False: there was none."""
        kept = self._file.read()
        if kept is None or kept.access_token is None:
            return False
        await self._file.write(Kept(host_id=kept.host_id))
        return True

    # ---- signing in ----------------------------------------------------------------

    async def prepare(self, server: TokenServer, attempt: Attempt, redirect_uri: str) -> str:
        """The address to open in a browser. Raises `ProviderError`."""
        for value in (attempt.verifier, attempt.nonce):
            self._secrets.add(value)
        kept = self._file.read()
        if kept is None:
            kept = Kept(host_id=f"urn:uuid:{uuid.uuid4()}")
            # Before the first sign-in, for it is what the server will know this machine by.
            await self._file.write(kept)
        fields = {
            "response_type": "code",
            "client_id": kept.client_id or FIRST_CLIENT,
            "ext_agent_host_id": kept.host_id,
            "redirect_uri": redirect_uri,
            "scope": SCOPE,
            "resource": RESOURCE,
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": attempt.challenge,
            "code_challenge_method": "S256",
        }
        if kept.client_id is None:
            fields["agent_name_hint"] = AGENT_NAME
        authorize, _ = await self._discover(server)
        return make_url(authorize, fields)

    async def finish(
        self,
        provider: str,
        server: TokenServer,
        *,
        attempt: Attempt,
        returned: Returned,
        redirect_uri: str,
    ) -> str | None:
        """Turn the browser's code into tokens and keep them; whose sign-in it is, if it says so.

        Raises:
            NotConfigured: the sign-in failed (`login_failed`).
            ProviderError: the server failed.
        """
        self._secrets.add(returned.code)
        kept = self._file.read()
        client_id = returned.client_id or (kept.client_id if kept else None)
        if kept is None or client_id in (None, FIRST_CLIENT):
            raise fail_login(f"{provider}: the sign-in server issued no client to sign in as.")
        assert client_id is not None
        _, token = await self._discover(server)
        fields = {
            "grant_type": "authorization_code",
            "client_id": client_id,
            "code": returned.code,
            "code_verifier": attempt.verifier,
            "redirect_uri": redirect_uri,
            "resource": RESOURCE,
        }
        answer = await server.post_form(token, fields)
        self._hide(answer)
        access = answer.read_text("access_token")
        if not answer.is_ok or access is None:
            error = explain_failure(provider, "the sign-in failed", answer)
            raise fail_login(error.message) if answer.is_refusal or answer.is_ok else error
        _check_identity(provider, answer, client_id=client_id, nonce=attempt.nonce)
        scope = answer.read_text("scope")
        if scope is not None and PLAN_SCOPE not in scope.split():
            raise fail_login(
                f"{provider}: you are signed in, but your ChatGPT plan may not be used: allow it "
                "when the browser asks, or the plan does not include it."
            )
        signed_in = self._take(Kept(host_id=kept.host_id, client_id=client_id), answer, access)
        await self._file.write(signed_in)
        return signed_in.account

    # ---- renewing ------------------------------------------------------------------

    async def _renew(
        self, provider: str, seen: Kept, server: TokenServer, *, is_refused: bool
    ) -> Kept:
        """As `Renewals.renew`."""
        return await self._renewals.renew(
            self.path,
            seen,
            what=f"{provider}: the sign-in",
            is_refused=is_refused,
            look=lambda: self._need(provider),
            exchange=lambda kept: self._exchange(provider, kept, server),
        )

    def _need(self, provider: str) -> Kept:
        kept = self._file.read()
        if kept is None or kept.access_token is None:
            raise NotConfigured(self.explain(provider))
        return kept

    async def _exchange(self, provider: str, kept: Kept, server: TokenServer) -> Kept:
        if kept.refresh_token is None or kept.client_id is None:
            raise explain_over(
                f"{provider}: the sign-in",
                kept.valid_until_at or self._now(),
                self._now(),
                remedy=SIGN_IN_AGAIN,
            )
        _, token = await self._discover(server)
        fields = {
            "grant_type": "refresh_token",
            "client_id": kept.client_id,
            "refresh_token": kept.refresh_token,
            "resource": RESOURCE,
        }
        # Nobody may cancel between the question and the disk: it uses up the refresh token, and
        # what comes of it must not be lost on the way. The question has its own limit.
        with trio.CancelScope(shield=True):
            answer = await server.post_form(token, fields)
            self._hide(answer)
            access = answer.read_text("access_token")
            if answer.is_ok and access is not None:
                renewed = self._take(kept, answer, access)
                await self._file.save(renewed, spent=kept.refresh_token)
                self._renewals.note(self.path, renewed)
                return renewed
        raise explain_unrenewed(provider, "the sign-in", answer, remedy=SIGN_IN_AGAIN)

    def _take(self, kept: Kept, answer: Answer, access: str) -> Kept:
        life_s = answer.read_number("expires_in")
        return Kept(
            host_id=kept.host_id,
            client_id=kept.client_id,
            access_token=access,
            refresh_token=answer.read_text("refresh_token") or kept.refresh_token,
            valid_until_at=self._now() + (life_s if life_s and life_s > 0 else LIFE_S),
            account=read_account(answer.data.get("id_token")) or kept.account,
        )

    async def _discover(self, server: TokenServer) -> tuple[str, str]:
        """Where to authorize, and where tokens are given: by discovery, else as documented."""
        authorize, token = self._issuer + AUTHORIZE_PATH, self._issuer + TOKEN_PATH
        answer = await server.get(self._issuer + DISCOVERY_PATH)
        if answer.is_ok:
            authorize = self._check(answer.read_text("authorization_endpoint")) or authorize
            token = self._check(answer.read_text("token_endpoint")) or token
        return authorize, token

    def _check(self, address: str | None) -> str | None:
        """The address if it is the issuer's own."""
        try:
            own, found = urlsplit(self._issuer), urlsplit(address or "")
        except ValueError:
            return None
        is_safe = found.scheme == "https" or is_loopback(found.hostname or "")
        return address if found.netloc == own.netloc and is_safe else None

    def _hide(self, answer: Answer) -> None:
        for name in ("access_token", "refresh_token", "id_token"):
            value = answer.read_text(name)
            if value is not None:
                self._secrets.add(value)


def _check_identity(provider: str, answer: Answer, *, client_id: str, nonce: str) -> None:
    """The id token is of this very sign-in; it came over TLS from the issuer itself."""
    claims = read_claims(answer.data.get("id_token"))
    audience = claims.get("aud", client_id)
    audiences = audience if isinstance(audience, list) else [audience]
    if claims.get("nonce", nonce) != nonce or client_id not in audiences:
        raise fail_login(f"{provider}: the sign-in server answered for another sign-in.")
