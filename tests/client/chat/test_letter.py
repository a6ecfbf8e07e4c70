"""A prompt on its way: with what it mentions and what is attached, once whatever is lost."""

from pathlib import Path
from typing import Any

import pytest

from ask.chat import letter
from ask.chat.desk import Desk
from ask.chat.letter import Sender
from ask.commands.calls import Map
from ask.connection import ConnectionLost
from ask.exits import USAGE, Failed
from ask.inputs import Input
from tests.client.chat.conftest import Seat
from tests.client.commands.fake_daemon import FakeDaemon


def test_the_first_prompt_begins_the_conversation(daemon: FakeDaemon, seat: Seat) -> None:
    keys: list[str] = []
    seat.desk.options = {"model": "fake/x"}
    sender = Sender(seat.desk, keys.append)
    sender.send("one")
    seat.desk.options = {}
    sender.send("two")
    first, second = daemon.called("turn/start")
    assert first["target"] == {"kind": "new"}
    assert second["target"] == {"kind": "id", "value": seat.desk.conversation_id}
    assert [first["options"], second["options"]] == [{"model": "fake/x"}, {}]
    assert [first["key"], second["key"]] == keys


def test_files_go_with_one_prompt(daemon: FakeDaemon, seat: Seat, tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("pass\n")
    seat.desk.attached = [Input(b"attached", "a.txt")]
    sender = Sender(seat.desk, lambda key: None)
    sender.send(f"fix @{tmp_path}/x.py")
    assert [part["text"] for part in daemon.called("turn/start")[0]["parts"]][1:] == [
        "pass\n", "attached",
    ]  # fmt: skip
    sender.send("again")
    assert len(daemon.called("turn/start")[1]["parts"]) == 1
    with pytest.raises(Failed) as failed:
        sender.send(f"fix @{tmp_path}/none.py")
    assert failed.value.code == USAGE
    Sender(seat.desk, lambda key: None, mentions=False).send(f"fix @{tmp_path}/none.py")
    assert len(daemon.called("turn/start")) == 3


class Flaky:
    """A daemon that is lost before it answers, a few times."""

    def __init__(self, losses: int) -> None:
        self.losses = losses
        self.asked: list[Map] = []

    def call(self, method: str, params: Map | None = None, *, limit_s: float = 0.0) -> Any:
        assert params is not None
        self.asked.append(params)
        self.losses -= 1
        if self.losses >= 0:
            raise ConnectionLost()
        return {"turn_id": "t", "conversation_id": "c", "seq": 1, "position": 0}


def test_a_lost_prompt_is_sent_again_with_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(letter, "AGAIN_PAUSE_S", 0.0)
    flaky = Flaky(3)
    desk = Desk(caller=flaky, show=print, tell=print)
    assert Sender(desk, lambda key: None).send("hi")["turn_id"] == "t"
    assert len(flaky.asked) == 4
    assert len({each["key"] for each in flaky.asked}) == 1
    monkeypatch.setattr(letter, "AGAIN_LIMIT_S", -1.0)
    with pytest.raises(ConnectionLost):
        Sender(Desk(caller=Flaky(2), show=print, tell=print), lambda key: None).send("hi")
