"""`ask history export | import`: what is written, sent, printed and refused."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

from ask.commands import transfers
from ask.protocol.messages import BLOB_CHUNK_BYTES
from tests.client.commands.conftest import Ask
from tests.client.commands.fake_daemon import FakeDaemon
from tests.client.commands.fake_log import Refusal

FILE = b'{"format":"ask-conversation",\n"events":[]}\n'


def test_an_export_goes_to_standard_output_as_it_is(daemon: FakeDaemon, ask: Ask) -> None:
    conversation_id = daemon.create("work")
    daemon.file = FILE
    result = ask("history", "export", "work")
    assert (result.code, result.out, result.err) == (0, FILE.decode(), "")
    asked = daemon.called("conversation/export")
    assert {each["conversation_id"] for each in asked} == {conversation_id}
    assert [each["offset"] for each in asked] == list(range(0, len(FILE), 10))
    assert {each["format"] for each in asked} == {"json"}


def test_an_export_goes_to_a_file(daemon: FakeDaemon, ask: Ask, tmp_path: Path) -> None:
    daemon.create("work")
    daemon.file = b"# work\n"
    path = tmp_path / "work.md"
    path.write_text("what was there before, and longer than what comes")
    result = ask("history", "export", "work", "--format", "markdown", "-o", str(path))
    assert (result.code, result.out) == (0, "")
    assert path.read_bytes() == b"# work\n"
    assert daemon.called("conversation/export")[0]["format"] == "markdown"


def test_a_terminal_is_shown_nothing_that_it_would_obey(daemon: FakeDaemon) -> None:
    daemon.create("work")
    daemon.file = b"red \x1b[31m\x9b31mtext\n"
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "ask", "history", "export", "work", "--format", "markdown"]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=theirs, timeout=20, check=True)
    os.close(theirs)
    shown = os.read(ours, 1000)
    os.close(ours)
    assert done.returncode == 0
    assert b"\x1b" not in shown
    assert b"text" in shown


def test_an_export_of_nobody_or_to_nowhere(daemon: FakeDaemon, ask: Ask, tmp_path: Path) -> None:
    result = ask("history", "export", "nobody")
    assert (result.code, result.err.splitlines()[0]) == (3, "Conversation not found: id=nobody")
    daemon.create("work")
    result = ask("history", "export", "work", "-o", str(tmp_path))
    assert (result.code, daemon.called("conversation/export")) == (2, [])
    assert ask("history", "export", "work", "--format", "yaml").code == 2


def write(path: Path, content: bytes = b"{}\n") -> str:
    path.write_bytes(content)
    return str(path)


def test_files_are_sent_whole_and_their_ids_printed(
    daemon: FakeDaemon, ask: Ask, tmp_path: Path
) -> None:
    large = b"x" * (2 * BLOB_CHUNK_BYTES + 1)
    one, two = write(tmp_path / "one", large), write(tmp_path / "two", b"")
    daemon.imports = [
        {"conversation_id": "id-1", "title": "First words"},
        {"conversation_id": "id-2", "name": "work", "existed": True, "message_count": 1},
    ]
    result = ask("history", "import", one, two)
    assert (result.code, result.out) == (0, "id-1\nid-2\n")
    assert daemon.imported == [large, b""]
    assert result.err.splitlines() == [
        f"Imported: {one} is First words (2 messages).",
        f"Already imported: {two} is work (1 message).",
    ]
    assert daemon.called("conversation/import")[0]["label"] == one


def test_skipped_lines_are_counted_and_the_first_is_named(
    daemon: FakeDaemon, ask: Ask, tmp_path: Path
) -> None:
    skipped = [{"line": 7, "why": "it is not JSON"}]
    daemon.imports = [{"conversation_id": "id-1", "skipped": skipped, "skipped_count": 3}]
    result = ask("history", "import", write(tmp_path / "one"))
    assert result.err.endswith("Skipped 3 lines, the first is line 7: it is not JSON.\n")
    daemon.imported.clear()
    record = json.loads(ask("history", "import", str(tmp_path / "one"), "--json").out)
    assert record[0]["file"] == str(tmp_path / "one")
    assert record[0]["skipped_count"] == 3


def test_one_file_that_cannot_be_imported_is_the_error(
    daemon: FakeDaemon, ask: Ask, tmp_path: Path
) -> None:
    daemon.imports = [{"refused": "Conversation one has no turns"}]
    result = ask("history", "import", write(tmp_path / "one", b""))
    assert (result.code, result.out, result.err) == (1, "", "Conversation one has no turns\n")
    result = ask("history", "import", str(tmp_path / "gone"))
    assert (result.code, result.out) == (2, "")
    assert "cannot be read" in result.err


def test_a_bad_file_does_not_keep_the_others_out(
    daemon: FakeDaemon, ask: Ask, tmp_path: Path
) -> None:
    daemon.imports = [{"refused": "one: nothing in it can be read"}, {"conversation_id": "id-2"}]
    one, two = write(tmp_path / "one"), write(tmp_path / "two")
    result = ask("history", "import", one, str(tmp_path / "gone"), two)
    assert (result.code, result.out) == (1, "id-2\n")
    assert "one: nothing in it can be read\n" in result.err
    assert "gone cannot be read: No such file or directory.\n" in result.err
    assert result.err.endswith("2 of 3 files could not be imported.\n")


def test_with_json_a_bad_file_leaves_one_value(
    daemon: FakeDaemon, ask: Ask, tmp_path: Path
) -> None:
    daemon.imports = [{"conversation_id": "id-1"}]
    one = write(tmp_path / "one")
    result = ask("history", "import", one, str(tmp_path / "gone"), "--json")
    assert result.code == 2
    assert [each["conversation_id"] for each in json.loads(result.out)] == ["id-1"]
    assert "gone cannot be read" in result.err
    assert result.err.endswith("1 of 2 files could not be imported.\n")


def test_storage_that_fails_ends_it_at_once(daemon: FakeDaemon, ask: Ask, tmp_path: Path) -> None:
    daemon.refusals["conversation/import"] = Refusal("storage_failed", "The disk is full.")
    one = write(tmp_path / "one")
    result = ask("history", "import", one, one)
    assert (result.code, result.err) == (74, "The disk is full.\n")
    assert len(daemon.called("conversation/import")) == 1


def test_a_large_file_shows_how_far_it_is(daemon: FakeDaemon, tmp_path: Path) -> None:
    daemon.imports = [{"conversation_id": "id-1", "title": "Large"}]
    path = write(tmp_path / "large", b"x" * (transfers.PROGRESS_BYTES + 1))
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "ask", "history", "import", path]
    done = subprocess.run(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs, timeout=20
    )
    os.close(theirs)
    shown = os.read(ours, 10_000).decode()
    os.close(ours)
    assert (done.returncode, done.stdout) == (0, b"id-1\n")
    assert f"{path}: 6 % of 4 MiB" in shown
    assert f"{path}: storing of 4 MiB\r\x1b[KImported" in shown


def test_without_files_it_says_what_it_wants(ask: Ask) -> None:
    assert ask("history", "import").code == 2
