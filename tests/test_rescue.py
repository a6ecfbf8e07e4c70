"""`askd rebuild` and `askd restore` as commands: what they say, and with which code they end."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from askd.__main__ import main
from askd.owner import Ownership
from askd.rescue import make_progress, tell_rebuilt, tell_restored
from askd.store.recovery import room
from askd.store.recovery.rebuild import Rebuilt
from askd.store.recovery.restore import Restored
from tests.store.recovery import ruins


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home."""
    monkeypatch.setenv("ASK_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
async def data(home: Path) -> Path:
    """A data directory with conversations and their files."""
    path = home / "data" / "ask.db"
    await ruins.build(path)
    await ruins.mirror(path, home / "data" / "rollouts")
    return path.parent


async def test_rebuild_says_what_it_did(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rebuild"]) == 0
    said = capsys.readouterr()
    first, old, aside = said.out.splitlines()
    assert first.startswith(f"Rebuilt {data / 'ask.db'}: 4 conversations, ")
    assert f"from 4 rollouts in {data / 'rollouts'}." in first
    assert old == "The old database could be read. Kept from it: 1 terminal, 1 job and 0 schedules."
    assert aside.startswith(f"It is put aside: {data / 'ask.db.backup-before-rebuild-'}")
    assert said.err == ""
    ruins.check(data / "ask.db")
    assert not (data / "owner.json").exists()


async def test_rebuild_from_another_directory(
    data: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.move(data / "rollouts", home / "elsewhere")
    assert main(["rebuild", str(home / "elsewhere")]) == 0
    assert f"from 4 rollouts in {home / 'elsewhere'}." in capsys.readouterr().out
    assert main(["rebuild", str(home / "nowhere")]) == 3
    assert capsys.readouterr().err.startswith("askd: No such directory: ")


async def test_restore_says_what_it_did_and_what_can_be_done(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(data / "ask.db", data / "ask.db.backup-4")
    assert main(["restore", "ask.db.backup-4"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"Restored {data / 'ask.db'} from {data / 'ask.db.backup-4'}: 4 ")
    assert lines[1].startswith("The database from before is put aside: ")
    assert lines[2].startswith("The rollouts from before are put aside: ")
    source = lines[2].partition(": ")[2]
    assert lines[3].endswith(f"ask doctor --rebuild --from {source}")
    assert main(["rebuild", source]) == 0


def test_a_daemon_in_the_house_is_not_disturbed(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "b").write_bytes(b"x")
    with Ownership(home / "data" / "askd.lock", home / "data" / "owner.json"):
        for words in (["rebuild"], ["restore", str(home / "b")]):
            assert main(words) == 8
            said = capsys.readouterr().err
            assert said == (
                f"askd: A daemon is using {home / 'data'}. Stop it first: ask daemon stop\n"
            )


def test_what_cannot_be_done_changes_nothing_and_says_why(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["rebuild"]) == 74
    assert "No conversation can be read from" in capsys.readouterr().err
    assert main(["restore", "none"]) == 3
    assert "No such backup: none" in capsys.readouterr().err
    (home / "b").write_bytes(b"x" * 100)
    assert main(["restore", str(home / "b")]) == 74
    assert "is no whole database" in capsys.readouterr().err
    (home / "config").mkdir()
    (home / "config" / "config.toml").write_text("rollouts = 1")
    assert main(["rebuild"]) == 2
    for words in (["rebuild", "a", "b"], ["rebuild", "--all"], ["restore"], ["restore", "-x"]):
        assert main(words) == 2
        assert "askd restore BACKUP" in capsys.readouterr().err
    assert sorted(each.name for each in (home / "data").iterdir()) == ["askd.lock"]


async def test_a_look_says_what_speaks_against_it_and_does_nothing(
    data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(data / "ask.db", data / "ask.db.backup-4")
    before = sorted(os.listdir(data))
    with Ownership(data / "askd.lock", data / "owner.json"):
        assert main(["restore", "--look", "ask.db.backup-4"]) == 0
        assert main(["rebuild", "--look"]) == 0
        assert main(["rebuild", "--look", str(data / "rollouts")]) == 0
        assert capsys.readouterr() == ("", "")
        assert main(["restore", "--look", "typo"]) == 3
        assert main(["rebuild", "--look", "typo"]) == 3
        assert main(["rebuild", "--look", "a", "b"]) == 2
        monkeypatch.setattr(room, "SPARE_BYTES", 10**18)
        for words in (["restore", "--look", "ask.db.backup-4"], ["rebuild", "--look"]):
            capsys.readouterr()
            assert main(words) == 74
            assert "There is no room for it: about" in capsys.readouterr().err
    (data / "askd.lock").unlink()
    assert sorted(os.listdir(data)) == before


async def test_a_directory_in_the_place_of_the_database_is_said(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.move(data / "ask.db", data / "ask.db.backup-4")
    (data / "ask.db").mkdir()
    for words in (["rebuild"], ["restore", "ask.db.backup-4"]):
        assert main(words) == 74
        said = capsys.readouterr().err
        assert f"{data / 'ask.db'} is a directory; the database belongs there. Move it" in said


async def test_the_settings_say_where_the_rollouts_are(
    data: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.move(data / "rollouts", home / "mine")
    (home / "config").mkdir()
    (home / "config" / "config.toml").write_text(f'[rollouts]\ndirectory = "{home}/mine"\n')
    assert main(["rebuild"]) == 0
    assert f"from 4 rollouts in {home}/mine." in capsys.readouterr().out
    stored = ruins.query(data / "ask.db", "SELECT path FROM rollouts")
    assert all(path.startswith(f"{home}/mine/") for (path,) in stored)


def test_everything_that_was_lost_is_told() -> None:
    told = Rebuilt(
        conversations=1,
        events=1,
        files=1,
        foreign=2,
        unreadable=[(Path("f"), "no")] * 7,
        bad_lines=1,
        torn=2,
        lost=1,
        lost_blobs=1,
        from_old=1,
        unnamed=[("a" * 36, "work")] * 6,
        faults=2,
        aside=Path("/old"),
    )
    text = "\n".join(tell_rebuilt(told, Path("/d"), Path("/r")))
    assert "Rebuilt /d: 1 conversation, 1 event, from 1 rollout in /r." in text
    assert "Skipped 2 files that askd did not write." in text
    assert text.count("Could not read f: no.") == 5
    assert "... and 2 more files." in text
    assert "Skipped 1 line that could not be read, and 2 cut ends of a file." in text
    assert "The old database knew more of 1 conversation." in text
    assert "Lost: 1 record; each is marked in its place." in text
    assert "Lost: the content of 1 attachment." in text
    assert text.count("The name 'work' was taken twice: aaaaaaaa has none now.") == 5
    assert "... and 1 more without a name now." in text
    assert (
        "The old database is damaged in 2 places, read in part. Kept from it: 0 terminals" in text
    )
    told.trouble, told.aside = "no.", Path("/old")
    assert "could not be read (no)." in "\n".join(tell_rebuilt(told, Path("/d"), Path("/r")))
    told.was_ours = False
    assert "there is not askd's: terminals, background jobs and" in "\n".join(
        tell_rebuilt(told, Path("/d"), Path("/r"))
    )
    told.was_empty = True
    assert "The old database was empty: terminals, background jobs and" in "\n".join(
        tell_rebuilt(told, Path("/d"), Path("/r"))
    )
    told.aside = None
    assert tell_rebuilt(told, Path("/d"), Path("/r"))[-1] == (
        "There was no old database: terminals, background jobs and schedules are forgotten."
    )


def test_where_nothing_was_nothing_is_aside() -> None:
    told = Restored(backup=Path("/b"), conversations=1, events=2, aside=None, rollouts_aside=None)
    assert tell_restored(told, Path("/d")) == ["Restored /d from /b: 1 conversation, 2 events."]


def test_progress_is_for_terminals(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_progress()(1, 2)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    progress = make_progress()
    progress(0, 2)
    progress(1, 2)
    progress(2, 2)
    assert capsys.readouterr().err == "\r0 of 2 conversations\r\x1b[K"
