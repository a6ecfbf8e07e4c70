"""What the kernel and the machine offer, as far as they say."""

import ctypes
import shutil
from pathlib import Path

import pytest

from ask.commands import confinement
from ask.commands.calls import open_client
from ask.commands.findings import lay_out_finding
from tests.client.commands.fake_daemon import FakeDaemon
from tests.client.commands.fake_log import Refusal


def test_all_that_there_is_stands_on_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confinement, "find_landlock", lambda: 6)
    monkeypatch.setattr(confinement, "may_unshare", lambda: True)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    found = confinement.check_confinement()
    assert found.state == "ok"
    assert found.text == (
        "tools can be confined with Landlock (ABI 6), bubblewrap, user namespaces"
    )


@pytest.mark.parametrize(("version", "namespaces"), [(0, False), (5, False), (5, True)])
def test_nothing_is_a_warning(
    version: int, namespaces: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a Landlock that the daemon does not use, nor namespaces that nobody enters."""
    monkeypatch.setattr(confinement, "find_landlock", lambda: version)
    monkeypatch.setattr(confinement, "may_unshare", lambda: namespaces)
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


def test_what_the_daemon_found_counts(daemon: FakeDaemon) -> None:
    with open_client() as client:
        found = confinement.ask_confinement(client)
        assert found is not None
        assert (found.state, found.text.partition(":")[0]) == ("ok", "bubblewrap")
        daemon.confinement = {"kind": "landlock", "text": "Confined by Landlock."}
        found = confinement.ask_confinement(client)
        assert found is not None
        assert (found.state, found.text.partition(":")[0]) == ("ok", "landlock")


def test_none_is_a_warning_that_says_what_could_happen_and_what_to_do(daemon: FakeDaemon) -> None:
    daemon.confinement = {"kind": "none", "text": "Not confined."}
    with open_client() as client:
        found = confinement.ask_confinement(client)
        assert found is not None
        assert found.state == "warn"
        assert lay_out_finding(found).startswith("warn  confinement: none: ")
        assert "this daemon's socket" in found.text
        assert "Install bubblewrap" in found.hint
        daemon.settings["tools"] = {"sandbox": "none"}
        found = confinement.ask_confinement(client)
        assert found is not None
        assert 'sandbox = "none"' in found.hint


def test_a_daemon_that_knows_no_tools_leaves_it_to_the_kernel(daemon: FakeDaemon) -> None:
    daemon.refusals["tool/list"] = Refusal("unknown_method", "There is no method 'tool/list'.")
    with open_client() as client:
        assert confinement.ask_confinement(client) is None


def test_a_daemon_that_could_not_look_is_a_warning(daemon: FakeDaemon) -> None:
    daemon.refusals["tool/list"] = Refusal("internal", "The look failed.")
    with open_client() as client:
        found = confinement.ask_confinement(client)
    assert found is not None
    assert (found.state, found.text) == ("warn", "The look failed.")
