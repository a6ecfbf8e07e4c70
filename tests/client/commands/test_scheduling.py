"""What `ask doctor` says of schedules: those with trouble, and nothing where there is none."""

from ask.commands.calls import open_client
from ask.commands.findings import Finding
from ask.commands.scheduling import check_schedules, fetch_schedules
from tests.client.commands.conftest import Ask
from tests.client.commands.fake_daemon import FakeDaemon
from tests.client.commands.fake_log import NOW, Refusal
from tests.client.commands.fake_schedules import schedule, slot


def check() -> list[Finding]:
    with open_client() as client:
        return list(check_schedules(fetch_schedules(client)))


def test_nothing_is_said_of_nothing(daemon: FakeDaemon) -> None:
    assert check() == []
    daemon.refusals["schedule/list"] = Refusal("unknown_method", "There is no such method.")
    assert check() == []


def test_all_in_order(daemon: FakeDaemon) -> None:
    daemon.schedules = [schedule("aaaa-1", last=slot()), schedule("bbbb", next_at=NOW + 60)]
    (found,) = check()
    assert found.state == "ok"
    assert found.text.startswith("2 schedules, next Thu 2026-01-01 00:01 (in ")
    daemon.schedules = [schedule("aaaa", paused_at=NOW, next_at=None)]
    assert [each.text for each in check()] == ["1 schedule, none is enabled"]


def test_each_trouble_is_a_line_with_what_to_do(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.schedules = [
        schedule("aaaa-1", name="morning", paused_at=NOW, next_at=None, trouble="It is gone."),
        schedule("bbbbbbbbb", last=slot("refused", error="No key.\x1b[2J")),
        schedule("cccc", last=slot("interrupted")),
    ]
    first, second = check()
    assert (first.state, first.text) == ("warn", "morning is paused: It is gone.")
    assert first.hint == "Go on: ask schedule resume aaaa-1; or: ask schedule remove aaaa-1"
    assert second.text == "bbbbbbbb: refused Thu 2026-01-01 00:00: No key."
    assert second.hint == "All about it: ask schedule show bbbbbbbb"
    assert "warn  schedule: morning is paused" in ask("doctor").out


def test_what_is_not_paused_is_not_to_be_resumed(daemon: FakeDaemon) -> None:
    daemon.schedules = [schedule("aaaa-1", name="morning", trouble="Refused: no key.")]
    (found,) = check()
    assert (found.state, found.text) == ("warn", "morning sends nothing: Refused: no key.")
    assert found.hint == "All about it: ask schedule show aaaa-1; or: ask schedule remove aaaa-1"
