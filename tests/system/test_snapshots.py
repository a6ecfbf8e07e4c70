"""What tools did to files is undone with real processes: git as a person has it, and elsewhere."""

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fakes.snapshots import Repository
from tests.system.world import ASK, LIMIT_S, Result, World


@pytest.fixture
def repository(world: World) -> Repository:
    """A work tree with something uncommitted in it."""
    made = Repository(world.home / "project")
    made.write("notes.md", "old\n")
    made.commit()
    made.write("draft.md", "not committed\n")
    return made


def write(
    world: World, top: Path, files: dict[str, str], *more: str, conversation: str = "work"
) -> Result:
    """A turn whose model writes these files."""
    calls = [["write_file", {"path": path, "content": text}] for path, text in files.items()]
    done = world.ask(
        *(
            "-s",
            conversation,
            "-T",
            "all",
            "--approve",
            "auto",
            *more,
            f"CALLS:{json.dumps(calls)}",
        ),
        cwd=top,
    )
    assert done.code == 0, done
    assert all((top / path).read_text() == text for path, text in files.items()), done
    return done


def snapshots(world: World, conversation: str = "work") -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(
        world.ok("history", "restore", "-s", conversation, "--json").out
    )
    return found


def wait_until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_turn_is_undone_and_the_undoing_too(world: World, repository: Repository) -> None:
    repository.git("status")
    index, status = repository.read_index(), repository.git("status", "--porcelain")
    write(world, repository.top, {"notes.md": "new\n", "draft.md": "x\n", "made/a.md": "made\n"})
    assert repository.read_index() == index
    (row,) = snapshots(world)
    assert (row["differ"], row["worktree"]) == (3, str(repository.top))
    id = str(row["id"])
    assert f"{id[:12]}  " in world.ok("history", "restore", "-s", "work").out
    assert f"[~] SNAPSHOT\n    Content: {id} of " in world.ok("history", "show", "work").out
    shown = world.ok("history", "restore", id[:5], "--dry-run").out
    assert "-new\n+old\n" in shown
    assert (repository.top / "notes.md").read_text() == "new\n"
    assert world.ask("history", "restore", id).code == 2, "nobody could be asked"
    done = world.ok("history", "restore", id, "--yes")
    assert (repository.top / "notes.md").read_text() == "old\n"
    assert (repository.top / "draft.md").read_text() == "not committed\n"
    assert not (repository.top / "made").exists()
    assert repository.read_index() == index
    assert repository.git("status", "--porcelain") == status
    undo = done.err.splitlines()[-1].removeprefix("To undo this: ask ").split()
    world.ok(*undo, "-y")
    assert (repository.top / "made/a.md").read_text() == "made\n"
    assert len(snapshots(world)) == 3
    assert "Nothing differs" in world.ok(*undo, "-y").err
    assert len(snapshots(world)) == 3


def test_refs_go_with_the_last_conversation_that_needs_them(
    world: World, repository: Repository
) -> None:
    write(world, repository.top, {"notes.md": "new\n"})
    (ref,) = repository.refs()
    world.ok("fork", "work", "--name", "other")
    world.ok("history", "delete", "work", "--yes")
    write(world, repository.top, {"notes.md": "newer\n"}, conversation="third")
    world.ok("history", "delete", "third", "--yes")
    wait_until(lambda: len(repository.refs()) == 1)
    assert repository.refs() == [ref]
    world.ok("history", "restore", ref.removeprefix("refs/ask/"), "--yes")
    assert (repository.top / "notes.md").read_text() == "old\n"
    world.ok("history", "delete", "other", "--yes")
    wait_until(lambda: not repository.refs())
    assert repository.git("for-each-ref", "refs/ask") == ""
    repository.git("fsck", "--strict")


def test_refs_of_what_was_deleted_go_though_the_daemon_was_killed(
    world: World, repository: Repository
) -> None:
    write(world, repository.top, {"notes.md": "new\n"})
    away = repository.top.with_name("away")
    repository.top.chmod(0o755)
    (repository.top / ".git" / "refs" / "ask").chmod(0o755)
    # git cannot take the lock: the ref has to wait for another daemon.
    lock = repository.write(f".git/{repository.refs()[0]}.lock", "")
    world.ok("history", "delete", "work", "--yes")
    wait_until(lambda: "The ref of a snapshot stays" in world.log())
    world.kill_daemon()
    lock.unlink()
    world.ok("list")
    wait_until(lambda: not repository.refs())
    assert not away.exists()


def test_a_kill_in_the_middle_leaves_nothing_behind(world: World, repository: Repository) -> None:
    """A filter that waits holds git where it reads the files; the daemon dies there."""
    # It is confined: where its index is it may write.
    scratch = world.ask_home / "data-scratch"
    repository.git("config", "filter.wait.clean", 'touch "$GIT_INDEX_FILE.started"; exec sleep 60')
    repository.write(".gitattributes", "*.slow filter=wait\n")
    repository.write("a.slow", "x\n")
    index = repository.read_index()
    call = json.dumps([["write_file", {"path": "notes.md", "content": "new\n"}]])
    world.env["PWD"] = str(repository.top)
    running = world.start(
        *("-s", "work", "-T", "all", "--approve", "auto", f"CALLS:{call}"),
        command=("sh", "-c", f'cd {repository.top} && exec "$0" "$@"', ASK),
    )
    wait_until(lambda: any(scratch.glob("*/index.started")))
    world.kill_daemon()
    running.finish()
    assert (repository.top / "notes.md").read_text() == "old\n", "no tool runs before"
    assert repository.refs() == []
    assert repository.read_index() == index
    assert not list((repository.top / ".git").rglob("*.lock"))
    repository.git("config", "--unset", "filter.wait.clean")
    world.ok("list")
    wait_until(lambda: not scratch.exists())
    write(world, repository.top, {"notes.md": "new\n"}, conversation="again")
    assert len(repository.refs()) == 1


def test_a_repository_that_a_command_made_has_nothing_run_outside(world: World) -> None:
    """Where there is none it may make one; the next snapshot of it is ours to take."""
    top, trapped = world.home / "new", world.home / "trapped"
    top.mkdir()
    make = (
        f"git init -q . && git config filter.x.clean 'touch {trapped}; cat; echo ran' && "
        "echo 'f filter=x' > .gitattributes && echo x > f"
    )
    world.env["PWD"] = str(top)
    for command in (make, "echo more >> f"):
        call = json.dumps([["run_command", {"command": command}]])
        world.start(
            *("-s", "work", "-T", "all", "--approve", "auto", f"CALLS:{call}"),
            command=("sh", "-c", f'cd {top} && exec "$0" "$@"', ASK),
        ).finish()
    made = Repository(top)
    (ref,) = made.refs()
    assert made.git("show", f"{ref}:f") == "x\nran\n", "the filter ran"
    assert not trapped.exists()


def test_compaction_and_export_keep_it(world: World, repository: Repository) -> None:
    write(world, repository.top, {"notes.md": "new\n"})
    for word in ("one", "two", "three"):
        world.ok("-s", "work", f"ECHO:{word}")
    world.ok("clear", "work")
    world.ok("history", "export", "work", "-o", "copy.json")
    world.ok("history", "import", "copy.json")
    (row,) = snapshots(world)
    assert row["differ"] == 1
    world.ok("history", "restore", str(row["id"]), "-s", "work", "-y")
    assert (repository.top / "notes.md").read_text() == "old\n"


def test_outside_of_git_copies_hold_what_was_written(world: World) -> None:
    top = world.home / "plain"
    top.mkdir()
    (top / "a").write_bytes(b"\xffold\0")
    (top / "b").write_text("b\n")
    (top / "b").chmod(0o600)
    write(world, top, {"a": "new\n", "made": "made\n"})
    write(world, top, {"b": "new\n", "a": "newer\n"})
    first = snapshots(world)[-1]
    assert (first["commit"], first["differ"]) == ("", 3)
    assert (
        "Binary file a differs" in world.ok("history", "restore", str(first["id"]), "--dry-run").out
    )
    done = world.ok("history", "restore", str(first["id"]), "--yes")
    assert (top / "a").read_bytes() == b"\xffold\0"
    assert ((top / "b").read_text(), (top / "b").stat().st_mode & 0o777) == ("b\n", 0o600)
    assert not (top / "made").exists()
    world.ok(*done.err.splitlines()[-1].removeprefix("To undo this: ask ").split(), "-y")
    assert (top / "a").read_text() == "newer\n"


def test_what_cannot_be_restored_is_a_sentence(world: World, repository: Repository) -> None:
    missing = world.ask("history", "restore", "0123456789ab", "-y")
    assert (missing.code, missing.err) == (3, "Snapshot not found: id=0123456789ab\n")
    write(world, repository.top, {"notes.md": "new\n"})
    (row,) = snapshots(world)
    repository.top.rename(world.home / "elsewhere")
    gone = world.ask("history", "restore", str(row["id"]), "-y")
    assert gone.code == 2
    assert f"{repository.top} is no git work tree any more" in gone.err
    assert "cannot be restored" in world.ok("history", "restore", "-s", "work").out
    Repository(repository.top)
    other = world.ask("history", "restore", str(row["id"]), "-y")
    assert "does not hold this snapshot" in other.err


def test_it_can_be_switched_off(world: World, repository: Repository) -> None:
    world.ok("api", "config/write", '{"key": "tools.snapshots", "value": false}')
    write(world, repository.top, {"notes.md": "new\n"})
    assert repository.refs() == []
    assert snapshots(world) == []


def test_what_is_in_memory_only_leaves_no_ref(world: World, repository: Repository) -> None:
    write(world, repository.top, {"notes.md": "new\n"}, "--ephemeral")
    assert repository.refs() == []
    (row,) = snapshots(world)
    assert row["commit"] == ""
    world.ok("history", "restore", str(row["id"]), "-y")
    assert (repository.top / "notes.md").read_text() == "old\n"
    assert not (world.ask_home / "data" / "scratch").exists()
