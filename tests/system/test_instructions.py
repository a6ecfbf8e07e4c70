"""What a project tells every model: from its AGENTS.md to the bytes that reach the provider."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.system.test_detached import open_own
from tests.system.test_terminal import Terminal
from tests.system.test_vendors import vendor_world
from tests.system.world import Result, World, open_world

RULE = "Never use the word colour."
LINE = "Instructions: AGENTS.md (27 B); --no-instructions leaves them out"
PINS = ("-c", "core.hooksPath=/dev/null")


@pytest.fixture
def own(tmp_path: Path) -> Iterator[World]:
    """A world whose daemon needs no caller's key, so that it goes on by itself."""
    yield from open_own(tmp_path)


def make_project(world: World, text: str = f"{RULE}\n") -> Path:
    """A repository with a rule at its top, and a directory in it."""
    project = world.home / "project"
    project.joinpath("inner").mkdir(parents=True)
    subprocess.run(["git", *PINS, "init", "-q", str(project)], check=True, env=world.env)
    project.joinpath("AGENTS.md").write_text(text)
    return project


def systems(world: World) -> list[str]:
    """The system prompt of every request; an empty one: there was none."""
    assert world.model is not None
    return [find_system(request) for request in world.model.requests()]


def find_system(request: dict[str, Any]) -> str:
    if "instructions" in request:
        return str(request["instructions"])
    if "system" in request:
        return "".join(each["text"] for each in request["system"])
    messages = request.get("messages") or request["input"]
    return "".join(
        str(each["content"]) for each in messages if each["role"] in ("system", "developer")
    )


def ask(world: World, cwd: Path, *words: str) -> Result:
    result = world.ask("-s", "work", *words, cwd=cwd)
    assert result.code == 0, result
    return result


def changes(world: World, conversation: str = "work") -> list[list[str]]:
    """The paths of each change of instructions in the log."""
    return [
        [file["path"] for file in event.get("files", ())]
        for event in world.events(conversation)
        if event["type"] == "instructions_changed"
    ]


@pytest.mark.parametrize("dialect", ["openai-responses", "anthropic", "ollama"])
def test_every_vendor_gets_them_with_the_system_prompt(dialect: str, tmp_path: Path) -> None:
    with vendor_world(tmp_path, dialect) as (world, server):
        project = make_project(world)
        assert LINE in ask(world, project, "-S", "Be brief.", "ECHO:one").err
        assert "Instructions" not in ask(world, project, "ECHO:two").err
        first, second = [find_system(each) for each in server.requests()]
        assert first == second
        assert first.index("Be brief.") < first.index(f'path="{project}/AGENTS.md"')
        assert RULE in first
        # It is nobody's words: neither the user's nor the model's.
        assert all(json.dumps(each).count(RULE) == 1 for each in server.requests())


def test_they_are_said_once_and_kept_once(world: World) -> None:
    project = make_project(world)
    assert [ask(world, project, "ECHO:hi").err.count("Instructions:") for _ in range(3)] == [
        1,
        0,
        0,
    ]
    assert changes(world) == [[f"{project}/AGENTS.md"]]
    one, two, three = systems(world)
    assert one == two == three
    assert RULE in one
    shown = world.ok("history", "show", "work", "--context").out
    assert f"Instructions: {project}/AGENTS.md (27 bytes)" in shown
    assert RULE in shown
    assert RULE not in world.ok("history", "show", "work").out


def test_a_directory_has_its_own_and_those_above_it(world: World) -> None:
    project = make_project(world)
    project.joinpath("inner", "AGENTS.md").write_text("Here say hue.\n")
    # What is above the repository is none of its business.
    world.home.joinpath("AGENTS.md").write_text("Say nothing.\n")
    said = ask(world, project / "inner", "ECHO:hi").err
    assert "Instructions: ../AGENTS.md (27 B), AGENTS.md (14 B); --no-instr" in said
    (system,) = systems(world)
    assert system.index(RULE) < system.index("Here say hue.")
    assert "Say nothing." not in system


def test_a_home_has_none_but_a_directory_in_it_has(world: World) -> None:
    world.home.joinpath("AGENTS.md").write_text("Say nothing.\n")
    plain = world.home / "plain"
    plain.mkdir()
    plain.joinpath("AGENTS.md").write_text("Speak plainly.\n")
    assert "Instructions" not in ask(world, world.home, "ECHO:hi").err
    assert "Instructions: AGENTS.md (15 B)" in ask(world, plain, "ECHO:hi").err
    first, second = systems(world)
    assert first == ""
    assert "Speak plainly." in second
    assert "Say nothing." not in second


def test_what_changes_is_said_again_and_what_is_gone_is_gone(world: World) -> None:
    project = make_project(world)
    file = project / "AGENTS.md"
    ask(world, project, "ECHO:one")
    file.write_text("Say color.\n")
    assert "Instructions: AGENTS.md (11 B)" in ask(world, project, "ECHO:two").err
    assert "Instructions: none here" in ask(world, world.home, "ECHO:three").err
    file.unlink()
    assert "Instructions" not in ask(world, project, "ECHO:four").err
    one, two, three, four = systems(world)
    assert RULE in one
    assert "Say color." in two
    assert RULE not in two
    assert (three, four) == ("", "")
    assert changes(world) == [[str(file)], [str(file)], []]


def test_a_prompt_can_go_without_them_and_a_conversation_too(world: World) -> None:
    project = make_project(world)
    ask(world, project, "ECHO:one")
    assert "Instructions" not in ask(world, project, "--no-instructions", "ECHO:two").err
    assert "Instructions" not in ask(world, project, "ECHO:three").err
    for words in (("--no-instructions", "ECHO:a"), ("ECHO:b",), ("--instructions", "ECHO:c")):
        assert world.ask("-s", "bare", *words, cwd=project).code == 0
    assert [RULE in each for each in systems(world)] == [True, False, True, False, False, True]
    assert changes(world) == [[f"{project}/AGENTS.md"]]


def test_the_settings_can_say_no_and_name_other_files(world: World) -> None:
    config = world.ask_home / "config" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[instructions]\nenabled = false\n")
    project = make_project(world)
    ask(world, project, "ECHO:one")
    ask(world, project, "--instructions", "ECHO:two")
    ask(world, project, "ECHO:three")
    config.write_text('[instructions]\nfiles = ["CLAUDE.md", "AGENTS.md"]\n')
    project.joinpath("CLAUDE.md").symlink_to("AGENTS.md")
    world.ok("daemon", "restart")
    ask(world, project, "ECHO:four")
    assert [RULE in each for each in systems(world)] == [False, True, False, True]
    assert changes(world)[-1] == [f"{project}/CLAUDE.md"]
    config.write_text('[instructions]\nfiles = ["../AGENTS.md"]\n')
    refused = world.ask("config", "check")
    assert refused.code == 2
    assert "is no path below a directory" in refused.err


def test_nothing_waits_for_what_is_no_file(world: World) -> None:
    project = make_project(world)
    file = project / "AGENTS.md"
    secret = world.home / "secret"
    secret.write_text("the launch code\n")
    file.unlink()
    os.mkfifo(file)
    assert "AGENTS.md is left out: it is a named pipe." in ask(world, project, "ECHO:one").err
    assert "left out" not in ask(world, project, "ECHO:two").err  # once is enough
    file.unlink()
    file.symlink_to(secret)
    led_out = world.ask("ECHO:three", cwd=project)
    assert "is left out: it is a link that leads out of the project" in led_out.err
    file.unlink()
    file.write_bytes(b"\xff\xfe")
    assert "is left out: it is not in UTF-8." in world.ask("ECHO:four", cwd=project).err
    assert set(systems(world)) == {""}


def test_a_large_one_is_cut_and_the_nearest_goes_first(world: World) -> None:
    project = make_project(world, "outer\n" * 10_000)
    project.joinpath("inner", "AGENTS.md").write_text("inner\n" * 2_000)
    said = ask(world, project / "inner", "ECHO:hi").err
    assert "../AGENTS.md (the first 20.8 kB of 60.0 kB), AGENTS.md (12.0 kB)" in said
    (system,) = systems(world)
    assert system.count("inner\n") == 2_000
    assert "[cut here: 39,232 more bytes are in the file]" in system
    assert len(system) < 34_000


def test_what_is_ephemeral_has_them_too(world: World) -> None:
    project = make_project(world)
    for _ in range(2):
        asked = world.ask("--ephemeral", "-s", "gone", "ECHO:hi", cwd=project)
        assert asked.code == 0, asked
    one, two = systems(world)
    assert one == two
    assert RULE in one


def test_a_detached_prompt_and_one_that_is_tried_again_after_a_crash(own: World) -> None:
    project = make_project(own)
    started = own.ask("-s", "work", "--detach", "HOLD", cwd=project)
    assert started.code == 0
    assert own.model is not None
    own.model.requests(at_least=1)
    project.joinpath("AGENTS.md").write_text("Say color.\n")
    own.kill_daemon(signal.SIGKILL)
    own.ok("daemon", "start")
    own.model.requests(at_least=2)
    own.model.release()
    assert own.ask("jobs", "wait", started.out.strip()).code == 0
    first, second = systems(own)
    assert RULE in first
    assert "Say color." in second
    assert len(changes(own)) == 2


def test_a_queued_prompt_has_those_of_the_moment_it_begins(world: World) -> None:
    project = make_project(world)
    running = world.start("-s", "work", "HOLD", cwd=project)
    assert world.model is not None
    world.model.requests(at_least=1)
    queued = world.start("-s", "work", "ECHO:queued", cwd=project)
    queued.wait_for("Queued", where="err")
    project.joinpath("AGENTS.md").write_text("Say color.\n")
    world.model.release()
    assert running.finish().code == 0
    assert queued.finish().code == 0
    first, second = systems(world)
    assert RULE in first
    assert "Say color." in second


def test_a_directory_that_is_gone_has_none(world: World) -> None:
    project = make_project(world)
    ask(world, project, "ECHO:one")
    running = world.start("-s", "work", "HOLD", cwd=world.home)
    assert world.model is not None
    world.model.requests(at_least=2)
    inner = project / "inner"
    queued = world.start("-s", "work", "ECHO:queued", cwd=inner)
    queued.wait_for("Queued", where="err")
    inner.rmdir()
    world.model.release()
    assert running.finish().code == 0
    assert queued.finish().code == 0
    assert systems(world)[-1] == ""


def test_they_outlive_a_clear_a_fork_and_an_export(world: World, tmp_path: Path) -> None:
    project = make_project(world)
    ask(world, project, "ECHO:one")
    world.ok("clear", "work")
    ask(world, project, "ECHO:two")
    fork = world.ok("fork", "work").out.strip()
    assert "Instructions" not in world.ask("-s", fork, "ECHO:three", cwd=project).err
    exported = world.ok("history", "export", "work").out
    with open_world(tmp_path / "other") as other:
        other.home.mkdir(exist_ok=True)
        other.ok("history", "import", "-", stdin=exported.encode())
        assert changes(other)[-1] == [f"{project}/AGENTS.md"]
    one, two, three = systems(world)
    assert one == two == three


def test_a_secret_in_them_can_be_scrubbed(world: World) -> None:
    project = make_project(world, "The token is hunter22-and-more.\n")
    ask(world, project, "ECHO:one")
    project.joinpath("AGENTS.md").write_text("There is no token.\n")
    world.ok("history", "scrub", "--yes", "hunter22-and-more")
    assert "hunter22" not in json.dumps(world.events("work"))
    ask(world, project, "ECHO:two")
    assert "hunter22" in systems(world)[0]
    assert "hunter22" not in systems(world)[1]


def test_a_known_key_in_them_reaches_neither_the_log_nor_the_model(world: World) -> None:
    config = world.ask_home / "config" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[history]\nredact_keys = true\n")
    world.env["OPENAI_API_KEY"] = "sk-abcdefgh12345678"
    project = make_project(world, "Use sk-abcdefgh12345678 for all.\n")
    for _ in range(3):
        ask(world, project, "ECHO:hi")
    assert "sk-abcdefgh" not in json.dumps(world.events("work"))
    assert not any("sk-abcdefgh" in each for each in systems(world)[1:])
    assert len(changes(world)) <= 2  # the key may be known only once it has been used


def test_a_terminal_shows_the_line_and_no_control_sequence_of_a_name(world: World) -> None:
    project = make_project(world)
    odd = project / "in\x1b[31mner"
    odd.mkdir()
    odd.joinpath("AGENTS.md").write_text("Odd.\n")
    inner = odd / "inner"
    inner.mkdir()
    inner.joinpath("AGENTS.md").symlink_to("../nothing")
    terminal = Terminal(world, "ECHO:hello", cwd=odd)
    assert terminal.finish() == 0
    assert "hello" in terminal.screen
    assert "AGENTS.md (5 B); --no-instructions leaves them out" in terminal.screen
    os.mkfifo(odd / "inner" / "pipe")
    inner.joinpath("AGENTS.md").unlink()
    inner.joinpath("AGENTS.md").symlink_to("pipe")
    complaint = Terminal(world, "ECHO:hello", cwd=inner)
    assert complaint.finish() == 0
    assert "in\\x1b[31mner/inner/AGENTS.md is left out: it is a named pipe." in complaint.screen
    assert "\x1b[31m" not in terminal.screen + complaint.screen


def test_a_quiet_prompt_says_nothing_of_them(world: World) -> None:
    project = make_project(world)
    assert ask(world, project, "-q", "ECHO:hi").err == ""
    assert RULE in systems(world)[0]
