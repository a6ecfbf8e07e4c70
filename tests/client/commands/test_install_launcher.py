"""`ask install-launcher`: where it writes, what it leaves alone, and what it says of the PATH."""

import os
import subprocess
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
        assert ask("install-launcher") == ask("install-launcher", str(path))
        result = ask("install-launcher")
        assert (result.code, result.out, result.err) == (0, f"{path} {SAID}", "")
    ran = subprocess.run([path, "config", "path"], capture_output=True, check=True)
    assert ran.stdout.decode() == ask("config", "path").out


def test_a_directory_gets_a_program_of_our_name_and_any_file_its_own(ask: Ask, own: Path) -> None:
    assert ask("install-launcher", str(own)).out == f"{own}/ask {SAID}"
    assert ask("install-launcher", "~/ai").out == f"{own}/ai {SAID}"
    assert sorted(os.listdir(own)) == ["ai", "ask"]


def test_what_the_shell_finds_instead_is_told(
    ask: Ask, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = ask("install-launcher", str(own / "bin" / "ask"))
    assert result.code == 0
    assert "still finds nothing." in result.err
    assert f'export PATH="{own}/bin:$PATH"' in result.err
    monkeypatch.setenv("PATH", f"{own}/bin:{own}/.local/bin")
    assert f"still finds {own}/bin/ask." in ask("install-launcher").err


def test_another_program_is_left_alone(ask: Ask, own: Path) -> None:
    path = own / "ask"
    path.write_text("#!/bin/sh\n")
    result = ask("install-launcher", str(path))
    assert (result.code, result.out) == (1, "")
    assert result.err.splitlines()[0] == (
        f"{path} is there, and ask install-launcher did not write it: it is left alone."
    )
    assert path.read_text() == "#!/bin/sh\n"
