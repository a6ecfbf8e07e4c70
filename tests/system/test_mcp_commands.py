"""Servers of tools by hand, from an empty home on: added, seen, tried, taken over, removed."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.system.tool_servers import FAKE, MARK, Tools, find_program, wait_until
from tests.system.world import World

DATA = Path(__file__).parents[1] / "data" / "mcp"
MINE = "# mine\ntitle = 'off'  # quiet\n"


@pytest.fixture
def config(world: World) -> Path:
    """Where the settings will be; the file is not there yet."""
    path: Path = world.ask_home / "config" / "config.toml"
    return path


def list_servers(world: World) -> dict[str, dict[str, Any]]:
    rows = json.loads(world.ok("mcp", "list", "--json").out)
    return {row["name"]: row for row in rows}


def add_fake(world: World, name: str, *options: str, words: tuple[str, ...] = ()) -> None:
    world.ok("mcp", "add", name, *words, "--", sys.executable, FAKE, *options)


def test_a_server_from_its_first_word_to_its_last(world: World, config: Path) -> None:
    assert world.ok("mcp", "list").out.startswith("No server of tools is configured.")
    assert "mcp" not in world.ok("doctor").out
    program = find_program("mcp-server-time")
    added = world.ok("mcp", "add", "time", "--", program, "--local-timezone", "UTC")
    assert (added.out, "ask mcp test time" in added.err) == ("Added: time\n", True)
    assert list_servers(world)["time"]["state"] == "idle", "nothing is started by that"
    assert "time: not needed yet" in world.ok("doctor").out
    tested = world.ok("mcp", "test", "time")
    first, *tools = tested.out.splitlines()
    assert first.startswith("time: ready, version ")
    assert [line.split()[0] for line in tools] == ["time__get_current_time", "time__convert_time"]
    row = list_servers(world)["time"]
    assert (row["state"], row["tools"], row["offered"], row["kind"]) == ("ready", 2, 2, "stdio")
    assert "time: runs, 2 tools offered" in world.ok("doctor").out
    pid = Path(f"/proc/{row['pid']}")
    assert pid.exists()
    assert world.ok("mcp", "remove", "time").out == "Removed: time\n"
    wait_until(lambda: not pid.exists())
    assert list_servers(world) == {}
    assert config.read_text().strip() == ""


def test_what_is_written_keeps_what_stands_there_and_is_for_nobody_else(
    world: World, config: Path
) -> None:
    config.parent.mkdir(parents=True)
    config.write_text(MINE)
    config.chmod(0o644)
    add_fake(world, "fake", words=("--env", "API_KEY=sk-canary", "--cwd", "/"))
    assert config.read_text().startswith(MINE)
    assert config.stat().st_mode & 0o777 == 0o600
    world.ok("config", "check")
    seen = [
        world.ok("mcp", "test", "fake"),
        world.ok("mcp", "list", "--json"),
        world.ok("config", "show", "--json"),
        world.ok("doctor"),
    ]
    assert all("canary" not in each.out + each.err for each in seen)
    assert "canary" not in world.log()
    twice = world.ask("mcp", "add", "fake", "--", "sh")
    assert (twice.code, "There is a server 'fake' already" in twice.err) == (2, True)
    assert "canary" in config.read_text()
    world.ok("mcp", "remove", "fake")
    assert config.read_text().rstrip() == MINE.rstrip()


def test_a_change_of_the_file_counts_at_once(world: World, config: Path) -> None:
    add_fake(world, "fake", words=("--env", f"{MARK}=one"))
    world.ok("mcp", "test", "fake")
    before = list_servers(world)["fake"]["pid"]
    config.write_text(config.read_text() + '[mcpServers.other]\ncommand = "x"\n')
    assert list(list_servers(world)) == ["fake", "other"]
    assert list_servers(world)["fake"]["pid"] == before, "it is the same, and goes on"
    config.write_text(config.read_text().replace(f'{MARK} = "one"', f'{MARK} = "two"'))
    wait_until(lambda: not Path(f"/proc/{before}").exists())
    world.ok("mcp", "test", "fake")
    assert f"{MARK}=two".encode() in environ_of(list_servers(world)["fake"]["pid"])
    lines = config.read_text().splitlines()
    config.write_text("\n".join([*lines, "comand = 'y'"]))
    wrong = world.ask("config", "check")
    assert (wrong.code, f"line {len(lines) + 1}: mcpServers.other.comand" in wrong.err) == (2, True)


def environ_of(pid: int) -> list[bytes]:
    return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")


def test_one_that_cannot_be_started_says_why_and_what_it_wrote(world: World) -> None:
    world.ok("mcp", "add", "bad", "--", "sh", "-c", "printf 'a\\033[31mb\\n' >&2; exit 3")
    tested = world.ask("mcp", "test", "bad")
    assert (tested.code, tested.out) == (1, "")
    assert "bad is not ready: " in tested.err
    assert "\033" not in tested.err
    assert "ab" in world.ok("mcp", "logs", "bad").out
    assert list_servers(world)["bad"]["state"] == "failed"
    doctor = world.ok("doctor").out
    assert "warn  mcp: bad: " in doctor
    error = json.loads(world.ask("mcp", "test", "bad", "--json").out)
    assert error["data"]["server"]["state"] == "failed"
    none = world.ask("mcp", "test", "bda")
    assert (none.code, "Did you mean 'bad'?" in none.err) == (3, True)


def test_what_a_server_says_does_not_reach_the_terminal(world: World) -> None:
    said = world.home / "said.txt"
    said.write_text("Clears\033[2J it.\033]0;x\007 And\nmore.")
    add_fake(world, "odd", "--describe", str(said))
    tested = world.ok("mcp", "test", "odd")
    assert "\033" not in tested.out + tested.err
    assert "odd__echo" in tested.out
    assert "Clears it.\n" in tested.out


def test_other_programs_servers_are_taken_over_and_work(world: World, config: Path) -> None:
    servers = {
        "mine": {"type": "stdio", "command": sys.executable, "args": [FAKE], "env": {"A": "b"}},
        "old": {"type": "sse", "url": "http://127.0.0.1:9/sse"},
    }
    (world.home / ".claude.json").write_text(json.dumps({"mcpServers": servers}))
    codex = world.home / ".codex"
    codex.mkdir()
    (codex / "config.toml").write_bytes((DATA / "codex.toml").read_bytes())
    home = {"HOME": str(world.home), "CODEX_HOME": None, "TRACE_ID": "t"}
    dry = world.ask("mcp", "import", "--dry-run", env=home)
    assert (dry.code, "Would add: mine" in dry.out, config.exists()) == (1, True, False)
    taken = world.ask("mcp", "import", env=home)
    assert (taken.code, "Not taken: old, for it speaks SSE" in taken.out) == (1, True)
    assert set(list_servers(world)) == {"mine", "docs", "figma", "slow"}
    assert list_servers(world)["figma"]["state"] == "off"
    assert "echo" in world.ok("mcp", "test", "mine").out
    assert "canary" not in dry.out + dry.err + taken.out + taken.err
    again = world.ask("mcp", "import", env=home)
    assert "Added" not in again.out


def test_a_server_as_others_describe_it_serves_a_turn(world: World) -> None:
    tools = Tools(world, {})
    entry = {"type": "stdio", "command": sys.executable, "args": [FAKE], "timeout": 3}
    added = world.ok("mcp", "add-json", "fake", "-", stdin=json.dumps(entry).encode())
    assert "left out: timeout" in added.err
    assert tools.run("fake__echo", {"text": "hello there"}) == "hello there"
    world.ok("mcp", "remove", "fake")
    result, told = tools.call("fake__echo", {"text": "again"})
    assert result.code == 0
    assert "again" not in told, "its tools are gone with it"
