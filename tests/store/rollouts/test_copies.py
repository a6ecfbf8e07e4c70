"""Files that follow their logs, whatever is killed, torn, appended, removed or reset."""

import hashlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from askd.core.blob_parts import find_blobs
from askd.core.events import (
    ConversationCreated,
    ItemAdded,
    PromptAccepted,
    Renamed,
    SettingsChanged,
    TurnFinished,
    TurnStarted,
    Unreadable,
)
from askd.core.items import Blob, ToolOutput, UserMessage
from askd.store import changes
from askd.store.rollouts import copies as rollout_copies
from askd.store.rollouts import files as rollout_files
from askd.store.rollouts import pages as rollout_pages
from askd.store.rollouts import rows as rollouts
from tests.core.values import BODIES
from tests.store.builders import answer, finish, note, prompt
from tests.store.rollouts.desk import FOREIGN, Crash, Desk, MortalOs


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    desk.close()


def turn(name: str, text: str = "hi") -> list[Any]:
    return [
        prompt(name, f"hello {name}"),
        TurnStarted(name, 1, "openai/gpt-5"),
        answer(name, text),
        finish(name),
    ]


def is_storable(body: Any) -> bool:
    never = ConversationCreated | Unreadable | Renamed
    return not isinstance(body, never) and not find_blobs([body])


STEPS = st.one_of(
    st.tuples(st.just("append"), st.lists(BODIES.filter(is_storable), min_size=1, max_size=4)),
    st.tuples(st.just("mirror"), st.none()),
    st.tuples(st.just("killed"), st.integers(0, 12)),
    st.tuples(
        st.sampled_from(["flush", "restart", "foreign", "tear", "reset", "vanish"]), st.none()
    ),
    st.tuples(st.just("directory"), st.sampled_from(["one", "two"])),
)


@example([("killed", 6), ("foreign", None), ("tear", None)])
@given(st.lists(STEPS, max_size=25))
@settings(max_examples=60, deadline=None)
def test_whatever_happens_the_file_becomes_the_log(steps: list[tuple[str, Any]]) -> None:
    with (
        tempfile.TemporaryDirectory() as home,
        patch.object(rollout_pages, "PAGE_EVENTS", 3),
        patch.object(rollout_files, "WRITE_BYTES", 200),
    ):
        desk = Desk(Path(home))
        desk.append()
        for step, value in steps:
            do(desk, step, value)
        desk.mirror()
        desk.check()
        desk.flush()
        assert desk.behind() == []
        desk.restart()
        before = desk.path().read_bytes()
        desk.mirror()
        assert desk.path().read_bytes() == before
        desk.clear()
        assert desk.files() == [desk.path()]
        desk.close()


def do(desk: Desk, step: str, value: Any) -> None:
    """One thing that can happen."""
    match step:
        case "append":
            desk.append(*value)
        case "mirror":
            desk.mirror()
        case "killed":
            with patch.object(rollout_files, "os", MortalOs(value)):
                try:
                    desk.mirror()
                    desk.flush()
                    desk.clear()
                except Crash:
                    desk.restart()
        case "flush":
            desk.flush()
        case "restart":
            desk.restart()
        case "foreign" if desk.path().exists() and desk.path().read_bytes().endswith(b"\n"):
            with desk.path().open("ab") as stream:
                stream.write(FOREIGN)
        case "tear" if desk.path().exists():
            tear(desk)
        case "reset":
            desk.reset()
        case "vanish":
            desk.path().unlink(missing_ok=True)
        case "directory":
            desk.directory = desk.data / "rollouts" / value
            desk.copies.directory = desk.directory
        case _:
            pass


def tear(desk: Desk) -> None:
    """The daemon dies, and the disk has not all of what the table does not know of."""
    row = desk.row()
    size = desk.path().stat().st_size
    # Where it knows of all that is ours, what may be cut is somebody else's: theirs to mend.
    if row is not None and row.bytes > 0 and row.seq < len(desk.log()):
        with desk.path().open("r+b") as stream:
            stream.truncate(max(row.bytes, size - 7))
    desk.restart()


def test_a_turn_is_there_as_codex_reads_it(desk: Desk) -> None:
    desk.append(SettingsChanged(model="openai/gpt-5"), *turn("t"))
    desk.mirror()
    records = desk.records()
    kinds = [each["type"] for each in records if each["type"] != "ask_event"]
    assert kinds[:2] == ["session_meta", "turn_context"]
    assert records[0]["payload"]["model_provider"] == "openai"
    assert records[0]["payload"]["cli_version"] == "9.9"
    desk.check()
    assert desk.path().stat().st_mode & 0o777 == 0o600


def test_what_is_at_rest_is_not_written_again(desk: Desk) -> None:
    desk.append(*turn("t"))
    desk.mirror()
    assert desk.flush() == []
    size = desk.path().stat().st_size
    row = desk.row()
    assert row is not None
    assert (row.seq, row.bytes) == (5, size)
    assert desk.copies.ahead() == {}
    assert desk.mirror() == 1
    desk.restart()
    with patch.object(rollout_pages, "read_page", side_effect=AssertionError):
        assert desk.mirror() == 1  # not even the log is read
    desk.append(*turn("u"))
    desk.mirror()
    desk.check()


def test_a_torn_end_is_mended_at_every_byte_of_the_last_lines(desk: Desk) -> None:
    desk.append(*turn("t"))
    desk.mirror()
    desk.flush()
    row = desk.row()
    desk.append(*turn("u", 'a "quoted" line\n'))
    desk.mirror()
    whole = desk.path().read_bytes()
    assert row is not None
    lines = whole.splitlines(keepends=True)
    for length in (row.bytes, *range(len(whole) - len(lines[-1]) - len(lines[-2]), len(whole))):
        desk.path().write_bytes(whole[:length])
        desk.restart()
        desk.mirror()
        assert desk.path().read_bytes() == whole
        assert desk.row() == row


def test_a_shorter_file_is_written_anew(desk: Desk) -> None:
    desk.append(*turn("t"))
    desk.mirror()
    desk.flush()
    whole = desk.path().read_bytes()
    for length in (0, 1, len(whole) // 2, len(whole) - 1):
        desk.path().write_bytes(whole[:length])
        desk.restart()
        assert desk.behind() == ["c"]
        desk.mirror()
        assert desk.path().read_bytes() == whole
        desk.flush()
    desk.path().unlink()
    assert desk.behind() == ["c"]
    desk.mirror()
    assert desk.path().read_bytes() == whole


@pytest.mark.parametrize("end", [b"\n", b"", b'\n{"timestamp": "2026-', b"\n\0\0\0"])
@pytest.mark.parametrize("restarts", [True, False])
def test_what_codex_appended_stays(desk: Desk, end: bytes, restarts: bool) -> None:
    desk.append(*turn("t"))
    desk.mirror()
    desk.flush()
    theirs = FOREIGN + FOREIGN.rstrip(b"\n")
    with desk.path().open("ab") as stream:
        stream.write(theirs + end)
    assert desk.behind() == []
    if restarts:
        desk.restart()
    ours = desk.path().read_bytes().partition(theirs)[0]
    desk.append(*turn("u"))
    desk.mirror()
    content = desk.path().read_bytes()
    assert content.startswith(ours + theirs + b"\n")
    desk.check()
    assert desk.flush() == []
    with desk.path().open("ab") as stream:
        stream.write(FOREIGN)
    desk.append(*turn("v"))
    desk.restart()
    desk.mirror()
    desk.check()
    assert desk.path().read_bytes().count(FOREIGN) == 3


def test_lines_among_which_codex_wrote_are_not_written_twice(desk: Desk) -> None:
    desk.append(*turn("t"))
    desk.mirror()
    desk.flush()
    desk.append(*turn("u"))
    desk.mirror()
    with desk.path().open("ab") as stream:
        stream.write(FOREIGN)
    desk.append(*turn("v"))
    desk.mirror()  # and the table knows nothing of the last two turns
    whole = desk.path().read_bytes()
    desk.restart()
    desk.mirror()
    assert desk.path().read_bytes() == whole
    desk.check()


def test_somebody_who_writes_at_the_same_moment_harms_nothing(desk: Desk) -> None:
    desk.append(*turn("t"))
    desk.mirror()
    desk.append(*turn("u"))
    write = rollout_files.RolloutFile._write

    def write_after_somebody(self: Any) -> None:
        if self._buffer:
            with desk.path().open("ab") as stream:
                stream.write(FOREIGN)
        write(self)

    with patch.object(rollout_files.RolloutFile, "_write", write_after_somebody):
        desk.mirror()
    desk.check()
    assert FOREIGN in desk.path().read_bytes()


def test_a_reset_leaves_nothing_of_the_old_text(desk: Desk) -> None:
    desk.append(*turn("t", "the secret"))
    desk.mirror()
    for flushes in (True, False):
        if flushes:
            desk.flush()
        desk.connection.execute("UPDATE events SET body = replace(body, 'secret', 'xxxxxx')")
        desk.reset()
        assert desk.copies.find_resets() == ["c"]
        desk.mirror()
        assert b"secret" not in desk.path().read_bytes()
        desk.check()
        desk.connection.execute("UPDATE events SET body = replace(body, 'xxxxxx', 'secret')")
        desk.reset()
        desk.mirror()


def test_a_reset_is_seen_while_the_file_is_being_written(desk: Desk) -> None:
    desk.append(*turn("t", "the secret"), *[note("/help", f"n{n}") for n in range(200)])
    asked = desk.copies.advance("c")
    assert isinstance(asked, rollout_copies.Ask)
    desk.commit(asked.change)
    assert desk.copies.advance("c") == rollout_copies.MORE  # the secret is in the draft
    desk.connection.execute("UPDATE events SET body = replace(body, 'secret', 'xxxxxx')")
    desk.reset()
    desk.mirror()
    assert b"secret" not in b"".join(path.read_bytes() for path in desk.files())
    desk.check()


def test_an_offset_is_not_stored_over_a_reset(desk: Desk) -> None:
    desk.append(*turn("t"))
    desk.mirror()
    synced = desk.copies.sync()
    desk.reset()
    saved = desk.commit(rollouts.save_offsets(synced.offsets))
    assert desk.copies.confirm(synced.offsets, saved) == ["c"]
    row = desk.row()
    assert row is not None
    assert (row.seq, row.bytes) == (0, 0)


def test_the_first_line_names_who_answers(desk: Desk) -> None:
    desk.append()
    desk.mirror()
    desk.flush()
    assert desk.records()[0]["payload"]["model_provider"] == "unknown"
    desk.append(SettingsChanged(model="anthropic/claude"), *turn("t"))
    desk.mirror()
    assert desk.records()[0]["payload"]["model_provider"] == "anthropic"
    desk.check()
    desk.flush()
    desk.append(SettingsChanged(model="openai/gpt-5"), *turn("u"))
    size = desk.path().stat().st_size
    desk.restart()
    desk.mirror()
    assert desk.records()[0]["payload"]["model_provider"] == "anthropic"
    assert desk.path().stat().st_size > size


def test_a_prompt_is_told_whole_when_its_turn_begins_after_a_restart(desk: Desk) -> None:
    desk.append(prompt("t", "what waits"), note())
    desk.mirror()
    desk.flush()
    desk.restart()
    desk.append(TurnStarted("t", 1, "openai/gpt-5"), answer("t"), finish("t"))
    desk.append(*turn("u"))
    desk.mirror()
    said = [each["payload"]["message"] for each in desk.records() if is_said(each)]
    assert said == ["what waits", "hello u"]
    desk.check()


def is_said(record: dict[str, Any]) -> bool:
    return bool(record["type"] == "event_msg" and record["payload"]["type"] == "user_message")


def test_another_directory_is_moved_to_with_what_codex_wrote(desk: Desk) -> None:
    desk.append(*turn("t"))
    desk.mirror()
    desk.flush()
    old = desk.path()
    with old.open("ab") as stream:
        stream.write(FOREIGN)
    whole = old.read_bytes()
    desk.copies.directory = desk.directory = desk.data.parent / "elsewhere"
    assert desk.behind() == ["c"]
    desk.mirror()
    assert (desk.path().read_bytes(), old.exists()) == (whole, True)
    row = desk.row()
    assert row is not None
    assert row.path == str(desk.path())
    desk.clear()
    assert not (desk.data / "rollouts" / "2023").exists()
    desk.append(*turn("u"))
    desk.mirror()
    desk.check()
    assert desk.behind() == ["c"]  # as long as the table does not know
    desk.flush()
    assert desk.behind() == []


def test_back_and_forth_between_directories_removes_nothing_that_is_used(desk: Desk) -> None:
    desk.append(*turn("t"))
    desk.mirror()
    desk.flush()
    first = desk.directory
    for directory in (desk.data.parent / "elsewhere", first):
        desk.copies.directory = desk.directory = directory
        desk.mirror()
    desk.clear()
    assert desk.files() == [desk.path()]
    desk.check()


def test_a_home_that_was_copied_leaves_the_original_alone(tmp_path: Path) -> None:
    first = Desk(tmp_path / "first")
    first.append(*turn("t"))
    first.mirror()
    first.flush()
    first.close()
    (tmp_path / "first").rename(tmp_path / "second")
    second = Desk(tmp_path / "second")
    assert second.behind() == []
    assert second.path().exists()
    second.close()


def test_a_deleted_conversation_takes_its_file_along(desk: Desk) -> None:
    desk.append(*turn("t"))
    desk.append(*turn("t"), id="d")
    desk.mirror()
    desk.mirror("d")
    gone, kept = desk.path(), desk.path("d")
    rollout_files.draft_of(gone).write_bytes(b"half")
    stranger = gone.with_name("rollout-of-nobody.jsonl")
    stranger.write_bytes(b"{}\n")
    desk.commit(changes.delete("c"))
    desk.restart()  # killed between the commit and the removal
    desk.clear()
    assert desk.files() == sorted([kept, stranger])
    assert desk.copies.list_removals() == []
    desk.mirror()  # a step that comes too late makes no file
    assert desk.files() == sorted([kept, stranger])


def test_an_archived_conversation_leaves_its_file(desk: Desk) -> None:
    desk.append(*turn("t"))
    desk.mirror()
    path = desk.path()
    whole = path.read_bytes()
    desk.commit(changes.delete("c", archive=True))
    desk.clear()
    assert desk.files() == [desk.archive / path.name]
    assert desk.files()[0].read_bytes() == whole
    assert not path.parent.exists()


def test_a_log_that_says_something_else_has_the_file_written_anew(desk: Desk) -> None:
    desk.append(*turn("t"))
    desk.mirror()
    desk.flush()
    desk.append(*turn("u"))
    desk.mirror()  # the table does not know of it
    desk.connection.execute("UPDATE events SET body = replace(body, 'hello u', 'HELLO U')")
    desk.restart()
    desk.mirror()
    desk.check()


def test_what_is_remembered_is_bounded_and_what_is_forgotten_is_found_again(desk: Desk) -> None:
    ids = [f"c{number}" for number in range(6)]
    with patch.object(rollout_copies, "COPIES_KEPT", 2):
        for round in ("t", "u"):
            for id in ids:
                desk.append(*turn(round), id=id)
                desk.mirror(id)
        assert len(desk.copies._copies) == 2
    with patch.object(rollout_copies, "EVENTS_KEPT", 3):
        desk.mirror("c0")
        assert list(desk.copies._copies) == ["c0"]
    for id in ids:
        desk.check(id)
    assert desk.behind() == ids[::-1]  # the last updated first


def test_what_the_table_has_yet_to_be_told_is_not_forgotten_for_what_it_knows(desk: Desk) -> None:
    ids = [f"c{number}" for number in range(6)]
    for id in ids:
        desk.append(*turn("t"), id=id)
        desk.mirror(id)
    desk.flush()
    desk.append(*turn("u"), id="c0")
    desk.mirror("c0")
    with patch.object(rollout_copies, "COPIES_KEPT", 2):
        for id in ids[1:]:
            desk.mirror(id)  # there is nothing to write
        assert list(desk.copies._copies) == ["c0", "c5"]
        desk.flush()
    assert desk.behind() == []
    for id in ids:
        desk.check(id)


def test_a_file_that_is_none_is_trouble_and_is_not_touched(desk: Desk) -> None:
    desk.append(*turn("t"))
    path = desk.path()
    path.mkdir(parents=True)
    with pytest.raises(OSError, match="directory"):
        desk.mirror()
    path.rmdir()
    desk.mirror()
    desk.check()
    desk.flush()
    other = path.with_name("other")
    path.rename(other)
    path.symlink_to(other)
    desk.append(*turn("u"))
    assert desk.behind() == ["c"]
    before = other.read_bytes()
    with pytest.raises(OSError, match="no file"):
        desk.mirror()
    assert other.read_bytes() == before


def test_blobs_are_in_the_file_once(desk: Desk) -> None:
    data = b"the whole file, at length"
    sha256 = hashlib.sha256(data).hexdigest()
    blob = Blob(sha256, len(data), "text/plain", "notes.txt")
    asked = PromptAccepted("t", "k", (UserMessage("t.0", (blob,)),))
    desk.append(asked, blobs=[(sha256, data)])
    desk.mirror()
    desk.flush()
    desk.restart()
    desk.append(
        TurnStarted("t", 1, "openai/gpt-5"),
        ItemAdded("t", ToolOutput("t.1", "call", "read", (blob,)), 1),
        TurnFinished("t", "completed", 0),
    )
    desk.mirror()
    desk.check()
    kinds = [each["type"] for each in desk.records()]
    assert kinds.count("ask_blob") == 1
    (said,) = [each["payload"]["message"] for each in desk.records() if is_said(each)]
    assert data.decode() in said
