"""Where the daemon runs from is found, and is read-only for a model's tools."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import ask
from askd import tools
from askd.tools import workspace as workspaces
from askd.tools.installed import INSTALLED, find_installed
from askd.tools.workspace import open_workspace
from tests.fakes.tools import SITE


def test_packages_and_environment_are_found() -> None:
    for module in (tools, ask):
        assert module.__file__ is not None
        place = Path(module.__file__).resolve()
        assert any(place.is_relative_to(each) for each in INSTALLED)
    assert (os.path.realpath(sys.prefix) in INSTALLED) == (sys.prefix != sys.base_prefix)


def test_packages_of_a_machine_stand_for_what_they_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine itself is none of ours."""
    (tmp_path / "site-packages/one_of_these").mkdir(parents=True)
    (tmp_path / "site-packages/one_of_these/__init__.py").touch()
    monkeypatch.setattr("askd.tools.installed.PACKAGES", ("one_of_these",))
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    monkeypatch.syspath_prepend(tmp_path / "site-packages")
    home = str(tmp_path / "site-packages")
    assert find_installed() == (home, f"{home}/one_of_these")


def test_no_tool_writes_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspaces, "INSTALLED", (str(tmp_path / ".venv"),))
    with open_workspace(replace(SITE, cwd=str(tmp_path))) as workspace:
        assert workspace.is_protected(".venv/lib/launcher.py")
        assert not workspace.is_protected("src/launcher.py")
        assert not workspace.is_own(".venv/lib/launcher.py"), "it may be read"
