"""A server of tools over streamable HTTP, with its own sign-in server, on the loopback.

It holds to the rules that such servers have: who speaks outside of a session, with another one's
session, or without a token where one is wanted, is refused. Codes and refresh tokens are good
once, for the client, the address and the verifier that they were made for, and who uses one
again is remembered in `violations`. It says what a test scripts in place of its own answers.
"""

import base64
import hashlib
import itertools
import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

from tests.fakes.chat_answers import Answer, Json, Status
from tests.fakes.scripted_server import ScriptedServer, as_json

PATH = "/mcp"
VERSION = "2025-11-25"
TOOLS: list[Json] = [
    {
        "name": "echo",
        "description": "Says what it was told.",
        "inputSchema": {
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
        },
    },
    {"name": "wait", "description": "Never answers.", "inputSchema": {"type": "object"}},
]


@dataclass
class SignInRules:
    """How the sign-in server is.

    Attributes:
        registers: programs may register themselves.
        secret_method: how clients say who they are; None: by their id.
        rotates: a refresh token is good once.
        refreshes: it gives refresh tokens at all.
        life_s: of an access token; None: it does not say.
        metadata: what its description says beside or in place of the usual.
    """

    registers: bool = True
    secret_method: str | None = None
    rotates: bool = True
    refreshes: bool = True
    life_s: float | None = 3600.0
    metadata: Json = field(default_factory=dict)


class McpHttpServer(ScriptedServer):
    """The server; its sign-in server has the same address.

    Attributes:
        wants: what it lets nobody in without.
        tokens: that it lets in.
        sessions: that it knows; a test clears them, and it has been started anew.
        streams: it answers by events, and not by one JSON.
        scripted: answers in place of its own, by method of MCP or by path.
        asked: (HTTP method, path) of all that came.
        said: every message that was let in.
        clients: that have registered, by id.
    """

    prefix = ""

    def __init__(self, *, wants: str | None = None, token: str | None = None) -> None:
        super().__init__()
        self.wants = wants
        self.tokens = {token} if token else set()
        self.sessions: set[str] = set()
        self.streams = False
        self.scripted: dict[str, list[Answer]] = {}
        self.asked: list[tuple[str, str]] = []
        self.all_headers: list[dict[str, str]] = []
        self.said: list[Json] = []
        self.rules = SignInRules()
        self.clients: dict[str, Json] = {}
        self.codes: dict[str, Json] = {}
        self.refresh_tokens: dict[str, str] = {}
        self._numbers = itertools.count(1)

    @property
    def url(self) -> str:
        """What a client is configured with."""
        return self.base_url + PATH

    def spoil(self, what: str, *answers: Answer) -> None:
        """Say these in place of the next answers to a method of MCP, or at a path."""
        self.scripted.setdefault(what, []).extend(answers)

    def count(self, method: str) -> int:
        """How many messages of this method were let in."""
        return sum(each.get("method") == method for each in self.said)

    async def answer_request(
        self, method: str, path: str, headers: dict[str, str], body: bytes
    ) -> Answer:
        self.asked.append((method, path))
        self.all_headers.append(headers)
        waiting = self.scripted.get(path)
        if waiting:
            return waiting.pop(0)
        if path == PATH:
            return self._answer_mcp(method, headers, body)
        fields = dict(parse_qsl(body.decode())) if path == "/token" else {}
        match method, path:
            case "GET", "/.well-known/oauth-protected-resource/mcp" if self.wants == "sign-in":
                return as_json({"resource": self.url, "authorization_servers": [self.base_url]})
            case "GET", "/.well-known/oauth-authorization-server" if self.wants == "sign-in":
                return as_json(self._describe())
            case "POST", "/register" if self.rules.registers and self.wants == "sign-in":
                return self._register(json.loads(body))
            case "POST", "/token" if self.wants == "sign-in":
                return self._give_token(fields, headers)
            case _:
                return as_json({"error": "not_found"}, 404)

    # ---- MCP -----------------------------------------------------------------------

    def _answer_mcp(self, method: str, headers: dict[str, str], body: bytes) -> Answer:
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        if self.wants is not None and bearer not in self.tokens:
            where = f"{self.base_url}/.well-known/oauth-protected-resource/mcp"
            challenge = {"WWW-Authenticate": f'Bearer resource_metadata="{where}"'}
            said = {"error": "invalid_token", "error_description": f"Not known: {bearer}"}
            return Status(401, json.dumps(said).encode(), challenge)
        session = headers.get("mcp-session-id")
        if method == "DELETE":
            self.sessions.discard(session or "")
            return as_json({})
        if method != "POST":
            return as_json({"error": "no stream of its own"}, 405)
        message = json.loads(body)
        name = message.get("method", "")
        if name != "initialize" and session not in self.sessions:
            return as_json({"error": "no such session"}, 404)
        assert "text/event-stream" in headers["accept"]
        assert "application/json" in headers["accept"]
        self.said.append(message)
        self.let_in(headers, message)
        waiting = self.scripted.get(name)
        if waiting:
            return waiting.pop(0)
        if "id" not in message:
            return Status(202, b"")
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": self._do(name, message)}
        if name == "initialize":
            session = f"session-{next(self._numbers)}"
            self.sessions.add(session)
            return Status(200, json.dumps(answer).encode(), {"mcp-session-id": session})
        if self.streams:
            return (as_event(answer),)
        return as_json(answer)

    def _do(self, name: str, message: Json) -> Json:
        match name:
            case "initialize":
                return {
                    "protocolVersion": VERSION,
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "scripted", "version": "7"},
                }
            case "tools/list":
                return {"tools": TOOLS}
            case "tools/call":
                text = message["params"].get("arguments", {}).get("text", "")
                return {"content": [{"type": "text", "text": f"You said: {text}"}]}
            case _:
                return {}

    # ---- signing in ----------------------------------------------------------------

    def authorize(self, url: str, *, allow: bool = True) -> str:
        """What a browser does: opens the address, and ends at the one that comes back."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        assert url.startswith(f"{self.base_url}/authorize?")
        assert asked["code_challenge_method"] == "S256"
        assert asked["client_id"] in self.clients
        assert asked["redirect_uri"] in self.clients[asked["client_id"]]["redirect_uris"]
        assert asked["resource"] == self.url
        if not allow:
            said = {"error": "access_denied", "error_description": "No.", "state": asked["state"]}
            return f"{asked['redirect_uri']}?{urlencode(said)}"
        code = f"code-{next(self._numbers)}-secret"
        self.codes[code] = asked
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"

    def _describe(self) -> Json:
        return {
            "issuer": self.base_url,
            "authorization_endpoint": f"{self.base_url}/authorize",
            "token_endpoint": f"{self.base_url}/token",
            "registration_endpoint": f"{self.base_url}/register",
            "code_challenge_methods_supported": ["S256"],
            **self.rules.metadata,
        }

    def _register(self, fields: Json) -> Status:
        id = f"client-{next(self._numbers)}"
        client = {**fields, "client_id": id, "token_endpoint_auth_method": "none"}
        if self.rules.secret_method is not None:
            client["client_secret"] = f"client-{next(self._numbers)}-secret"
            client["token_endpoint_auth_method"] = self.rules.secret_method
        self.clients[id] = client
        return as_json(client, 201)

    def _give_token(self, fields: Json, headers: dict[str, str]) -> Status:
        client = self._find_client(fields, headers)
        if client is None:
            return self._deny("invalid_client")
        match fields.get("grant_type"):
            case "authorization_code":
                asked = self.codes.pop(fields["code"], None)
                digest = hashlib.sha256(fields["code_verifier"].encode()).digest()
                challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
                if (
                    asked is None
                    or asked["code_challenge"] != challenge
                    or asked["client_id"] != client
                    or asked["redirect_uri"] != fields["redirect_uri"]
                ):
                    return self._deny("invalid_grant")
                return as_json(self._grant(client))
            case "refresh_token":
                token = fields["refresh_token"]
                if self.refresh_tokens.get(token) != client or fields["resource"] != self.url:
                    return self._deny("invalid_grant", f"No such token: {token}")
                if self.rules.rotates:
                    del self.refresh_tokens[token]
                return as_json(self._grant(client, keep=None if self.rules.rotates else token))
            case _:
                return self._deny("unsupported_grant_type")

    def _find_client(self, fields: Json, headers: dict[str, str]) -> str | None:
        """Who asks, if they say so in the way that was agreed."""
        id, secret, method = fields.get("client_id"), fields.get("client_secret"), "none"
        if secret is not None:
            method = "client_secret_post"
        basic = headers.get("authorization", "")
        if basic.startswith("Basic "):
            pair = base64.b64decode(basic.removeprefix("Basic ")).decode()
            id, _, secret = pair.partition(":")
            method = "client_secret_basic"
        known = self.clients.get(id or "")
        is_right = (
            known is not None
            and known.get("client_secret") == secret
            and known["token_endpoint_auth_method"] == method
        )
        return id if is_right else None

    def _grant(self, client: str, *, keep: str | None = None) -> Json:
        number = next(self._numbers)
        access = f"access-{number}-secret"
        self.tokens.add(access)
        said: dict[str, Any] = {"access_token": access, "token_type": "Bearer"}
        if self.rules.life_s is not None:
            said["expires_in"] = int(self.rules.life_s)
        if self.rules.refreshes and keep is None:
            said["refresh_token"] = f"refresh-{number}-secret"
            self.refresh_tokens[said["refresh_token"]] = client
        return said

    def _deny(self, code: str, words: str = "No.") -> Status:
        self.violations.append(code)
        return as_json({"error": code, "error_description": words}, 400)


def as_event(message: Any) -> bytes:
    """One message as a stream of events has it."""
    return b"event: message\ndata: " + json.dumps(message).encode() + b"\n\n"
