"""What would change is shown before it does, and nothing of it moves the terminal."""

import json
import sys
from typing import Any

import pytest

from ask.commands import restore
from ask.commands.restore import LOST, NO_SNAPSHOTS, NOTHING, UNCHANGED
from ask.connection import Client
from tests.client.commands.conftest import Ask, Typed
from tests.client.commands.fake_daemon import FakeDaemon
from tests.client.commands.fake_log import Refusal

ID = "0123456789ab"
DIFF = "diff --git a/x b/x\n-new\n+old\n"


def row(**more: Any) -> dict[str, Any]:
    return {
        "id": ID,
        "at": 0.0,
        "worktree": "/w",
        "commit": "0" * 40,
        "differ": 2,
        "trouble": None,
        **more,
    }


def found(**more: Any) -> dict[str, Any]:
    return {
        "id": ID,
        "conversation_id": "c",
        "worktree": "/w",
        "files": 1,
        "diff": DIFF,
        "cut": False,
        **more,
    }


def done(**more: Any) -> dict[str, Any]:
    return {
        "id": ID,
        "conversation_id": "c",
        "worktree": "/w",
        "put": 1,
        "removed": 2,
        "left": [],
        "left_total": 0,
        "before": "ba9876543210",
        **more,
    }


def test_without_an_id_it_lists(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.create("work")
    daemon.snapshots = [
        row(),
        row(differ=0, worktree="/w\x1b[31m"),
        row(differ=1),
        row(differ=None, at=None),
        row(trouble="It is gone."),
    ]
    lines = ask("history", "restore", "-s", "work").out.splitlines()
    assert lines[0].startswith(f"{ID}  19")
    assert lines[0].endswith("2 files differ      /w")
    assert [line[32:48].strip() for line in lines[1:]] == [
        "as it is",
        "1 file differs",
        "?",
        "cannot be restor",
    ]
    assert "\x1b" not in "".join(lines)
    assert json.loads(ask("history", "restore", "-s", "work", "--json").out) == daemon.snapshots


def test_many_come_page_by_page(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.create("work")
    daemon.snapshots = [row() for _ in range(120)]
    assert len(ask("history", "restore", "-s", "work").out.splitlines()) == 120


def test_none_is_said(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.create("work")
    result = ask("history", "restore", "-s", "work")
    assert (result.code, result.out, result.err) == (0, "", f"{NO_SNAPSHOTS}\n")
    assert ask("history", "restore", "-s", "work", "--json").out == "[]\n"


def test_a_look_changes_nothing(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.differing = [found(), found(cut=True), found(files=0, diff=""), found()]
    assert ask("history", "restore", ID, "--dry-run").out == DIFF
    assert "longer" in ask("history", "restore", ID, "--dry-run").err
    assert ask("history", "restore", ID, "--dry-run").err == f"{NOTHING}\n"
    assert json.loads(ask("history", "restore", ID, "--dry-run", "--json").out) == found()
    assert daemon.called("snapshot/restore") == []


def test_yes_restores_at_once_and_says_how_to_undo_it(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.restored = [done(), done(before=None, put=0, removed=0), done()]
    result = ask("history", "restore", ID, "--yes")
    assert (result.code, result.out) == (0, "")
    assert result.err.splitlines() == [
        "Put back 1 file, removed 2, in /w.",
        "To undo this: ask history restore ba9876543210",
    ]
    assert ask("history", "restore", ID, "--yes").err == f"{NOTHING}\n"
    assert json.loads(ask("history", "restore", ID, "--yes", "--json").out) == done()
    assert daemon.called("snapshot/diff") == []


def test_what_was_left_is_named_and_is_no_success(daemon: FakeDaemon, ask: Ask) -> None:
    left = [{"path": f"a\n\x1b[2J{number}", "why": "it is large"} for number in range(25)]
    daemon.restored = [done(left=left, left_total=30)]
    result = ask("history", "restore", ID, "--yes")
    assert result.code == 1
    assert "Left as it is: a\\x0a\\x1b[2J0: it is large\n" in result.err
    assert "and 10 files more\n" in result.err


@pytest.mark.parametrize(("typed", "is_meant"), [("y\n", True), ("n\n", False), ("", False)])
def test_a_person_sees_all_and_is_asked(
    daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch, typed: str, is_meant: bool
) -> None:
    monkeypatch.setattr(sys, "stdin", Typed(typed))
    daemon.differing = [found(diff="-\x1b]52;c;x\x07\u202enew\n+old\n", files=2)]
    daemon.restored = [done()]
    result = ask("history", "restore", ID[:4])
    assert result.code == 0
    assert result.out == "-\\x1b]52;c;x\\x07\\u202enew\n+old\n"
    assert "Put back 2 files in /w? [y/N] " in result.err
    assert (UNCHANGED in result.err) is not is_meant
    asked = [{"snapshot": ID, "conversation_id": "c"}] if is_meant else []
    assert daemon.called("snapshot/restore") == asked, "the very one that was shown"


def test_a_long_diff_is_cut_before_the_question(
    daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Typed("n\n"))
    daemon.differing = [found(diff="+line\n" * 500)]
    result = ask("history", "restore", ID)
    assert len(result.out.splitlines()) == restore.SHOWN_LINES
    assert f"There is more of it: ask history restore {ID} --dry-run" in result.err


def test_where_nothing_differs_nobody_is_asked(
    daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Typed(""))
    daemon.differing = [found(files=0, diff="")]
    assert ask("history", "restore", ID).err == f"{NOTHING}\n"


def test_without_a_terminal_it_wants_to_be_told(daemon: FakeDaemon, ask: Ask) -> None:
    result = ask("history", "restore", ID)
    assert result.code == 2
    assert "say --yes, or --dry-run to look" in result.err
    assert daemon.called("snapshot/diff") == []


def test_a_conversation_can_be_named(daemon: FakeDaemon, ask: Ask) -> None:
    id = daemon.create("work")
    daemon.restored = [done()]
    ask("history", "restore", ID, "-s", "work", "--yes")
    assert daemon.called("snapshot/restore") == [{"snapshot": ID, "conversation_id": id}]


def test_a_refusal_is_its_code_and_its_sentence(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.refusals["snapshot/restore"] = Refusal("busy", "A turn is at work.")
    result = ask("history", "restore", ID, "--yes")
    assert (result.code, result.err) == (8, "A turn is at work.\n")


def test_ctrl_c_says_what_may_be(
    daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = Client.call

    def interrupt(self: Client, method: str, *more: Any, **named: Any) -> Any:
        if method == "snapshot/restore":
            raise KeyboardInterrupt
        return call(self, method, *more, **named)

    monkeypatch.setattr(Client, "call", interrupt)
    result = ask("history", "restore", ID, "--yes")
    assert result.code == 130
    assert LOST in result.err
