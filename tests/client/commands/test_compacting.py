"""`ask compact` and `ask prune`: what is asked for, and what is said of what came of it."""

import json
import os

import pytest

from ask.commands.compacting import MARGIN_S, STARTED, WAIT_S
from tests.client.commands.conftest import Ask
from tests.client.commands.fake_daemon import FakeDaemon

SIZES = {"tokens_before": 798, "tokens_after": 408}
FINISHED = {"state": "finished", "text": "Compacted: 798 -> 408 tokens.", **SIZES}


@pytest.mark.parametrize("words", [("work",), ("-s", "work"), ()])
def test_a_conversation_is_compacted(daemon: FakeDaemon, ask: Ask, words: tuple[str, ...]) -> None:
    id = daemon.create("work")
    daemon.terminals["name:here"] = id
    daemon.shrunk = [FINISHED]
    result = ask("compact", *words)
    assert (result.code, result.out) == (0, "")
    assert result.err == "work: Compacted: 798 -> 408 tokens.\n"
    (asked,) = daemon.called("conversation/compact")
    assert (asked["conversation_id"], asked["model"]) == (id, None)
    assert asked["timeout_s"] == WAIT_S
    assert {"env", "secrets"} <= set(asked)


def test_at_a_terminal_it_is_said_that_it_takes_its_time(
    daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon.create("work")
    daemon.shrunk = [FINISHED]
    monkeypatch.setattr(os, "isatty", lambda descriptor: descriptor == 2)
    assert ask("compact", "work").err.startswith(f"{STARTED}\n")


def test_another_model_summarises_and_nobody_waits(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.create("work")
    daemon.shrunk = [{"state": "pending", "text": "The compaction goes on in the background."}]
    result = ask("compact", "work", "-m", "fake/large", "--no-wait", "--json")
    assert result.code == 0
    assert json.loads(result.out)["state"] == "pending"
    (asked,) = daemon.called("conversation/compact")
    assert (asked["model"], asked["timeout_s"]) == ("fake/large", 0.0)
    assert MARGIN_S > 0


def test_a_failure_is_one_of_the_command(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.create("work")
    text = "Compression failed, conversation may hit limits soon"
    daemon.shrunk = [{"state": "failed", "text": text, "why": "The key was refused.\x1b[2J"}] * 2
    result = ask("compact", "work")
    assert (result.code, result.out) == (1, "")
    assert result.err == f"{text}\nThe key was refused.\n"
    record = json.loads(ask("compact", "work", "--json").out)
    assert (record["type"], record["message"]) == ("error", text)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ({"undone": "compact", **SIZES}, "Taken back: the compaction (798 -> 408 tokens)."),
        ({"undone": "prune"}, "Taken back: the pruning."),
        ({"undone": None}, "There is nothing to take back."),
    ],
)
def test_the_last_change_is_taken_back(
    daemon: FakeDaemon, ask: Ask, answer: dict[str, object], text: str
) -> None:
    daemon.create("work")
    daemon.shrunk = [answer]
    result = ask("compact", "work", "--undo")
    assert (result.code, result.err) == (0, f"work: {text}\n")
    assert daemon.called("conversation/compact") == []


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ({"pruned": True, **SIZES}, "Pruned: 798 -> 408 tokens."),
        ({"pruned": False}, "There is nothing to prune."),
    ],
)
def test_a_conversation_is_pruned(
    daemon: FakeDaemon, ask: Ask, answer: dict[str, object], text: str
) -> None:
    daemon.create("work")
    daemon.shrunk = [answer, answer]
    result = ask("prune", "work")
    assert (result.code, result.out, result.err) == (0, "", f"work: {text}\n")
    assert json.loads(ask("prune", "-s", "work", "--json").out)["pruned"] is answer["pruned"]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("compact", "one", "-s", "two"), "Give one of ID and -s."),
        (("prune", "one", "-s", "two"), "Give one of ID and -s."),
        (("compact", "work", "--undo", "-m", "fake/large"), "leave -m out"),
    ],
)
def test_what_makes_no_sense_is_refused(
    daemon: FakeDaemon, ask: Ask, words: tuple[str, ...], text: str
) -> None:
    daemon.create("work")
    result = ask(*words)
    assert result.code == 2
    assert text in result.err
