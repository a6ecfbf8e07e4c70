"""Templates from an empty home on: written, asked, wrong, and those that servers offer."""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.system.tool_servers import FAKE
from tests.system.world import World

TRANSLATE = """\
+++
description = "Into another language."
system = "You speak $to."
temperature = 0.5
max_output_tokens = 90

[defaults]
to = "French"
+++
ECHO:$to: $input
"""


@pytest.fixture
def templates(world: World) -> Path:
    """Where templates are; the directory is there."""
    directory = world.ask_home / "config" / "templates"
    directory.mkdir(parents=True)
    return directory


def requests(world: World) -> list[dict[str, Any]]:
    assert world.model is not None
    return world.model.requests()


def last_prompt(world: World) -> str:
    return str(requests(world)[-1]["messages"][-1]["content"])


def test_a_template_from_its_first_word_to_its_last(world: World) -> None:
    script = world.home / "editor"
    script.write_text(f"cat > \"$1\" <<'END'\n{TRANSLATE}END\n")
    written = world.ask("templates", "edit", "translate", env={"EDITOR": f"sh {script}"})
    assert (written.code, written.err.startswith("Written: ")) == (0, True)
    assert world.ok("templates", "list").out.splitlines() == [
        "translate  Into another language.",
        "  ECHO:$to: $input",
        "  [-p to=French]",
    ]
    assert world.owner() is None, "no daemon is needed for that"
    assert world.ok("-t", "translate", "good", "day").out == "French: good day\n"
    assert world.ok("-t", "translate", "-p", "to=Greek", stdin=b"$to\n").out == "Greek: $to\n"
    first, second = requests(world)
    assert first["messages"][0] == {"role": "system", "content": "You speak French."}
    assert second["messages"][0]["content"] == "You speak Greek."
    assert (first["temperature"], first.get("max_completion_tokens", first.get("max_tokens"))) == (
        0.5,
        90,
    )
    assert world.ok("templates", "show", "translate").out == TRANSLATE
    assert world.ok("templates", "remove", "translate").out == "Removed: translate\n"
    assert world.ask("-t", "translate", "x").code == 3


def test_a_later_turns_template_holds_for_that_turn_alone(world: World, templates: Path) -> None:
    (templates / "brief.md").write_text('+++\nsystem = "Be brief."\n+++\n')
    world.ok("-s", "w", "-S", "Be kind.", "ECHO:one")
    world.ok("-s", "w", "-t", "brief", "ECHO:two")
    world.ok("-s", "w", "ECHO:three")
    world.ok("-s", "w", "-t", "brief", "-S", "Be quick.", "ECHO:four")
    said = [request["messages"][0]["content"] for request in requests(world)]
    assert said == ["Be kind.", "Be brief.", "Be kind.", "Be quick."]


def test_what_is_piped_files_and_words_each_have_their_place(world: World, templates: Path) -> None:
    (templates / "sum.md").write_text("Sum up.")
    (templates / "fix.md").write_text("Fix $input now.")
    (world.home / "notes.txt").write_text("the notes")
    world.ok("-t", "sum", "in", "a", "word", "-f", "notes.txt", stdin=b"a log")
    said = last_prompt(world)
    assert all(each in said for each in ("the notes", "a log")), "attached, as with any prompt"
    assert said.endswith("Sum up.\n\nin a word")
    world.ok("-t", "fix", "it", stdin=b"a log")
    assert last_prompt(world).endswith("\n\nFix it now.")
    assert "a log" in last_prompt(world)
    world.ok("-t", "fix", stdin=b"@notes.txt")
    assert last_prompt(world) == "Fix @notes.txt now.", "what is piped mentions nothing"


def test_a_schema_and_a_code_block_are_asked_for(world: World, templates: Path) -> None:
    (templates / "who.md").write_text('+++\nschema = "name, age int"\n+++\n')
    answer = '{"name": "Ada", "age": 36}'
    assert world.ok("-t", "who", f"ECHO:{answer}").out == f"{answer}\n"
    assert requests(world)[-1]["response_format"]["json_schema"]["strict"] is True
    (templates / "code.md").write_text("+++\nextract = true\n+++\n")
    assert world.ask("-t", "code", "ECHO:no block").code == 1


def test_a_chat_takes_its_settings_from_a_template(world: World, templates: Path) -> None:
    (templates / "t.md").write_text(TRANSLATE)
    lines = b"ECHO:one\nECHO:two\n"
    said = world.ask("chat", "-t", "t", "-p", "to=Greek", stdin=lines)
    assert (said.code, said.out) == (0, "one\ntwo\n")
    assert "A chat takes no prompt from a template; ask -t t does." in said.err
    assert [each["temperature"] for each in requests(world)] == [0.5, 0.5]
    assert {each["messages"][0]["content"] for each in requests(world)} == {"You speak Greek."}
    assert world.ask("chat", "-t", "t", "-S", "Mine.", stdin=b"ECHO:x\n").code == 0
    assert requests(world)[-1]["messages"][0]["content"] == "Mine."
    assert world.ask("chat", "-t", "none", stdin=lines).code == 3
    assert world.ask("chat", "-p", "a=1", stdin=lines).code == 2


def test_a_detached_turn_is_asked_by_a_template(world: World, templates: Path) -> None:
    (templates / "code.md").write_text("+++\nextract = true\n+++\nECHO:$input")
    job = json.loads(world.ok("-t", "code", "--detach", "--json", "later").out)
    waited = world.ok("jobs", "wait", str(job.get("job_id") or job["id"]))
    assert waited.code == 0
    assert last_prompt(world) == "ECHO:later"


@pytest.mark.parametrize(
    ("content", "words", "code", "said"),
    [
        ("+++\nmodle = 1\n+++\nx", (), 2, "line 2: there is no setting 'modle'.\nDid you mean"),
        ('+++\nmodel = "nope/model"\n+++\nx', (), 2, "nope"),
        ('+++\ntools = "nope"\n+++\nx', (), 2, "nope"),
        ("Do $a and $b", ("-p", "a=1"), 2, "needs b.\nSay it: -p b=..."),
        ("Do $a", ("-p", "b=1"), 2, "has no parameter 'b'.\nIt has: a."),
        ("Do $input", (), 2, "needs something to work on"),
        ("x" * 10_000_000, (), 2, "is larger than 256 KiB"),
        ("", (), 2, "it is empty"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_asked(
    world: World, templates: Path, content: str, words: tuple[str, ...], code: int, said: str
) -> None:
    (templates / "t.md").write_text(content)
    result = world.ask("-t", "t", *words)
    assert (result.code, result.out) == (code, "")
    assert said in result.err
    assert requests(world) == []


def test_the_prompt_of_a_server_is_a_template(world: World, templates: Path) -> None:
    world.ok("mcp", "add", "fake", "--", sys.executable, FAKE)
    (templates / "a.md").write_text("A.")
    idle = world.ok("templates", "list")
    assert (idle.out, "fake" in idle.err) == ("a  A.\n", True)
    world.ok("-t", "fake:greet", "-p", "who=Ada", "warmly")
    assert last_prompt(world) == "Greet Ada\n\nwarmly"
    rows = json.loads(world.ok("templates", "list", "--json").out)
    assert [(row["name"], row["source"]) for row in rows] == [
        ("a", "file"),
        ("fake:greet", "server"),
    ]
    assert world.ok("templates", "show", "fake:greet", "-p", "who=Bob").out == "Greet Bob\n"
    missing = world.ask("-t", "fake:greet", "hi")
    assert (missing.code, "Say it: -p who=..." in missing.err) == (2, True)
    assert world.ask("-t", "fake:nope", "hi").code == 3
    unknown = world.ask("-t", "fkae:greet", "hi")
    assert (unknown.code, "Did you mean 'fake'?" in unknown.err) == (3, True)


def test_a_server_that_does_not_start_delays_no_list(world: World, templates: Path) -> None:
    world.ok("mcp", "add", "slow", "--", sys.executable, FAKE, "--slow", "600")
    (templates / "a.md").write_text("A.")
    world.ok("daemon", "start")
    started = time.monotonic()
    result = world.ok("templates", "list")
    assert time.monotonic() - started < 10
    assert (result.out, "slow" in result.err) == ("a  A.\n", True)


def test_a_server_that_is_stuck_delays_a_list_by_seconds_and_no_more(
    world: World, templates: Path
) -> None:
    world.ok("mcp", "add", "stuck", "--", sys.executable, FAKE)
    (templates / "a.md").write_text("A.")
    world.ok("mcp", "test", "stuck")
    (row,) = json.loads(world.ok("mcp", "list", "--json").out)
    os.kill(row["pid"], signal.SIGSTOP)
    try:
        started = time.monotonic()
        result = world.ok("templates", "list")
        assert time.monotonic() - started < 10
        assert (result.out, "stuck" in result.err) == ("a  A.\n", True)
    finally:
        os.kill(row["pid"], signal.SIGCONT)


def test_aliases_are_models_wherever_one_is_named(world: World, templates: Path) -> None:
    config = world.ask_home / "config" / "config.toml"
    config.write_text('# mine\n[aliases]\nbare = "fake"\n')
    assert world.ok("models", "alias").out == "bare = fake\n"
    set_one = world.ok("models", "alias", "quick", "openai/fake")
    assert (set_one.out, "Written: " in set_one.err) == ("quick = openai/fake\n", True)
    unknown = world.ask("models", "alias", "bad", "nope/model")
    assert (unknown.code, "bad" in config.read_text()) == (2, False)
    assert (
        world.ask("models", "alias", b"\xff".decode(errors="surrogateescape"), "openai/fake").code
        == 2
    )
    (templates / "t.md").write_text('+++\nmodel = "quick"\n+++\nECHO:$input')
    assert world.ok("-t", "t", "one").out == "one\n"
    assert world.ok("-m", "quick", "ECHO:two").out == "two\n"
    assert world.ok("-m", "bare", "ECHO:two").out == "two\n"
    assert world.ask("-m", "quik", "x").code == 2
    (row,) = [
        each
        for each in json.loads(world.ok("models", "list", "--json").out)
        if each["name"] == "openai/fake"
    ]
    assert row["aliases"] == ["bare", "quick"]
    assert "alias bare, quick" in world.ok("models", "list").out
    world.ok("models", "default", "quick")
    assert json.loads(world.ok("models", "default", "--json").out)["name"] == "openai/fake"
    chat = world.ask("chat", "-m", "quick", stdin=b"ECHO:three\n")
    assert "three" in chat.out
    world.ok("models", "default", "--unset")
    assert json.loads(world.ok("models", "alias", "quick", "--unset", "--json").out) == []
    text = config.read_text()
    assert ("# mine" in text, 'bare = "fake"' in text, "quick" in text) == (True, True, False)
