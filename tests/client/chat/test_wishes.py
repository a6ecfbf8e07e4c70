"""Slash commands that change what further prompts are sent with."""

from pathlib import Path

import pytest

from ask.chat.slash import run_line
from ask.chat.wishes import word_steering
from ask.exits import USAGE, Failed
from tests.client.chat.conftest import Seat
from tests.client.commands.fake_daemon import FakeDaemon

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 16


def test_a_model_is_chosen_and_taken_back(daemon: FakeDaemon, seat: Seat) -> None:
    run_line(seat.desk, "/model")
    run_line(seat.desk, "/model fake/echo")
    assert seat.desk.options == {"model": "fake/echo"}
    run_line(seat.desk, "/model")
    run_line(seat.desk, "/model fake/ecko")
    assert seat.desk.options == {"model": "fake/ecko"}
    run_line(seat.desk, "/model -")
    assert seat.desk.options == {}
    assert seat.told[1:4] == [
        "Further prompts go to fake/echo.",
        "Model: fake/echo",
        "Further prompts go to fake/ecko. No provider has listed it; did you mean fake/echo?",
    ]
    assert daemon.called("conversation/note")[-1]["text"].startswith("Command result: Further")


def test_a_system_prompt_may_hold_blanks(seat: Seat) -> None:
    run_line(seat.desk, "/system Be  brief, please.")
    assert seat.desk.options == {"system": "Be  brief, please."}
    run_line(seat.desk, "/system")
    assert seat.told[-1] == "System prompt: Be  brief, please."
    run_line(seat.desk, "/system -")
    assert seat.desk.options == {}


def test_tools_are_listed_and_chosen(seat: Seat) -> None:
    run_line(seat.desk, "/tools")
    assert "read_file" in seat.shown[0]
    run_line(seat.desk, "/tools read, time__*")
    assert seat.desk.options == {"tools": ["read", "time__*"]}
    with pytest.raises(Failed, match="none goes with no other word"):
        run_line(seat.desk, "/tools none read")
    run_line(seat.desk, "/tools")
    assert seat.told[-1] == "This chat offers: read, time__*"
    run_line(seat.desk, "/tools -")
    assert seat.desk.options == {}


def test_approval_is_chosen(seat: Seat) -> None:
    run_line(seat.desk, "/approve deny")
    assert seat.desk.options == {"approve": "deny"}
    run_line(seat.desk, "/approve")
    run_line(seat.desk, "/approve -")
    assert seat.desk.options == {}
    assert seat.told == ["Approval: deny", "Approval: deny", "Approval: as the settings say."]


def test_files_and_images_go_with_the_next_prompt(seat: Seat, tmp_path: Path) -> None:
    (tmp_path / "a b.txt").write_text("text\n")
    (tmp_path / "x.png").write_bytes(PNG)
    (tmp_path / "x.bin").write_bytes(b"\0\1")
    run_line(seat.desk, f"/attach '{tmp_path}/a b.txt' {tmp_path}/x.png")
    assert [each.media_type for each in seat.desk.attached] == ["text/plain", "image/png"]
    assert "a b.txt (5 bytes)" in seat.told[-1]
    for wrong in (f"/attach {tmp_path}/x.png {tmp_path}/x.bin", "/attach none", "/attach 'a"):
        with pytest.raises(Failed) as failed:
            run_line(seat.desk, wrong)
        assert failed.value.code == USAGE
    assert len(seat.desk.attached) == 2
    run_line(seat.desk, "/attach -")
    assert seat.desk.attached == []


@pytest.mark.parametrize(
    ("accepted", "said"),
    [
        ({"steers": "s", "position": 0}, "Said to the turn that runs: it stops where it is, and"),
        ({"steers": "s", "position": 0, "warning": "Its own model."}, "\nIts own model."),
        ({"position": 0}, "This is asked now."),
        ({"position": 2, "steers": None}, "The turn was over. 2 wait before this."),
    ],
)
def test_what_became_of_what_was_to_steer(accepted: dict[str, object], said: str) -> None:
    assert said in word_steering(accepted)


def test_steering_is_done_by_the_chat_if_anything_is_answered(
    daemon: FakeDaemon, seat: Seat
) -> None:
    with pytest.raises(Failed, match="Nothing is being answered"):
        run_line(seat.desk, "/steer the other way")
    seat.desk.steer = lambda text: f"({text})"
    run_line(seat.desk, "/steer the other way")
    assert daemon.called("conversation/note")[-1]["text"] == "Command result: (the other way)"
