"""A rebuild is of use only if a file can tell what the database cannot."""

from pathlib import Path

import pytest

from askd.store.recovery.rebuild import rebuild
from askd.store.recovery.testimony import can_tell
from tests.store.recovery import ruins


@pytest.fixture
async def files(path: Path) -> dict[str, Path]:
    """A store whose files are known, and whose second record of a conversation is damaged."""
    await ruins.build(path)
    files = await ruins.mirror(path, path.parent / "rollouts")
    ruins.note_files(path, files)
    damage(path)
    return files


def damage(path: Path) -> None:
    ruins.change(
        path, "UPDATE events SET body = '{' WHERE conversation_id = ? AND seq = 2", ruins.WORK
    )


async def test_what_the_file_has_can_be_told(path: Path, files: dict[str, Path]) -> None:
    assert can_tell(path, [ruins.PLAY, ruins.WORK], limit_s=5.0) is True
    assert can_tell(path, [ruins.PLAY], limit_s=5.0) is False
    assert can_tell(path, [ruins.WORK], limit_s=-1.0) is None


async def test_what_nobody_has_is_not_promised(path: Path, files: dict[str, Path]) -> None:
    files[ruins.WORK].unlink()
    assert can_tell(path, [ruins.WORK], limit_s=5.0) is False
    await ruins.mirror(path, path.parent / "rollouts")
    assert can_tell(path, [ruins.WORK], limit_s=5.0) is False, "it copies what it cannot read"
    rebuild(path, path.parent / "rollouts", mirror=path.parent / "rollouts", at=5000.0)
    assert can_tell(path, [ruins.WORK], limit_s=5.0) is False
    ruins.change(path, "DELETE FROM rollouts")
    assert can_tell(path, [ruins.WORK], limit_s=5.0) is False
