"""One call as it is: JSON in, JSON out, bytes both ways."""

import base64
import hashlib
import io
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ask.commands.api import decode_params, encode_json
from ask.exits import Failed
from tests.client.commands.conftest import Ask
from tests.client.commands.fake_daemon import FakeDaemon

WIRE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(min_size=1), inner),
    max_leaves=4,
)


def test_a_call_prints_its_result(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.create("work")
    page = json.loads(ask("api", "conversation/list", '{"limit": 5}').out)
    assert page["data"][0]["name"] == "work"
    assert json.loads(ask("api", "daemon/status").out)["sqlite"] == "3.45.1"


def test_bytes_are_base64(daemon: FakeDaemon, ask: Ask) -> None:
    digest = hashlib.sha256(b"\x00\xff").hexdigest()
    daemon.blobs[digest] = b"\x00\xff"
    result = ask("api", "blob/read", json.dumps({"sha256": digest, "offset": 0}))
    assert json.loads(result.out)["bytes"] == {"$bytes": base64.b64encode(b"\x00\xff").decode()}


def test_parameters_come_from_standard_input(
    daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"limit": 1}'))
    assert ask("api", "conversation/list", "-").code == 0
    assert daemon.called("conversation/list") == [{"limit": 1}]


def test_refusals_keep_their_code(daemon: FakeDaemon, ask: Ask) -> None:
    assert ask("api", "no/such").code == 2
    result = ask("api", "conversation/list", '{"limitt": 5}', "--json")
    assert result.code == 2
    assert json.loads(result.out)["data"]["reason"] == "bad_params"


@pytest.mark.parametrize("text", ["{", "[1]", "7", '{"a": {"$bytes": "?"}}'])
def test_what_is_no_map_is_refused_before_the_call(text: str) -> None:
    with pytest.raises(Failed) as caught:
        decode_params(text)
    assert caught.value.code == 2


def test_no_parameters_are_an_empty_map() -> None:
    assert decode_params(None) == decode_params(" ") == {}


@given(st.dictionaries(st.text(min_size=1).filter(lambda key: key != "$bytes"), WIRE))
def test_every_value_survives_the_way_there_and_back(value: dict[str, object]) -> None:
    assert decode_params(encode_json(value)) == value


def test_follow_prints_notifications_until_the_daemon_goes(daemon: FakeDaemon, ask: Ask) -> None:
    conversation_id = daemon.create("work")
    params = {
        "target": {"kind": "id", "value": conversation_id},
        "key": "k",
        "parts": [{"type": "text", "text": "hi"}],
        "follow": True,
    }
    daemon.after_turn = daemon.stop
    result = ask("api", "turn/start", json.dumps(params), "--follow")
    assert result.code == 69
    lines = [json.loads(line) for line in result.out.splitlines()]
    assert "turn_id" in lines[0]
    assert lines[-1]["method"] == "event"
    assert lines[-1]["params"]["type"] == "turn_finished"
