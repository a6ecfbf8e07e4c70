"""Copies of the database are told of, and removed with what they hold, or all of them."""

import sys

import pytest

from tests.client.commands.conftest import Ask, Typed
from tests.client.commands.fake_daemon import FakeDaemon


def test_copies_are_told_of_and_removed(
    daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two, three = (daemon.create(name) for name in ("one", "two", "three"))
    daemon.backups = {"ask.db.backup-4": [one, two], "ask.db.backup-5": [three]}
    told = ask("history", "delete", "one", "--yes").err
    assert told == (
        "Deleted 1 conversation.\n1 copy of the database still holds what was deleted. "
        "Remove it: ask history delete --backups\n"
    )
    monkeypatch.setattr(sys, "stdin", Typed("y\n"))
    result = ask("history", "delete", "two", "--backups")
    assert "ask.db.backup-4  2026-01-01 00:00  4 KiB\n" in result.err
    assert "Delete 1 conversation and 1 copy of the database for good? [y/N] " in result.err
    assert result.err.endswith("Deleted 1 conversation.\nDeleted 1 copy of the database.\n")
    assert list(daemon.backups) == ["ask.db.backup-5"]
    monkeypatch.setattr(sys, "stdin", Typed("y\n"))
    alone = ask("history", "delete", "--backups", "--json")
    assert "Delete 1 copy of the database for good? [y/N] " in alone.err
    assert (alone.code, alone.out, daemon.backups) == (0, "[]\n", {})
    nothing = ask("history", "delete", "--backups", "--yes")
    assert nothing.err == "Nothing to delete: there is no copy of the database.\n"
    assert list(daemon.events) == [three]
    none = ask("history", "delete", "three", "--backups", "--yes")
    assert none.err == "Deleted 1 conversation.\nNo copy of the database holds what was deleted.\n"


def test_one_that_is_gone_already_is_no_error(
    daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon.backups = {"ask.db.backup-4": [], "ask.db.backup-5": []}
    calls = daemon.called

    class Sly:
        def isatty(self) -> bool:
            return True

        def readline(self) -> str:
            del daemon.backups["ask.db.backup-4"]
            return "y\n"

    monkeypatch.setattr(sys, "stdin", Sly())
    result = ask("history", "delete", "--backups")
    assert (result.code, daemon.backups) == (0, {})
    assert result.err.endswith("Deleted 2 copies of the database.\n")
    assert [each["name"][-1] for each in calls("backup/remove")] == ["4", "5"]


def test_nothing_is_removed_without_a_yes(
    daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon.backups = {"ask.db.backup-4": []}
    monkeypatch.setattr(sys, "stdin", Typed("\n"))
    result = ask("history", "delete", "--backups")
    assert (result.code, list(daemon.backups)) == (0, ["ask.db.backup-4"])
    assert result.err.endswith("Nothing was deleted.\n")
