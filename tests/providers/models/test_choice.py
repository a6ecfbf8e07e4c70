"""Who answers when nobody named a model: the order, the reasons, and what was looked for."""

from pathlib import Path
from typing import Any

import pytest

from askd.providers.base import Caller
from askd.providers.known import KNOWN, ProviderConfig
from askd.providers.models.choice import (
    NOTHING_FOUND,
    Candidate,
    explain_local,
    rank_providers,
    say_why,
)
from tests.fakes.credentials import Desk, write_private


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def configured(name: str, base_url: str = "http://127.0.0.1:9/v1", **more: Any) -> ProviderConfig:
    return ProviderConfig(name=name, dialect="openai-chat", base_url=base_url, **more)


def rank(desk: Desk, *providers: ProviderConfig, **more: Any) -> list[Candidate]:
    """The order for a caller with these `secrets` and `env`, and a daemon with these `keys`."""
    keys, local_only = more.pop("keys", {}), more.pop("local_only", False)
    credentials = desk.make(*providers, local_only=local_only, environ=keys)
    return list(rank_providers(credentials, Caller(**more), keys))


def names(found: list[Candidate]) -> list[str]:
    return [each.provider for each in found]


def test_keys_of_the_caller_come_first_in_the_tables_order(desk: Desk) -> None:
    secrets = {each.key_env: "k" for each in reversed([*KNOWN.values()]) if each.key_env}
    found = rank(desk, configured("work"), secrets=secrets, keys={"OPENAI_API_KEY": "ours"})
    assert names(found) == [*(each.name for each in KNOWN.values() if each.key_env), "work"]
    assert found[0] == Candidate("openai", "OPENAI_API_KEY is set")


def test_then_the_daemons_then_the_settings_then_what_is_kept(desk: Desk) -> None:
    write_private(desk.directory / "keys.json", {"mistral": "kept-key-1"})
    found = rank(
        desk,
        configured("b"),
        configured("a", api_key_env="NOBODY_HAS_IT"),
        secrets={"GROQ_API_KEY": "theirs"},
        keys={"XAI_API_KEY": "ours"},
    )
    assert found == [
        Candidate("groq", "GROQ_API_KEY is set"),
        Candidate("xai", "XAI_API_KEY is set for the daemon"),
        Candidate("b", "[providers.b] is configured"),
        # Its key may be the caller's, who sends it when it is asked for.
        Candidate("a", "[providers.a] is configured"),
        Candidate("mistral", "a key is kept for it (ask auth status)"),
    ]


def test_a_sign_in_counts_and_codexs_own_only_by_name(desk: Desk) -> None:
    tokens = {"access_token": "at", "refresh_token": "rt", "id_token": "", "account_id": "a"}
    write_private(desk.codex_file, {"tokens": tokens})
    signed_in = "you have signed in (ask auth status)"
    assert rank(desk) == [Candidate("chatgpt", signed_in, is_default=False)]
    github = {"github.com:Iv1.x": {"user": "u", "oauth_token": "ghu_plugin"}}
    write_private(desk.plugin_file, github)
    assert rank(desk)[1:] == [Candidate("copilot", signed_in, is_default=False)]
    write_private(desk.directory / "copilot.json", {"oauth_token": "ghu_ours", "user": "u"})
    assert rank(desk)[1:] == [Candidate("copilot", signed_in)]


def test_an_address_without_a_key_is_meant_and_will_say_what_is_missing(desk: Desk) -> None:
    found = rank(desk, env={"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"})
    assert found == [Candidate("openai", "OPENAI_BASE_URL is set")]


def test_what_needs_no_key_is_not_chosen_by_having_none(desk: Desk) -> None:
    assert rank(desk) == []
    assert rank(desk, env={"OLLAMA_HOST": "127.0.0.1"}) == []


def test_local_only_passes_over_everybody_else(desk: Desk) -> None:
    found = rank(
        desk,
        configured("away", "http://10.0.0.1/v1"),
        configured("here"),
        secrets={"OPENAI_API_KEY": "k"},
        local_only=True,
    )
    assert names(found) == ["here"]


def test_a_known_name_that_is_configured_is_one_candidate(desk: Desk) -> None:
    openai = configured("openai", api_key_env="OPENAI_API_KEY")
    assert names(rank(desk, openai, secrets={"OPENAI_API_KEY": "k"})) == ["openai"]
    assert rank(desk, openai) == [Candidate("openai", "[providers.openai] is configured")]


def test_sentences() -> None:
    assert say_why("ollama/m", explain_local(ollama=True)) == (
        "No model was named: using ollama/m, since no key and no provider is set and Ollama is "
        "running here. Choose with -m."
    )
    assert "very small model" in explain_local(ollama=False)
    assert "\n" not in NOTHING_FOUND
    for what in ("ANTHROPIC_API_KEY", "http://127.0.0.1:11434", "ask auth", "pip install", "GGUF"):
        assert what in NOTHING_FOUND
