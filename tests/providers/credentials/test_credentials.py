"""Whose credential goes where, and what is never sent, said or shown."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from askd.errors import AskdError, NotConfigured, SecretsNeeded, Unavailable
from askd.providers.addresses import LOCAL_ONLY, OPENAI_URL
from askd.providers.base import Caller, Endpoint
from askd.providers.credentials.credentials import Credentials
from askd.providers.known import KNOWN, ProviderConfig
from tests.fakes.credentials import Desk, make_config, write_private
from tests.fakes.sign_in_servers import GitHub, OpenAI, Server, make_jwt, say

NOBODY = Caller()
OURS = {"OPENAI_API_KEY": "sk-ours", "WORK_KEY": "wk-ours", "ANTHROPIC_API_KEY": "ak-ours"}
THEIRS = Caller(secrets={"OPENAI_API_KEY": "sk-theirs", "WORK_KEY": "wk-theirs"})


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


# ---- a key and its address belong together ----------------------------------------


@pytest.mark.parametrize(
    ("caller", "own", "expected"),
    [
        (NOBODY, {}, None),
        (NOBODY, OURS, (OPENAI_URL, "sk-ours", "openai-responses")),
        (THEIRS, {}, (OPENAI_URL, "sk-theirs", "openai-responses")),
        (THEIRS, OURS, (OPENAI_URL, "sk-theirs", "openai-responses")),
        (
            NOBODY,
            {**OURS, "OPENAI_BASE_URL": "http://ours/v1"},
            ("http://ours/v1", "sk-ours", "openai-chat"),
        ),
        (
            THEIRS,
            {**OURS, "OPENAI_BASE_URL": "http://ours/v1"},
            (OPENAI_URL, "sk-theirs", "openai-responses"),
        ),
        (
            Caller({"OPENAI_BASE_URL": "http://theirs/v1/"}, THEIRS.secrets),
            {**OURS, "OPENAI_BASE_URL": "http://ours/v1"},
            ("http://theirs/v1", "sk-theirs", "openai-chat"),
        ),
    ],
)
def test_openai(
    desk: Desk, caller: Caller, own: dict[str, str], expected: tuple[str, str, str] | None
) -> None:
    found = desk.make(environ=own)
    if expected is None:
        with pytest.raises(SecretsNeeded, match="set OPENAI_API_KEY") as caught:
            found.find("openai", caller)
        assert caught.value.data == {"names": ["OPENAI_API_KEY"]}
        assert not found.has_credential("openai", caller)
    else:
        endpoint = found.find("openai", caller)
        assert (endpoint.base_url, endpoint.api_key, endpoint.dialect) == expected
        assert found.has_credential("openai", caller)


@pytest.mark.parametrize("kept", ["environ", "keys.json", "systemd"])
async def test_our_key_never_goes_to_an_address_of_theirs(desk: Desk, kept: str) -> None:
    found = desk.make(environ=OURS if kept == "environ" else {})
    if kept == "keys.json":
        await found.keys.keep("openai", "sk-kept-here")
    if kept == "systemd":
        write_private(desk.home / "passed" / "openai", "sk-passed-here")
        found = desk.make(environ={"CREDENTIALS_DIRECTORY": str(desk.home / "passed")})
    caller = Caller({"OPENAI_BASE_URL": "http://theirs/v1"})
    assert found.has_credential("openai", caller)  # they will be told
    with pytest.raises(NotConfigured, match="another key is never sent there"):
        found.find("openai", caller)
    with pytest.raises(NotConfigured):
        await found.fetch("openai", caller)


def test_anthropic_has_its_own_way_with_keys_and_addresses(desk: Desk) -> None:
    endpoint = desk.make(environ=OURS).find("anthropic", NOBODY)
    assert (endpoint.auth, endpoint.dialect) == ("x-api-key", "anthropic")
    caller = Caller({"ANTHROPIC_BASE_URL": "http://a.example"}, {"ANTHROPIC_API_KEY": "ak-theirs"})
    endpoint = desk.make(environ=OURS).find("anthropic", caller)
    assert (endpoint.base_url, endpoint.api_key) == ("http://a.example/v1", "ak-theirs")


async def test_ollama_gets_no_key_unless_one_is_set_and_never_at_their_address(desk: Desk) -> None:
    found = desk.make(environ=OURS)
    assert not found.has_credential("ollama", NOBODY)
    endpoint = found.find("ollama", NOBODY)
    assert (endpoint.base_url, endpoint.api_key) == ("http://127.0.0.1:11434", None)
    caller = Caller({"OLLAMA_HOST": "box"})
    assert found.find("ollama", caller).base_url == "http://box:11434"
    assert found.has_credential("ollama", caller)
    await found.keys.keep("ollama", "ok-kept-here")
    assert found.find("ollama", NOBODY).api_key == "ok-kept-here"
    assert found.find("ollama", caller).api_key is None
    ours = desk.make(environ={"OLLAMA_HOST": ":1234"})
    assert ours.find("ollama", NOBODY).base_url == "http://127.0.0.1:1234"


def test_address_in_the_settings_stays(desk: Desk) -> None:
    config = make_config("openai", base_url="http://proxy/v1", dialect="openai-responses")
    config = make_config("openai", base_url="http://proxy/v1", api_key_env="OPENAI_API_KEY")
    caller = Caller({"OPENAI_BASE_URL": "http://theirs/v1"}, THEIRS.secrets)
    assert desk.make(config, environ=OURS).find("openai", caller).base_url == "http://proxy/v1"
    # Headers may hold a secret: they are for the address of the settings, too.
    config = make_config(
        "openai", base_url=OPENAI_URL, api_key_env="OPENAI_API_KEY", headers={"x-team": "secret"}
    )
    endpoint = desk.make(config, environ=OURS).find("openai", caller)
    assert (endpoint.base_url, endpoint.headers) == (OPENAI_URL, {"x-team": "secret"})


def test_dialect_of_the_settings_stays(desk: Desk) -> None:
    config = make_config("openai", base_url="http://proxy/v1", dialect="openai-responses")
    assert desk.make(config).find("openai", NOBODY).dialect == "openai-responses"


# ---- configured and known ---------------------------------------------------------


def test_configured_ones_first_then_the_known(desk: Desk) -> None:
    found = desk.make(make_config("work"), make_config("groq"))
    assert list(found.configs)[:3] == ["work", "groq", "openai"]
    assert set(found.configs) == {"work", *KNOWN}
    assert found.configs["groq"].is_configured
    assert not found.configs["openai"].is_configured
    with pytest.raises(NotConfigured, match="There is no provider 'nobody'"):
        found.find("nobody", NOBODY)


def test_every_known_provider_can_be_asked_with_a_key_alone(desk: Desk) -> None:
    keys = {each.key_env: "key-of-theirs" for each in KNOWN.values() if each.key_env}
    found = desk.make()
    for name, known in KNOWN.items():
        if known.key_env:
            endpoint = found.find(name, Caller(secrets=keys))
            assert (endpoint.base_url, endpoint.api_key) == (known.base_url, "key-of-theirs")
            assert endpoint.dialect == known.dialect


def test_callers_key_wins_over_ours(desk: Desk) -> None:
    found = desk.make(make_config(api_key_env="WORK_KEY"), environ=OURS)
    assert found.find("work", THEIRS).api_key == "wk-theirs"
    assert found.find("work", NOBODY).api_key == "wk-ours"


def test_key_that_nobody_has_is_asked_for(desk: Desk) -> None:
    with pytest.raises(SecretsNeeded) as caught:
        desk.make(make_config(api_key_env="OTHER_KEY")).find("work", THEIRS)
    assert caught.value.data == {"names": ["OTHER_KEY"]}
    assert "OTHER_KEY" in caught.value.message


def test_no_key_wanted_none_sent(desk: Desk) -> None:
    found = desk.make(make_config(), environ=OURS)
    assert found.find("work", THEIRS).api_key is None
    assert found.has_credential("work", NOBODY)


async def test_command_is_run_to_fetch_and_again_after_a_refusal(desk: Desk) -> None:
    count = desk.home / "count"
    script = f"echo x >> {count}; echo wk-$(wc -l < {count})-of-a-command"
    found = desk.make(make_config(api_key_cmd=("sh", "-c", script)))
    assert found.has_credential("work", NOBODY)
    assert found.find("work", NOBODY).api_key is None
    assert (await found.fetch("work", NOBODY)).api_key == "wk-1-of-a-command"
    assert (await found.fetch("work", NOBODY)).api_key == "wk-1-of-a-command"
    renewed = await found.renew("work", NOBODY)
    assert renewed is not None
    assert renewed.api_key == "wk-2-of-a-command"
    found.forget("work")
    assert await found.renew("work", NOBODY) is None  # nothing was refused


async def test_command_that_gives_the_refused_key_again_is_no_other(desk: Desk) -> None:
    found = desk.make(make_config(api_key_cmd=("echo", "wk-always-the-same")))
    await found.fetch("work", NOBODY)
    assert await found.renew("work", NOBODY) is None


async def test_refused_key_that_was_set_stays_refused(desk: Desk) -> None:
    found = desk.make(environ=OURS)
    assert (await found.fetch("openai", NOBODY)).api_key == "sk-ours"
    assert await found.renew("openai", NOBODY) is None


async def test_other_settings(desk: Desk) -> None:
    found = desk.make(make_config(api_key_cmd=("echo", "wk-of-a-command")))
    await found.fetch("work", NOBODY)
    found.configure([make_config("home", base_url="http://10.0.0.1/v1")], local_only=True)
    assert "work" not in found.configs
    assert not found.is_allowed("home", NOBODY)


async def test_file_of_kept_keys_that_is_refused_offers_no_known_provider(desk: Desk) -> None:
    found = desk.make(make_config())
    write_private(found.keys.path, {}, 0o644)
    assert not found.has_credential("openai", NOBODY)
    assert found.has_credential("openai", THEIRS)
    with pytest.raises(NotConfigured, match="chmod 600"):
        found.find("openai", NOBODY)


# ---- sign-ins ---------------------------------------------------------------------

CLAUDE = ProviderConfig(
    name="anthropic",
    dialect="anthropic",
    base_url="https://api.anthropic.com/v1",
    auth="claude-oauth",
    headers={"Anthropic-Beta": "mine"},
)


def put_codex(desk: Desk, *, left_s: float = 3600.0) -> str:
    """Codex has signed in; its access token."""
    token = make_jwt(exp=desk.clock.at + left_s, jti="codex")
    tokens = {"access_token": token, "refresh_token": "refresh-of-codex", "account_id": "acc-9"}
    write_private(desk.codex_file, {"tokens": tokens})
    return token


async def test_codexs_sign_in_goes_to_its_backend(desk: Desk) -> None:
    found = desk.make()
    assert not found.has_credential("chatgpt", NOBODY)
    with pytest.raises(NotConfigured, match="`ask auth login chatgpt`"):
        found.find("chatgpt", NOBODY)
    token = put_codex(desk)
    assert found.has_credential("chatgpt", NOBODY)
    assert found.find("chatgpt", NOBODY).api_key is None
    endpoint = await found.fetch("chatgpt", NOBODY)
    assert (endpoint.base_url, endpoint.api_key) == ("https://chatgpt.com/backend-api/codex", token)
    assert endpoint.headers == {"ChatGPT-Account-ID": "acc-9", "originator": "askd"}
    assert endpoint.auth == "bearer"
    assert token not in repr(endpoint)


async def test_address_in_the_settings_stays_for_sign_ins_too(desk: Desk) -> None:
    put_codex(desk)
    config = make_config("chatgpt", auth="chatgpt", dialect="openai-responses")
    assert (await desk.make(config).fetch("chatgpt", NOBODY)).base_url == config.base_url


async def test_claude_codes_sign_in_only_when_it_is_configured(desk: Desk) -> None:
    inner = {"accessToken": "sk-ant-oat01-x", "expiresAt": int(desk.clock.at + 3600) * 1000}
    write_private(desk.claude_file, {"claudeAiOauth": inner})
    with pytest.raises(SecretsNeeded):
        await desk.make().fetch("anthropic", NOBODY)
    endpoint = await desk.make(CLAUDE).fetch("anthropic", NOBODY)
    assert (endpoint.api_key, endpoint.auth) == ("sk-ant-oat01-x", "bearer")
    assert endpoint.headers == {"Anthropic-Beta": "mine"}  # the settings' goes in place of ours
    assert await desk.make(CLAUDE).renew("anthropic", NOBODY) is None


async def test_copilot_goes_where_the_token_says(desk: Desk) -> None:
    desk.server = GitHub(desk.clock, tokens={"ghu_canary_token"})
    write_private(desk.plugin_file, {"github.com:x": {"oauth_token": "ghu_canary_token"}})
    found = desk.make()
    endpoint = await found.fetch("copilot", NOBODY)
    assert endpoint.base_url == "https://api.business.githubcopilot.com"
    assert endpoint.dialect == "copilot"
    renewed = await found.renew("copilot", NOBODY)
    assert renewed is not None
    assert renewed.api_key != endpoint.api_key


async def test_account_of_a_sign_in_is_known_where_its_token_is_used(desk: Desk) -> None:
    desk.server = GitHub(desk.clock, tokens={"ghu_canary_token"})
    entry = {"oauth_token": "ghu_canary_token", "user": "ada"}
    write_private(desk.plugin_file, {"github.com:x": entry})
    inner = {"accessToken": "sk-ant-oat01-x", "expiresAt": int(desk.clock.at + 3600) * 1000}
    write_private(desk.claude_file, {"claudeAiOauth": inner})
    put_codex(desk)
    found = desk.make(CLAUDE)
    assert await find_accounts(found) == ["chatgpt:acc-9", "copilot:ada", "claude-oauth:"]
    # Where Codex names no account, its id token tells whose it is.
    tokens = {"access_token": make_jwt(exp=desk.clock.at + 3600)}
    tokens["id_token"] = make_jwt(email="ada@example.com")
    write_private(desk.codex_file, {"tokens": tokens})
    assert (await find_accounts(found))[0] == "chatgpt:ada@example.com"
    write_private(desk.codex_file, {"OPENAI_API_KEY": "sk-of-codex"})
    assert (await find_accounts(found))[0] == "chatgpt:"
    kept = {"host_id": "h", "access_token": "a", "account": "eve@example.com"}
    write_private(desk.directory / "chatgpt.json", kept)
    assert (await find_accounts(found))[0] == "chatgpt:eve@example.com"


async def find_accounts(found: Credentials) -> list[str | None]:
    """Who asks, with each way to sign in."""
    names = ("chatgpt", "copilot", "anthropic")
    return [(await found.fetch(name, NOBODY)).account for name in names]


async def test_token_that_fits_no_header_is_not_sent(desk: Desk) -> None:
    write_private(desk.codex_file, {"tokens": {"access_token": "tok\r\nx-evil: 1"}})
    with pytest.raises(NotConfigured, match="characters that no key has"):
        await desk.make().fetch("chatgpt", NOBODY)


async def test_sign_in_servers_are_reached_by_the_same_way(desk: Desk) -> None:
    desk.server = OpenAI(desk.clock)
    put_codex(desk, left_s=60)
    desk.server.live["refresh-of-codex"] = "family"
    config = make_config(
        "chatgpt",
        auth="chatgpt",
        proxy="http://me:canary-password@proxy.example:1",
        ca_file="/ca.pem",
        headers={"x-api": "only"},
    )
    await desk.make(config).fetch("chatgpt", NOBODY)
    way = desk.server.endpoints[0]
    assert way.base_url == "https://auth.openai.com"
    assert (way.proxy, way.ca_file) == (config.proxy, "/ca.pem")
    assert "x-api" not in way.headers
    assert way.api_key is None
    assert desk.secrets.hide("canary-password") == "***"


def test_proxy_of_the_callers_environment(desk: Desk) -> None:
    found = desk.make(environ={**OURS, "HTTPS_PROXY": "http://ours.example:1"})
    assert found.find("openai", NOBODY).proxy == "http://ours.example:1"
    caller = Caller(secrets={"HTTPS_PROXY": "http://theirs.example:1"})
    assert found.find("openai", caller).proxy == "http://theirs.example:1"
    assert found.find("ollama", caller).proxy is None
    lower = desk.make(environ={**OURS, "https_proxy": "http://ours.example:1"})
    assert lower.find("openai", caller).proxy == "http://theirs.example:1"


@pytest.mark.parametrize(
    ("base_url", "headers", "secrets", "whose"),
    [
        ("http://lan.example/v1", {}, {}, "ours"),  # the proxy would read the daemon's key
        ("http://lan.example/v1", {}, {"LAN_KEY": "their-own-key"}, "theirs"),
        ("http://lan.example/v1", {"X-Key": "x"}, {"LAN_KEY": "their-own-key"}, "ours"),
        ("http://me:pass@lan.example/v1", {}, {"LAN_KEY": "their-own-key"}, "ours"),
        ("https://lan.example/v1", {"X-Key": "x"}, {}, "theirs"),  # it is encrypted
    ],
)
def test_proxy_that_a_caller_names_reads_no_key_of_ours(
    desk: Desk, base_url: str, headers: dict[str, str], secrets: dict[str, str], whose: str
) -> None:
    config = make_config("lan", base_url=base_url, api_key_env="LAN_KEY", headers=headers)
    proxies = {"HTTP_PROXY": "http://ours.example:1", "HTTPS_PROXY": "http://ours.example:1"}
    found = desk.make(config, environ={"LAN_KEY": "key-of-the-daemon", **proxies})
    theirs = dict.fromkeys(proxies, "http://theirs.example:1")
    endpoint = found.find("lan", Caller(secrets={**theirs, **secrets}))
    assert endpoint.proxy == f"http://{whose}.example:1"


def test_proxy_that_a_caller_names_serves_where_there_is_no_key(desk: Desk) -> None:
    found = desk.make(make_config("lan", base_url="http://lan.example/v1"))
    caller = Caller(secrets={"http_proxy": "http://theirs.example:1"})
    assert found.find("lan", caller).proxy == "http://theirs.example:1"


# ---- local_only -------------------------------------------------------------------


async def test_local_only_refuses_every_other_machine(desk: Desk) -> None:
    found = desk.make(make_config(base_url="http://10.0.0.1/v1"), environ=OURS, local_only=True)
    put_codex(desk)
    for provider in found.configs:
        if provider == "ollama":
            assert found.is_allowed(provider, NOBODY)
            continue
        assert not found.is_allowed(provider, NOBODY)
        for attempt in (found.fetch, found.renew):
            if attempt == found.renew and found.configs[provider].auth is None:
                continue
            with pytest.raises(NotConfigured) as caught:
                await attempt(provider, NOBODY)
            assert caught.value.reason == LOCAL_ONLY or provider == "copilot"
    assert not found.is_allowed("ollama", Caller({"OLLAMA_HOST": "box"}))
    assert desk.make(make_config(), local_only=True).is_allowed("work", NOBODY)
    unset = make_config(api_key_env="NOT_SET")
    assert desk.make(unset, local_only=True).is_allowed("work", NOBODY)


async def test_local_only_holds_for_sign_in_servers(desk: Desk) -> None:
    put_codex(desk, left_s=60)
    config = make_config("chatgpt", auth="chatgpt")  # at the loopback, but renewed elsewhere
    with pytest.raises(
        NotConfigured, match=r"auth\.openai\.com, which is not this machine"
    ) as caught:
        await desk.make(config, local_only=True).fetch("chatgpt", NOBODY)
    assert caught.value.reason == LOCAL_ONLY


# ---- nothing secret is shown ------------------------------------------------------

CANARY = "canary-4242-secret-value"


def with_codex(desk: Desk, **tokens: Any) -> None:
    write_private(desk.codex_file, {"OPENAI_API_KEY": CANARY, "tokens": tokens})


def with_bad_mode(desk: Desk) -> None:
    write_private(desk.codex_file, {"OPENAI_API_KEY": CANARY}, 0o644)
    write_private(desk.directory / "keys.json", {"openai": CANARY}, 0o644)
    write_private(desk.plugin_file, {"github.com": {"oauth_token": CANARY}}, 0o644)


def with_odd_keys(desk: Desk) -> None:
    write_private(desk.directory / "keys.json", {"openai": f"{CANARY}\n{CANARY}"})
    write_private(desk.codex_file, {"tokens": {"access_token": f"{CANARY}\x00"}})


def with_broken_files(desk: Desk) -> None:
    for path in (desk.directory / "keys.json", desk.codex_file, desk.plugin_file):
        write_private(path, f"{{ {CANARY}")


def with_dead_tokens(desk: Desk) -> None:
    over = make_jwt(exp=1, canary=CANARY)
    with_codex(desk, access_token=over, refresh_token=CANARY)
    write_private(desk.plugin_file, {"github.com": {"oauth_token": CANARY}})
    write_private(
        desk.claude_file,
        {"claudeAiOauth": {"accessToken": CANARY, "refreshToken": CANARY, "expiresAt": 1}},
    )


def refuse_in_detail(desk: Desk) -> list[Any]:
    """Servers that repeat what they were sent."""
    over = make_jwt(exp=1, canary=CANARY)
    words = f"you sent {CANARY} and {over}"
    return [
        say(401, {"error": {"message": words, "code": CANARY}}),
        say(400, {"error": CANARY, "error_description": words}),
        say(500, {"message": words}),
        say(200, {"error": words}),
    ]


@pytest.mark.parametrize(
    "arrange", [with_bad_mode, with_odd_keys, with_broken_files, with_dead_tokens]
)
async def test_canaries_are_in_no_error_no_repr_and_no_log(
    desk: Desk, arrange: Callable[[Desk], None], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    seen = ""
    for trouble in [*refuse_in_detail(desk), Unavailable("no way there")]:
        desk.server = Server(desk.clock, troubles=[trouble] * 20)
        arrange(desk)
        found = desk.make(CLAUDE, make_config("bad", api_key_cmd=("sh", "-c", f"echo {CANARY} é")))
        for provider in ("openai", "chatgpt", "copilot", "anthropic", "bad"):
            for attempt in (found.fetch, found.renew):
                seen += await describe(attempt, provider)
        seen += repr(found.keys) + repr(found.configs)
    assert len(seen) > 2000
    assert CANARY not in seen + caplog.text
    assert make_jwt(exp=1, canary=CANARY) not in seen + caplog.text


async def describe(attempt: Callable[..., Any], provider: str) -> str:
    """All that a person could see of what comes of it, or of an error."""
    try:
        return repr(await attempt(provider, NOBODY))
    except AskdError as error:
        return f"{error!r} {error.message} {error.data} {error.__cause__!r} {error.reason}"


def test_nothing_that_is_printed_shows_a_key(desk: Desk) -> None:
    endpoint = desk.make(environ=OURS).find("openai", THEIRS)
    assert "sk-" not in repr(endpoint) + repr(THEIRS)
    assert isinstance(endpoint, Endpoint)
    assert desk.secrets.hide("wk-theirs sk-theirs") == "wk-theirs ***"  # what was seen


def test_every_known_sign_in_has_somebody_who_does_it(desk: Desk) -> None:
    found: Credentials = desk.make(CLAUDE)
    for config in found.configs.values():
        if config.auth is not None:
            with pytest.raises(NotConfigured, match="signed in"):
                found.find(config.name, NOBODY)
