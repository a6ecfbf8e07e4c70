"""Files are counted against rows: what is gone, and what belongs to nobody here."""

import shutil
from pathlib import Path

import pytest

from askd.store.recovery import inventory
from askd.store.recovery.inventory import Inventory, take_inventory
from tests.store.builders import open_store
from tests.store.recovery import ruins


@pytest.fixture
def rollouts(path: Path) -> Path:
    return path.parent / "rollouts"


@pytest.fixture
async def files(path: Path, rollouts: Path) -> dict[str, Path]:
    """A store whose four files are known."""
    await ruins.build(path)
    files = await ruins.mirror(path, rollouts)
    ruins.note_files(path, files)
    return files


def take(path: Path, rollouts: Path) -> Inventory:
    return take_inventory(path, rollouts, limit_s=5.0)


async def test_all_is_where_it_belongs(path: Path, rollouts: Path, files: dict[str, Path]) -> None:
    (rollouts / "rollout-of-codex.jsonl").write_text('{"type": "session_meta", "payload": {}}\n')
    shutil.copy(files[ruins.WORK], rollouts / "a-copy.jsonl")
    assert take(path, rollouts) == Inventory()


async def test_files_that_are_gone(path: Path, rollouts: Path, files: dict[str, Path]) -> None:
    files[ruins.WORK].unlink()
    assert take(path, rollouts) == Inventory(missing=1)
    shutil.rmtree(rollouts)
    assert take(path, rollouts) == Inventory(missing=4)
    ruins.change(path, "UPDATE rollouts SET bytes = -1 WHERE conversation_id = ?", ruins.WORK)
    assert take(path, rollouts) == Inventory(missing=3), "one that is being written was not there"


async def test_files_of_a_database_that_is_gone(
    path: Path, rollouts: Path, files: dict[str, Path]
) -> None:
    for each in path.parent.glob("ask.db*"):
        each.unlink()
    async with open_store(path):
        pass
    assert take(path, rollouts) == Inventory(strays=4)
    ruins.change(
        path,
        "INSERT INTO rollout_removals (path) VALUES (?)",
        str(files[ruins.PLAY].relative_to(path.parent)),
    )
    assert take(path, rollouts) == Inventory(strays=3), "what is to go is known"


async def test_it_is_bounded(
    path: Path, rollouts: Path, files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(rollouts)
    monkeypatch.setattr(inventory, "FILES", 2)
    assert take(path, rollouts) == Inventory(missing=2)
    assert take_inventory(path, rollouts, limit_s=-1.0) == Inventory()
