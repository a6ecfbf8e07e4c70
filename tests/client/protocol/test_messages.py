"""The contract keeps its word: what version 1 once said is still understood, and still said."""

import dataclasses
import typing
from typing import Any

import pytest

from ask.protocol import CAPABILITIES, PROTOCOL
from ask.protocol.errors import EXIT_CODES, REASONS
from ask.protocol.frames import FrameReader, Notification, Request, Response
from ask.protocol.messages import METHODS, NOTIFICATIONS
from askd.server.params import read_params
from tests.client.protocol import golden

GOLDEN = golden.read_golden()


def read(name: str) -> Any:
    (message,) = FrameReader().feed(GOLDEN[name])
    return message


def lost(shape: Any, value: Any) -> list[str]:
    """The fields of a golden value that the shape no longer has."""
    if not dataclasses.is_dataclass(shape) or not isinstance(value, dict):
        return []
    hints = typing.get_type_hints(shape)
    found = [name for name in value if name not in hints]
    for name in set(value) & set(hints):
        inner = [hints[name], *typing.get_args(hints[name])]
        content = value[name][0] if isinstance(value[name], list) else value[name]
        for each in inner:
            found += lost(each, content)
    return found


def test_every_message_has_its_golden_frame() -> None:
    missing = set(golden.make_all()) - set(GOLDEN)
    assert not missing, "run: python -m tests.client.protocol.golden"


def test_no_method_notification_or_reason_was_taken_away() -> None:
    now = {f"request {name}" for name in METHODS}
    now |= {f"notification {name}" for name in NOTIFICATIONS}
    now |= {f"error {reason}" for reason in REASONS}
    kept = {name for name in GOLDEN if name.split()[0] in ("request", "notification", "error")}
    assert kept <= now, "raise PROTOCOL"


@pytest.mark.parametrize("name", METHODS)
def test_a_daemon_of_today_understands_every_golden_request(name: str) -> None:
    for kind in ("request", "smallest request"):
        message = read(f"{kind} {name}")
        assert isinstance(message, Request)
        assert (message.id, message.method) == (golden.REQUEST_ID, name)
        assert isinstance(read_params(name, message.params), METHODS[name].params)


@pytest.mark.parametrize("name", METHODS)
def test_a_result_has_lost_no_field(name: str) -> None:
    message = read(f"result {name}")
    assert isinstance(message, Response)
    assert message.error is None
    assert lost(METHODS[name].result, message.result) == []


@pytest.mark.parametrize("name", NOTIFICATIONS)
def test_a_notification_has_lost_no_field(name: str) -> None:
    message = read(f"notification {name}")
    assert isinstance(message, Notification)
    assert lost(NOTIFICATIONS[name].params, message.params) == []


@pytest.mark.parametrize("reason", REASONS)
def test_a_reason_has_kept_its_code(reason: str) -> None:
    message = read(f"error {reason}")
    assert message.error["code"] == REASONS[reason], "raise PROTOCOL"


def test_the_check_for_lost_fields_has_teeth() -> None:
    shape = METHODS["conversation/list"].result
    value = golden.example(shape)
    assert lost(shape, {**value, "gone": 1}) == ["gone"]
    value["data"][0]["also_gone"] = 1
    assert lost(shape, value) == ["also_gone"]


def test_every_reason_has_a_code_that_is_explained() -> None:
    assert set(REASONS.values()) <= set(EXIT_CODES)
    assert PROTOCOL == 1
    assert len(set(CAPABILITIES)) == len(CAPABILITIES)
