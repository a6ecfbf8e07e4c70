"""Rows that say which file mirrors what, and how far: each state, each refusal."""

from pathlib import Path
from typing import Any

import pytest

from askd.store import changes
from askd.store.batch import Change, Done, commit_batch
from askd.store.rollouts import rows as rollouts
from askd.store.rollouts.rows import Listed, Offset, Removal, RolloutRow
from tests.store.builders import create, note

DIRECTORY = Path("/home/a/rollouts")


def do(connection: Any, change: Change[Any]) -> Any:
    (outcome,) = commit_batch(connection, [change], at=1.0)
    assert isinstance(outcome, Done), outcome
    return outcome.value


@pytest.fixture
def table(connection: Any) -> Any:
    for id in ("a", "b", "c"):
        do(connection, changes.append(create(id, note())))
    return connection


@pytest.mark.parametrize(
    ("id", "at", "path"),
    [
        (
            "dbe99354-d080-4072-818b-1c52c6ff485c",
            1_795_332_571.9,
            "2026/11/22/rollout-2026-11-22T07-29-31-dbe99354-d080-4072-818b-1c52c6ff485c.jsonl",
        ),
        ("c", -1.0, "1970/01/01/rollout-1970-01-01T00-00-00-c.jsonl"),
        ("c", 1e300, "9999/12/31/rollout-9999-12-31T23-59-59-c.jsonl"),
    ],
)
def test_a_file_is_named_by_time_and_id(id: str, at: float, path: str) -> None:
    assert rollouts.place_file(DIRECTORY, id, at) == DIRECTORY / path


@pytest.mark.parametrize(
    "id", ["../../etc/passwd", "a/b", "", ".", "a\0b", "é", "x" * 200, "\ud800"]
)
def test_no_id_leads_out_of_the_directory(id: str) -> None:
    path = rollouts.place_file(DIRECTORY, id, 0.0)
    assert path.parent == DIRECTORY / "1970/01/01"
    assert path.name.isascii()
    assert len(path.name) < 80


def test_what_lies_in_the_home_moves_with_it() -> None:
    data = Path("/home/a")
    assert rollouts.store_path(DIRECTORY / "x.jsonl", data) == "rollouts/x.jsonl"
    assert rollouts.store_path(Path("/other/x.jsonl"), data) == "/other/x.jsonl"
    assert data / "/other/x.jsonl" == Path("/other/x.jsonl")


def test_a_claim_comes_first_and_is_another_one_each_time(table: Any) -> None:
    assert rollouts.read_rollout(table, "a") is None
    assert do(table, rollouts.claim("a", "one", 1)) is True
    assert rollouts.read_rollout(table, "a") == RolloutRow("one", 0, -1)
    assert do(table, rollouts.claim("a", "one", 2)) is True
    assert rollouts.read_rollout(table, "a") == RolloutRow("one", 0, -2)
    assert rollouts.read_removals(table) == []
    assert do(table, rollouts.claim("a", "two", 3)) is True
    assert rollouts.read_removals(table) == [Removal("one", archive=False)]
    assert do(table, rollouts.claim("a", "one", 4)) is True
    assert rollouts.read_removals(table) == [Removal("two", archive=False)]
    assert do(table, rollouts.claim("nobody", "x", 5)) is False


def test_offsets_are_kept_only_over_the_row_that_was_seen(table: Any) -> None:
    for number, id in enumerate("abc", start=1):
        do(table, rollouts.claim(id, f"file-{id}", number))
    offsets = [
        Offset(conversation_id=id, before=RolloutRow(f"file-{id}", 0, -number), seq=2, bytes=9)
        for number, id in enumerate("abc", start=1)
    ]
    table.execute("UPDATE rollouts SET seq = 0, bytes = 0 WHERE conversation_id = 'b'")
    assert do(table, rollouts.save_offsets(offsets)) == ["a", "c"]
    assert rollouts.read_rollout(table, "a") == RolloutRow("file-a", 2, 9)
    assert rollouts.read_rollout(table, "b") == RolloutRow("file-b", 0, 0)
    assert rollouts.find_resets(table) == ["b"]


def test_a_file_moves_only_if_it_is_still_the_one(table: Any) -> None:
    do(table, rollouts.claim("a", "one", 1))
    old = RolloutRow("one", 0, -1)
    assert do(table, rollouts.move("a", RolloutRow("one", 2, 9), "two")) is False
    assert do(table, rollouts.move("a", old, "two")) is True
    assert rollouts.read_rollout(table, "a") == RolloutRow("two", 0, -1)
    assert rollouts.read_removals(table) == [Removal("one", archive=False)]
    do(table, rollouts.forget_removals(["one", "unknown"]))
    assert rollouts.read_removals(table) == []


@pytest.mark.parametrize("archive", [True, False])
def test_a_deletion_leaves_word_of_the_file(table: Any, archive: bool) -> None:
    do(table, rollouts.claim("a", "one", 1))
    do(table, changes.delete("a", archive=archive))
    do(table, changes.delete("b"))  # it had no file
    assert rollouts.read_rollout(table, "a") is None
    assert rollouts.read_removals(table) == [Removal("one", archive=archive)]


def test_conversations_are_listed_with_their_rows_and_counted(table: Any) -> None:
    do(table, rollouts.claim("a", "one", 1))
    do(table, rollouts.claim("b", "two", 2))
    before = RolloutRow("two", 0, -2)
    offset = Offset(conversation_id="b", before=before, seq=2, bytes=9)
    do(table, rollouts.save_offsets([offset]))
    table.execute("UPDATE conversations SET updated_at = 5.0 WHERE id = 'b'")
    found, place = rollouts.list_rollouts(table, after=rollouts.START, limit=2)
    assert [each.conversation_id for each in found] == ["b", "c"]  # the last updated first
    assert found[1].row is None
    assert place is not None
    found, place = rollouts.list_rollouts(table, after=place, limit=2)
    row = RolloutRow("one", 0, -1)
    assert found == [Listed(conversation_id="a", created_at=1.0, last_seq=2, row=row)]
    assert place is None
    assert rollouts.count_mirrored(table, {}) == (1, 2)
    assert rollouts.count_mirrored(table, {"a": 1, "b": 2, "gone": 5}) == (1, 2)
    assert rollouts.count_mirrored(table, {"a": 2}) == (2, 1)
