"""Signing in from the command line to an answer, with servers that hold to the vendors' rules.

The real daemon, the real `ask`, and the sign-in servers of `tests.fakes` on real
sockets: a browser is played by the test. No token is ever seen, not even by who
asks how things stand.
"""

import json
import re
import signal
import stat
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.fakes.chat_answers import Status
from tests.fakes.sign_in_servers import GitHub, OpenAI, make_jwt, say
from tests.fakes.vendors import VendorServer, open_vendor
from tests.system.servers import (
    Told,
    serve,
    start_daemon,
    tell_sign_in,
    write_config,
    write_secret,
)
from tests.system.test_terminal import Terminal
from tests.system.world import LIMIT_S, Running, World, open_world

URL = re.compile(r"https?://\S+/api/accounts/authorize\?\S+")
SECRETS = ("secret", "eyJ", "c2ln")
"""What all tokens of the fakes have in them, one or another of it."""


@dataclass
class Place:
    """A home, the vendors' sign-in servers, and a server that answers."""

    world: World
    openai: OpenAI
    github: GitHub
    vendor: VendorServer
    sign_ins: dict[str, Told]
    daemon: Running

    def auth(self) -> dict[str, dict[str, Any]]:
        """`ask auth status --json`, by provider."""
        rows = json.loads(self.world.ok("auth", "status", "--json").out)
        return {each["provider"]: each for each in rows}

    def assert_silent(self, *texts: str) -> None:
        """No token is in what was shown, nor in the log."""
        shown = "".join([*texts, self.daemon.err, self.daemon.out, self.world.log()])
        shown += str(self.world.ok("auth", "status")) + json.dumps(self.auth())
        for secret in SECRETS:
            assert secret not in shown, shown


@contextmanager
def open_place(
    home: Path, dialect: str, *, base_url: str | None = None, models: Sequence[str] = ("fake",)
) -> Iterator[Place]:
    """One of them; `chatgpt` and `copilot` are answered by the same server."""
    with ExitStack() as stack:
        vendor = stack.enter_context(serve(open_vendor(dialect, models=models)))
        world = stack.enter_context(open_world(home, model=False))
        openai, github = OpenAI(time.time), GitHub(time.time, interval_s=0.2)
        openai_server = stack.enter_context(tell_sign_in(openai))
        github_server = stack.enter_context(tell_sign_in(github))
        openai.issuer, github.base_url = openai_server.base_url, vendor.base_url
        write_config(world, f'[providers.chatgpt]\nbase_url = "{vendor.base_url}"\n')
        daemon = start_daemon(
            world,
            {
                "ASK_CHATGPT_ISSUER": openai_server.base_url,
                "ASK_GITHUB_URL": github_server.base_url,
                "ASK_GITHUB_API_URL": github_server.base_url,
                "CODEX_REFRESH_TOKEN_URL_OVERRIDE": f"{openai_server.base_url}/oauth/token",
            },
        )
        servers = {"openai": openai_server, "github": github_server}
        yield Place(world, openai, github, vendor, servers, daemon)
        assert vendor.violations == []


@pytest.fixture
def chatgpt(tmp_path: Path) -> Iterator[Place]:
    """ChatGPT."""
    with open_place(tmp_path, "openai-responses") as place:
        yield place


@pytest.fixture
def copilot(tmp_path: Path) -> Iterator[Place]:
    """Copilot."""
    with open_place(tmp_path, "copilot") as place:
        place.vendor._api_key = None
        yield place


def visit(url: str) -> tuple[int, str]:
    """What a browser is shown."""
    try:
        with urllib.request.urlopen(url, timeout=LIMIT_S) as page:
            return page.status, page.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def begin(place: Place, provider: str = "chatgpt") -> tuple[Running, str]:
    """`ask auth login`, and the address that it says."""
    asking = place.world.start("auth", "login", provider)
    asking.wait_for("Waiting for the browser", where="err")
    found = URL.search(asking.err)
    assert found is not None, asking.err
    return asking, found[0]


# ---- ChatGPT --------------------------------------------------------------------------


def test_a_browser_comes_back(chatgpt: Place) -> None:
    before = chatgpt.world.ask("-m", "chatgpt/fake", "hi")
    assert before.code == 4, before
    assert "ask auth login chatgpt" in before.err
    asking, url = begin(chatgpt)
    back = chatgpt.openai.authorize(url)
    # Somebody else's page tries first; it changes nothing.
    assert visit(back.replace("state=", "state=x"))[0] == 400
    status, page = visit(back)
    assert status == 200
    assert "Go back to your terminal" in page
    done = asking.finish()
    assert done.code == 0, done
    assert "Signed in to chatgpt as ada@example.com" in done.out
    path = Path(done.out.split(" kept in ")[1].strip().removesuffix("."))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    answer = chatgpt.world.ok("-m", "chatgpt/fake", "ECHO:by plan")
    assert answer.out == "by plan\n"
    token = json.loads(path.read_text())["access_token"]
    assert chatgpt.vendor.headers[-1]["authorization"] == f"Bearer {token}"
    row = chatgpt.auth()["chatgpt"]
    assert (row["state"], row["account"], row["source"]) == ("ready", "ada@example.com", str(path))
    assert chatgpt.openai.violations == []
    chatgpt.assert_silent(done.err, done.out, answer.err)
    # And out again.
    assert chatgpt.world.ok("auth", "logout", "chatgpt").code == 0
    assert token not in path.read_text()
    assert chatgpt.world.ask("-m", "chatgpt/fake", "hi").code == 4


def test_a_refusal_in_the_browser(chatgpt: Place) -> None:
    asking, url = begin(chatgpt)
    status, page = visit(chatgpt.openai.authorize(url, allow=False))
    assert status == 200
    assert "failed" in page
    done = asking.finish()
    assert done.code == 4, done
    assert "The sign-in was not allowed: No." in done.err
    assert "chatgpt" not in chatgpt.auth() or chatgpt.auth()["chatgpt"]["state"] == "missing"


def test_an_address_is_pasted_on_a_terminal(chatgpt: Place) -> None:
    terminal = Terminal(chatgpt.world, "auth", "login", "chatgpt")
    terminal.wait_for("Waiting for the browser")
    found = URL.search(terminal.screen)
    assert found is not None
    back = chatgpt.openai.authorize(found[0])
    terminal.type("http://127.0.0.1:1/auth/callback?code=x&state=wrong\n")
    terminal.wait_for("That is not the address of this sign-in")
    terminal.type(f"{back}\n")
    terminal.wait_for("Signed in to chatgpt as ada@example.com")
    assert terminal.finish() == 0
    assert chatgpt.world.ok("-m", "chatgpt/fake", "ECHO:pasted").out == "pasted\n"
    code = parse_qs(urlsplit(back).query)["code"][0]
    assert code not in chatgpt.daemon.err


def test_ctrl_c_gives_up_at_once_and_the_next_try_works(chatgpt: Place) -> None:
    asking, _ = begin(chatgpt)
    asking.signal(signal.SIGINT)
    given_up = asking.finish()
    assert given_up.code == 130, given_up
    assert "Traceback" not in given_up.err
    again, url = begin(chatgpt)
    visit(chatgpt.openai.authorize(url))
    assert again.finish().code == 0
    assert chatgpt.world.ok("-m", "chatgpt/fake", "ECHO:in").out == "in\n"


def test_a_token_is_renewed_in_time_and_once_when_it_is_refused(chatgpt: Place) -> None:
    chatgpt.openai.life_s = 60.0  # it ends within the five minutes
    asking, url = begin(chatgpt)
    visit(chatgpt.openai.authorize(url))
    assert asking.finish().code == 0
    chatgpt.openai.life_s = 3600.0
    assert chatgpt.world.ok("-m", "chatgpt/fake", "ECHO:one").out == "one\n"
    assert len(chatgpt.openai.used) == 1
    assert chatgpt.world.ok("-m", "chatgpt/fake", "ECHO:two").out == "two\n"
    assert len(chatgpt.openai.used) == 1
    # Another daemon, which did not get the token a moment ago itself.
    (daemon_path,) = chatgpt.world.ask_home.rglob("chatgpt.json")
    environ = {"ASK_CHATGPT_ISSUER": chatgpt.openai.issuer}
    chatgpt.world.kill_daemon(signal.SIGTERM)
    chatgpt.daemon = start_daemon(chatgpt.world, environ)
    old = json.loads(daemon_path.read_text())["access_token"]
    chatgpt.vendor._api_key = "nobody's"

    def refuse_old(key: str | None) -> Status:
        # From the first refusal on, whatever is newer than the old token is let in.
        if key == old:
            chatgpt.vendor._api_key = None
        return Status(401, b'{"error": {"message": "Token revoked.", "type": "x"}}')

    chatgpt.vendor.vendor.refuse_key = refuse_old  # type: ignore[method-assign]
    assert chatgpt.world.ok("-m", "chatgpt/fake", "ECHO:three").out == "three\n"
    assert len(chatgpt.openai.used) == 2
    new = json.loads(daemon_path.read_text())["access_token"]
    assert new != old
    assert chatgpt.vendor.headers[-1]["authorization"] == f"Bearer {new}"
    assert chatgpt.vendor.violations == ["Token revoked."]
    chatgpt.vendor.violations.clear()
    assert chatgpt.openai.violations == []
    chatgpt.assert_silent()


def test_a_sign_in_that_was_ended_elsewhere(chatgpt: Place) -> None:
    chatgpt.openai.life_s = 1.0
    asking, url = begin(chatgpt)
    visit(chatgpt.openai.authorize(url))
    assert asking.finish().code == 0
    chatgpt.openai.live.clear()
    (path,) = chatgpt.world.ask_home.rglob("chatgpt.json")
    kept = json.loads(path.read_text())
    write_secret(path, json.dumps({**kept, "valid_until_at": time.time() - 7200}))
    chatgpt.world.kill_daemon(signal.SIGTERM)
    chatgpt.daemon = start_daemon(chatgpt.world, {"ASK_CHATGPT_ISSUER": chatgpt.openai.issuer})
    result = chatgpt.world.ask("-m", "chatgpt/fake", "hi")
    assert result.code == 4, result
    assert "sign in again with `ask auth login chatgpt`" in result.err
    chatgpt.assert_silent(result.err)


# ---- Codex ----------------------------------------------------------------------------


def test_two_daemons_renew_codexs_sign_in_once(chatgpt: Place, tmp_path: Path) -> None:
    granted = chatgpt.openai.grant(client_id="app_x")
    old = make_jwt(exp=int(time.time()) + 30, client_id="app_x")
    content = {
        "auth_mode": "chatgpt",
        "OPENAI_API_KEY": None,
        "tokens": {**granted, "access_token": old, "account_id": "acc-1"},
        "last_refresh": "2026-01-01T00:00:00Z",
        "kept": {"as": "it is"},
    }
    file = write_secret(tmp_path / ".codex" / "auth.json", json.dumps(content))
    other = World(tmp_path, None)
    other.ask_home = tmp_path / "other"
    other.env["ASK_HOME"] = str(other.ask_home)
    write_config(other, (chatgpt.world.ask_home / "config" / "config.toml").read_text())
    try:
        start_daemon(
            other,
            {"CODEX_REFRESH_TOKEN_URL_OVERRIDE": f"{chatgpt.openai.issuer}/oauth/token"},
        )
        asking = [
            each.start(
                "-m", "chatgpt/fake", f"ECHO:answer {number}", env={"ASK_TERMINAL": f"{number}"}
            )
            for number in range(3)
            for each in (chatgpt.world, other)
        ]
        for each in asking:
            done = each.finish()
            assert done.code == 0, done
            assert done.out.startswith("answer ")
    finally:
        other.close()
    assert chatgpt.openai.violations == []
    assert len(chatgpt.openai.used) == 1
    written = json.loads(file.read_text())
    assert written["tokens"]["access_token"] != old
    assert written["tokens"]["refresh_token"] in chatgpt.openai.live
    assert written["kept"] == content["kept"]
    assert written["tokens"]["account_id"] == "acc-1"
    assert written["last_refresh"] > "2026-01-01T00:00:00Z"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    sent = {headers["authorization"] for headers in chatgpt.vendor.headers}
    assert sent == {f"Bearer {written['tokens']['access_token']}"}
    chatgpt.assert_silent(*(each.err for each in asking))


# ---- Copilot --------------------------------------------------------------------------


def test_a_code_is_typed_and_renewed(copilot: Place) -> None:
    github = copilot.github
    github.copilot_life_s = 302.0  # to be renewed after two seconds
    asking = copilot.world.start("auth", "login", "copilot")
    asking.wait_for("ABCD-1234", where="err")
    assert "https://github.com/login/device" in asking.err
    github.typed = True
    done = asking.finish()
    assert done.code == 0, done
    assert copilot.world.ok("-m", "copilot/fake", "ECHO:one").out == "one\n"
    first = copilot.vendor.headers[-1]["authorization"]
    assert copilot.world.ok("-m", "copilot/fake", "ECHO:two").out == "two\n"
    assert copilot.vendor.headers[-1]["authorization"] == first
    exchanges = github.count("/copilot_internal/v2/token")
    assert exchanges == 1
    time.sleep(2.1)  # the only way for a token of a real clock to fall due
    assert copilot.world.ok("-m", "copilot/fake", "ECHO:three").out == "three\n"
    assert github.count("/copilot_internal/v2/token") == 2
    assert copilot.vendor.headers[-1]["authorization"] != first
    # Refused: exchanged once more, and let in.
    github.copilot_life_s = 1800.0
    copilot.vendor._api_key = "nobody's"

    def refuse_once(key: str | None) -> Status:
        copilot.vendor._api_key = None
        return Status(401, b"IDE token expired: unauthorized: token expired\n")

    copilot.vendor.vendor.refuse_key = refuse_once  # type: ignore[method-assign]
    assert copilot.world.ok("-m", "copilot/fake", "ECHO:four").out == "four\n"
    assert github.count("/copilot_internal/v2/token") == 3
    copilot.vendor.violations.clear()
    # The sign-in itself is withdrawn at GitHub.
    github.tokens.clear()
    copilot.vendor._api_key = "nobody's"
    result = copilot.world.ask("-m", "copilot/fake", "hi")
    assert result.code == 4, result
    assert "ask auth login copilot" in result.err
    copilot.vendor.violations.clear()
    row = copilot.auth()["copilot"]
    assert row["source"].endswith("copilot.json")
    assert github.violations == []
    copilot.assert_silent(done.err, done.out, result.err)


def test_slow_down_is_heeded(copilot: Place) -> None:
    """Five seconds more: nobody may ask faster, so this takes as long."""
    copilot.github.typed = True
    asking = copilot.world.start("auth", "login", "copilot")
    asking.wait_for("ABCD-1234", where="err")
    began = time.monotonic()
    copilot.github.troubles.append(say(200, {"error": "slow_down"}))
    done = asking.finish()
    assert done.code == 0, done
    assert time.monotonic() - began > 5.0
    assert copilot.github.count("/login/oauth/access_token") == 2


def test_a_code_that_is_refused_and_ctrl_c(copilot: Place) -> None:
    copilot.github.typed = "denied"
    denied = copilot.world.ask("auth", "login", "copilot")
    assert denied.code == 4, denied
    assert "the sign-in was not allowed" in denied.err
    copilot.github.typed = False
    asking = copilot.world.start("auth", "login", "copilot")
    asking.wait_for("ABCD-1234", where="err")
    asking.signal(signal.SIGINT)
    given_up = asking.finish()
    assert given_up.code == 130, given_up
    assert "Traceback" not in given_up.err
    assert not list(copilot.world.ask_home.rglob("copilot.json"))


def test_an_editors_sign_in_is_used_and_left_alone(copilot: Place, tmp_path: Path) -> None:
    token = "ghu_editor_secret_token"
    copilot.github.tokens.add(token)
    apps = {"github.com:Iv1.b507a08c87ecfe98": {"user": "ada", "oauth_token": token}}
    path = tmp_path / ".config" / "github-copilot" / "apps.json"
    write_secret(path, json.dumps(apps))
    assert copilot.world.ok("-m", "copilot/fake", "ECHO:editor").out == "editor\n"
    row = copilot.auth()["copilot"]
    assert (row["account"], row["source"]) == ("ada", str(path))
    assert json.loads(path.read_text()) == apps
    copilot.assert_silent()
