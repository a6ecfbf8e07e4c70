"""A fork's id is printed, and this terminal goes on with it."""

import json

from tests.client.commands.conftest import Ask
from tests.client.commands.fake_daemon import FakeDaemon


def test_a_fork_prints_its_id_and_is_this_terminals_own(daemon: FakeDaemon, ask: Ask) -> None:
    source = daemon.create("work")
    daemon.say(source, "one")
    result = ask("fork", "work")
    made = result.out.strip()
    assert (result.code, result.err) == (0, "Forked: work, 2 messages.\n")
    assert made != source
    assert daemon.terminals == {"name:here": made}
    assert daemon.events[made][0]["forked_from"] == source
    assert daemon.called("conversation/fork")[0]["at_seq"] is None


def test_at_an_event_under_a_name_as_json(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.create("work")
    summary = json.loads(ask("fork", "work", "--at", "1", "--name", "other", "--json").out)
    assert summary["name"] == "other"
    (asked,) = daemon.called("conversation/fork")
    assert (asked["at_seq"], asked["name"]) == (1, "other")


def test_what_cannot_be_forked(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.create("work")
    assert ask("fork", "nobody").code == 3
    assert ask("fork", "work", "--at", "0").code == 2
    assert ask("fork").code == 2
    result = ask("fork", "work", "--at", "9" * 30)
    assert (result.code, result.err) == (2, f"There is no event {'9' * 30}: the last one is 1.\n")
    result = ask("fork", "work", "--name", "\udcff")
    assert (result.code, result.err) == (2, "The conversation's name is not valid UTF-8.\n")
    assert daemon.called("conversation/fork") == []
