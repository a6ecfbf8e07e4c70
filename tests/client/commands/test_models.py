"""Which models there are, and which one answers."""

import json

import pytest

from tests.client.commands.conftest import Ask
from tests.client.commands.fake_daemon import FakeDaemon


def test_list_names_window_and_default(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.models.append({"name": "work/a-long-name", "provider": "work"})
    result = ask("models", "list")
    assert result.out.splitlines() == [
        "fake/echo         8192 tokens  default",
        "work/a-long-name",
    ]
    assert [row["name"] for row in json.loads(ask("models", "list", "--json").out)] == [
        "fake/echo",
        "work/a-long-name",
    ]


def test_list_sends_the_callers_keys_and_says_who_did_not_answer(
    daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    daemon.models.clear()
    daemon.warnings.append("work: connection refused\x1b[31m")
    result = ask("models", "list")
    assert result.code == 0
    assert result.out == "No models: no provider is configured.\n"
    assert "work: connection refused" in result.err
    assert "\x1b" not in result.err
    (params,) = daemon.called("model/list")
    assert params["secrets"] == {"OPENAI_API_KEY": "sk-secret"}
    assert "OPENAI_API_KEY" not in params["env"]


def test_the_default_is_found_or_set(daemon: FakeDaemon, ask: Ask) -> None:
    result = ask("models", "default")
    assert result.out == "fake/echo\n"
    assert "ask models default NAME" in result.err
    assert ask("models", "default", "work/x").code == 0
    (written,) = daemon.called("config/write")
    assert (written["key"], written["value"]) == ("default_model", "work/x")
    assert set(written) == {"key", "value", "env", "secrets"}
    result = ask("models", "default")
    assert (result.out, result.err) == ("work/x\n", "")
    assert json.loads(ask("models", "default", "--json").out) == {
        "name": "work/x",
        "source": "config",
    }
    assert ask("models", "default", "--unset", "--json").code == 0
    assert daemon.settings["default_model"] is None
    assert ask("models", "default", "x", "--unset").code == 2


def test_no_model_at_all_is_code_4_with_the_ways_to_go_on(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.models.clear()
    result = ask("models", "default")
    assert result.code == 4
    for way in ("OPENAI_API_KEY", "[providers.NAME]", "askd[local]"):
        assert way in result.err
