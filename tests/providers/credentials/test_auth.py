"""Credentials as a person deals with them; no answer holds one."""

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from askd.errors import NotConfigured, NotFound, RequestError, Unavailable
from askd.providers.base import Caller, Endpoint, HttpCall
from askd.providers.credentials import login_flows
from askd.providers.credentials.auth import Auth, Begun, CredentialState
from askd.providers.credentials.claude import NOTE
from askd.providers.credentials.credentials import Credentials
from tests.fakes.credentials import Desk, make_config, write_private
from tests.fakes.sign_in_servers import GitHub, OpenAI, Said, make_jwt

NOBODY = Caller()
CLAUDE = make_config("anthropic", dialect="anthropic", auth="claude-oauth")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@asynccontextmanager
async def running(credentials: Credentials) -> AsyncIterator[Auth]:
    """The face, with its nursery."""
    numbers = itertools.count(1)
    auth = Auth(lambda: credentials, new_id=lambda: f"login-{next(numbers)}")
    async with trio.open_nursery() as nursery:
        await nursery.start(auth.run)
        yield auth
        nursery.cancel_scope.cancel()


async def status(credentials: Credentials, caller: Caller = NOBODY) -> dict[str, CredentialState]:
    """How things stand, by provider."""
    states = await Auth(lambda: credentials, new_id=str).status(caller)
    return {each.provider: each for each in states}


# ---- status -----------------------------------------------------------------------


async def test_configured_ones_and_those_that_have_something(desk: Desk) -> None:
    assert await status(desk.make()) == {}
    states = await status(desk.make(make_config(api_key_env="WORK_KEY")))
    assert list(states) == ["work"]
    assert states["work"].state == "missing"
    assert "set WORK_KEY" in (states["work"].note or "")
    caller = Caller(secrets={"GROQ_API_KEY": "gk-canary-value"})
    states = await status(desk.make(make_config()), caller)
    assert states == {
        "work": CredentialState(
            provider="work", state="ready", note="No key is set, and none is sent."
        ),
        "groq": CredentialState(
            provider="groq", state="ready", source="GROQ_API_KEY in your environment"
        ),
    }
    assert "canary" not in repr(states)


async def test_each_source_is_named(desk: Desk) -> None:
    path = write_private(desk.home / "key", "wk-canary-value")
    found = desk.make(
        make_config("file", api_key_file=str(path)),
        make_config("cmd", api_key_cmd=("touch", str(desk.home / "was-run"))),
        environ={"OPENAI_API_KEY": "sk-canary-value"},
    )
    await found.keys.keep("mistral", "mk-canary-value")
    states = await status(found)
    assert {name: each.source for name, each in states.items()} == {
        "file": str(path),
        "cmd": "api_key_cmd",
        "openai": "OPENAI_API_KEY in the daemon's environment",
        "mistral": str(found.keys.path),
    }
    assert all(each.state == "ready" for each in states.values())
    assert not (desk.home / "was-run").exists()
    assert "canary" not in repr(states)


async def test_what_cannot_be_used_says_why(desk: Desk) -> None:
    path = write_private(desk.home / "key", "wk-canary-value", 0o644)
    found = desk.make(make_config(api_key_file=str(path)))
    state = (await status(found))["work"]
    assert state.state == "unusable"
    assert f"chmod 600 {path}" in (state.note or "")
    found = desk.make(make_config(base_url="http://10.0.0.1/v1"), local_only=True)
    state = (await status(found))["work"]
    assert state.state == "unusable"
    assert "`local_only` is set" in (state.note or "")
    write_private(desk.codex_file, {"tokens": {}}, 0o644)
    state = (await status(desk.make()))["chatgpt"]
    assert state.state == "unusable"


async def test_sign_ins(desk: Desk) -> None:
    tokens = {
        "access_token": make_jwt(exp=desk.clock.at + 60),
        "id_token": make_jwt(email="ada@example.com"),
    }
    write_private(desk.codex_file, {"tokens": tokens})
    inner = {"accessToken": "canary-of-claude", "expiresAt": (desk.clock.at + 60) * 1000}
    write_private(desk.claude_file, {"claudeAiOauth": inner})
    write_private(desk.plugin_file, {"github.com": {"user": "ada", "oauth_token": "ghu_canary"}})
    found = desk.make(CLAUDE)
    states = await status(found)
    assert list(states) == ["anthropic", "chatgpt", "copilot"]
    assert states["chatgpt"].account == "ada@example.com"
    assert states["chatgpt"].source == str(desk.codex_file)
    assert states["chatgpt"].valid_until_at == desk.clock.at + 60
    assert states["anthropic"].note == NOTE
    assert states["copilot"].account == "ada"
    assert {each.state for each in states.values()} == {"ready"}
    assert "canary" not in repr(states)
    desk.clock.at += 61
    states = await status(found)
    assert (states["chatgpt"].state, states["anthropic"].state) == ("expired", "expired")
    assert states["copilot"].state == "ready"


async def test_sign_in_that_nobody_has_made(desk: Desk) -> None:
    state = (await status(desk.make(CLAUDE)))["anthropic"]
    assert state.state == "missing"
    assert "run `claude`" in (state.note or "")


# ---- keys -------------------------------------------------------------------------


async def test_set_key_and_log_out(desk: Desk) -> None:
    found = desk.make()
    async with running(found) as auth:
        changed = await auth.set_key("openai", "sk-canary-value\n")
        assert changed.changed
        assert changed.path == str(found.keys.path)
        assert not (await auth.set_key("openai", "sk-canary-value")).changed
        assert found.find("openai", NOBODY).api_key == "sk-canary-value"
        assert (await auth.log_out("openai")).changed
        assert not (await auth.log_out("openai")).changed
    assert not found.has_credential("openai", NOBODY)
    assert "canary" not in repr(changed)


async def test_what_goes_first_or_stays_is_said(desk: Desk) -> None:
    found = desk.make(environ={"OPENAI_API_KEY": "sk-canary-value"})
    async with running(found) as auth:
        changed = await auth.set_key("openai", "sk-another-value")
        assert "OPENAI_API_KEY is set for the daemon too" in (changed.note or "")
        changed = await auth.log_out("openai")
        assert changed.note == "There is still a key: OPENAI_API_KEY in the daemon's environment."
        write_private(desk.home / "open", "wk-canary-value", 0o644)
        config = make_config(api_key_file=str(desk.home / "open"))
        found.configure([config], local_only=False)
        assert (await auth.log_out("work")).note is None


@pytest.mark.parametrize(
    ("provider", "key", "words"),
    [
        ("nobody", "sk-canary", "There is no provider 'nobody'"),
        ("chatgpt", "sk-canary", "takes a sign-in"),
        ("openai", "", "is empty"),
        ("openai", "sk canary", "characters"),
    ],
)
async def test_key_that_is_refused(desk: Desk, provider: str, key: str, words: str) -> None:
    async with running(desk.make()) as auth:
        with pytest.raises(RequestError, match=words) as caught:
            await auth.set_key(provider, key)
    assert "canary" not in caught.value.message


async def test_log_out_touches_nobody_elses_files(desk: Desk) -> None:
    files = [
        write_private(desk.codex_file, {"tokens": {"access_token": make_jwt(exp=1)}}),
        write_private(desk.claude_file, {"claudeAiOauth": {"accessToken": "x"}}),
        write_private(desk.plugin_file, {"github.com": {"oauth_token": "ghu_canary"}}),
    ]
    before = [each.read_bytes() for each in files]
    found = desk.make(CLAUDE)
    async with running(found) as auth:
        for provider, words in (
            ("chatgpt", "`codex logout`"),
            ("anthropic", "`claude` and `/logout`"),
            ("copilot", "Those of editors are left alone"),
        ):
            changed = await auth.log_out(provider)
            assert not changed.changed
            assert words in (changed.note or "")
        await found.copilot.keep("ghu_of_our_own", "Iv1.x")
        assert (await auth.log_out("copilot")).changed
        with pytest.raises(RequestError, match="no provider"):
            await auth.log_out("nobody")
    assert [each.read_bytes() for each in files] == before


# ---- signing in -------------------------------------------------------------------


async def test_chatgpt_pasted_over_ssh(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login_flows, "PAGE_S", 0.0)
    server = OpenAI(desk.clock)
    desk.server = server
    found = desk.make()
    async with running(found) as auth:
        begun = await auth.begin("chatgpt")
        assert begun == Begun(
            login_id="login-1", url=begun.url, expires_at=desk.clock.at + 900, can_paste=True
        )
        assert await auth.wait("login-1", pasted=None, timeout_s=0) is None
        with pytest.raises(RequestError, match="not the address of this sign-in"):
            await auth.wait("login-1", pasted="https://example.com", timeout_s=5)
        address = server.authorize(begun.url)
        done = await auth.wait("login-1", pasted=address, timeout_s=5)
        assert done is not None
        assert done.account == "ada@example.com"
        assert (await status(found))["chatgpt"].state == "ready"
        assert (await auth.log_out("chatgpt")).changed
        with pytest.raises(NotFound):
            await auth.wait("login-2", pasted=None, timeout_s=1)
    assert "chatgpt" not in await status(found)


async def test_copilot_by_a_code(desk: Desk, autojump_clock: MockClock) -> None:
    autojump_clock.autojump_threshold = 0.05  # files are written in threads, in real moments
    desk.server = GitHub(desk.clock, typed=True)
    found = desk.make(environ={"ASK_GITHUB_URL": "http://127.0.0.1:9/"})
    async with running(found) as auth:
        begun = await auth.begin("copilot")
        assert (begun.user_code, begun.can_paste) == ("ABCD-1234", False)
        assert begun.expires_at == desk.clock.at + 900
        done = await auth.wait(begun.login_id, pasted=None, timeout_s=30)
        assert done is not None
        assert done.path == str(found.copilot.path)
    assert desk.server.calls[0] == "POST http://127.0.0.1:9/login/device/code"


@pytest.mark.parametrize(
    ("provider", "words"),
    [
        ("openai", "`ask auth set-key openai`"),
        ("anthropic", "run `claude` and sign in there"),
        ("nobody", "There is no provider"),
    ],
)
async def test_no_sign_in_here(desk: Desk, provider: str, words: str) -> None:
    async with running(desk.make(CLAUDE)) as auth:
        with pytest.raises(RequestError, match=words):
            await auth.begin(provider)


async def test_local_only_signs_in_nowhere(desk: Desk) -> None:
    async with running(desk.make(local_only=True)) as auth:
        for provider in ("chatgpt", "copilot"):
            with pytest.raises(NotConfigured) as caught:
                await auth.begin(provider)
            assert caught.value.reason == "local_only"


async def test_server_that_takes_too_long(
    desk: Desk, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(endpoint: Endpoint, call: HttpCall) -> Said:
        await trio.sleep_forever()
        raise AssertionError

    found = desk.make()
    monkeypatch.setattr(found, "_ask", never)
    async with running(found) as auth:
        with pytest.raises(Unavailable, match="did not answer in 30 seconds"):
            await auth.begin("copilot")
