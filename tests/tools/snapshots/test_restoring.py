"""A work tree is put back exactly, whatever was done to it: files, modes, links, deletions."""

import os
import shutil
import stat
import tempfile
from pathlib import Path

import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from askd.core.items import Blob, Copy
from askd.tools.snapshots.copies import MEDIA_TYPE
from askd.tools.snapshots.git import Git
from askd.tools.snapshots.restoring import (
    ALTERED,
    IN_THE_WAY,
    LOST,
    NOT_RECORDED,
    Held,
    Restored,
    find_different,
    restore_copies,
    restore_tree,
    show_copies,
)
from askd.tools.snapshots.worktree import commit, find_changes, find_worktree, read_state
from tests.fakes.snapshots import Repository

Tree = dict[str, tuple[str, object]]
NAMES = ["a", "b", "d/a", "d/b", "d/e/a", "ignored", "d/ignored", "link"]
"""Few, so that a file often becomes a directory and the other way round."""
EDITS = st.lists(
    st.tuples(
        st.sampled_from(["write", "run", "link", "remove", "remove_all", "stage"]),
        st.sampled_from([*NAMES, "d", "a/deep"]),
        st.integers(0, 3),
    ),
    max_size=12,
)


def look(top: Path) -> Tree:
    """All that is in a work tree but for `.git` and empty directories."""
    found: Tree = {}
    for folder, folders, files in os.walk(top):
        if folder == str(top):
            folders.remove(".git")
        links = [each for each in folders if (Path(folder) / each).is_symlink()]
        for name in (*files, *links):
            place = Path(folder) / name
            path = str(place.relative_to(top))
            if place.is_symlink():
                found[path] = ("link", os.readlink(place))
            else:
                runs = bool(place.stat().st_mode & stat.S_IXUSR)
                found[path] = ("program" if runs else "file", place.read_bytes())
    return found


def edit(repository: Repository, kind: str, path: str, number: int) -> None:
    """What a tool, or a person, may do; what cannot be done is not."""
    place = repository.top / path
    if kind == "stage":
        repository.git("add", "-A")
        return
    if kind == "remove_all" and place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
        return
    for above in list(place.relative_to(repository.top).parents)[:-1]:
        there = repository.top / above
        if there.is_symlink() or there.is_file():
            there.unlink()
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    if kind in ("write", "run"):
        place.write_text(f"{number}\n")  # of one size: only the content tells
        place.chmod(0o755 if kind == "run" else 0o644)
    elif kind == "link":
        place.symlink_to(["d", "../outside", "/etc/passwd", "a"][number])


def apply(repository: Repository, edits: list[tuple[str, str, int]]) -> None:
    for kind, path, number in edits:
        edit(repository, kind, path, number)


def without_ignored(tree: Tree) -> Tree:
    return {path: each for path, each in tree.items() if "ignored" not in path.split("/")}


async def take(git: Git, repository: Repository, id: str) -> str:
    worktree = await find_worktree(git, str(repository.top))
    assert worktree is not None
    with tempfile.TemporaryDirectory() as scratch:
        state = await read_state(git, worktree, Path(scratch), keep=True)
        return await commit(git, worktree, state, id=id, at=1.0)


async def restore(
    git: Git, repository: Repository, digest: str, *, kept: tuple[str, ...] = ()
) -> Restored:
    worktree = await find_worktree(git, str(repository.top))
    assert worktree is not None
    with tempfile.TemporaryDirectory() as scratch:
        state = await read_state(git, worktree, Path(scratch), keep=False)
        changes = await find_changes(git, worktree, state, digest)
        return await restore_tree(git, worktree, state, changes, digest=digest, kept=kept)


@settings(
    max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(first=EDITS, more=EDITS)
def test_whatever_is_done_is_undone_and_redone(
    first: list[tuple[str, str, int]], more: list[tuple[str, str, int]]
) -> None:
    async def run(home: Path) -> None:
        repository = Repository(home / "w")
        repository.write(".gitignore", "ignored\n")
        repository.write("outside_of_this")
        repository.commit()
        git = Git(environment={"PATH": os.environ["PATH"], "HOME": str(home)})
        apply(repository, first)
        before = look(repository.top)
        digest = await take(git, repository, "0001")
        apply(repository, more)
        after = look(repository.top)
        other = await take(git, repository, "0002")
        index = repository.git("ls-files", "-s")
        done = await restore(git, repository, digest)
        now = look(repository.top)
        assert repository.git("ls-files", "-s") == index
        left = {path for path, _ in done.left}
        assert without_ignored(now) == without_ignored(before) or left, done
        ignored = {path for path in after if "ignored" in path.split("/")}
        gone = {path for path in ignored if now.get(path) != after[path]}
        assert not gone, "what git ignores is not touched"
        if not left:
            back = await restore(git, repository, other)
            assert not back.left
            assert without_ignored(look(repository.top)) == without_ignored(after)
        assert not (home / "outside").exists()

    with tempfile.TemporaryDirectory() as home:
        trio.run(run, Path(home))


@pytest.fixture
def git(tmp_path: Path) -> Git:
    return Git(environment={"PATH": os.environ["PATH"], "HOME": str(tmp_path)})


async def test_what_could_not_be_recorded_stays(git: Git, tmp_path: Path) -> None:
    repository = Repository(tmp_path / "w")
    repository.write("kept")
    repository.commit()
    digest = await take(git, repository, "0001")
    for path in ("large", "data/one", "data/deep/two", "made"):
        repository.write(path)
    done = await restore(git, repository, digest, kept=("large", "data/"))
    assert done.removed == ["made"]
    assert sorted(done.left) == [
        (path, NOT_RECORDED) for path in ("data/deep/two", "data/one", "large")
    ]
    assert set(look(repository.top)) == {"kept", "large", "data/one", "data/deep/two"}


async def test_what_the_snapshot_before_would_not_hold_is_not_overwritten(
    git: Git, tmp_path: Path
) -> None:
    repository = Repository(tmp_path / "w")
    repository.write("out", "tracked\n")
    repository.write("d/out", "tracked\n")
    repository.commit()
    digest = await take(git, repository, "0001")
    repository.git("rm", "-rq", "out", "d")
    repository.write(".gitignore", "out\nd\n")
    repository.write("out", "precious\n")
    (repository.top / "d").symlink_to(tmp_path)
    done = await restore(git, repository, digest)
    assert {path for path, _ in done.left} == {"out", "d/out"}
    assert ("out", IN_THE_WAY) in done.left
    assert (repository.top / "out").read_text() == "precious\n"
    assert not (tmp_path / "out").exists()


async def test_line_ends_and_filters_are_those_of_the_users_checkout(
    git: Git, tmp_path: Path
) -> None:
    repository = Repository(tmp_path / "w")
    repository.git("config", "filter.shout.clean", "tr A-Z a-z")
    repository.git("config", "filter.shout.smudge", "tr a-z A-Z")
    repository.write(".gitattributes", "*.loud filter=shout\n*.dos text eol=crlf\n")
    repository.write("a.loud", "LOUD\n")
    (repository.top / "a.dos").write_bytes(b"one\r\ntwo\r\n")
    repository.commit()
    before = look(repository.top)
    digest = await take(git, repository, "0001")
    repository.write("a.loud", "SOFT\n")
    repository.write("a.dos", "x")
    await restore(git, repository, digest)
    assert look(repository.top) == before


# ---- copies ------------------------------------------------------------------------


def hold(path: str, content: bytes | None, *, mode: int = 0o644, altered: bool = False) -> Held:
    part = None if content is None else Blob("0", len(content), MEDIA_TYPE)
    return Held(Copy(path, part, mode, altered), content)


def test_copies_are_put_back(tmp_path: Path) -> None:
    top = str(tmp_path)
    (tmp_path / "same").write_bytes(b"same")
    (tmp_path / "changed").write_bytes(b"new\n")
    (tmp_path / "made").write_bytes(b"made\n")
    (tmp_path / "binary").write_bytes(b"\0new")
    files = [
        hold("same", b"same"),
        hold("changed", b"old\n", mode=0o600),
        hold("made", None),
        hold("d/gone", b"gone"),
        hold("binary", b"\0old"),
    ]
    different = find_different(top, files)
    assert [each.copy.path for each in different] == ["changed", "made", "d/gone", "binary"]
    text, is_cut = show_copies(top, different, limit=10_000)
    assert "--- changed\n+++ changed\n@@ -1 +1 @@\n-new\n+old\n" in text
    assert "--- made\n+++ /dev/null\n" in text
    assert "+gone\n\\ No newline at end of file\n" in text
    assert "Binary file binary differs\n" in text
    assert not is_cut
    assert show_copies(top, different, limit=20) == ("--- changed\n", True)
    done = restore_copies(top, different, kept=())
    assert (done.put, done.removed, done.left) == (["changed", "d/gone", "binary"], ["made"], [])
    assert find_different(top, files) == []
    assert (tmp_path / "changed").stat().st_mode & 0o777 == 0o600


def test_copies_that_are_not_what_was_there_are_not_put_back(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"now")
    lost = Held(hold("lost", b"x").copy, None)
    files = [hold("a", b"[scrubbed]", altered=True), lost, hold("b", b"x"), hold(".git/x", b"x")]
    done = restore_copies(str(tmp_path), files, kept={"b"})
    assert done.put == done.removed == []
    assert dict(done.left)["a"] == ALTERED
    assert dict(done.left)["lost"] == LOST
    assert dict(done.left)["b"] == IN_THE_WAY
    assert (tmp_path / "a").read_bytes() == b"now"
    assert [each.name for each in tmp_path.iterdir()] == ["a"]


def test_large_copies_without_a_line_in_common_take_no_time(tmp_path: Path) -> None:
    now, then = (
        b"".join(b"%d\n" % (number * step % 121) for number in range(100_000)) for step in (7, 11)
    )
    (tmp_path / "f").write_bytes(now)
    text, is_cut = show_copies(str(tmp_path), [hold("f", then)], limit=1000)
    assert text.startswith("--- f\n+++ f\n@@ ")
    assert is_cut
    text, is_cut = show_copies(str(tmp_path), [hold("f", then)], limit=1_000_000)
    assert text.endswith(" more lines of this diff are not shown]\n")
    assert not is_cut


def test_what_cannot_be_read_differs_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    files = [hold("d", b"x")]
    assert find_different(str(tmp_path), files) == files
    assert "cannot be read" in show_copies(str(tmp_path), files, limit=1000)[0]
    assert restore_copies(str(tmp_path), files, kept=()).left[0][0] == "d"
