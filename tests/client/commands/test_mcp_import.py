"""Servers that other programs know, taken over; a project's only if its file is named."""

import json
import shutil
from pathlib import Path

import pytest

from tests.client.commands.conftest import Ask
from tests.client.commands.fake_daemon import FakeDaemon
from tests.client.commands.fake_log import Refusal

DATA = Path(__file__).parents[2] / "data" / "mcp"


@pytest.fixture(autouse=True)
def me(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with nothing in it, and a directory of a project where the caller stands."""
    assert home.parent == tmp_path  # it was made before, and said more than is wanted here
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    monkeypatch.setenv("GITHUB_TOKEN", "gh-canary")
    monkeypatch.setenv("API_TOKEN", "at-canary")
    monkeypatch.setenv("TRACE_ID", "t-1")
    (tmp_path / "me" / "app").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "me" / "app")
    return tmp_path / "me"


def put(name: str, place: Path) -> Path:
    """Put a file of the test's data somewhere."""
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(DATA / name, place)
    return place


def test_nothing_to_import_says_where_was_looked(daemon: FakeDaemon, ask: Ask, me: Path) -> None:
    result = ask("mcp", "import")
    assert (result.code, result.out) == (0, "Nothing to import.\n")
    assert result.err == (
        f"Looked for: {me}/.claude.json, {me}/.config/Claude/claude_desktop_config.json, "
        f"{me}/.codex/config.toml\n"
    )
    assert ask("mcp", "import", "--json").out == "[]\n"


def test_all_known_programs_at_once(daemon: FakeDaemon, ask: Ask, me: Path) -> None:
    claude = put("claude.json", me / ".claude.json")
    desktop = put("claude_desktop_config.json", me / ".config/Claude/claude_desktop_config.json")
    codex = put("codex.toml", me / ".codex/config.toml")
    result = ask("mcp", "import")
    assert result.code == 1, "one of them cannot be taken"
    assert result.out.splitlines() == [
        f"Added: time (uvx ...), {claude}",
        "Not taken: linear, for it speaks SSE, and ask speaks stdio and streamable HTTP; many "
        f"such servers have an address for that, too ({claude})",
        f"Added: github (https://api.github.example), {claude}",
        "  GITHUB_TOKEN of your environment is written into the settings",
        f"Added: filesystem (npx ...), {desktop}",
        f"Added: My-Notes-v2 (/opt/notes/server), {desktop}",
        "  it was called 'My Notes (v2)'",
        f"Added: docs (npx ...), {codex}",
        "  GITHUB_TOKEN of your environment is written into the settings",
        f"Added: figma (https://mcp.figma.example, not enabled), {codex}",
        "  the daemon reads FIGMA_OAUTH_TOKEN in its own environment",
        f"Added: slow (slow-${{HOME}}), {codex}",
        "  left out: required",
        f"Added: db (/home/me/app/bin/db-server ...), {claude} (project /home/me/app)",
        f"Skipped: time (there is one; --force replaces it), {claude} (project /home/me/app)",
    ]
    assert "mode 0600" in result.err
    assert "See how it is: ask mcp test time" in result.err
    assert "canary" not in result.out + result.err
    assert set(daemon.written) == {
        "time", "github", "filesystem", "My-Notes-v2", "docs", "figma", "slow", "db",
    }  # fmt: skip
    assert daemon.written["github"]["headers"] == {"Authorization": "Bearer gh-canary"}
    assert daemon.called("mcp/test") == [], "nothing is started"
    again = ask("mcp", "import")
    assert "Added" not in again.out


def test_a_dry_run_writes_nothing(daemon: FakeDaemon, ask: Ask, me: Path) -> None:
    put("claude_desktop_config.json", me / ".config/Claude/claude_desktop_config.json")
    result = ask("mcp", "import", "--from", "claude-desktop", "--dry-run")
    assert result.code == 0
    assert result.out.startswith("Would add: filesystem (npx ...)")
    assert "Written" not in result.err
    assert daemon.called("config/write") == []


def test_what_is_there_is_replaced_by_force_alone(daemon: FakeDaemon, ask: Ask, me: Path) -> None:
    put("claude_desktop_config.json", me / ".config/Claude/claude_desktop_config.json")
    daemon.configure("filesystem", command="mine")
    assert "Skipped: filesystem" in ask("mcp", "import").out
    assert daemon.written["filesystem"] == {"command": "mine"}
    assert "Replaced: filesystem" in ask("mcp", "import", "--force").out
    assert daemon.written["filesystem"]["command"] == "npx"


def test_a_projects_file_is_taken_only_if_it_is_named(
    daemon: FakeDaemon, ask: Ask, me: Path
) -> None:
    put("project.mcp.json", me / "app" / ".mcp.json")
    for words in ((), ("--from", "claude")):
        result = ask("mcp", "import", *words)
        assert (result.code, result.out) == (0, "Nothing to import.\n")
        assert f"Not read: {me}/app/.mcp.json. It came with a project" in result.err
        assert "ask mcp import --from .mcp.json" in result.err
    assert daemon.written == {}
    result = ask("mcp", "import", "--from", ".mcp.json")
    assert result.code == 1
    assert f"Mind that {me}/app/.mcp.json came with a project" in result.err
    assert daemon.written["files"] == {
        "command": "npx",
        "args": ["-y", "@modelcontextprotocol/server-filesystem", f"{me}/docs"],
        "cwd": f"{me}/app",
    }
    assert set(daemon.written) == {"api", "files"}
    assert "Not taken: thief, for it " in result.out
    assert "Not taken: loud, for it has ${API_TOKEN} where every process" in result.out
    assert "canary" not in result.out + result.err


@pytest.mark.parametrize(
    ("name", "place", "names"),
    [
        ("cursor.mcp.json", ".cursor/mcp.json", {"remote"}),
        ("vscode.mcp.json", ".vscode/mcp.json", {"fetch"}),
    ],
)
def test_any_file_with_servers_can_be_named(
    daemon: FakeDaemon, ask: Ask, me: Path, name: str, place: str, names: set[str]
) -> None:
    put(name, me / "app" / place)
    result = ask("mcp", "import", "--from", place, "--json")
    assert result.code == 1, "the others need what only the editor has"
    assert set(daemon.written) == names
    rows = json.loads(result.out)
    assert {each["name"] for each in rows if each["state"] == "added"} == names
    assert all(each["why"] for each in rows if each["state"] == "refused")


def test_a_file_that_cannot_be_read(daemon: FakeDaemon, ask: Ask, me: Path) -> None:
    result = ask("mcp", "import", "--from", "nothing.json")
    assert (result.code, "nothing.json cannot be read" in result.err) == (2, True)
    (me / ".claude.json").write_text("{ nope")
    put("codex.toml", me / ".codex/config.toml")
    result = ask("mcp", "import")
    assert (result.code, f"{me}/.claude.json, line 1: is no JSON." in result.err) == (1, True)
    assert "docs" in daemon.written, "it does not keep the others out"


def test_what_is_no_text_is_shown_as_well_as_can_be(daemon: FakeDaemon, ask: Ask, me: Path) -> None:
    path = me / "app" / "a\udcff.json"
    path.write_text('{"mcpServers": {"x\\ud800\\u001b[31m": {"command": "y\\ud800"}}}')
    result = ask("mcp", "import", "--from", str(path))
    assert (result.code, "\x1b" in result.out) == (1, False)
    assert result.out.startswith("Not taken: x?, for it has a command that is no text (")
    assert ask("mcp", "import", "--from", str(path), "--json").code == 1


def test_one_that_the_settings_refuse_does_not_keep_the_others_out(
    daemon: FakeDaemon, ask: Ask, me: Path
) -> None:
    put("codex.toml", me / ".codex/config.toml")
    write = daemon._config_write

    def refuse(params: dict[str, object]) -> dict[str, object]:
        if params["key"] == "mcpServers.docs":
            raise Refusal("bad_config", "line 3: mcpServers.docs.cwd: no.")
        return write(params)

    daemon._config_write = refuse  # type: ignore[method-assign]
    result = ask("mcp", "import")
    assert result.code == 1
    assert "Not taken: docs, for it does not fit the settings: line 3" in result.out
    assert set(daemon.written) == {"figma", "slow"}
