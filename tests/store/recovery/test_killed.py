"""Killed at any step, a rebuild and a restore leave one whole database in place."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from askd.store.recovery.rebuild import rebuild
from askd.store.recovery.restore import restore
from tests.store.builders import add, note, open_store
from tests.store.recovery import ruins

ROOT = Path(__file__).resolve().parents[3]
MOST = 200
"""Steps are far fewer: the loop is to end by itself."""

Kill = Callable[[str, int, Path], str]


@pytest.fixture
def kill() -> Iterator[Kill]:
    """Run one kind in a directory, killed at a step; how it ended."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.store.recovery.killed_child"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        asked, answered = child.stdin, child.stdout

        def run(kind: str, at: int, directory: Path) -> str:
            print(kind, at, directory, file=asked, flush=True)
            return answered.readline().strip()

        yield run
        asked.close()


@pytest.fixture
async def scene(path: Path) -> Path:
    """A data directory with a backup, a database that went on since, with a log, and rollouts."""
    await ruins.build(path)
    shutil.copy(path, path.with_name("ask.db.backup-5"))
    scene = path.parent.parent / "scene"
    async with open_store(path) as store:
        await store.writer.append(add(ruins.WORK, note("went on", "late")))
        await ruins.mirror(path, path.parent / "rollouts")
        shutil.copytree(path.parent, scene)  # as a daemon that was killed leaves it
    path.with_name("reserve.bin").unlink()
    assert ruins.size(scene / "ask.db-wal") > 0
    return scene


def asides(directory: Path) -> list[Path]:
    found = [path for path in directory.glob("ask.db.backup-before-*") if "-wal" not in path.name]
    return [path for path in found if path.suffix != ".partial"]


async def test_a_rebuild_killed_anywhere(scene: Path, kill: Kill, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    shutil.copytree(scene, whole)
    before = ruins.dump(whole / "ask.db")  # takes the log in, as any reader of the copy would
    for at in range(1, MOST):
        home = tmp_path / f"{at}"
        shutil.copytree(scene, home)
        ended = kill("rebuild", at, home)
        assert ended in ("killed", "done"), at
        in_place = tmp_path / f"{at}-in-place"
        shutil.copytree(home, in_place)
        ruins.check(in_place / "ask.db")
        assert ruins.dump(in_place / "ask.db") == before, at
        told = rebuild(home / "ask.db", home / "rollouts", mirror=home / "rollouts", at=6000.0)
        assert told.aside is not None
        assert ruins.dump(home / "ask.db") == before, at
        assert ruins.find_links(home / "ask.db") == 1
        for aside in asides(home):
            assert ruins.dump(aside) == before, aside
        assert not [each for each in home.iterdir() if "rebuilding" in each.name]
        if ended == "done":
            assert at > 20, "there are more steps than these"
            return
    pytest.fail("it never came to its end")


async def test_a_restore_killed_anywhere(scene: Path, kill: Kill, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    shutil.copytree(scene, whole)
    newer = ruins.dump(whole / "ask.db")
    older = ruins.dump(whole / "ask.db.backup-5")
    assert newer != older
    seen = set()
    for at in range(1, MOST):
        home = tmp_path / f"{at}"
        shutil.copytree(scene, home)
        ended = kill("restore", at, home)
        assert ended in ("killed", "done"), at
        in_place = tmp_path / f"{at}-in-place"
        shutil.copytree(home, in_place)
        ruins.check(in_place / "ask.db")
        found = ruins.dump(in_place / "ask.db")
        assert found in (newer, older), at
        has_rollouts = (home / "rollouts").is_dir()
        assert has_rollouts or list(home.glob("rollouts.backup-before-restore-*"))
        assert not (found == older and has_rollouts), "files that know more than the database"
        seen.add((found == older, has_rollouts))
        told = restore(
            home / "ask.db", home / "ask.db.backup-5", rollouts=home / "rollouts", at=6000.0
        )
        assert told.aside is not None
        assert ruins.dump(home / "ask.db") == older
        assert any(ruins.dump(aside) == newer for aside in asides(home)), at
        assert not [each for each in home.iterdir() if "restoring" in each.name]
        if ended == "done":
            assert seen == {(False, True), (False, False), (True, False)}
            return
    pytest.fail("it never came to its end")
