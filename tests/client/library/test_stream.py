"""What is followed comes once and in order, and the wait for it ends when it should."""

import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ask
from ask.exits import Failed
from ask.library import stream as stream_module
from ask.library.link import Link
from ask.library.stream import Stream
from ask.listener import NoDaemon
from ask.protocol import frames
from tests.fakes.daemon import FakeDaemon, Refusal, Script, Stage, answer

PROMPT: dict[str, Any] = {
    "target": {"kind": "new"},
    "key": "k",
    "parts": [{"type": "text", "text": "hi"}],
}


def say_something(lone_home: Path, *scripts: Script, **options: Any) -> FakeDaemon:
    """A daemon with one conversation, in which a prompt was accepted."""
    daemon = FakeDaemon(lone_home, *scripts, **options)
    daemon._accept_turn(PROMPT, [])
    return daemon


def follow(daemon: FakeDaemon, **options: Any) -> Stream:
    (conversation_id,) = daemon.events
    return Stream(Link(os.environ, start=False), conversation_id, **{"seq": 0, **options})


def drain(stream: Stream) -> Iterator[ask.Event]:
    while not isinstance(event := stream.wait(), ask.Finished):
        assert event is not None
        yield event
    yield event


def test_pages_are_read_to_the_last(lone_home: Path) -> None:
    with say_something(lone_home, answer("yes"), results={"page": 1}) as daemon:
        stream = follow(daemon)
        found = [type(event).__name__ for event in drain(stream)]
        stream.close()
    assert found == ["Other", "Accepted", "Started", "TextDelta", "Message", "Finished"]
    assert [each["after_seq"] for each in daemon.asked("conversation/subscribe")] == [0, 1]


def test_a_running_text_is_told_as_far_as_it_is(lone_home: Path) -> None:
    with say_something(lone_home, lambda stage: stage.drop()) as daemon:
        (conversation_id,) = daemon.events
        daemon.live = {conversation_id: {("turn-1.1", "text"): "so far"}}
        stream = follow(daemon, seq=2)
        event = stream.wait()
        stream.close()
    assert isinstance(event, ask.TextDelta)
    assert (event.text, event.conversation_id) == ("so far", conversation_id)


def test_nothing_comes_within_a_time(lone_home: Path) -> None:
    with say_something(lone_home) as daemon:
        stream = follow(daemon, seq=2)
        begun = time.monotonic()
        assert stream.wait(0.02) is None
        assert stream.wait(0.0) is None
        assert time.monotonic() - begun < 5.0
        stream.close()


def test_a_daemon_that_is_away_for_a_moment_is_nothing_new(
    lone_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Stream(Link(os.environ, start=False), "c", seq=0)
    assert stream.wait(0.01) is None
    assert stream.wait(0.01) is None
    monkeypatch.setattr(stream_module, "RECONNECT_LIMIT_S", 0.0)
    with pytest.raises(NoDaemon):
        stream.wait(0.01)


def test_a_conversation_that_is_gone_is_said(lone_home: Path) -> None:
    with say_something(lone_home) as daemon:
        stream = Stream(Link(os.environ, start=False), "gone", seq=0)
        with pytest.raises(Failed, match="not found"):
            stream.wait()
        with pytest.raises(Failed, match="not found"):
            stream.wait()
    assert len(daemon.raw) == 2, "each try is a connection of its own, and none is left"


def test_after_a_ctrl_c_nothing_is_lost(lone_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def begin(stage: Stage) -> None:
        stage.start()
        stage.delta("one ")

    def end(stage: Stage) -> None:
        stage.delta("two")
        stage.say_whole("one two")
        stage.finish()

    struck: list[bool] = []
    feed = frames.FrameReader.feed

    def strike(reader: Any, data: bytes) -> Any:
        """A signal that comes when bytes have been read and not been kept."""
        found = feed(reader, data)
        if b"one " in data and not struck:
            struck.append(True)
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(frames.FrameReader, "feed", strike)
    with say_something(lone_home, begin, end) as daemon:
        stream = follow(daemon)
        events: list[ask.Event] = []
        with pytest.raises(KeyboardInterrupt):
            events.extend(drain(stream))
        events += drain(stream)
        stream.close()
    names = [type(event).__name__ for event in events]
    assert [each for each in names if each != "TextDelta"] == [
        *("Other", "Accepted", "Started", "Message", "Finished"),
    ]
    pieces = [event.text for event in events if isinstance(event, ask.TextDelta)]
    assert "".join(pieces) == "one two"


def test_a_long_answer_is_read_from_beside_the_log(lone_home: Path) -> None:
    long = "long " * 20

    def play(stage: Stage) -> None:
        part = {"type": "blob", "sha256": "d", "bytes": len(long), "media_type": "text/plain"}
        item = {"type": "assistant_message", "id": stage.item_id, "parts": [part]}
        stage.event("item_added", completion=1, item=item)
        stage.finish()

    content = {"bytes": long.encode(), "size": len(long)}
    with say_something(lone_home, play, results={"blob/read": content}) as daemon:
        stream = follow(daemon)
        (message,) = [event for event in drain(stream) if isinstance(event, ask.Message)]
        stream.close()
    assert message.text == long


def test_what_is_said_on_a_lost_connection_is_heard_by_nobody(lone_home: Path) -> None:
    with say_something(lone_home, lambda stage: stage.start()) as daemon:
        stream = follow(daemon)
        stream.send("turn/interrupt", {})
        stream.wait()
        assert stream._connection is not None
        stream._connection._stream.shutdown(socket.SHUT_RDWR)
        stream.send("turn/interrupt", {"conversation_id": "c", "turn_id": "t"})
        stream.close()
    assert daemon.asked("turn/interrupt") == []


def test_what_cannot_be_helped_is_raised_at_once(lone_home: Path) -> None:
    refusal = Refusal(2, "bad_params", "after_seq is too large.")
    with say_something(lone_home, refuse={"conversation/subscribe": [refusal]}) as daemon:
        stream = follow(daemon, seq=99)
        with pytest.raises(Failed, match="too large"):
            stream.wait(5.0)
