"""What `ask doctor` says of notifications, and that it sends one only if it is told to."""

import pytest

from ask.commands.calls import open_client
from ask.commands.findings import Finding
from ask.commands.notifying import WAY, check_notifications
from ask.exits import Failed
from tests.client.commands.conftest import Ask
from tests.client.commands.fake_daemon import FakeDaemon
from tests.client.commands.fake_log import Refusal
from tests.client.commands.job_records import job

MISSING = {"state": "missing", "text": "There is nothing to notify with."}


def check(*, send: bool = False) -> list[Finding]:
    with open_client() as client:
        return list(check_notifications(client, send=send))


def test_what_there_is(daemon: FakeDaemon) -> None:
    (found,) = check()
    assert (found.state, found.text) == (
        "ok",
        "turns with --notify notify with /usr/bin/notify-send",
    )
    assert daemon.called("notify/test") == [{}]


def test_one_is_sent_if_it_is_wanted(daemon: FakeDaemon) -> None:
    (found,) = check(send=True)
    assert (found.state, "was sent with /usr/bin/notify-send" in found.text) == ("ok", True)
    assert daemon.called("notify/test") == [{"send": True}]
    daemon.sending = {"state": "failed", "text": "No desktop."}
    assert check(send=True) == [Finding("notify", "fail", "No desktop.", WAY)]


def test_nothing_is_a_fault_only_where_somebody_wants_it(daemon: FakeDaemon) -> None:
    daemon.notifier = MISSING
    assert check() == [Finding("notify", "ok", MISSING["text"])]
    assert check(send=True) == [Finding("notify", "fail", MISSING["text"], WAY)]
    daemon.settings["notify"] = {"command": None, "detached": True}
    assert check() == [Finding("notify", "fail", MISSING["text"], WAY)]
    daemon.notifier = {"state": "off", "text": "Nothing is run."}
    assert check() == [Finding("notify", "ok", "Nothing is run.")]


def test_one_that_did_not_come_is_said_until_another_did(daemon: FakeDaemon) -> None:
    failed = job("0123456789", "discarded", kind="notify", error="no desktop")
    daemon.jobs = [failed]
    ready, found = check()
    assert ready.state == "ok"
    assert (found.state, found.text) == ("warn", "the last one did not come: no desktop")
    assert "ask jobs show 01234567" in found.hint
    daemon.jobs.insert(0, job("1123456789", "completed", kind="notify"))
    assert [each.state for each in check()] == ["ok"]


def test_an_older_daemon_knows_nothing_of_it(daemon: FakeDaemon) -> None:
    daemon.refusals["notify/test"] = Refusal("unknown_method", "There is no such method.")
    assert check() == []
    daemon.refusals["notify/test"] = Refusal("internal", "Something went wrong.")
    with pytest.raises(Failed):
        check()


def test_it_goes_with_the_checks_alone(ask: Ask) -> None:
    result = ask("doctor", "--notify", "--rebuild")
    assert (result.code, "--notify goes with the checks alone" in result.err) == (2, True)
