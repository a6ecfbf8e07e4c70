"""A page of a log into a file, and a page recalled: in pieces, with what waits, without holes."""

from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from askd.core.events import TurnStarted
from askd.core.rollout import RolloutWriter
from askd.errors import StorageFailed
from askd.store.rollouts import files as rollout_files
from askd.store.rollouts import pages as rollout_pages
from askd.store.rollouts.pages import PAGE_EVENTS, Copy, recall_page, write_page
from askd.store.rollouts.rows import RolloutRow
from tests.store.builders import answer, finish, note, prompt
from tests.store.rollouts.desk import Desk


def make_copy(desk: Desk, *, seq: int = 0, size: int = 0, is_draft: bool = True) -> Copy:
    rollout_files.make_folder(desk.path())
    return Copy(
        conversation_id="c",
        path=desk.path(),
        row=RolloutRow("x", seq, size or -1),
        writer=RolloutWriter("c", provider="openai", version="9.9"),
        seq=seq,
        size=size,
        is_draft=is_draft,
    )


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    desk.append(*[note(f"/{number}", f"n{number}") for number in range(2 * PAGE_EVENTS)])
    yield desk
    desk.close()


def test_a_draft_takes_its_place_when_it_is_whole(desk: Desk) -> None:
    copy = make_copy(desk)
    for page in (1, 2):
        assert write_page(desk.connection, copy, database=desk.database)
        assert (copy.seq, copy.fed, copy.is_draft) == (page * PAGE_EVENTS, copy.seq, True)
        assert not copy.path.exists()
    assert not write_page(desk.connection, copy, database=desk.database)
    assert not copy.is_draft
    assert copy.path.stat().st_size == copy.size
    desk.check()


def test_large_events_make_short_pages(desk: Desk) -> None:
    copy = make_copy(desk)
    with patch.object(rollout_pages, "PAGE_BYTES", 1):
        assert write_page(desk.connection, copy, database=desk.database)
    assert copy.seq == 1


def test_a_recalled_log_goes_on_where_it_was(desk: Desk) -> None:
    desk.append(prompt("t", "what waits"))
    desk.mirror()
    desk.flush()
    row = desk.row()
    assert row is not None
    desk.append(TurnStarted("t", 1, "openai/gpt-5"), answer("t"), finish("t"))
    copy = make_copy(desk, seq=row.seq, size=row.bytes, is_draft=False)
    pages = 0
    while copy.fed < copy.seq:
        recall_page(desk.connection, copy)
        pages += 1
    assert pages == 3
    models = [copy.has_model]
    assert not write_page(desk.connection, copy, database=desk.database)
    assert [*models, copy.has_model] == [False, True]
    assert "what waits" in str([e for e in desk.records() if e["type"] == "event_msg"])
    desk.check()


def test_a_log_with_a_hole_leaves_the_file_as_it_is(desk: Desk) -> None:
    desk.mirror()
    desk.flush()
    whole = desk.path().read_bytes()
    desk.connection.execute("DELETE FROM events WHERE seq = 7")
    desk.reset()
    desk.restart()
    with pytest.raises(StorageFailed, match="record 7 cannot be read"):
        desk.mirror()
    assert desk.path().read_bytes() == whole
