"""A secret is shown nowhere, asked about before it goes, and what stays is said."""

import getpass
import io
import json
import sys
from typing import Any

import pytest

from ask.commands import scrub
from ask.commands.scrub import ELSEWHERE, HELD, STOPPED
from tests.client.commands.conftest import Ask, Typed
from tests.client.commands.fake_daemon import FakeDaemon
from tests.client.commands.fake_log import Refusal

SECRET = "hunter22"


def piped(data: bytes) -> io.TextIOWrapper:
    """A standard input that is a pipe."""
    return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8")


def row(**more: Any) -> dict[str, Any]:
    return {
        "conversation_id": "1f2e3d4c-0000",
        "name": None,
        "title": "about foxes",
        "events": 2,
        "blobs": 0,
        "occurrences": 3,
        "is_busy": False,
        **more,
    }


def answer(*rows: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "data": list(rows),
        "total": len(rows),
        "occurrences": sum(each["occurrences"] for each in rows),
        "rows": 0,
        "files": [],
        "files_total": 0,
        "backups": [],
        "left": [],
        "left_total": 0,
        "erased": True,
        **more,
    }


NONE = answer()


def test_a_look_is_a_line_a_conversation_and_a_sum(daemon: FakeDaemon, ask: Ask) -> None:
    other = row(name="work\x1b[31m", events=1, occurrences=1, is_busy=True)
    daemon.scrubbed = [answer(row(), other, files=["/state/askd.log"], files_total=1, rows=2)]
    result = ask("history", "scrub", SECRET, "--dry-run")
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines() == [
        "1f2e3d4c  3 times in 2 events  about foxes",
        "1f2e3d4c  1 time in 1 event  (at work)  work",
        "/state/askd.log",
        "Found 4 times in 2 conversations, 1 file, 2 other rows.",
    ]
    (asked,) = daemon.called("conversation/scrub")
    assert asked == {"pattern": SECRET, "regex": False, "short": False, "dry_run": True}


def test_long_lists_are_cut_and_say_so(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.scrubbed = [answer(*[row()] * 25, files=["/f"] * 25, files_total=30)]
    lines = ask("history", "scrub", SECRET, "--dry-run").out.splitlines()
    assert "and 5 conversations more" in lines
    assert "and 10 files more" in lines


def test_yes_scrubs_at_once_and_says_what_became_of_it(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.scrubbed = [
        answer(
            row(),
            files=["/log"],
            files_total=1,
            backups=["/b"],
            left=["/keys.json"],
            left_total=3,
            erased=False,
        )
    ]
    result = ask("history", "scrub", SECRET, "--yes", "--backups", "--regex")
    assert (result.code, result.out) == (0, "")
    assert result.err.splitlines() == [
        "Scrubbed 3 times in 1 conversation, and 1 file.",
        "Removed: /b",
        "Holds it still, or may: /keys.json",
        "and 2 files more",
        HELD,
        ELSEWHERE,
    ]
    (asked,) = daemon.called("conversation/scrub")
    assert asked == {"pattern": SECRET, "regex": True, "short": True, "backups": True}


def test_nothing_found_is_done(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.scrubbed = [NONE, NONE]
    for how in ("--yes", "--dry-run"):
        result = ask("history", "scrub", SECRET, how)
        assert (result.code, result.out, result.err) == (0, "", "Nothing found.\n")


def test_json_is_the_daemons_answer(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.scrubbed = [answer(row()), answer(row())]
    assert json.loads(ask("history", "scrub", SECRET, "--dry-run", "--json").out) == answer(row())
    assert json.loads(ask("history", "scrub", SECRET, "--yes", "--json").out) == answer(row())


@pytest.mark.parametrize(("typed", "calls"), [("y\n", 2), ("n\n", 1), ("", 1), ("\n", 1)])
def test_a_person_is_asked(
    daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch, typed: str, calls: int
) -> None:
    monkeypatch.setattr(sys, "stdin", Typed(typed))
    daemon.scrubbed = [answer(row()), answer(row())]
    result = ask("history", "scrub", SECRET)
    assert result.code == 0
    assert "Replace it for good? [y/N] " in result.err
    assert ("Nothing was changed." in result.err) is (calls == 1)
    assert len(daemon.called("conversation/scrub")) == calls


def test_where_nothing_is_nobody_is_asked(
    daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Typed(""))
    daemon.scrubbed = [NONE]
    assert ask("history", "scrub", SECRET).err == "Nothing found.\nNothing was changed.\n"


def test_without_a_terminal_it_wants_to_be_told(daemon: FakeDaemon, ask: Ask) -> None:
    result = ask("history", "scrub", SECRET)
    assert result.code == 2
    assert "say --yes, or --dry-run to look" in result.err
    assert daemon.called("conversation/scrub") == []


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_the_pattern_from_standard_input(
    daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch, end: bytes
) -> None:
    monkeypatch.setattr(sys, "stdin", piped("two\nlinés".encode() + end))
    daemon.scrubbed = [NONE]
    assert ask("history", "scrub", "-", "--yes").code == 0
    assert daemon.called("conversation/scrub")[0]["pattern"] == "two\nlinés"


def test_what_is_typed_is_not_shown(
    daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Typed("y\n"))
    monkeypatch.setattr(getpass, "getpass", lambda said: SECRET)
    daemon.scrubbed = [answer(row()), answer(row())]
    result = ask("history", "scrub", "-")
    assert [each["pattern"] for each in daemon.called("conversation/scrub")] == [SECRET] * 2
    assert SECRET not in result.out + result.err


def test_bytes_that_are_no_text(
    daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", piped(b"\xff"))
    assert ask("history", "scrub", "-", "--yes").code == 2


def test_a_refusal_is_its_code_and_its_sentence(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.refusals["conversation/scrub"] = Refusal("busy", "A turn is at work in: 1f2e3d4c.")
    result = ask("history", "scrub", SECRET, "--yes")
    assert (result.code, result.err) == (8, "A turn is at work in: 1f2e3d4c.\n")


def test_ctrl_c_says_what_stays(
    daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(scrub, "_call", interrupt)
    result = ask("history", "scrub", SECRET, "--yes")
    assert result.code == 130
    assert STOPPED in result.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["ab(", "--regex"], "The pattern is no regular expression: see character 3."),
        (["(?P<hunter22!>a)", "--regex"], "The pattern is no regular expression: see character 5."),
        ([""], "The pattern is empty"),
        (["\udcff"], "The pattern is not valid UTF-8."),
    ],
)
def test_a_wrong_pattern_is_told_before_anything_else(
    daemon: FakeDaemon,
    ask: Ask,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    told: str,
) -> None:
    monkeypatch.setattr(sys, "stdin", piped(b""))
    for more in ([], ["--yes"], ["--dry-run"]):
        result = ask("history", "scrub", *words, *more)
        assert result.code == 2
        assert told in result.err
        assert "no terminal" not in result.err
        assert SECRET not in result.err
    assert daemon.called("conversation/scrub") == []
