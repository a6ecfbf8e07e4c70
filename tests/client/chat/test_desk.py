"""A desk: the conversation begins with the first thing that needs it, and notices are kept."""

import pytest

from tests.client.chat.conftest import Seat
from tests.client.commands.fake_daemon import FakeDaemon


def test_a_conversation_begins_once(daemon: FakeDaemon, seat: Seat) -> None:
    seat.desk.options = {"model": "fake/x", "system": "Be brief.", "tools": ["all"]}
    conversation_id = seat.desk.begin()
    assert seat.desk.begin() == conversation_id
    (created,) = daemon.called("conversation/create")
    assert (created["model"], created["system"], created["terminal"]) == (
        "fake/x", "Be brief.", "name:here",
    )  # fmt: skip
    assert "tools" not in created
    assert seat.desk.find()["id"] == conversation_id


@pytest.mark.parametrize("keeps", [True, False])
def test_notices_are_kept_if_the_settings_let_them(
    daemon: FakeDaemon, seat: Seat, keeps: bool
) -> None:
    daemon.settings["persist_special_commands"] = keeps
    expected: list[str] = []
    seat.desk.expect_notice = expected.append
    seat.desk.note("one")
    seat.desk.note("two", level="result")
    kept = [(each["level"], each["text"]) for each in daemon.called("conversation/note")]
    assert kept == ([("command", "one"), ("result", "two")] if keeps else [])
    assert expected == [text for _, text in kept]
    assert len(daemon.called("config/read")) == 1
    assert (seat.desk.conversation_id is not None) is keeps
