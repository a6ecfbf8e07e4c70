"""One daemon per data directory, whatever happens to the holder."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from askd.errors import StorageFailed
from askd.owner import AlreadyOwned, OwnerNote, Ownership

NOTE = OwnerNote(socket="/run/x.sock", pid=1, boot_id="b", protocol=1, version="0")


def test_a_second_owner_is_refused_and_the_next_is_not(tmp_path: Path) -> None:
    lock, note = tmp_path / "d" / "askd.lock", tmp_path / "d" / "owner.json"
    with Ownership(lock, note) as owner:
        owner.announce(NOTE)
        assert json.loads(note.read_text())["socket"] == "/run/x.sock"
        with pytest.raises(AlreadyOwned):
            Ownership(lock, note)
        assert note.exists()
    assert not note.exists()
    assert lock.exists()
    with Ownership(lock, note):
        pass


def test_a_killed_owner_leaves_no_lock(tmp_path: Path) -> None:
    lock, note = tmp_path / "askd.lock", tmp_path / "owner.json"
    code = (
        "import sys; from pathlib import Path; from askd.owner import Ownership;"
        f"o = Ownership(Path({str(lock)!r}), Path({str(note)!r})); print('held', flush=True);"
        "sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(AlreadyOwned):
            Ownership(lock, note)
        holder.kill()
    with Ownership(lock, note):
        pass


def test_a_directory_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageFailed, match="ASK_HOME") as caught:
        Ownership(tmp_path / "file" / "askd.lock", tmp_path / "file" / "owner.json")
    assert caught.value.code == 74


def test_a_symlink_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "askd.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageFailed):
        Ownership(tmp_path / "askd.lock", tmp_path / "owner.json")
    assert not (tmp_path / "elsewhere").exists()


def test_a_note_that_cannot_be_removed_stops_nobody(tmp_path: Path) -> None:
    lock, note = tmp_path / "askd.lock", tmp_path / "owner.json"
    note.mkdir()  # as good as a read-only directory, also for root
    with Ownership(lock, note) as owner:
        owner.withdraw()
    with Ownership(lock, note):
        pass
