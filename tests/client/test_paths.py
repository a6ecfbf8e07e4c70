"""Where everything is, for environments that say much, little, or nothing."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ask.paths import SOCKET_PATH_LIMIT_BYTES, Paths, is_own_directory, socket_candidates


def test_ask_home_moves_everything(tmp_path: Path) -> None:
    paths = Paths.of({"ASK_HOME": str(tmp_path), "XDG_RUNTIME_DIR": "/run/user/0"})
    assert paths.database == tmp_path / "data" / "ask.db"
    assert paths.owner_file == tmp_path / "data" / "owner.json"
    assert paths.rollouts == tmp_path / "data" / "rollouts"
    assert paths.archive == tmp_path / "data" / "archive"
    assert paths.lock_file == tmp_path / "data" / "askd.lock"
    assert paths.config_file == tmp_path / "config" / "config.toml"
    assert paths.log_file == tmp_path / "state" / "askd.log"
    assert paths.start_lock == tmp_path / "state" / "start.lock"
    assert paths.sockets == (tmp_path / "run" / "askd.sock",)
    assert paths.run == tmp_path / "run"


def test_ask_socket_is_the_only_place(tmp_path: Path) -> None:
    environ = {"ASK_SOCKET": "s.sock", "ASK_HOME": str(tmp_path)}
    assert socket_candidates(environ) == (Path.cwd() / "s.sock",)
    assert Paths.of(environ).data == tmp_path / "data"


def test_a_home_that_is_too_deep_for_a_socket() -> None:
    (first,) = socket_candidates({"ASK_HOME": "/deep" * 30})
    (second,) = socket_candidates({"ASK_HOME": "/deep" * 31})
    assert len(os.fsencode(first)) <= SOCKET_PATH_LIMIT_BYTES
    assert first.parent == Path(f"/tmp/ask-{os.getuid()}")
    assert first != second


def test_a_runtime_directory_must_be_ones_own(tmp_path: Path) -> None:
    last = Path(f"/tmp/ask-{os.getuid()}/askd.sock")
    own = socket_candidates({"XDG_RUNTIME_DIR": str(tmp_path)})
    assert own[0] == tmp_path / "ask" / "askd.sock"
    assert own[-1] == last
    for other in ("/nowhere", "relative"):
        assert Path(other) / "ask" / "askd.sock" not in socket_candidates(
            {"XDG_RUNTIME_DIR": other}
        )
    assert socket_candidates({})[-1] == last


def test_whose_directory_it_is(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert is_own_directory(str(tmp_path), os.getuid())
    assert not is_own_directory(str(tmp_path), os.getuid() + 1)
    assert not is_own_directory(str(tmp_path / "file"), os.getuid())
    assert not is_own_directory(".", os.getuid())


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (json.dumps({"socket": "/s", "pid": 1}), {"socket": "/s", "pid": 1}),
        ("{", None),
        ("[]", None),
        ('{"socket": 5}', None),
        (None, None),
        ('{"socket": "/s", "pid": "\\ud800"}', {"socket": "/s"}),
        ("[" * 100_000, None),
        ('{"socket": "/\\ud800"}', None),
        ('{"socket": "/\\udcff"}', None),
        ('{"socket": "/s\\u0000"}', None),
        ('{"socket": "s"}', None),
        ('{"socket": "/' + 107 * "s" + '"}', None),
        ('{"socket": "/' + 53 * "é" + '"}', {"socket": "/" + 53 * "é"}),
        ('{"socket": "/' + 54 * "é" + '"}', None),
    ],
)
def test_the_owners_file_is_read_leniently(
    tmp_path: Path, content: str | None, expected: object
) -> None:
    paths = Paths.of({"ASK_HOME": str(tmp_path)})
    if content is not None:
        paths.data.mkdir()
        paths.owner_file.write_text(content)
    assert paths.read_owner() == expected


def test_an_empty_environment_finds_the_same_directories(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `env -i ask` does: without HOME the password database knows the home."""
    import pwd

    for name in list(os.environ):
        if name.startswith(("XDG_", "ASK_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", pwd.getpwuid(os.getuid()).pw_dir)
    code = "import os; from ask.paths import Paths; print(Paths.of(os.environ))"
    found = subprocess.run(
        [sys.executable, "-c", code], env={}, capture_output=True, text=True, check=True
    ).stdout.strip()
    ours = Paths.of(os.environ)
    assert found == repr(ours)
    assert ours.data.parts[-3:] == (".local", "share", "ask")
