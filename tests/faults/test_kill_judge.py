"""The judge of the kills sees every harm that is planted, and none in what is sound."""

import copy
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from askd.providers.base import Dialect
from tests.fakes.chat_answers import Status
from tests.faults.kill_after import Next, judge_next
from tests.faults.kill_judge import judge_counts, judge_log, judge_rollouts, judge_turns
from tests.faults.kill_model import DIALECTS, Model
from tests.faults.kill_writers import Acknowledged

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


PATHS = {"openai-responses": "/responses", "anthropic": "/messages", "ollama": "/api/chat"}
HEADERS = {"anthropic-version": "1", "editor-version": "1", "copilot-integration-id": "1"}


def make_request(dialect: Dialect, *, has_call: bool = True, has_output: bool = True) -> Log:
    """What a vendor is shown of two prompts, the first with a call."""
    said = ["<<chat.1>> so", "<<after.1>> and now"]
    if dialect == "openai-responses":
        call = {"type": "function_call", "call_id": "k1", "name": "look", "arguments": "{}"}
        output = {"type": "function_call_output", "call_id": "k1", "output": "seen"}
        first, last = ({"type": "message", "role": "user", "content": each} for each in said)
        return [first, *[call] * has_call, *[output] * has_output, last]
    if dialect == "anthropic":
        use = {"type": "tool_use", "id": "k1", "name": "look", "input": {}}
        result = {"type": "tool_result", "tool_use_id": "k1", "content": "seen"}
        asked, rest = ({"type": "text", "text": each} for each in said)
        middle = [{"role": "assistant", "content": [use]}] * has_call
        return [
            {"role": "user", "content": [asked]},
            *middle,
            {"role": "user", "content": [*[result] * has_output, rest]},
        ]
    arguments: Any = {} if dialect == "ollama" else "{}"
    function: Any = {"name": "look", "arguments": arguments}
    call = {"id": "k1", "type": "function", "function": function}
    output = {"role": "tool", "tool_call_id": "k1", "content": "seen"}
    first, last = ({"role": "user", "content": each} for each in said)
    asking = {"role": "assistant", "content": "", "tool_calls": [call]}
    answer = {"role": "assistant", "content": "So."}
    return [first, *[asking] * has_call, *[output] * has_output, answer, last]


def ask(model: Model, messages: Log) -> object:
    """Send a request to the server's own code; its answer."""
    name = "input" if model.dialect == "openai-responses" else "messages"
    body = json.dumps({"model": "fake", name: messages, "max_tokens": 9}).encode()
    if name == "input":
        body = json.dumps({"model": "fake", name: messages}).encode()
    path = PATHS.get(model.dialect, "/chat/completions")

    async def main() -> object:
        return await model.answer_request("POST", path, HEADERS, body)

    return trio.run(main)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_sound_request_is_answered_and_kept(dialect: Dialect) -> None:
    model = Model(dialect)
    assert not isinstance(ask(model, make_request(dialect)), Status)
    assert (model.faults, model.seen) == ([], {"after.1": ["chat.1", "after.1"]})


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(("has_call", "has_output"), [(True, False), (False, True)])
def test_an_orphan_is_seen_in_every_dialect(
    dialect: Dialect, has_call: bool, has_output: bool
) -> None:
    model = Model(dialect)
    ask(model, make_request(dialect, has_call=has_call, has_output=has_output))
    assert model.faults != []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_prompts_doubled_or_out_of_order_are_seen(dialect: Dialect) -> None:
    model = Model(dialect)
    request = make_request(dialect)
    ask(model, [*request, request[0]])
    assert any("doubled or out of order" in each for each in model.faults)


def make_after(log: Log) -> None:
    """One more turn at the end of a log, after all kills."""
    said = {"type": "user_message", "parts": [{"type": "text", "text": "<<after.1>> and now"}]}
    bodies: list[dict[str, Any]] = [
        {"type": "prompt_accepted", "turn_id": "t9", "key": "after.1", "items": [said]},
        {"type": "turn_finished", "turn_id": "t9", "outcome": "completed"},
    ]
    for body in bodies:
        log.append({"seq": len(log) + 1, "type": body["type"], "body": body})


@pytest.mark.parametrize(
    ("shown", "outcome", "said"),
    [
        (["tools.1", "after.1"], "completed", None),
        (["after.1"], "completed", "was shown ['after.1'] of ['tools.1', 'after.1']"),
        (None, "completed", "was never asked"),
        (["tools.1", "after.1"], "failed", "its turn has these ends: ['failed']"),
    ],
)
def test_what_the_next_request_lacks_is_seen(
    shown: list[str] | None, outcome: str, said: str | None
) -> None:
    log = make_log()[:5]
    make_after(log)
    log[-1]["body"]["outcome"] = outcome
    model = Model("anthropic")
    model.seen = {} if shown is None else {"after.1": shown}
    sent = Next("anthropic", Acknowledged("after.1", ID, "t9", 6))
    found = list(judge_next([sent], [model], {ID: log}))
    assert any(said in each for each in found) if said else found == []
