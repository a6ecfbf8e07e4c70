"""`ask install-launcher`: where it writes, what it leaves alone, and what it says of the PATH."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ask import __version__
from tests.client.commands.conftest import Ask

SAID = f"starts ask {__version__}.\n"


@pytest.fixture
def own(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's home with nothing in it, whose shell looks where programs usually are."""
    directory = tmp_path / "person"
    directory.mkdir()
    monkeypatch.setenv("HOME", str(directory))
    monkeypatch.setenv("PATH", f"{directory}/.local/bin:/usr/bin:/bin")
    return directory


def test_it_writes_to_the_persons_own_programs(ask: Ask, own: Path) -> None:
    path = own / ".local" / "bin" / "ask"
    for _ in range(2):  # what it wrote itself, it writes anew
        result = ask("install-launcher")
        assert (result.code, result.out, result.err) == (0, f"{path} {SAID}", "")
    ran = subprocess.run([path, "config", "path"], capture_output=True, check=True)
    assert ran.stdout.decode() == ask("config", "path").out


def test_a_directory_that_is_named_is_made(
    ask: Ask, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(own)
    for name in ("bin/", "a b/c", "."):
        place = os.path.abspath(own / name)
        assert ask("install-launcher", name).out == f"{place}/ask {SAID}"


def test_without_a_home_and_without_a_name_nothing_is_written(
    ask: Ask, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(own)
    assert ask("install-launcher", "").code == 2
    for none in ("", "relative"):
        monkeypatch.setenv("HOME", none)
        assert ask("install-launcher").code == 2
    assert os.listdir(own) == []


def test_what_the_shell_finds_instead_is_told(
    ask: Ask, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = ask("install-launcher", str(own / "b in"))
    assert result.code == 0
    assert "still finds nothing." in result.err
    assert f"export PATH='{own}/b in':\"$PATH\"" in result.err
    monkeypatch.setenv("PATH", f"{own}/b in:{own}/.local/bin")
    later = ask("install-launcher").err
    assert f"still finds {own}/b in/ask." in later
    assert f"before {own}/.local/bin on your PATH." in later
    assert "export" not in later


def test_another_program_is_left_alone(ask: Ask, own: Path) -> None:
    path = own / "ask"
    path.write_text("#!/bin/sh\n")
    result = ask("install-launcher", str(own))
    assert (result.code, result.out) == (1, "")
    said, hint = result.err.splitlines()
    assert said == f"{path} is there, and ask install-launcher did not write it: it is left alone."
    assert hint.endswith(f"rm {path}")
    assert path.read_text() == "#!/bin/sh\n"
    path.unlink()
    path.mkdir()
    assert "rm" not in ask("install-launcher", str(own)).err.splitlines()[1]
    assert ask("install-launcher", "/dev/null").code == 74


def test_the_script_that_pip_wrote_stays_where_it_is(ask: Ask, own: Path) -> None:
    script = Path(sys.executable).with_name("ask")
    before = script.read_bytes()
    result = ask("install-launcher", str(script.parent))
    assert result.code == 1
    assert "the script that pip wrote" in result.err
    assert "rm" not in result.err.split()
    assert script.read_bytes() == before
