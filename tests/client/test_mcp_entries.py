"""One server of another program's file, in our words; what cannot be taken, and why."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from ask.mcp_entries import Origin, Untakable, is_secret_name, read_entry, settle_program

DATA = Path(__file__).parents[1] / "data" / "mcp"
ENVIRON = {
    "HOME": "/home/me",
    "GITHUB_TOKEN": "gh-canary",
    "API_TOKEN": "at-canary",
    "SEARCH_API_KEY": "se-canary",
    "OPENAI_API_KEY": "sk-canary",
    "TRACE_ID": "t-1",
    "EMPTY": "",
}
MINE = Origin(environ=ENVIRON)
PROJECT = Origin(environ=ENVIRON, root="/home/me/app", is_shared=True)
LITERAL = Origin(environ=ENVIRON, expands=False)


def load(name: str, server: str) -> Any:
    text = (DATA / name).read_text()
    if name.endswith(".toml"):
        return tomllib.loads(text)["mcp_servers"][server]
    return json.loads(text)["mcpServers"][server]


def refuse(value: Any, origin: Origin = MINE) -> str:
    with pytest.raises(Untakable) as caught:
        read_entry(value, origin)
    assert "canary" not in str(caught.value)
    return str(caught.value)


def test_claudes_program() -> None:
    taken = read_entry(load("claude.json", "time"), MINE)
    assert taken.settings == {
        "command": "uvx",
        "args": ["mcp-server-time", "--local-timezone=Europe/Vienna"],
        "env": {"LOG_LEVEL": "debug"},
    }
    assert taken.notes == ()


def test_claudes_address_with_a_token_of_the_environment() -> None:
    taken = read_entry(load("claude.json", "github"), MINE)
    assert taken.settings == {
        "url": "https://api.github.example/mcp/",
        "headers": {"Authorization": "Bearer gh-canary"},
    }
    assert taken.notes == ("GITHUB_TOKEN of your environment is written into the settings",)
    assert "canary" not in repr(taken)


def test_what_speaks_sse_is_refused() -> None:
    assert refuse(load("claude.json", "linear")).startswith("speaks SSE, and ask speaks stdio")


def test_a_project_of_claudes_starts_its_program_in_its_directory() -> None:
    value = {"type": "stdio", "command": "./bin/db-server", "args": ["--read-only"], "env": {}}
    assert read_entry(value, PROJECT).settings == {
        "command": "/home/me/app/bin/db-server",
        "args": ["--read-only"],
        "cwd": "/home/me/app",
    }


def test_variables_and_their_defaults_in_a_projects_file() -> None:
    assert read_entry(load("project.mcp.json", "api"), PROJECT).settings == {
        "url": "https://api.example.com/mcp",
        "headers": {"Authorization": "Bearer at-canary"},
    }
    files = read_entry(load("project.mcp.json", "files"), PROJECT).settings
    assert files["args"][-1] == "/home/me/docs"


def test_a_project_gets_no_key_of_a_provider() -> None:
    said = refuse(load("project.mcp.json", "thief"), PROJECT)
    assert said.startswith("wants your OPENAI_API_KEY, and the file comes with a project")
    assert read_entry(load("project.mcp.json", "thief"), MINE).settings["headers"]


@pytest.mark.parametrize(
    "value",
    [
        {"command": "x", "args": ["--token", "${API_TOKEN}"]},
        {"command": "x-${API_TOKEN}"},
        {"command": "x", "cwd": "/${API_TOKEN}"},
        {"url": "https://h/mcp?key=${API_TOKEN}"},
        {"url": "https://h/mcp?key=${MISSING_KEY:-none}"},
    ],
)
def test_no_secret_gets_where_every_process_could_read_it(value: Any) -> None:
    assert "every process of this machine could read it" in refuse(value)


def test_claude_desktops() -> None:
    taken = read_entry(load("claude_desktop_config.json", "My Notes (v2)"), MINE)
    assert taken.settings == {"command": "/opt/notes/server", "env": {"NOTES_KEY": "nk-canary-1"}}


def test_codexs_program_and_all_its_keys() -> None:
    taken = read_entry(load("codex.toml", "docs"), LITERAL)
    assert taken.settings == {
        "command": "npx",
        "args": ["-y", "docs-mcp@latest"],
        "env": {"GITHUB_TOKEN": "gh-canary", "DOCS_KEY": "dk-canary-2"},
        "cwd": "/home/me/docs",
        "startup_timeout_s": 20.0,
        "tool_timeout_s": 45.5,
        "enabled_tools": ["search"],
        "disabled_tools": ["delete"],
    }
    assert taken.notes == ("GITHUB_TOKEN of your environment is written into the settings",)


def test_codexs_address() -> None:
    taken = read_entry(load("codex.toml", "figma"), LITERAL)
    assert taken.settings == {
        "url": "https://mcp.figma.example/mcp",
        "headers": {"X-Figma-Region": "us-east-1", "X-Trace": "t-1"},
        "bearer_token_env": "FIGMA_OAUTH_TOKEN",
        "enabled": False,
    }
    assert taken.notes == ("the daemon reads FIGMA_OAUTH_TOKEN in its own environment",)


def test_codex_fills_nothing_in() -> None:
    taken = read_entry(load("codex.toml", "slow"), LITERAL)
    assert taken.settings == {"command": "slow-${HOME}", "startup_timeout_s": 1.5}
    assert taken.notes == ("left out: required",)


def test_cursors() -> None:
    taken = read_entry(load("cursor.mcp.json", "search"), PROJECT)
    assert taken.settings == {
        "command": "python",
        "args": ["/home/me/app/tools/search.py", "--depth", "3"],
        "env": {"API_KEY": "se-canary", "CACHE": "/home/me/.cache", "VERBOSE": "true"},
        "cwd": "/home/me/app",
    }
    remote = read_entry(load("cursor.mcp.json", "remote"), MINE)
    assert remote.settings == {"url": "https://remote.example/mcp", "enabled": False}
    assert remote.notes == ("left out: autoApprove",)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("x", "is described by something that is no object"),
        (["x"], "is described by something that is no object"),
        ({}, "has neither a command nor a url"),
        ({"type": "http"}, "has a type that does not fit"),
        ({"type": "stdio", "url": "https://h"}, "has a type that does not fit"),
        ({"type": "http", "command": "x"}, "has a type that does not fit"),
        ({"command": "x", "url": "https://h"}, "has both a command and a url"),
        ({"type": "ws", "url": "ws://h"}, "speaks WS"),
        ({"type": "carrier-pigeon", "command": "x"}, "none of: stdio, http"),
        ({"type": "sk-canary", "command": "x"}, "none of: stdio, http"),
        ({"command": ["x", "y"]}, "has a command that is no text"),
        ({"command": " "}, "has a command that is no text"),
        ({"command": "x\ud800"}, "has a command that is no text"),
        ({"command": "x", "env": {"\ud800": "y"}}, "has something in env that is no text"),
        ({"command": "x", "args": ["\ud800"]}, "has something in args that is no text"),
        ({"command": "x", "args": "y"}, "has args that are no list"),
        ({"command": "x", "args": [["sk-canary"]]}, "has something in args that is no text"),
        ({"command": "x", "env": ["A=sk-canary"]}, "has env that is no object"),
        ({"command": "x", "env": {"A": {"sk-canary": 1}}}, "has something in env that is no text"),
        ({"command": "x", "startup_timeout_sec": "9"}, "startup_timeout_sec that is no time"),
        ({"command": "x", "tool_timeout_sec": -1}, "tool_timeout_sec that is no time"),
        ({"command": "x", "env": {"K": "${input:key}"}}, "has ${input:key}, which only its own"),
        ({"command": "${workspaceFolder}/x"}, "has ${workspaceFolder}, which only its own"),
        ({"command": "x", "args": ["${NOT_SET}"]}, "needs ${NOT_SET}, which is not set here"),
        ({"url": "https://h", "env_http_headers": {"A": "NOPE"}}, "needs ${NOPE}, which is not"),
    ],
)
def test_what_cannot_be_taken_is_told_without_its_values(value: Any, words: str) -> None:
    assert words in refuse(value)


@pytest.mark.parametrize(
    ("said", "filled"),
    [
        ("$HOME", "$HOME"),
        ("${EMPTY}", ""),
        ("${EMPTY:-x}", "x"),
        ("${NOT_SET:-}", ""),
        ("${NOT_SET:-a:-b}", "a:-b"),
        ("a${HOME}b${env:HOME}", "a/home/meb/home/me"),
    ],
)
def test_how_a_variable_is_filled_in(said: str, filled: str) -> None:
    taken = read_entry({"command": "x", "args": [said]}, MINE)
    assert taken.settings["args"] == [filled]


@pytest.mark.parametrize("name", ["streamable-http", "streamableHttp", "HTTP", "streamable_http"])
def test_streamable_http_has_many_names(name: str) -> None:
    assert read_entry({"type": name, "url": "https://h/mcp"}, MINE).settings["url"]


@pytest.mark.parametrize(
    ("name", "is_secret"),
    [
        ("OPENAI_API_KEY", True),
        ("GITHUB_PERSONAL_ACCESS_TOKEN", True),
        ("GH_PAT", True),
        ("dbPassword", True),
        ("APIKEY", True),
        ("PATH", False),
        ("HOME", False),
        ("KEYBOARD", False),
        ("AUTHOR", False),
        ("PASSAGE", False),
    ],
)
def test_names_that_hold_secrets(name: str, is_secret: bool) -> None:
    assert is_secret_name(name) is is_secret


def test_a_program_that_was_said_by_its_path_is_found_from_anywhere() -> None:
    assert settle_program("./a/../b.sh", "/p") == "/p/b.sh"
    assert settle_program("/bin/x", "/p") == "/bin/x"
    assert settle_program("npx", "/p") == "npx"
    assert settle_program("./x", None) == "./x"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
KEYS = (
    "command", "url", "args", "env", "headers", "type", "cwd", "disabled", "env_vars", "timeout",
    "startup_timeout_ms", "enabled_tools", "env_http_headers", "oauth",
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(KEYS), JSON))
def test_whatever_a_file_holds_is_taken_or_refused_with_a_sentence(value: Any) -> None:
    try:
        taken = read_entry(value, PROJECT)
    except Untakable as error:
        said = str(error)
        event("refused")
    else:
        said = "taken"
        assert ("command" in taken.settings) != ("url" in taken.settings)
        assert all(isinstance(each, str) for each in taken.settings.get("args", []))
    assert said
