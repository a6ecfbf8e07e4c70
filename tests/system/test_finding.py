"""What was said is found again, kept, copied, and shown as a model would see it: real processes."""

import json
import time
from pathlib import Path

from tests.system.world import World


def search(world: World, *words: str) -> list[dict[str, object]]:
    result = world.ask("history", "search", "--json", *words)
    hits: list[dict[str, object]] = json.loads(result.out)
    assert result.code == (0 if hits else 1), result
    return hits


def files_of(world: World) -> dict[str, bytes]:
    data: Path = world.ask_home / "data"
    return {path.name: path.read_bytes() for path in data.iterdir() if path.name.startswith("ask.")}


def test_what_was_said_is_found_by_its_words(world: World) -> None:
    world.ok("-s", "den", "ECHO:The red fox sleeps")
    world.ok("-s", "street", "ECHO:a red car, and no quagga")
    result = world.ok("history", "search", "red", "fox")
    lines = result.out.splitlines()
    assert len(lines) == 4, "the prompt and its answer"
    assert [line.split()[-1] for line in lines[::2]] == ["assistant", "user"], "the newest first"
    assert lines[0].split()[1] == "den"
    assert lines[1].strip() == "The red fox sleeps"
    assert "\x1b" not in result.out
    assert len(search(world, "red")) == 4
    assert [hit["name"] for hit in search(world, "red", "-s", "street", "--role", "user")] == [
        "street"
    ]
    (best,) = search(world, '"red fox"', "--rank", "-n", "1")
    assert best["role"] == "assistant", "the same words, and none beside them"
    assert search(world, "red", "--until", "1d") == []
    assert len(search(world, "RED", "ca*", "--since", "1h")) == 2
    for odd in ('"', "AND", "NEAR(red", "fox OR car", "words:red", "*"):
        assert world.ask("history", "search", odd).code in (0, 1), odd
    nothing = world.ask("history", "search", "nowhere")
    assert (nothing.code, nothing.out, nothing.err) == (1, "", "Nothing found.\n")
    assert world.ask("history", "search", " ").code == 2
    assert world.ask("history", "search", "red", "-s", "nobody").code == 3


def test_what_is_deleted_is_found_nowhere(world: World) -> None:
    world.ok("-s", "secret", "ECHO:quaggaquagga")
    world.ok("-s", "other", "ECHO:zebra")
    assert any(b"quaggaquagga" in content for content in files_of(world).values())
    world.ok("history", "delete", "secret", "--yes")
    assert search(world, "quaggaquagga") == []
    assert len(search(world, "zebra")) == 2
    found = {name for name, content in files_of(world).items() if b"quagga" in content}
    assert found == set(), "not in the log, not in the index, not in the write-ahead log"


def test_a_search_survives_a_crash_and_a_restart(world: World) -> None:
    world.ok("-s", "den", "ECHO:fox")
    world.kill_daemon()
    assert len(search(world, "fox")) == 2
    world.ok("-s", "den", "ECHO:fox again")
    world.ok("daemon", "restart")
    assert len(search(world, "fox")) == 4


def test_a_fork_goes_on_and_the_source_stays(world: World) -> None:
    assert world.model is not None
    world.ok("-s", "work", "ECHO:one")
    world.ok("-s", "work", "ECHO:two")
    end = next(e["seq"] for e in world.events("work") if e["type"] == "turn_finished")
    before = world.events("work")
    made = world.ok("fork", "work", "--name", "other")
    assert "work, 4 messages" in made.err
    early = world.ok("fork", "work", "--at", str(end)).out.strip()
    world.ok("-c", "ECHO:three")  # this terminal's own is the last fork
    sent = world.model.requests()[-1]["messages"]
    assert [each["content"] for each in sent] == ["ECHO:one", "one", "ECHO:three"]
    assert world.events("work") == before
    shown = json.loads(world.ok("history", "show", "other", "--raw").out)
    source = json.loads(world.ok("history", "show", "work", "--raw").out)
    assert shown["messages"] == source["messages"], "times too"
    assert made.out.strip() == shown["id"]
    assert world.events(early)[0]["forked_from"] == source["id"]
    # What was paid for once is counted once; what was said is found in both.
    usage = json.loads(world.ok("usage", "--by", "conversation", "--json").out)
    assert {row["group"] for row in usage} == {source["id"], early}
    assert sum(row["answers"] for row in usage) == 3
    assert len(search(world, '"ECHO one"')) == 3
    too_far = world.ask("fork", "work", "--at", "999")
    assert (too_far.code, "no event 999" in too_far.err) == (2, True)
    assert world.ask("fork", "work", "--name", "other").code == 2


def test_pins_are_marked_and_hold_a_message_in_view(world: World) -> None:
    assert world.model is not None
    world.ok("-s", "work", "ECHO:remember the fox")
    world.ok("-s", "play", "ECHO:hi")
    world.ok("pin", "work")
    for listing in (("list",), ("history", "list")):
        rows = world.ok(*listing).out.splitlines()
        assert [row.endswith("pinned") for row in rows if "work" in row] == [True]
        assert not any(row.endswith("pinned") for row in rows if "play" in row)
    world.ok("pin", "work", "1")
    assert "[1] USER (pinned)" in world.ok("history", "show", "work").out
    world.ok("clear", "work")
    context = json.loads(world.ok("history", "show", "work", "--context", "--json").out)
    assert [item["content"] for item in context["items"]] == ["ECHO:remember the fox"]
    world.ok("-s", "work", "ECHO:and now")
    sent = world.model.requests()[-1]["messages"]
    assert [each["content"] for each in sent] == ["ECHO:remember the fox\n\nECHO:and now"]
    world.ok("unpin", "work", "1")
    world.ok("unpin", "work")
    world.kill_daemon()
    assert json.loads(world.ok("history", "list", "--json").out)[0]["pinned"] is False
    assert world.ask("pin", "work", "99").code == 3
    assert world.ask("pin", "work", "nothing").code == 3


def test_what_is_shown_is_what_is_sent(world: World) -> None:
    assert world.model is not None
    world.ok("-s", "work", "-S", "Be brief.", "ECHO:one")
    shown = json.loads(world.ok("history", "show", "work", "--context", "--raw").out)
    text = world.ok("history", "show", "work", "--context").out
    world.ok("-s", "work", "ECHO:two")
    sent = world.model.requests()[-1]["messages"]
    assert [(each["role"], each["content"]) for each in sent[:-1]] == [
        (item["role"], item["content"]) for item in shown["items"]
    ]
    assert shown["tokens"] == sum(item["tokens"] for item in shown["items"])
    assert shown["model"].startswith("openai/")
    assert f"Tokens: about {shown['tokens']}" in text
    assert "[1] SYSTEM (" in text


def test_a_search_does_not_wait_for_an_answer(world: World) -> None:
    assert world.model is not None
    world.ok("-s", "den", "ECHO:fox")
    running = world.start("-s", "busy", "HOLD:1 fox")
    running.wait_for("tok0")
    began = time.monotonic()
    assert len(search(world, "fox")) == 3, "the running prompt is found, its answer not yet"
    assert time.monotonic() - began < 10
    world.model.release()
    assert running.finish().code == 0
