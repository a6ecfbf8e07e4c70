"""Conversations in memory, a model that repeats, and what is told of both.

An event has the next seq. What is not there it refuses as the daemon does.
"""

import socket
import threading
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ask.protocol.errors import REASONS
from ask.protocol.frames import encode_notification
from ask.protocol.messages import NOTIFICATIONS
from ask.transcript import ROLES
from tests.client.commands.shapes import find_required

Map = dict[str, Any]
NOW = 1_767_225_600.0  # a fixed clock: 2026-01-01 00:00 UTC


class Refusal(Exception):
    """The daemon says no."""

    def __init__(self, reason: str, message: str, **data: Any) -> None:
        super().__init__(message)
        self.error = {
            "code": REASONS[reason],
            "message": message,
            "data": {"reason": reason, **data},
        }


class FakeLog:
    """The conversations of one daemon, and a model that answers in them.

    Attributes:
        answer: what the model says to a prompt, in pieces.
        after_turn: called when a prompt that was sent has had its answer.
        outcome: the fields of a prompt's `turn_finished` that are not as usual.
        holding: called when an answer has stopped before its last piece.
        pinned: ids of conversations.
        busy: those of conversations at work.
        ephemeral: every conversation is one.
        deaf: notifications are dropped, as for a subscriber that is too slow.
        hold: cleared, an answer stops before its last piece until it is set.
    """

    def __init__(self) -> None:
        super().__init__()
        self.pinned: set[str] = set()
        self.busy: set[str] = set()
        self.ephemeral = False
        self.events: dict[str, list[Map]] = {}
        self.names: dict[str, str | None] = {}
        self.terminals: dict[str, str] = {}
        self.live: set[str] = set()
        self.answer: Callable[[str], list[str]] = lambda text: ["You said: ", text]
        self.after_turn: Callable[[], None] = lambda: None
        self.outcome: Callable[[str], Map] = lambda text: {}
        self.holding: Callable[[], object] = lambda: None
        self.deaf = False
        self.hold = threading.Event()
        self.hold.set()
        self.partial: dict[str, Map] = {}
        self._subscribers: dict[str, list[socket.socket]] = {}
        self._lock = threading.RLock()

    def create(self, name: str | None = None, *, live: bool = False) -> str:
        """A new conversation; its id."""
        conversation_id = str(uuid.uuid4())
        with self._lock:
            self.events[conversation_id] = []
            self.names[conversation_id] = name
            self.append(conversation_id, "conversation_created", id=conversation_id, name=name)
            if live:
                self.live.add(conversation_id)
        return conversation_id

    def append(self, conversation_id: str, type: str, **fields: Any) -> Map:
        """Append an event and tell the subscribers."""
        with self._lock:
            events = self.events[conversation_id]
            event = {
                "conversation_id": conversation_id,
                "seq": len(events) + 1,
                "at": NOW + len(events),
                "type": type,
                "version": 1,
                **fields,
            }
            events.append(event)
            self.publish(conversation_id, "event", event)
        return event

    def publish(self, conversation_id: str, method: str, params: Map) -> None:
        """Send a notification to whoever subscribed."""
        shape = NOTIFICATIONS[method].params
        missing = find_required(shape) - set(params)
        assert not missing, f"{method} lacks {sorted(missing)}"
        for connection in [] if self.deaf else self._subscribers.get(conversation_id, []):
            with suppress(OSError):  # it has just left
                connection.sendall(encode_notification(method, params))

    def say(self, conversation_id: str, text: str, *, turn_id: str | None = None) -> str:
        """A whole turn: the prompt, the model's answer in deltas, its end."""
        turn_id = turn_id or self.accept(conversation_id, text)
        self.append(conversation_id, "turn_started", turn_id=turn_id, attempt=1, model="fake/echo")
        item_id, said = f"{turn_id}.1", ""
        *pieces, last = self.answer(text)
        for piece in [*pieces, None, last]:
            if piece is None:
                if not self.hold.is_set():
                    self.holding()
                self.hold.wait(30)
                continue
            delta = {
                "conversation_id": conversation_id,
                "turn_id": turn_id,
                "item_id": item_id,
                "kind": "text",
                "offset": len(said),
                "text": piece,
            }
            with self._lock:
                said += piece
                self.partial[conversation_id] = {
                    "turn_id": turn_id,
                    "item_id": item_id,
                    "kind": "text",
                    "text": said,
                }
                self.publish(conversation_id, "delta", delta)
        item = {
            "type": "assistant_message",
            "id": item_id,
            "parts": [{"type": "text", "text": said}],
        }
        with self._lock:
            del self.partial[conversation_id]
            self.append(conversation_id, "item_added", turn_id=turn_id, completion=1, item=item)
            end = {"outcome": "completed", "code": 0, **self.outcome(text)}
            self.append(conversation_id, "turn_finished", turn_id=turn_id, **end)
        return turn_id

    def accept(self, conversation_id: str, text: str, **fields: Any) -> str:
        """A prompt that is accepted and not yet answered; its turn's id."""
        turn_id = fields.pop("turn_id", None) or str(uuid.uuid4())
        item = {
            "type": "user_message",
            "id": f"{turn_id}.0",
            "parts": [{"type": "text", "text": text}],
        }
        self.append(
            conversation_id,
            "prompt_accepted",
            turn_id=turn_id,
            items=[item],
            **{"key": turn_id, **fields},
        )
        return turn_id

    def summary(self, conversation_id: str) -> Map:
        """A conversation as lists have it."""
        events = self.events[conversation_id]
        return {
            "id": conversation_id,
            "name": self.names[conversation_id],
            "title": None,
            "model": "fake/echo",
            "state": self._state(conversation_id),
            "message_count": sum(map(count_messages, events)),
            "last_seq": len(events),
            "created_at": events[0]["at"],
            "updated_at": events[-1]["at"],
            "queued": len(self._find_turns(conversation_id)[1]),
            "ephemeral": self.ephemeral,
            "pinned": conversation_id in self.pinned,
        }

    def _state(self, conversation_id: str) -> str:
        if conversation_id in self.busy:
            return "working"
        if conversation_id not in self.live:
            return "stored"
        running, queued = self._find_turns(conversation_id)
        return "working" if running or queued else "idle"

    def _find_turns(self, conversation_id: str) -> tuple[list[str], list[str]]:
        """The turns that have begun and are not over, and those that wait."""
        running: list[str] = []
        queued: list[str] = []
        for event in self.events[conversation_id]:
            match event["type"]:
                case "prompt_accepted":
                    queued.append(event["turn_id"])
                case "turn_started" if event["turn_id"] in queued:
                    queued.remove(event["turn_id"])
                    running.append(event["turn_id"])
                case "turn_finished":
                    for turns in (running, queued):
                        if event["turn_id"] in turns:
                            turns.remove(event["turn_id"])
                case _:
                    continue
        return running, queued

    def _find(self, target: Map) -> str:
        value = target["value"]
        found = [
            each
            for each in self.events
            if value in (each, self.names[each]) or (len(value) >= 4 and each.startswith(value))
        ]
        if target["kind"] == "terminal":
            found = [self.terminals[value]] if value in self.terminals else []
        if len(found) > 1:
            raise Refusal("conversation_ambiguous", f"More than one: {', '.join(found)}")
        if not found and target.get("create"):
            found = [self.create(value, live=True)]
        if not found:
            raise Refusal("conversation_not_found", f"Conversation not found: id={value}")
        return found[0]

    def _known(self, params: Map) -> str:
        conversation_id: str = params["conversation_id"]
        assert conversation_id in self.events, "only a full id may follow a resolve"
        return conversation_id


def count_messages(event: Map) -> int:
    """How many messages an event is; a prompt that is taken back is one less."""
    match event["type"]:
        case "prompt_accepted":
            return len(event["items"])
        case "prompt_withdrawn":
            return -1
        case "item_added":
            return int(event.get("status") != "superseded" and event["item"]["type"] in ROLES)
        case _:
            return 0
