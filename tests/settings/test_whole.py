"""The settings as a whole, and as they are shown."""

import pytest
from pydantic import ValidationError

from askd.settings import ProviderSettings, RolloutSettings, Settings, show_settings


def test_what_may_be_a_secret_is_not_shown() -> None:
    server = ProviderSettings(
        dialect="openai-chat",
        base_url="http://h/v1",
        headers={"x-gateway": "sk-secret-1"},
        proxy="http://me:sk-secret-2@proxy:8080",
    )
    plain = ProviderSettings(dialect="openai-chat", base_url="http://h/v1", proxy="http://p:1")
    shown = show_settings(Settings(providers={"a": server, "b": plain}))
    assert "secret" not in str(shown)
    assert shown["providers"]["a"]["headers"] == {"x-gateway": "***"}
    assert shown["providers"]["a"]["proxy"] == "http://***@proxy:8080"
    assert shown["providers"]["b"]["proxy"] == "http://p:1"


def test_a_directory_of_rollouts_does_not_depend_on_where_the_daemon_stands() -> None:
    with pytest.raises(ValidationError, match="is no absolute path"):
        RolloutSettings(directory="rollouts")
    assert RolloutSettings(directory="/r").directory == "/r"


def test_a_secret_among_the_arguments_of_a_server_is_not_shown() -> None:
    server = {"command": "x", "args": ["run", "--token", "tok", "--key=k", "postgres://me:p@h/x"]}
    shown = show_settings(Settings.model_validate({"mcpServers": {"a": server}}))
    said = ["run", "--token", "***", "--key=***", "postgres://***@h/x"]
    assert shown["mcpServers"]["a"]["args"] == said
