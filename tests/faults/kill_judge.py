"""What became of everything that a daemon was killed in the middle of.

It reads the database with SQL of its own, the rollouts as JSON, and the file in which the
commands left their lines; it asks no code of the daemon what should have come.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tests.faults.kill_after import Next, judge_next
from tests.faults.kill_house import House
from tests.faults.kill_model import MARK
from tests.faults.kill_writers import Acknowledged

Map = dict[str, Any]

ENDED = ("completed", "cancelled", "discarded")
"""The states of jobs that are over."""


@contextmanager
def open_database(house: House) -> Iterator[sqlite3.Connection]:
    """For reading, whoever runs."""
    path = house.world.ask_home / "data" / "ask.db"
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        yield connection


def find_lost(connection: sqlite3.Connection, prompts: Iterable[Acknowledged]) -> Iterator[str]:
    """A sentence for each acknowledged prompt that is not where it was said to be."""
    for each in prompts:
        row = connection.execute(
            "SELECT type, body FROM events WHERE conversation_id = ? AND seq = ?",
            (each.conversation_id, each.seq),
        ).fetchone()
        if row is None:
            yield f"{each.mark} was acknowledged and is lost"
            continue
        kind, body = row[0], json.loads(row[1])
        if (kind, body.get("turn_id"), body.get("key")) != (
            "prompt_accepted",
            each.turn_id,
            each.mark,
        ):
            yield f"{each.mark} was acknowledged, and in its place is a {kind}"


def is_at_rest(connection: sqlite3.Connection) -> bool:
    """Whether every turn and every job has ended."""
    marks = ", ".join("?" for _ in ENDED)
    (jobs,) = connection.execute(
        f"SELECT count(*) FROM jobs WHERE state NOT IN ({marks})", ENDED
    ).fetchone()
    (turns,) = connection.execute(
        "SELECT count(*) FROM events a WHERE a.type = 'prompt_accepted' AND NOT EXISTS ("
        "SELECT 1 FROM events e WHERE e.conversation_id = a.conversation_id "
        "AND e.type = 'turn_finished' "
        "AND json_extract(e.body, '$.turn_id') = json_extract(a.body, '$.turn_id'))"
    ).fetchone()
    return not jobs and not turns


def is_mirrored(connection: sqlite3.Connection) -> bool:
    """Whether the daemon thinks that every rollout tells all of its log."""
    (behind,) = connection.execute(
        "SELECT count(*) FROM conversations c LEFT JOIN rollouts r ON r.conversation_id = c.id "
        "WHERE r.seq IS NOT c.last_seq"
    ).fetchone()
    return not behind


def judge_end(house: House, nexts: Sequence[Next]) -> Iterator[str]:
    """Every promise that was not kept, once all daemons have ended and all was brought to rest.

    `nexts`: what was sent after the last kill, to every dialect.
    """
    for model in house.models:
        yield from model.faults
    with open_database(house) as connection:
        for writer in house.writers:
            yield from writer.refusals
            yield from find_lost(connection, writer.acknowledged)
        yield from find_lost(connection, [each.prompt for each in nexts])
        if connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
            yield "the database is damaged"
        if connection.execute("PRAGMA foreign_key_check").fetchall():
            yield "a row refers to none"
        if not is_at_rest(connection):
            yield "a turn or a job never ended"
        if not is_mirrored(connection):
            yield "the daemon does not know of every rollout that it is whole"
        logs = read_logs(connection)
        jobs = Counter(
            connection.execute(
                "SELECT conversation_id FROM jobs WHERE kind = 'compact' AND state = 'completed'"
            )
        )
        ends = dict(connection.execute("SELECT id, last_seq FROM conversations"))
    effects = read_effects(house.project / "effects")
    marks: Counter[str] = Counter()
    for id, log in logs.items():
        yield from judge_log(id, log, ends.get(id), compactions=jobs[(id,)])
        yield from judge_turns(id, log, effects, marks)
    yield from judge_counts(marks, effects)
    yield from judge_next(nexts, house.models, logs)
    yield from judge_rollouts(house.world.ask_home / "data" / "rollouts", logs)


def read_logs(connection: sqlite3.Connection) -> dict[str, list[Map]]:
    """The events of every conversation: `{seq, at, version, type, body}`."""
    logs: dict[str, list[Map]] = {}
    for id, seq, at, version, kind, body in connection.execute(
        "SELECT conversation_id, seq, at, version, type, body FROM events "
        "ORDER BY conversation_id, seq"
    ):
        event = {"seq": seq, "at": at, "version": version, "type": kind, "body": json.loads(body)}
        logs.setdefault(id, []).append(event)
    return logs


def read_effects(path: Path) -> Counter[str]:
    """How often each prompt's command left its line."""
    return Counter(path.read_text().splitlines() if path.exists() else [])


def judge_log(id: str, log: list[Map], last: int | None, *, compactions: int) -> Iterator[str]:
    """One conversation's numbers, and what jobs did to it."""
    if [event["seq"] for event in log] != list(range(1, len(log) + 1)) or last != len(log):
        yield f"{id}: its numbers have gaps"
    if sum(event["type"] == "titled" for event in log) > 1:
        yield f"{id}: it was given a title twice"
    changes = [
        event["body"]
        for event in log
        if event["type"] == "view_changed" and event["body"]["kind"] == "compact"
    ]
    asked = [each for each in changes if each.get("reason") != "overflow"]
    if len(asked) > compactions:
        yield f"{id}: {len(asked)} compactions of {compactions} jobs"
    if len({each.get("through_turn") for each in changes}) != len(changes):
        yield f"{id}: a compaction was applied twice"


def judge_turns(
    id: str, log: list[Map], effects: Counter[str], marks: Counter[str]
) -> Iterator[str]:
    """Each turn of a conversation: its prompt, its one end, its calls, its effect."""
    prompts: dict[str, str] = {}
    ends: dict[str, list[str]] = {}
    calls: dict[str, Counter[str]] = {}
    outputs: dict[str, Counter[str]] = {}
    for event in log:
        body = event["body"]
        turn = body.get("turn_id")
        match event["type"]:
            case "prompt_accepted":
                found = MARK.findall(json.dumps(body["items"]))
                prompts[turn] = ".".join(found[0])
                marks[prompts[turn]] += 1
            case "turn_finished":
                ends.setdefault(turn, []).append(body["outcome"])
            case "item_added":
                item = body["item"]
                if body.get("status") != "superseded":
                    named = (each["call_id"] for each in item.get("calls", ()))
                    calls.setdefault(turn, Counter()).update(named)
                if item["type"] == "tool_output":
                    outputs.setdefault(turn, Counter())[item["call_id"]] += 1
            case _:
                pass
    for turn, mark in prompts.items():
        outcomes = ends.pop(turn, [])
        if len(outcomes) != 1 or outcomes[0] not in ("completed", "interrupted"):
            yield f"{mark}: its turn has these ends: {outcomes}"
        if calls.get(turn, Counter()) != outputs.get(turn, Counter()):
            yield f"{mark}: its calls and their outputs do not pair"
        has_effect = mark.startswith(("tools.", "detached."))
        if outcomes == ["completed"] and effects[mark] != has_effect:
            yield f"{mark}: completed, and its command ran {effects[mark]} times"
    if ends:
        yield f"{id}: turns have ended that nobody asked for"


def judge_counts(marks: Counter[str], effects: Counter[str]) -> Iterator[str]:
    """Nothing came twice, and nothing came of what nobody asked for."""
    yield from (f"{mark} was accepted {n} times" for mark, n in marks.items() if n > 1)
    yield from (f"{mark} had its effect {n} times" for mark, n in effects.items() if n > 1)
    yield from (
        f"{mark} had its effect, and was never accepted" for mark in effects.keys() - marks.keys()
    )


def judge_rollouts(directory: Path, logs: dict[str, list[Map]]) -> Iterator[str]:
    """Each conversation has one file, and its lines tell the log, each event once."""
    told: dict[str, list[Map]] = {}
    for path in directory.rglob("*.jsonl"):
        id, events = None, []
        for number, line in enumerate(path.read_bytes().splitlines(keepends=True), start=1):
            try:
                record = json.loads(line)
            except ValueError:
                yield f"{path.name}: line {number} is torn"
                continue
            if not line.endswith(b"\n"):
                yield f"{path.name}: line {number} has no end"
            if record["type"] == "session_meta":
                id = record["payload"]["id"]
            elif record["type"] == "ask_event":
                payload = record["payload"]
                body = payload["event"]
                fields = {name: payload[name] for name in ("seq", "at", "version")}
                events.append({**fields, "type": body["type"], "body": body})
        if id is None or id in told:
            yield f"{path.name}: it is of no conversation, or of one that has another file"
            continue
        told[id] = events
    for id in logs.keys() | told.keys():
        if told.get(id) != logs.get(id):
            yield f"{id}: its rollout does not tell its log"
