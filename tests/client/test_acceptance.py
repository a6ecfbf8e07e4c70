"""A prompt brings the keys that it turns out to need, and no others."""

from pathlib import Path
from typing import Any

import pytest

from ask.acceptance import start_turn
from ask.connection import connect
from ask.exits import Failed
from tests.fakes.daemon import FakeDaemon, Refusal

PROMPT: dict[str, Any] = {
    "target": {"kind": "new"},
    "key": "k",
    "parts": [{"type": "text", "text": "hi"}],
}


def refuse(*names: str) -> dict[str, list[Refusal]]:
    return {"turn/start": [Refusal(4, "secrets_needed", "A key is needed.", names=[*names])]}


def test_keys_that_turn_out_to_be_needed_are_brought(lone_home: Path) -> None:
    environ = {"WORK_KEY": "secret", "OTHER_KEY": "not asked for"}
    with FakeDaemon(lone_home, refuse=refuse("WORK_KEY")) as daemon, connect() as client:
        assert start_turn(client, PROMPT, environ)["turn_id"] == "turn-1"
    first, second = daemon.asked("turn/start")
    assert "secrets" not in first
    assert second == {**first, "secrets": {"WORK_KEY": "secret"}}


@pytest.mark.parametrize("environ", [{}, {"WORK_KEY": ""}])
def test_keys_that_nobody_has_are_an_error(lone_home: Path, environ: dict[str, str]) -> None:
    with (
        FakeDaemon(lone_home, refuse=refuse("WORK_KEY")) as daemon,
        connect() as client,
        pytest.raises(Failed, match="A key is needed"),
    ):
        start_turn(client, PROMPT, environ)
    assert len(daemon.asked("turn/start")) == 1


def test_keys_that_were_brought_already_are_not_brought_again(lone_home: Path) -> None:
    prompt = {**PROMPT, "secrets": {"WORK_KEY": "secret"}}
    with (
        FakeDaemon(lone_home, refuse=refuse("WORK_KEY")) as daemon,
        connect() as client,
        pytest.raises(Failed, match="A key is needed"),
    ):
        start_turn(client, prompt, {"WORK_KEY": "secret"})
    assert len(daemon.asked("turn/start")) == 1


def test_to_another_machine_no_key_goes_unless_it_is_said(lone_home: Path) -> None:
    far = {"ASK_HOST": "ssh://far", "WORK_KEY": "secret"}
    with (
        FakeDaemon(lone_home, refuse=refuse("WORK_KEY")) as daemon,
        connect() as client,
        pytest.raises(Failed, match="A key is needed") as caught,
    ):
        start_turn(client, PROMPT, far)
    assert caught.value.hint is not None
    (asked,) = daemon.asked("turn/start")
    assert asked["options"] == {"toolless": True}
