"""Rules about tools, as a person writes them: kept in the file, told by who says them."""

import json
from pathlib import Path

from tests.system.world import World

MINE = "# mine\ntitle = 'off'  # quiet\n"


def write_config(world: World, text: str) -> Path:
    path: Path = world.ask_home / "config" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_rules_are_written_into_the_file_and_taken_back(world: World) -> None:
    config = write_config(world, MINE)
    world.ok("tools", "policy", "--command", "git status", "auto")
    world.ok("tools", "policy", "write_file", "deny")
    world.ok("tools", "policy", "--default", "ask")
    assert '"git status" = "auto"' in config.read_text()
    shown = json.loads(world.ok("tools", "policy", "--json").out)
    assert shown["policy"]["approval"] == "ask"
    assert shown["commands"] == [{"name": "git status", "approval": "auto", "source": "settings"}]
    rules = {each["name"]: (each["approval"], each["source"]) for each in shown["tools"]}
    assert rules["write_file"] == ("deny", "settings")
    assert rules["read_file"] == ("auto", "tool")
    for words in (("--command", "git status"), ("write_file",), ("--default",)):
        world.ok("tools", "policy", *words, "--unset")
    assert config.read_text().rstrip() == MINE.rstrip()


def test_what_could_not_be_meant_is_refused_and_nothing_is_written(world: World) -> None:
    config = write_config(world, MINE)
    unknown = world.ask("tools", "policy", "writefile", "auto")
    assert (unknown.code, "Did you mean 'write_file'?" in unknown.err) == (2, True)
    hidden = world.ask("tools", "policy", "--command", "git status; rm", "auto")
    assert (hidden.code, "no command begins with 'git status; rm'" in hidden.err) == (2, True)
    assert config.read_text() == MINE


def test_a_machine_that_confines_nothing_says_so(world: World) -> None:
    write_config(world, '[tools]\nsandbox = "none"\n')
    world.ok("daemon", "start")
    lines = world.ask("doctor").out.splitlines()
    (line,) = [each for each in lines if "confinement:" in each]
    assert line.startswith("warn  confinement: none: ")
    assert "this daemon's socket" in line
    page = json.loads(world.ok("api", "tool/list").out)
    assert page["confinement"]["kind"] == "none"
