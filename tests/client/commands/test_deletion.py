"""What goes is shown, asked for and told; what is to be kept stays."""

import io
import json
import os
import re
import signal
import sys

import pytest

from tests.client.commands.conftest import Ask, Typed
from tests.client.commands.fake_daemon import FakeDaemon
from tests.client.commands.fake_log import NOW


def test_delete_with_yes(daemon: FakeDaemon, ask: Ask) -> None:
    keep = daemon.create("keep")
    daemon.create("one")
    daemon.create("two")
    result = ask("history", "delete", "one", "two", "--yes")
    assert (result.code, result.out) == (0, "")
    assert result.err == "Deleted 2 conversations.\n"
    assert list(daemon.events) == [keep]


def test_delete_deletes_nothing_if_one_is_not_there(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.create("one")
    result = ask("history", "delete", "one", "nobody", "--yes", "--json")
    assert result.code == 3
    assert json.loads(result.out)["code"] == 3
    assert len(daemon.events) == 1


def test_delete_without_a_terminal_wants_yes(
    daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon.create("one")
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    result = ask("history", "delete", "one")
    assert result.code == 2
    assert "--yes" in result.err
    assert len(daemon.events) == 1


@pytest.mark.parametrize(("typed", "left"), [("y\n", 0), ("yes\n", 0), ("n\n", 1), ("", 1)])
def test_delete_asks_on_a_terminal(
    daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch, typed: str, left: int
) -> None:
    conversation_id = daemon.create("one")
    monkeypatch.setattr(sys, "stdin", Typed(typed))
    result = ask("history", "delete", "one")
    assert result.code == 0
    assert conversation_id[:8] in result.err
    assert "Delete 1 conversation for good? [y/N]" in result.err
    assert ("[y/N] \n" in result.err) is (typed == "")  # a person who types a line has ended it
    assert len(daemon.events) == left


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a day after what the daemon holds."""
    monkeypatch.setattr("ask.commands.deletion.time.time", lambda: NOW + 86_400)


@pytest.mark.usefixtures("clock")
def test_old_ones_go_and_those_to_keep_stay(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.create("named")
    pinned, busy, old = daemon.create(), daemon.create(), daemon.create()
    young = daemon.create()
    daemon.events[young].append({**daemon.events[young][-1], "at": NOW + 86_000})
    daemon.pinned.add(pinned)
    daemon.busy.add(busy)
    result = ask("history", "delete", "--older-than", "12h", "--yes", "--json")
    assert result.code == 0
    assert json.loads(result.out) == [{"conversation_id": old}]
    assert result.err == (
        "3 old conversations stay: 1 has a name, 1 is pinned, 1 is at work.\n"
        "Deleted 1 conversation.\n"
    )
    assert old not in daemon.events
    assert len(daemon.events) == 4


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("named", [True, False])
def test_nothing_that_old(daemon: FakeDaemon, ask: Ask, named: bool) -> None:
    daemon.create("work" if named else None)
    span = "1h" if named else "2d"
    result = ask("history", "delete", "--older-than", span, "--yes", "--json")
    stay = "1 old conversation stays: 1 has a name.\n" if named else ""
    nothing = "Nothing to delete: no conversation is that old.\n"
    if named:
        nothing = "Nothing to delete.\n"
    assert (result.code, result.out, result.err) == (0, "[]\n", stay + nothing)


@pytest.mark.parametrize(
    "span", ["30", "d", "-1d", "1.5h", "3mo", "", "1d2h", "30 d", "9999999999y"]
)
def test_what_is_no_length_of_time(daemon: FakeDaemon, ask: Ask, span: str) -> None:
    result = ask("history", "delete", "--older-than", span, "--yes")
    assert result.code == 2
    assert "is no length of time: a number and one of s, m, h, d, w, y, such as 30d" in result.err
    assert daemon.called("conversation/list") == []


def test_ids_and_ages_are_two_ways_to_say_it(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.create("work")
    result = ask("history", "delete", "work", "--older-than", "1d", "--yes")
    assert (result.code, result.err.splitlines()[0]) == (2, "Give IDs or --older-than, not both.")
    result = ask("history", "delete", "--yes")
    assert result.code == 2
    assert result.err.startswith("Say what to delete: an ID, or --older-than 30d, or --backups.")
    assert len(daemon.events) == 1


@pytest.mark.usefixtures("clock")
def test_what_is_used_meanwhile_stays(daemon: FakeDaemon, ask: Ask) -> None:
    first, second = daemon.create(), daemon.create()
    daemon.deleting = lambda id: daemon.busy.add(first)
    result = ask("history", "delete", "--older-than", "1h", "--yes")
    assert result.err == "Deleted 1 conversation; 1 conversation is in use by now.\n"
    assert list(daemon.events) == [first]
    assert second not in daemon.events


def test_one_at_work_is_interrupted_if_that_was_shown(
    daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon.busy.add(daemon.create("work"))
    monkeypatch.setattr(sys, "stdin", Typed("y\n"))
    result = ask("history", "delete", "work")
    assert "Of these, 1 is at work and is interrupted.\n" in result.err
    assert (result.code, daemon.events) == (0, {})
    rest = daemon.create("rest")
    daemon.deleting = daemon.busy.add
    refused = ask("history", "delete", "rest", "--yes")
    assert (refused.code, list(daemon.events)) == (8, [rest])
    assert refused.err.startswith("Deleted 0 of 1 conversation.\n")


def test_one_that_somebody_else_deletes_is_no_error(daemon: FakeDaemon, ask: Ask) -> None:
    one, two = daemon.create("one"), daemon.create("two")
    daemon.deleting = lambda id: daemon.events.pop(one, None)
    result = ask("history", "delete", "one", "two", "--yes", "--json")
    assert json.loads(result.out) == [{"conversation_id": two}]
    assert (result.code, result.err) == (0, "Deleted 1 of 2 conversations.\n")


def test_a_long_list_is_cut(daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(25):
        daemon.create()
    monkeypatch.setattr("ask.commands.deletion.time.time", lambda: NOW + 86_400)
    monkeypatch.setattr(sys, "stdin", Typed("n\n"))
    result = ask("history", "delete", "--older-than", "1h")
    assert len(re.findall(r"^[0-9a-f]{8}  ", result.err, re.MULTILINE)) == 20
    assert "... and 5 more\nDelete 25 conversations for good? [y/N] " in result.err
    assert (result.code, len(daemon.events)) == (0, 25)


def test_ctrl_c_stops_between_two(daemon: FakeDaemon, ask: Ask) -> None:
    names = [f"c{number}" for number in range(10)]
    ids = [daemon.create(name) for name in names]

    def press(conversation_id: str) -> None:
        if conversation_id == ids[2]:
            os.kill(os.getpid(), signal.SIGINT)

    daemon.deleting = press
    result = ask("history", "delete", *names, "--yes", "--json")
    assert result.code == 130
    assert json.loads(result.out) == [{"conversation_id": id} for id in ids[:3]]
    assert result.err == "Deleted 3 of 10 conversations.\n"
    assert list(daemon.events) == ids[3:]


@pytest.mark.usefixtures("clock")
def test_ctrl_c_stops_also_among_thousands(daemon: FakeDaemon, ask: Ask) -> None:
    for _ in range(100):
        daemon.create()
    seen: list[str] = []

    def press(conversation_id: str) -> None:
        seen.append(conversation_id)
        if len(seen) == 20:
            os.kill(os.getpid(), signal.SIGINT)

    daemon.deleting = press
    result = ask("history", "delete", "--older-than", "1h", "--yes", "--json")
    assert result.code == 130
    gone = [row["conversation_id"] for row in json.loads(result.out)]
    assert gone == seen
    assert 20 <= len(gone) < 100
    assert result.err == f"Deleted {len(gone)} of 100 conversations.\n"
    assert len(daemon.events) == 100 - len(gone)


def test_progress_is_for_terminals(daemon: FakeDaemon, ask: Ask) -> None:
    for _ in range(60):
        daemon.create()
    result = ask("history", "delete", "--older-than", "0s", "--yes")
    assert result.err == "Deleted 60 conversations.\n"
