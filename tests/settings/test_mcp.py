"""Servers of tools: what a name can be, and that one is a program or an address."""

import pytest
from pydantic import ValidationError

from askd.settings import Settings, show_settings
from askd.settings.mcp import McpServerSettings


@pytest.mark.parametrize("name", ["time", "my-notes", "my_notes", "a_b_c", "x" * 32])
def test_a_name_can_stand_before_a_tools(name: str) -> None:
    settings = Settings.model_validate({"mcpServers": {name: {"command": "x"}}})
    assert list(settings.mcpServers) == [name]


@pytest.mark.parametrize("name", ["", "a__b", "_a", "a_", "a b", "ä", "x" * 33, "a.b"])
def test_another_name_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="other characters"):
        Settings.model_validate({"mcpServers": {name: {"command": "x"}}})


@pytest.mark.parametrize("shape", [{}, {"command": "x", "url": "https://example.com/mcp"}])
def test_a_server_is_a_program_or_an_address(shape: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match="either a command or a url"):
        McpServerSettings.model_validate(shape)


@pytest.mark.parametrize("type", ["http", "streamable-http", "streamableHttp"])
def test_its_type_may_be_said_as_other_programs_say_it(type: str) -> None:
    McpServerSettings.model_validate({"command": "x", "type": "stdio"})
    McpServerSettings.model_validate({"url": "https://example.com/mcp", "type": type})
    with pytest.raises(ValidationError, match=f"of the type '{type}' takes a url"):
        McpServerSettings.model_validate({"command": "x", "type": type})


def test_a_type_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValidationError, match="of the type 'stdio' takes a command"):
        McpServerSettings.model_validate({"url": "https://example.com/mcp", "type": "stdio"})
    with pytest.raises(ValidationError, match="'stdio', 'http'"):
        McpServerSettings.model_validate({"url": "https://example.com/sse", "type": "sse"})


@pytest.mark.parametrize("key", ["startup_timeout_s", "tool_timeout_s"])
def test_a_server_is_given_some_time(key: str) -> None:
    with pytest.raises(ValidationError, match="greater than 0"):
        McpServerSettings.model_validate({"command": "x", key: 0})


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ({"command": "x", "args": ["a", "b\0"]}, "zero byte"),
        ({"command": "x", "env": {"A": "b\0"}}, "zero byte"),
        ({"command": "x", "env": {"A=B": "c"}}, "no name of a variable"),
        ({"command": "x", "env": {"": "c"}}, "no name of a variable"),
        ({"url": "http://h", "headers": {"A:": "b"}}, "no name of a header"),
        ({"url": "http://h", "headers": {"A": "b\nC: d"}}, "what no header can hold"),
        ({"url": "http://h", "headers": {"A": "€"}}, "what no header can hold"),
    ],
)
def test_what_could_not_be_handed_on_is_refused_before_anything_is_started(
    shape: dict[str, object], words: str
) -> None:
    with pytest.raises(ValidationError, match=words):
        McpServerSettings.model_validate(shape)


def test_what_is_handed_on_may_look_odd() -> None:
    server = McpServerSettings.model_validate(
        {"command": "x", "args": ["", "a\nb", "ü"], "env": {"lower.case": "a\nb"}}
    )
    assert server.args[1] == "a\nb"
    headers = {"X-Key": "a\tb é", "!#$": ""}
    McpServerSettings.model_validate({"url": "http://h", "headers": headers})


def test_what_may_be_a_secret_of_a_server_is_not_shown() -> None:
    servers = {
        "a": {"command": "x", "env": {"KEY": "sk-canary"}},
        "b": {"url": "https://me:pw-canary@h:8/mcp?key=sk-canary", "headers": {"A": "sk-canary"}},
        "c": {"url": "https://h/mcp"},
    }
    settings = Settings.model_validate({"mcpServers": servers})
    shown = show_settings(settings)["mcpServers"]
    assert shown["a"]["env"] == {"KEY": "***"}
    assert shown["b"]["headers"] == {"A": "***"}
    assert shown["b"]["url"] == "https://***@h:8/mcp?***"
    assert shown["c"]["url"] == "https://h/mcp"
    assert "canary" not in str(shown)
