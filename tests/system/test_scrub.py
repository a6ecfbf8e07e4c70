"""A secret is scrubbed with real processes: no file of the user holds it then, in any spelling.

It is planted wherever a secret can come to rest, and looked for byte by byte in
the whole of the data and state directories.
"""

import json
from pathlib import Path

from askd.core.scrubbing import spell
from tests.core.rollouts import assistant, call, output, pack, user
from tests.system.world import World

SECRET = 'Zq7"x\\y\nGrößé/ok'
WORD = "hunter2-Zq7xWv"
CALLER_KEY, SPARE_KEY = "sk-caller-Zq7xWv55", "sk-spare-Zq7xWv66"


def find_spellings(world: World, *secrets: str) -> list[str]:
    """Files below the data and state directories that hold one of them, however it is spelled."""
    wanted = {each.encode() for secret in secrets for each in spell(secret)}
    return sorted(
        str(path.relative_to(world.ask_home))
        for directory in ("data", "state")
        for path in (world.ask_home / directory).rglob("*")
        if path.is_file() and any(each in path.read_bytes() for each in wanted)
    )


def plant(world: World) -> str:
    """The secrets in conversations, files and logs; answers the id of one conversation."""
    world.ok("-s", "work", f"ECHO:{WORD} and {SECRET} said")
    (world.home / "notes.txt").write_text(f"{'x' * 99}{WORD} {SECRET}\n" * 150)
    (world.home / "large.txt").write_text(("word " * 60 + f"{WORD}\n") * 250)
    world.ok("-s", "work", "-f", "notes.txt", "-f", "large.txt", "ECHO:read it")
    world.ok("new", f"name {WORD}", "-S", f"Never say {SECRET}")
    arguments = json.dumps({"city": SECRET, WORD: [json.dumps({"deep": SECRET})]})
    called = call("call_1")
    called["payload"]["arguments"] = arguments
    rollout = world.home / "codex.jsonl"
    rollout.write_bytes(
        pack(
            user(f"look up {WORD}"),
            called,
            output("call_1", f"found {SECRET}"),
            assistant(f"it is {WORD}"),
        )
    )
    imported = world.ok("history", "import", str(rollout)).out.strip()
    world.ok("--key", f"key {WORD}", "-s", "work", "ECHO:third")
    return imported


def plant_files(world: World) -> None:
    """And in what lies beside the database."""
    data, state = world.ask_home / "data", world.ask_home / "state"
    line = json.dumps({"type": "x", "payload": {"text": SECRET, "more": WORD}}) + "\n"
    (mirrored,) = [
        each for each in (data / "rollouts").rglob("*.jsonl") if "read it" in each.read_text()
    ]
    with mirrored.open("a") as stream:
        stream.write(line)
    for path in (data / "rollouts" / "lost.jsonl", data / "archive" / "old.jsonl"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(line)
    with (state / "askd.log").open("a") as stream:
        stream.write(f"somebody logged {WORD} and {json.dumps(SECRET)}\n")
    (state / "askd.log.1").write_text(f"before: {WORD}\n")
    (data / "ask.db.backup-4").write_text(WORD)


def test_no_file_holds_it_afterwards_in_any_spelling(world: World) -> None:
    assert world.model is not None
    imported = plant(world)
    plant_files(world)
    assert len(find_spellings(world, SECRET, WORD)) >= 7
    before = world.events("work")
    log = world.ask_home / "state" / "askd.log"
    length = log.stat().st_size

    looked = world.ok("history", "scrub", WORD, "--dry-run").out
    assert "in 3 conversations" in looked
    assert WORD not in looked
    for secret in (WORD, SECRET):
        done = world.ok("history", "scrub", "-", "--yes", "--backups", stdin=secret.encode())
        assert "Scrubbed" in done.err
        assert secret not in done.out + done.err
    assert find_spellings(world, SECRET, WORD) == []
    assert log.stat().st_size >= length

    after = world.events("work")
    assert [(e["seq"], e["type"], e["at"]) for e in after] == [
        (e["seq"], e["type"], e["at"]) for e in before
    ]
    shown = world.ok("history", "show", imported, "--raw").out
    assert "[scrubbed]" in shown
    again = world.ok("history", "scrub", WORD, "--yes")
    assert again.err == "Nothing found.\n"
    assert world.ok("-s", "work", "ECHO:on").out == "on\n"
    assert world.ok("-s", imported, "ECHO:on").out == "on\n"
    sent = json.dumps(world.model.requests()[-2:])
    assert "[scrubbed]" in sent
    assert not [each for secret in (SECRET, WORD) for each in spell(secret) if each in sent]
    assert world.model.violations() == []
    world.ok("daemon", "stop")
    assert find_spellings(world, SECRET, WORD) == []


def test_an_expression(world: World) -> None:
    world.ok("-s", "work", "ECHO:sk-aaaa1111 and sk-bbbb2222 but not sk-c")
    done = world.ok("history", "scrub", "--regex", r"sk-\w{8}", "--yes", "--json")
    assert json.loads(done.out)["total"] == 1
    assert find_spellings(world, "sk-aaaa1111", "sk-bbbb2222") == []
    assert "but not sk-c" in world.ok("history", "show", "work").out


def test_where_a_turn_is_at_work_nothing_is_changed(world: World) -> None:
    assert world.model is not None
    world.ok("-s", "idle", f"ECHO:{WORD}")
    running = world.start("-s", "busy", f"HOLD {WORD}")
    world.model.requests(at_least=2)
    refused = world.ask("history", "scrub", WORD, "--yes")
    assert (refused.code, refused.out) == (8, "")
    assert WORD not in refused.err
    assert "Nothing was changed" in refused.err
    assert WORD in world.ok("history", "show", "idle").out
    world.model.release()
    assert running.finish().code == 0
    world.ok("history", "scrub", WORD, "--yes")
    assert WORD not in world.ok("history", "show", "busy").out
    assert find_spellings(world, WORD) == []


def test_known_keys_are_hidden_before_they_are_stored(world: World) -> None:
    config = world.ask_home / "config" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[history]\nredact_keys = true\n")
    keys = {"OPENAI_API_KEY": CALLER_KEY, "ANTHROPIC_API_KEY": SPARE_KEY}
    said = world.ask("-s", "work", f"ECHO:mine are {CALLER_KEY}, {SPARE_KEY}", env=keys)
    assert said.code == 0, said
    (world.home / "notes.txt").write_text(f"{CALLER_KEY}\n" * 9)
    assert world.ask("-s", "work", "-f", "notes.txt", "ECHO:two", env=keys).code == 0
    assert "mine are ***, ***" in world.ok("history", "show", "work").out
    assert find_spellings(world, CALLER_KEY, SPARE_KEY) == []
    config.write_text("")
    assert world.ask("-s", "other", f"ECHO:{SPARE_KEY}", env=keys).code == 0
    assert find_spellings(world, SPARE_KEY)


def files_below(path: Path) -> list[str]:
    """Their names."""
    return sorted(each.name for each in path.rglob("*") if each.is_file())


def test_rollouts_are_written_anew(world: World) -> None:
    world.ok("-s", "work", f"ECHO:{WORD}")
    world.ok("-s", "work", "ECHO:two")
    rollouts = world.ask_home / "data" / "rollouts"
    before = files_below(rollouts)
    world.ok("history", "scrub", WORD, "--yes")
    world.ok("-s", "work", "ECHO:three")
    world.ok("daemon", "stop")
    assert files_below(rollouts) == before
    (path,) = rollouts.rglob("*.jsonl")
    text = path.read_text()
    assert "[scrubbed]" in text
    assert text.count('"ECHO:three"') >= 1
    assert WORD not in text
