"""Providers that are wrong, broken or say no: one sentence, the right code, and it goes on.

Every case is one prompt in a conversation that has an answer already. After it the
turn has its one end, and the next prompt, to a server that works, is answered in
the same conversation, whose messages that server finds nothing wrong with.
"""

import re
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.chat_server import ChatServer, open_chat_server
from tests.fakes.sign_in_servers import make_jwt
from tests.fakes.vendors import VendorServer, open_vendor
from tests.fakes.wire_server import TLS, WireServer, open_wire_server
from tests.system.servers import serve, start_daemon, write_config, write_secret
from tests.system.world import Result, World, open_world

PAGE = b"<html><head><title>Welcome</title></head><body><h1>It works!</h1></body></html>"
TRY = re.compile(r"; trying again in [\d.]+ (?:s|m\w*) \(try [234] of 4\)$")
QUICK_S = 10.0
"""Four tries with their longest pauses are two seconds; more than this is a hang."""


def raw(status: str, body: bytes, kind: str = "application/json", *headers: str) -> bytes:
    """An answer, byte by byte."""
    lines = [f"HTTP/1.1 {status}", f"content-type: {kind}", f"content-length: {len(body)}"]
    return "\r\n".join([*lines, *headers, "connection: close", "", ""]).encode() + body


@dataclass
class Town:
    """A good server, and bad ones beside it, all in one home.

    Attributes:
        ends: the codes with which the turns of the conversation `work` should have ended.
    """

    world: World
    good: ChatServer
    stack: ExitStack
    providers: dict[str, dict[str, Any]] = field(default_factory=dict)
    ends: list[int] = field(default_factory=list)

    def add(self, name: str, base_url: str, **settings: Any) -> None:
        """Configure a provider."""
        self.providers[name] = {"dialect": "openai-chat", "base_url": base_url, **settings}
        tables = [
            "\n".join([f"[providers.{name}]", *(f'{key} = "{each[key]}"' for key in each)])
            for name, each in self.providers.items()
        ]
        write_config(self.world, "\n\n".join([*tables, ""]))

    def open(self, script: bytes, **options: Any) -> WireServer:
        """A server that says these bytes."""
        return self.stack.enter_context(serve(open_wire_server(script, **options)))

    def fail(self, model: str, code: int, *words: str, prompt: str = "ECHO:no") -> Result:
        """Ask in the conversation: this code, and one sentence with these words."""
        began = time.monotonic()
        result = self.world.ask("-s", "work", "-m", model, prompt)
        assert time.monotonic() - began < QUICK_S
        assert result.code == code, result
        self.ends.append(code)
        (sentence,) = sentences(result)
        for word in words:
            assert word in sentence, result
        assert "Traceback" not in result.err + self.world.log()
        return result

    def go_on(self) -> None:
        """The conversation is usable, and what is sent breaks no rule."""
        self.ends.append(0)
        assert self.world.ok("-s", "work", "-m", "good/fake", "ECHO:goes on").out == "goes on\n"
        assert self.good.violations == []

    def refuse(self, model: str, code: int, *words: str, prompt: str = "ECHO:no") -> Result:
        """As `fail`, and it goes on."""
        result = self.fail(model, code, *words, prompt=prompt)
        self.go_on()
        return result


def sentences(result: Result) -> list[str]:
    """Standard error without tries, the conversation's id, and the remark on the window."""
    lines = result.err.splitlines()
    return [
        line
        for line in lines
        if line
        and not TRY.search(line)
        and not re.fullmatch(r"[0-9a-f]{8}", line)
        and "tokens are assumed" not in line
    ]


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    """A conversation with one answer in it."""
    with ExitStack() as stack:
        good = stack.enter_context(serve(open_chat_server()))
        world = stack.enter_context(open_world(tmp_path, model=False))
        town = Town(world, good, stack)
        town.add("good", good.base_url)
        town.go_on()
        yield town
        events = world.events("work")
        assert [e["code"] for e in events if e["type"] == "turn_finished"] == town.ends
        assert sum(e["type"] == "prompt_accepted" for e in events) == len(town.ends)


# ---- addresses ------------------------------------------------------------------------


def test_wrong_addresses(town: Town) -> None:
    good = town.good.base_url
    town.add("path", good.replace("/v1", "/v2"))
    town.add("port", "http://127.0.0.1:9/v1")
    town.add("host", "http://vendor.invalid/v1")
    town.add("secure", good.replace("http:", "https:"))
    town.refuse("path/fake", 1, "(HTTP 404)", "Check `base_url`")
    town.refuse("port/fake", 1, "cannot be reached at http://127.0.0.1:9/v1")
    town.refuse("host/fake", 1, "the name in http://vendor.invalid/v1 is not known")
    town.refuse("secure/fake", 1, "is it http:// or another port?")


def test_certificates(town: Town) -> None:
    for name, ca_file in (("good", None), ("expired", "expired"), ("elsewhere", "elsewhere")):
        server = town.open(b"", certificate=name)
        more = {} if ca_file is None else {"ca_file": str(TLS / f"{ca_file}.pem")}
        town.add(
            name if name != "good" else "unknown", f"https://localhost:{server.port}/v1", **more
        )
    town.refuse("unknown/fake", 1, "self-signed", "`ca_file`")
    town.refuse("expired/fake", 1, "has expired", "this machine's clock")
    town.refuse("elsewhere/fake", 1, "names another host")


# ---- answers that are none ------------------------------------------------------------


def test_pages_and_garbage(town: Town) -> None:
    answers = {
        "page": raw("200 OK", PAGE, "text/html"),
        "missing": raw("404 Not Found", PAGE, "text/html"),
        "gateway": raw("502 Bad Gateway", PAGE, "text/html"),
        "binary": raw("200 OK", bytes(range(256)) * 8, "text/event-stream"),
        "json": raw("200 OK", b'{"ok": true}'),
        "silent": b"",
    }
    for name, answer in answers.items():
        town.add(name, f"http://127.0.0.1:{town.open(answer).port}/v1")
    town.refuse("page/fake", 1, "answered with a web page")
    town.refuse("missing/fake", 1, "(HTTP 404)", "Check `base_url`")
    town.refuse("gateway/fake", 1, "(HTTP 502)")
    town.refuse("binary/fake", 1, "is no stream of events")
    town.refuse("json/fake", 1, "one piece of JSON")
    town.refuse("silent/fake", 1, "the connection broke before an answer")


def test_a_proxy_that_answers_itself(town: Town) -> None:
    for name, answer in (
        ("words", raw("200 OK", b"You are not connected to the internet.", "text/plain")),
        ("login", raw("200 OK", PAGE, "text/html")),
        ("closed", raw("407 Proxy Authentication Required", b"", "text/plain")),
    ):
        proxy = f"http://127.0.0.1:{town.open(answer).port}"
        town.add(name, "http://vendor.invalid/v1", proxy=proxy)
    town.refuse("words/fake", 1, "is a proxy on the way")
    town.refuse("login/fake", 1, "a proxy or a login page is on the way")
    town.refuse("closed/fake", 4, "(HTTP 407)", "NAME:PASSWORD@HOST")


# ---- servers that say no --------------------------------------------------------------


def test_unknown_models(town: Town) -> None:
    town.world.ok("models", "list")
    town.refuse("good/missing-fake", 2, "no such model", "Did you mean good/fake?")
    # A name that leads to nobody is refused before anything is kept.
    before = len(town.world.events("work"))
    for name in ("fkae", "goood/fake"):
        result = town.world.ask("-s", "work", "-m", name, "ECHO:no")
        assert result.code == 2
        assert f"Unknown model: {name}. Did you mean good/fake" in result.err
        assert len(result.err.splitlines()) == 1
    assert len(town.world.events("work")) == before
    town.go_on()


def test_a_refused_request_is_logged_and_can_be_sent_again(town: Town) -> None:
    town.fail("good/fake", 1, "(HTTP 400)", "could not parse your request", prompt="FAIL 400")
    (line,) = [
        line
        for line in town.world.log().splitlines()
        if "We could not parse your request" in line and "providers" in line
    ]
    assert " ERROR " in line
    town.fail("good/fake", 1, "(HTTP 400)", prompt="FAIL 400")
    town.go_on()


@pytest.mark.parametrize("dialect", ["openai-chat", "anthropic"])
def test_a_revoked_key(dialect: str, town: Town) -> None:
    opened: Any = (
        open_chat_server(api_key="k-good")
        if dialect == "openai-chat"
        else open_vendor("anthropic", api_key="k-good")
    )
    server: ChatServer | VendorServer = town.stack.enter_context(serve(opened))
    key = town.world.home / "key"
    key.write_text("k-good")
    # What the command said is remembered until it is refused, and then it is asked once.
    script = town.world.home / "print-key"
    script.write_text(f'#!/bin/sh\necho run >> "{town.world.home}/runs"\ncat "{key}"\n')
    script.chmod(0o755)
    town.add("keyed", server.base_url, dialect=dialect)
    config = town.world.ask_home / "config" / "config.toml"
    config.write_text(config.read_text() + f'api_key_cmd = ["{script}"]\n')
    runs = town.world.home / "runs"
    ask = ("-s", "work", "-m", "keyed/fake")
    assert town.world.ok(*ask, "ECHO:one").out == "one\n"
    assert town.world.ok(*ask, "ECHO:two").out == "two\n"
    assert runs.read_text().split() == ["run"]
    town.ends += [0, 0]
    key.write_text("k-next")
    server._api_key = "k-next"
    assert town.world.ok(*ask, "ECHO:renewed").out == "renewed\n"
    assert runs.read_text().split() == ["run", "run"]
    assert len(server.violations) == 1
    town.ends.append(0)
    server._api_key = "k-revoked"
    town.refuse("keyed/fake", 4, "keyed refused the key (HTTP 401)")
    assert runs.read_text().split() == ["run", "run", "run"]
    assert len(server.violations) == 2  # the same key is not sent again


def test_rate_limits(town: Town) -> None:
    for name, after in (
        ("past", "Wed, 21 Oct 2015 07:28:00 GMT"),
        ("future", "Wed, 21 Oct 2099 07:28:00 GMT"),
        ("hours", "7200"),
    ):
        answer = raw("429 Too Many", b'{"error": {"message": "Slow down."}}', "application/json",
                     f"retry-after: {after}")  # fmt: skip
        server = town.open(answer)
        town.add(name, f"http://127.0.0.1:{server.port}/v1")
        tries = 4 if name == "past" else 1
        words = {"past": "Slow down", "future": "days", "hours": "Try again in 2 hours."}
        town.refuse(f"{name}/fake", 5, words[name])
        # The model's size is asked for once, too.
        assert sum("POST" in head for head in server.heads) in (tries, 0)
    assert "Try again" in town.world.ask("-m", "hours/fake", "x").err


def test_other_ends(town: Town) -> None:
    vendor = town.stack.enter_context(serve(open_vendor("anthropic", context_tokens=500)))
    town.add("small", vendor.base_url, dialect="anthropic")
    town.refuse("small/fake", 7, "window", prompt="word " * 1000)
    town.refuse("small/fake", 1, "refused", prompt="REFUSE")
    town.refuse("small/fake", 9, "cut by a length limit", prompt="LENGTH")
    town.refuse("good/fake", 9, "cut by a length limit", prompt="LENGTH")
    (refused,) = vendor.violations
    assert "prompt is too long" in refused


@pytest.mark.parametrize(
    ("prompt", "words"),
    [("CUT", "cut before its end"), ("DROP", "broke inside the answer"), ("LATE 500", "crashed")],
)
def test_an_answer_that_breaks_off(town: Town, prompt: str, words: str) -> None:
    result = town.fail("good/fake", 1, words, prompt=prompt)
    assert "before an answer" not in result.err  # it had begun
    assert result.out.strip() == "tok0 tok1 tok2"
    items = [e for e in town.world.events("work") if e["type"] == "item_added"]
    assert (items[-1]["status"], items[-1]["item"]["type"]) == ("interrupted", "assistant_message")
    assert "tok2" in str(items[-1]["item"])
    town.go_on()
    assert "tok0 tok1 tok2" in str(town.good.requests[-1]["messages"])


# ---- clocks ---------------------------------------------------------------------------


def test_a_token_that_looks_too_old(town: Town) -> None:
    """By this machine's clock; within five minutes the server's word is what counts."""
    vendor = town.stack.enter_context(serve(open_vendor("anthropic")))
    town.add("claude", vendor.base_url, dialect="anthropic", auth="claude-oauth")
    codex = town.stack.enter_context(serve(open_vendor("openai-responses")))
    town.add("codex", codex.base_url, dialect="openai-responses", auth="chatgpt")
    town.world.kill_daemon()
    start_daemon(town.world, {"CODEX_REFRESH_TOKEN_URL_OVERRIDE": "http://127.0.0.1:9/oauth/token"})
    now = time.time()
    home = town.world.home

    def write_claude(ends_at: float) -> None:
        write_secret(
            home / ".claude" / ".credentials.json",
            f'{{"claudeAiOauth": {{"accessToken": "k", "expiresAt": {int(ends_at * 1000)}}}}}',
        )

    def write_codex(ends_at: float) -> None:
        token = make_jwt(exp=int(ends_at))
        write_secret(
            home / ".codex" / "auth.json",
            f'{{"tokens": {{"access_token": "{token}", "refresh_token": "r-0123456789"}}}}',
        )

    write_claude(now - 100)
    write_codex(now - 100)
    for model in ("claude/fake", "codex/fake"):
        assert town.world.ok("-s", "work", "-m", model, "ECHO:taken").out == "taken\n"
        town.ends.append(0)
    write_claude(now - 7200)
    write_codex(now - 7200)
    town.refuse("claude/fake", 4, "this machine's clock says", "run `claude` once")
    town.refuse("codex/fake", 1, "cannot be reached at http://127.0.0.1:9")
