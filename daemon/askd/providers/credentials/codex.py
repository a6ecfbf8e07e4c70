"""Codex's sign-in with ChatGPT: its `auth.json`, read again before each use.

The format is Codex's own (`codex-rs/login`): `{OPENAI_API_KEY, tokens: {id_token,
access_token, refresh_token, account_id}, last_refresh}`, pretty JSON, mode 0600,
in `$CODEX_HOME` or `~/.codex`. A refresh token is good for one use, and Codex uses
it too: so it is used only when the access token is about to end or was refused,
under a lock, the file read again before and after, and every field that we do
not know kept. It signs nobody in or out, and never says that it is Codex.
"""

import json
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import trio

from askd.errors import NotConfigured
from askd.files import replace_file
from askd.providers.credentials.key_file import read_private_json
from askd.providers.credentials.oauth import read_account, read_claims, read_expiry
from askd.providers.credentials.renewal import Renewals
from askd.providers.credentials.sign_in import Grant, Standing, is_ending
from askd.providers.credentials.token_server import Answer, TokenServer, explain_unrenewed
from askd.providers.known import ProviderConfig
from askd.providers.redact import KnownSecrets

log = logging.getLogger(__name__)

BACKEND_URL = "https://chatgpt.com/backend-api/codex"
"""Where these tokens are taken; an API key goes to the usual address."""

REFRESH_URL = "https://auth.openai.com/oauth/token"

CLIENT_ID = "app_EMoamEEZ73f0CkXaXp7hrann"
"""The client that Codex's tokens are issued to; only it can renew them, whoever asks."""

ORIGINATOR = "askd"
"""Who we say we are."""

STALE_S = 8 * 24 * 3600.0
"""Codex renews a token that does not say when it ends after this long."""

SIGN_IN_AGAIN = "sign in again with `codex login`, or with `ask auth login chatgpt`."

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodexTokens:
    """What is used of the file; the rest of it is kept in `data`."""

    data: Json = field(repr=False)
    api_key: str | None = field(default=None, repr=False)
    access_token: str | None = field(default=None, repr=False)
    refresh_token: str | None = field(default=None, repr=False)
    id_token: str | None = field(default=None, repr=False)
    account_id: str | None = None
    valid_until_at: float | None = None


class CodexSignIn:
    """Reads and renews Codex's tokens.

    Args:
        environ: the daemon's variables; CODEX_HOME and HOME matter, the caller's go first.
        refresh_url: where tokens are renewed; tests have their own.
    """

    def __init__(
        self,
        *,
        environ: Mapping[str, str],
        refresh_url: str,
        secrets: KnownSecrets,
        now: Callable[[], float],
    ) -> None:
        self._environ = environ
        self._refresh_url = refresh_url
        self._secrets = secrets
        self._now = now
        self._renewals = Renewals(now)
        # Tokens that the disk would not take, with the refresh token that they cost.
        self._unsaved: dict[Path, tuple[str, Json]] = {}
        self._refused: dict[Path, str] = {}

    def look(self, config: ProviderConfig, env: Mapping[str, str]) -> Standing | None:
        """As `SignIn.look`."""
        path = self.find_path(env)
        tokens = self._read(path)
        if tokens is None:
            return None
        if tokens.access_token is None:
            return Standing(source=f"{path} (an API key)", note="The key is Codex's own.")
        return Standing(
            source=str(path),
            valid_until_at=tokens.valid_until_at,
            account=read_account(tokens.id_token),
            renews=tokens.refresh_token is not None,
            note="The sign-in is Codex's own: `codex logout` ends it.",
        )

    async def fetch(
        self, config: ProviderConfig, env: Mapping[str, str], server: TokenServer
    ) -> Grant:
        """As `SignIn.fetch`."""
        path = self.find_path(env)
        tokens = self._need(config, path)
        await self._save_late(path, tokens)
        if tokens.access_token is not None and self._should_renew(path, tokens):
            tokens = await self._renew(config, path, tokens, server, is_refused=False)
        return _grant(tokens)

    async def renew(
        self, config: ProviderConfig, env: Mapping[str, str], server: TokenServer
    ) -> Grant | None:
        """As `SignIn.renew`."""
        path = self.find_path(env)
        tokens = self._need(config, path)
        if tokens.access_token is None:
            return None
        if not self._renewals.is_fresh(path, tokens):
            tokens = await self._renew(config, path, tokens, server, is_refused=True)
        return _grant(tokens)

    def find_path(self, env: Mapping[str, str]) -> Path:
        """Where Codex keeps it, by the caller's word or the daemon's."""
        home = env.get("CODEX_HOME") or self._environ.get("CODEX_HOME")
        if not home:
            home = os.path.join(self._environ.get("HOME") or env.get("HOME") or "/", ".codex")
        # The file itself: a link to it must still be one when it has been written.
        return Path(os.path.realpath(os.path.join(home, "auth.json")))

    def _need(self, config: ProviderConfig, path: Path) -> CodexTokens:
        tokens = self._read(path)
        if tokens is None:
            raise NotConfigured(
                f"{config.name}: nobody is signed in: `ask auth login {config.name}`, "
                "or `codex login`."
            )
        return tokens

    def _read(self, path: Path) -> CodexTokens | None:
        """What the file holds; None: nothing to sign in with. Raises `NotConfigured`."""
        data = read_private_json(path)
        if data is None:
            return None
        tokens = read_tokens(data)
        used, unsaved = self._unsaved.get(path, (None, {}))
        if used is not None and used == tokens.refresh_token:
            tokens = read_tokens(unsaved)
        for value in (tokens.api_key, tokens.access_token, tokens.refresh_token, tokens.id_token):
            self._secrets.add(value)
        return tokens if tokens.access_token or tokens.api_key else None

    def _should_renew(self, path: Path, tokens: CodexTokens) -> bool:
        if self._renewals.is_fresh(path, tokens):
            return False
        if tokens.valid_until_at is not None:
            return is_ending(tokens.valid_until_at, self._now())
        refreshed_at = _read_date(tokens.data.get("last_refresh"))
        return refreshed_at is not None and self._now() - refreshed_at > STALE_S

    async def _renew(
        self,
        config: ProviderConfig,
        path: Path,
        seen: CodexTokens,
        server: TokenServer,
        *,
        is_refused: bool,
    ) -> CodexTokens:
        """As `Renewals.renew`: Codex, or another of us, may be faster."""
        return await self._renewals.renew(
            path,
            seen,
            what=f"{config.name}: Codex's sign-in",
            is_refused=is_refused,
            look=lambda: self._need(config, path),
            exchange=lambda tokens: self._exchange(config, path, tokens, server),
        )

    async def _exchange(
        self, config: ProviderConfig, path: Path, tokens: CodexTokens, server: TokenServer
    ) -> CodexTokens:
        refresh_token = tokens.refresh_token
        if refresh_token is None or self._refused.get(path) == refresh_token:
            raise NotConfigured(
                f"{config.name}: Codex's sign-in has ended and cannot be renewed: {SIGN_IN_AGAIN}"
            )
        client_id = read_claims(tokens.access_token).get("client_id")
        fields = {
            "client_id": client_id if isinstance(client_id, str) else CLIENT_ID,
            "grant_type": "refresh_token",
            "refresh_token": refresh_token,
        }
        # Nobody may cancel between the question and the disk: it uses up the refresh token, and
        # what comes of it must not be lost on the way. The question has its own limit.
        with trio.CancelScope(shield=True):
            answer = await server.post_json(self._refresh_url, fields)
            renewed = await self._keep(config, path, answer, spent=refresh_token)
        if renewed is not None:
            return renewed
        if answer.is_refusal:
            self._refused[path] = refresh_token
        raise explain_unrenewed(config.name, "Codex's sign-in", answer, remedy=SIGN_IN_AGAIN)

    async def _keep(
        self, config: ProviderConfig, path: Path, answer: Answer, *, spent: str
    ) -> CodexTokens | None:
        """The tokens that hold after an answer, written if they are new; None: it gave none."""
        for name in ("access_token", "refresh_token", "id_token"):
            self._secrets.add(answer.read_text(name))
        now = self._need(config, path)
        if now.refresh_token != spent:
            return now  # Codex wrote it meanwhile, and what it wrote is what holds
        if not answer.is_ok or answer.read_text("access_token") is None:
            return None
        renewed = merge_answer(now.data, answer, self._now())
        self._unsaved[path] = (spent, renewed)
        found = read_tokens(renewed)
        await self._save_late(path, found)
        self._renewals.note(path, found)
        return found

    async def _save_late(self, path: Path, tokens: CodexTokens) -> None:
        """Write what is not written yet; if the disk will not have it, memory must do."""
        used, unsaved = self._unsaved.get(path, ("", {}))
        if not used:
            return
        if unsaved is not tokens.data:
            del self._unsaved[path]  # somebody has signed in anew: theirs holds
            return
        try:
            await trio.to_thread.run_sync(replace_file, path, encode_file(unsaved))
        except OSError as error:
            log.error("%s cannot be written: %s. Codex may have to sign in.", path, error.strerror)
        else:
            self._unsaved.pop(path, None)


def read_tokens(data: Json) -> CodexTokens:
    """What a file says, read leniently."""
    tokens = data.get("tokens")
    tokens = tokens if isinstance(tokens, dict) else {}
    access, id_token = _text(tokens, "access_token"), _text(tokens, "id_token")
    about = read_claims(id_token).get("https://api.openai.com/auth")
    account = _text(about, "chatgpt_account_id") if isinstance(about, dict) else None
    return CodexTokens(
        data=data,
        api_key=_text(data, "OPENAI_API_KEY"),
        access_token=access,
        refresh_token=_text(tokens, "refresh_token"),
        id_token=id_token,
        account_id=_text(tokens, "account_id") or account,
        valid_until_at=read_expiry(access),
    )


def merge_answer(data: Json, answer: Answer, now: float) -> Json:
    """The file's content with the tokens of an answer; everything else stays as it is."""
    tokens = data.get("tokens")
    merged = dict(tokens) if isinstance(tokens, dict) else {}
    for name in ("id_token", "access_token", "refresh_token"):
        merged[name] = answer.read_text(name) or merged.get(name)
    refreshed = datetime.fromtimestamp(now, UTC).isoformat().replace("+00:00", "Z")
    return {**data, "tokens": merged, "last_refresh": refreshed}


def encode_file(data: Json) -> bytes:
    """The file as Codex writes it: pretty JSON; half a character pair is written as it was read."""
    return json.dumps(data, indent=2, ensure_ascii=False).encode(errors="backslashreplace")


def _grant(tokens: CodexTokens) -> Grant:
    if tokens.access_token is None:
        return Grant(token=tokens.api_key or "")
    headers = {"originator": ORIGINATOR}
    account = tokens.account_id
    if account and account.isascii() and account.isprintable():
        headers["ChatGPT-Account-ID"] = account
    else:
        account = read_account(tokens.id_token)
    return Grant(token=tokens.access_token, base_url=BACKEND_URL, account=account, headers=headers)


def _read_date(value: object) -> float | None:
    """RFC 3339, as Codex writes it, nanoseconds included."""
    if not isinstance(value, str):
        return None
    try:
        return datetime.fromisoformat(value).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _text(data: Json, name: str) -> str | None:
    value = data.get(name)
    return value if isinstance(value, str) and value else None
