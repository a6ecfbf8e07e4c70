"""The judge of the kills sees every harm that is planted, and none in what is sound."""

import copy
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.faults.kill_judge import judge_counts, judge_log, judge_rollouts, judge_turns

Log = list[dict[str, Any]]

ID = "c"
CALL = {"type": "assistant_message", "id": "i1", "calls": [{"call_id": "k1"}]}
OUTPUT = {"type": "tool_output", "id": "i2", "call_id": "k1"}
PROMPT = {"type": "user_message", "parts": [{"type": "text", "text": "<<tools.1>> RUN it"}]}


def make_log() -> Log:
    """One turn with one command, a title and a compaction."""
    bodies: list[dict[str, Any]] = [
        {"type": "conversation_created", "id": ID},
        {"type": "prompt_accepted", "turn_id": "t1", "key": "tools.1", "items": [PROMPT]},
        {"type": "item_added", "turn_id": "t1", "item": CALL},
        {"type": "item_added", "turn_id": "t1", "item": OUTPUT},
        {"type": "turn_finished", "turn_id": "t1", "outcome": "completed"},
        {"type": "titled", "title": "About this"},
        {"type": "view_changed", "id": "v1", "kind": "compact", "through_turn": "t1"},
    ]
    return [
        {"seq": seq, "at": 1.0, "version": 1, "type": body["type"], "body": body}
        for seq, body in enumerate(bodies, start=1)
    ]


def judge(log: Log, effects: Counter[str]) -> list[str]:
    """All that is said of one conversation."""
    marks: Counter[str] = Counter()
    return [
        *judge_log(ID, log, len(log), compactions=1),
        *judge_turns(ID, log, effects, marks),
        *judge_counts(marks, effects),
    ]


def append(log: Log, like: int) -> None:
    """One more event like that at this place."""
    log.append({**copy.deepcopy(log[like]), "seq": len(log) + 1})


def test_what_is_sound_is_not_blamed() -> None:
    assert judge(make_log(), Counter({"tools.1": 1})) == []


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda log: log.pop(2), "its numbers have gaps"),
        (lambda log: append(log, 1), "was accepted 2 times"),
        (lambda log: append(log, 4), "its turn has these ends: ['completed', 'completed']"),
        (lambda log: log[4].update(type="notice"), "its turn has these ends: []"),
        (lambda log: log[4]["body"].update(outcome="failed"), "its turn has these ends"),
        (lambda log: log[4]["body"].update(turn_id="t2"), "that nobody asked for"),
        (lambda log: append(log, 3), "its calls and their outputs do not pair"),
        (lambda log: log[3].update(type="notice"), "its calls and their outputs do not pair"),
        (lambda log: append(log, 5), "it was given a title twice"),
        (lambda log: append(log, 6), "a compaction was applied twice"),
        (lambda log: append(log, 6), "2 compactions of 1 jobs"),
    ],
)
def test_a_spoilt_log_is_seen(spoil: Callable[[Log], object], said: str) -> None:
    log = make_log()
    spoil(log)
    assert any(said in each for each in judge(log, Counter({"tools.1": 1})))


@pytest.mark.parametrize(
    ("effects", "said"),
    [
        ({"tools.1": 2}, "had its effect 2 times"),
        ({}, "its command ran 0 times"),
        ({"tools.1": 1, "tools.2": 1}, "tools.2 had its effect, and was never accepted"),
    ],
)
def test_a_wrong_effect_is_seen(effects: dict[str, int], said: str) -> None:
    assert any(said in each for each in judge(make_log(), Counter(effects)))


def write_rollout(path: Path, log: Log) -> bytes:
    """The file that tells this log; its content."""
    records = [{"type": "session_meta", "payload": {"id": ID}}]
    for event in log:
        told = {name: event[name] for name in ("seq", "at", "version")}
        records.append({"type": "ask_event", "payload": {**told, "event": event["body"]}})
    content = b"".join(json.dumps(each).encode() + b"\n" for each in records)
    path.write_bytes(content)
    return content


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda content: content, None),
        (lambda content: content[:-20], "is torn"),
        (lambda content: content[:-1], "has no end"),
        (lambda content: content[: content[:-1].rindex(b"\n") + 1], "does not tell its log"),
        (
            lambda content: content + content[content[:-1].rindex(b"\n") + 1 :],
            "does not tell its log",
        ),
        (lambda content: content[content.index(b"\n") + 1 :], "it is of no conversation"),
    ],
)
def test_a_spoilt_rollout_is_seen(
    tmp_path: Path, spoil: Callable[[bytes], bytes], said: str | None
) -> None:
    log = make_log()
    path = tmp_path / "one.jsonl"
    path.write_bytes(spoil(write_rollout(path, log)))
    found = list(judge_rollouts(tmp_path, {ID: log}))
    assert any(said in each for each in found) if said else found == []


def test_a_rollout_that_is_missing_or_doubled_is_seen(tmp_path: Path) -> None:
    log = make_log()
    assert list(judge_rollouts(tmp_path, {ID: log})) == [f"{ID}: its rollout does not tell its log"]
    for name in ("one.jsonl", "two.jsonl"):
        write_rollout(tmp_path / name, log)
    assert any("has another file" in each for each in judge_rollouts(tmp_path, {ID: log}))
