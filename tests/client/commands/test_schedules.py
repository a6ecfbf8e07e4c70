"""Schedules by name: listed, shown, sent now, paused, resumed, removed."""

import json

from ask.commands.schedule_layout import NO_SCHEDULES
from tests.client.commands.conftest import Ask
from tests.client.commands.fake_daemon import FakeDaemon
from tests.client.commands.fake_schedules import schedule, slot


def test_nothing_to_list_is_said_with_what_to_do(daemon: FakeDaemon, ask: Ask) -> None:
    assert ask("schedule", "list").out == f"{NO_SCHEDULES}\n"
    assert ask("schedule", "list", "--json").out == "[]\n"


def test_all_are_listed(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.schedules = [schedule("aaaa-1", name="morning"), schedule("bbbb-2", prompt="\x1b[31mx")]
    lines = ask("schedule", "list").out.splitlines()
    assert [line.split()[0] for line in lines] == ["aaaa-1", "bbbb-2"]
    assert "\x1b" not in "".join(lines)
    assert json.loads(ask("schedule", "list", "--json").out) == daemon.schedules


def test_one_is_shown_by_its_name_or_the_beginning_of_its_id(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.schedules = [schedule("aaaa-1", name="morning", slots=[slot(job_id="job-7")])]
    for text in ("aaaa", "morning"):
        out = ask("schedule", "show", text).out
        assert out.startswith("Schedule: aaaa-1\nName: morning\nWhen: 0 8 * * 1-5 (UTC)\n")
        assert "job job-7" in out
    assert json.loads(ask("schedule", "show", "aaaa", "--json").out)["id"] == "aaaa-1"


def test_one_that_is_not_there(daemon: FakeDaemon, ask: Ask) -> None:
    for command in ("show", "run", "pause", "resume", "remove"):
        result = ask("schedule", command, "nobody")
        assert (result.code, result.out) == (3, "")
        assert result.err == "Schedule not found: nobody\nList them: ask schedule list\n"


def test_running_one_prints_its_job(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.schedules = [schedule("aaaa-1")]
    result = ask("schedule", "run", "aaaa")
    assert (result.code, result.out, result.err) == (0, "job-1\n", "0c0ffee0\n")
    assert json.loads(ask("schedule", "run", "aaaa", "--json").out)["job_id"] == "job-1"
    keys = {each["key"] for each in daemon.called("schedule/run")}
    assert len(keys) == 2, "each is a prompt of its own"


def test_several_are_paused_resumed_and_removed(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.schedules = [schedule("aaaa-1", name="one"), schedule("bbbb-2")]
    result = ask("schedule", "pause", "one", "bbbb", "aaaa")
    assert (result.code, result.out) == (0, "")
    assert result.err == "Paused: one\nPaused: bbbb-2\n"
    assert all(each["paused_at"] for each in daemon.schedules)
    result = ask("schedule", "resume", "one", "--json")
    assert result.err.startswith("Resumed: one, next ")
    assert [each["id"] for each in json.loads(result.out)] == ["aaaa-1"]
    assert ask("schedule", "remove", "one", "bbbb").err == "Removed: one\nRemoved: bbbb-2\n"
    assert daemon.schedules == []


def test_nothing_is_changed_when_one_is_not_there(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.schedules = [schedule("aaaa-1")]
    for command in ("pause", "remove"):
        assert ask("schedule", command, "aaaa", "nobody").code == 3
        assert ask("schedule", command).code == 2
    assert daemon.schedules == [schedule("aaaa-1")]


def test_a_name_that_is_no_text_is_refused(daemon: FakeDaemon, ask: Ask) -> None:
    result = ask("schedule", "show", "a\udcff")
    assert (result.code, result.err) == (2, "The schedule's name is not valid UTF-8.\n")
