"""What the kernel and the machine offer, as far as they say."""

import ctypes
import shutil
from pathlib import Path

import pytest

from ask.commands import confinement


def test_all_that_there_is_stands_on_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confinement, "find_landlock", lambda: 4)
    monkeypatch.setattr(confinement, "may_unshare", lambda: True)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    found = confinement.check_confinement()
    assert found.state == "ok"
    assert found.text == (
        "tools can be confined with Landlock (ABI 4), bubblewrap, user namespaces"
    )


def test_nothing_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confinement, "find_landlock", lambda: 0)
    monkeypatch.setattr(confinement, "may_unshare", lambda: False)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    found = confinement.check_confinement()
    assert (found.state, "bubblewrap" in found.hint) == ("warn", True)


def test_the_kernel_is_asked_and_may_know_nothing_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 0 <= confinement.find_landlock() < 1000

    def refuse(*_: object, **__: object) -> None:
        raise OSError("no library")

    monkeypatch.setattr(ctypes, "CDLL", refuse)
    assert confinement.find_landlock() == 0


def test_each_switch_can_forbid(tmp_path: Path) -> None:
    assert not confinement.may_unshare(tmp_path), "a kernel without them"
    (tmp_path / "user").mkdir()
    (tmp_path / "kernel").mkdir()
    assert confinement.may_unshare(tmp_path)
    for name, forbidden in confinement.SWITCHES:
        switch = tmp_path / name
        switch.write_text(f"{forbidden}\n")
        assert not confinement.may_unshare(tmp_path), name
        switch.write_text("7\n")
        assert confinement.may_unshare(tmp_path)
    switch.write_bytes(b"\xff")
    assert confinement.may_unshare(tmp_path)
