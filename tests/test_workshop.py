"""The workshop: what is ours is hidden, and settings count from the moment they change."""

from pathlib import Path

import pytest

from ask.paths import Paths
from askd.config import Environment, parse_settings
from askd.providers.credentials.auth import Auth
from askd.room_settings import read_servers
from askd.server_logins import FarServers
from askd.settings import Settings
from askd.tools.mcp.base import describe_tool
from askd.tools.mcp.known import Known, KnownServers
from askd.workshop import Workshop, drop_inner, find_key_files, find_own
from tests.fakes.credentials import Desk
from tests.fakes.workspaces import stand_in


def find_paths(home: Path, **more: str) -> Paths:
    return Paths.of({"ASK_HOME": str(home), **more})


async def search_nothing(text: str, /, **more: object) -> object:
    raise AssertionError("nobody asked")


def make_workshop(home: Path, settings: list[Settings]) -> Workshop:
    """A workshop by the last of the settings."""
    environment = Environment(
        paths=find_paths(home),
        keys={"HOME": "/h"},
        child_env={"PATH": "/usr/bin:/bin"},
        model=None,
        log_level=None,
        systemd={},
    )
    return Workshop(
        environment,
        lambda: settings[-1],
        socket=str(home / "run" / "askd.sock"),
        search=search_nothing,  # type: ignore[arg-type]  # it is not called
        far=FarServers(home / "sign-ins", Auth(lambda: Desk(home).make(), new_id=str)),
    )


def test_our_directories_are_hidden_and_our_settings_are_not(tmp_path: Path) -> None:
    paths = find_paths(tmp_path)
    hidden = find_own(paths, Settings(), str(paths.sockets[0]), {})
    for each in ("data", "state", "run"):
        assert str(tmp_path / each) in hidden
    assert str(tmp_path / "config") not in hidden
    assert str(tmp_path) not in hidden


def test_a_socket_in_a_place_of_somebodys_choice_hides_no_neighbours(tmp_path: Path) -> None:
    named = {"ASK_SOCKET": "/tmp/my.sock"}
    hidden = find_own(find_paths(tmp_path, **named), Settings(), "/tmp/my.sock", named)
    assert "/tmp/my.sock" in hidden
    assert "/tmp" not in hidden


def test_rollouts_elsewhere_are_conversations_too(tmp_path: Path) -> None:
    settings = parse_settings("[rollouts]\ndirectory = '/talks'\n", "c")
    assert "/talks" in find_own(find_paths(tmp_path), settings, "/s", {})


def test_files_with_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/h")
    settings = parse_settings("[providers.openai]\napi_key_file = '~/k'\n", "c")
    assert find_key_files(settings, {"HOME": "/h", "CREDENTIALS_DIRECTORY": "/run/c"}) == [
        "/h/k",
        "/h/.codex/auth.json",
        "/h/.claude/.credentials.json",
        "/h/.config/github-copilot",
        "/run/c",
    ]
    moved = {"CODEX_HOME": "/x", "CLAUDE_CONFIG_DIR": "/y", "XDG_CONFIG_HOME": "/z"}
    assert find_key_files(Settings(), moved) == [
        "/x/auth.json",
        "/y/.credentials.json",
        "/z/github-copilot",
    ]


def test_the_sandbox_is_made_anew_when_the_settings_say_another(tmp_path: Path) -> None:
    settings = [Settings()]
    workshop = make_workshop(tmp_path, settings)
    first = workshop.sandbox()
    settings.append(parse_settings("[tools]\nnetwork = true\n", "c"))
    assert workshop.sandbox() is first  # it has looked once, and that is enough
    settings.append(parse_settings("[tools]\nsandbox = 'none'\n", "c"))
    assert workshop.sandbox() is not first


def test_it_has_every_tool(tmp_path: Path) -> None:
    names = {tool.name for tool in make_workshop(tmp_path, [Settings()]).tools}
    assert {"run_command", "search_files", "read_file", "search_history"} <= names


def test_what_lies_in_something_hidden_is_hidden_with_it(tmp_path: Path) -> None:
    assert drop_inner(["/a/b", "/a", "/ab", "/a", "/c/d/e", "/c/d"]) == ["/a", "/ab", "/c/d"]
    hidden = make_workshop(tmp_path, [Settings()]).find_hidden()
    assert str(tmp_path / "run") in hidden
    assert str(tmp_path / "run" / "askd.sock") not in hidden
    assert str(tmp_path / "data" / "rollouts") not in hidden


def test_servers_are_those_of_the_settings_of_now(tmp_path: Path) -> None:
    settings = [parse_settings("[mcpServers.time]\ncommand = 'mcp-server-time'\n", "c")]
    workshop = make_workshop(tmp_path, settings)
    assert [each.name for each in workshop.servers.states()] == ["time"]
    settings.append(parse_settings("[mcpServers.far]\nurl = 'http://127.0.0.1:1/mcp'\n", "c"))
    assert [(each.name, each.kind) for each in workshop.servers.states()] == [("far", "http")]
    settings.append(Settings())
    assert workshop.servers.states() == []


async def test_what_was_known_of_a_server_is_among_the_tools(tmp_path: Path) -> None:
    settings = [parse_settings("[mcpServers.time]\ncommand = 'mcp-server-time'\n", "c")]
    (config,) = read_servers(settings[-1])
    tool = describe_tool("time", "now", "Say the time.", {"type": "object"})
    known = KnownServers(find_paths(tmp_path).state / "mcp-tools.json")
    await known.keep(config, Known(at=1.0, tools=[tool]))
    workshop = make_workshop(tmp_path, settings)
    assert "time__now" in workshop.tools
    settings.append(Settings())
    assert "time__now" not in workshop.tools
    assert "run_command" in workshop.tools


async def test_instructions_are_read_by_the_settings_of_now(tmp_path: Path) -> None:
    settings = [Settings()]
    instructions = make_workshop(tmp_path / "ask", settings).make_instructions(lambda: None)
    assert instructions.find_rules().files == ("AGENTS.md",)
    settings.append(parse_settings("[instructions]\nfiles = ['RULES.md']\n", "c"))
    (tmp_path / "RULES.md").write_text("Say hue.")
    found = await instructions.read(stand_in(tmp_path), instructions.find_rules().files)
    assert [each.text for each in found.files] == ["Say hue."]
