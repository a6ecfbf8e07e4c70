"""A daemon for clients: blocking, scripted, on a real socket, and strict about the contract.

It speaks MessagePack with the library, not with this project's code. A client that
breaks the contract (no hello first, an unknown method, a parameter that METHODS
does not know, the same key with another body) gets an error and, when the fake is
closed, fails its test. Models are scripts: `scripts` are played one by one, the
first when a prompt is accepted, the next when a client subscribes again.
"""

import dataclasses
import socket
import threading
import typing
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import msgpack

from ask.protocol.messages import METHODS

Map = dict[str, Any]
Script = Callable[["Stage"], None]

BOOT_ID = "7c9f0000-0000-4000-8000-000000000000"
JOIN_S = 10.0
"""A client's connection ends with it; a thread that is still there then is a fault."""


class Refusal(Exception):
    """Answer the request with this error."""

    def __init__(self, code: int, reason: str, message: str, **data: Any) -> None:
        super().__init__(message)
        self.error: Map = {"code": code, "message": message, "data": {"reason": reason, **data}}


class Dropped(Exception):
    """The connection is over: the script, or the client, has ended it."""


def answer(text: str, *pieces: str) -> Script:
    """A script: the model says `text` (in these pieces), and the turn is done."""

    def play(stage: "Stage") -> None:
        stage.start()
        for piece in pieces or (text,):
            stage.delta(piece)
        stage.say_whole(text)
        stage.finish()

    return play


class Stage:
    """What a script acts on: one turn, on one connection."""

    def __init__(self, daemon: "FakeDaemon", peer: "Peer", turn: Map) -> None:
        self.daemon = daemon
        self.peer = peer
        self.turn = turn
        self.item_id = f"{turn['turn_id']}.1"

    def delta(self, text: str, *, kind: str = "text", offset: int | None = None) -> None:
        """Stream a fragment."""
        key = (self.item_id, kind)
        said = self.daemon.live.setdefault(self.turn["conversation_id"], {})
        before = said.get(key, "")
        said[key] = before + text
        where = len(before) if offset is None else offset
        fields = {"item_id": self.item_id, "kind": kind, "offset": where, "text": text}
        self.notify("delta", {**self.turn, **fields})

    def event(self, type: str, **fields: Any) -> None:
        """Append an event and send it; it is this turn's unless `turn_id` is given."""
        event = self.daemon.append(
            self.turn["conversation_id"], type, {"turn_id": self.turn["turn_id"], **fields}
        )
        self.notify("event", event)

    def start(self, attempt: int = 1) -> None:
        """The turn leaves the queue."""
        self.event("turn_started", attempt=attempt, model="fake/model")

    def say_whole(self, text: str, **fields: Any) -> None:
        """The whole answer, as one item."""
        parts = [{"type": "text", "text": text}]
        item = {"type": "assistant_message", "id": self.item_id, "parts": parts}
        self.event("item_added", **{"completion": 1, "item": item, **fields})

    def accept_steering(self, item_id: str, text: str) -> Map:
        """Somebody says something more to the turn: its item, for `join`."""
        item = {"type": "user_message", "id": item_id, "parts": [{"type": "text", "text": text}]}
        self.event("prompt_steered", key=f"key-{item_id}", items=[item])
        return item

    def join(self, item: Map, next_id: str) -> None:
        """The message is heard; what is said from here on has another id."""
        self.event("item_added", item=item)
        self.item_id = next_id

    def finish(self, outcome: str = "completed", code: int = 0, **fields: Any) -> None:
        """The turn's one end."""
        self.event("turn_finished", outcome=outcome, code=code, **fields)

    def notify(self, method: str, params: Map) -> None:
        """Send a notification."""
        self.peer.send([2, method, [params]])

    def progress(self, kind: str, text: str) -> None:
        """Something takes its time."""
        self.notify("progress", {**self.turn, "kind": kind, "text": text})

    def wait_for(self, method: str) -> Map:
        """Answer requests until this one has come: its parameters."""
        while True:
            found, params = self.peer.serve_one()
            if found == method:
                return params

    def drop(self) -> None:
        """Close the connection in the middle."""
        raise Dropped


class Peer:
    """One client's connection."""

    def __init__(self, daemon: "FakeDaemon", stream: socket.socket) -> None:
        self.daemon = daemon
        self.stream = stream
        self.unpacker = msgpack.Unpacker(strict_map_key=True)
        self.raw = bytearray()
        daemon.raw.append(self.raw)
        self.greeted = False
        self._direct = True
        self._waiting = bytearray()

    def serve(self) -> None:
        """Answer requests until the client leaves."""
        try:
            while True:
                self.serve_one()
        except (Dropped, OSError):
            pass
        finally:
            self.stream.close()

    def serve_one(self) -> tuple[str, Map]:
        """Answer one request: its method and parameters."""
        request, method, params = self._read()
        scripts: list[tuple[Script, Map]] = []
        try:
            result = self.daemon.answer(self, method, params, scripts)
        except Refusal as refusal:
            self.send([1, request, refusal.error, None])
            if refusal.error["data"].get("reason") == "other_data":
                raise Dropped from None
        else:
            self.send([1, request, None, result])
        for script, turn in scripts:
            script(Stage(self.daemon, self, turn))
        return method, params

    def send(self, message: list[Any]) -> None:
        """Send one message, or keep it until `together` ends."""
        self._waiting += msgpack.packb(message)
        if self._direct:
            self._send_waiting()

    @contextmanager
    def together(self) -> Iterator[None]:
        """Send what is sent within the block in one write."""
        self._direct = False
        yield
        self._direct = True
        self._send_waiting()

    def _send_waiting(self) -> None:
        try:
            self.stream.sendall(self._waiting)
        except OSError:
            raise Dropped from None
        self._waiting.clear()

    def _read(self) -> tuple[int, str, Map]:
        while True:
            for message in self.unpacker:
                return self._check(message)
            data = self.stream.recv(65536)
            if not data:
                raise Dropped
            self.raw += data
            self.unpacker.feed(data)

    def _check(self, message: Any) -> tuple[int, str, Map]:
        match message:
            case [0, int(id), str(method), [dict(params)]] if method in METHODS:
                pass
            case _:
                raise self.daemon.fault(f"no request of this protocol: {message!r:.200}")
        if not self.greeted and method != "hello":
            raise self.daemon.fault(f"{method} came before hello")
        self.greeted = True
        for problem in find_problems(method, params):
            raise self.daemon.fault(f"{method}: {problem}")
        return id, method, params


class FakeDaemon:
    """Use it as a context manager.

    Args:
        path: where it listens.
        scripts: what models do, in order.
        refuse: errors to answer with, by method, each once.
        results: what other methods answer, by name.
        protocol: what it says that it speaks.
        always: what models do when `scripts` has run out.
        data: the data directory that it serves, and no other; None: whatever is meant.

    Attributes:
        raw: all bytes that came, by connection.
        requests: all that were asked, `(method, params)`.
        events: what was appended, by conversation.
    """

    def __init__(
        self,
        path: Path,
        *scripts: Script,
        refuse: dict[str, list[Refusal]] | None = None,
        results: Map | None = None,
        protocol: int = 1,
        always: Script | None = None,
        data: Path | None = None,
    ) -> None:
        self.path = path
        self.scripts = list(scripts)
        self.refuse = refuse or {}
        self.results = results or {}
        self.protocol = protocol
        self.always = always
        self.data = data
        self.raw: list[bytearray] = []
        self.requests: list[tuple[str, Map]] = []
        self.events: dict[str, list[Map]] = {}
        self.live: dict[str, dict[tuple[str, str], str]] = {}
        self.faults: list[str] = []
        self._turns: dict[str, tuple[Map, Map]] = {}
        self._threads: list[threading.Thread] = []
        path.parent.mkdir(parents=True, exist_ok=True)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        self._listener.listen(32)

    def __enter__(self) -> "FakeDaemon":
        self._start(self._accept)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.path.unlink(missing_ok=True)
        for thread in self._threads:
            thread.join(JOIN_S)
        assert not any(thread.is_alive() for thread in self._threads), "a client did not leave"
        assert not self.faults, self.faults

    def asked(self, method: str) -> list[Map]:
        """The parameters of every request of this method."""
        return [params for name, params in self.requests if name == method]

    def fault(self, text: str) -> Dropped:
        """The client has broken the contract."""
        self.faults.append(text)
        return Dropped(text)

    def append(self, conversation_id: str, type: str, fields: Map) -> Map:
        """Append an event to a conversation's log."""
        log = self.events.setdefault(conversation_id, [])
        event = {
            "conversation_id": conversation_id,
            "seq": len(log) + 1,
            "at": 1_800_000_000.25 + len(log),
            "type": type,
            "version": 1,
            **fields,
        }
        log.append(event)
        return event

    def answer(self, peer: Peer, method: str, params: Map, then: list[tuple[Script, Map]]) -> Map:
        """The result of a request; scripts that follow it are put into `then`."""
        self.requests.append((method, params))
        waiting = self.refuse.get(method)
        if waiting:
            raise waiting.pop(0)
        match method:
            case "hello":
                return self._greet(params)
            case "turn/start":
                return self._accept_turn(params, then)
            case "conversation/subscribe":
                return self._subscribe(params, then)
            case "blob/put":
                whole = params["offset"] + len(params["bytes"]) == params["size"]
                return {"received": params["offset"] + len(params["bytes"]), "complete": whole}
            case "daemon/status":
                return typing.cast("Map", self.results.get(method, STATUS))
            case _:
                found = self.results.get(method, {})
                return typing.cast("Map", found(params) if callable(found) else found)

    def _greet(self, params: Map) -> Map:
        identity = {
            "protocol": self.protocol,
            "version": "0.1.0",
            "pid": 4711,
            "boot_id": BOOT_ID,
            "capabilities": [],
        }
        if params["protocol"] != self.protocol:
            raise Refusal(69, "wrong_protocol", "Another protocol.", **identity)
        meant = params.get("data")
        if self.data is not None and meant is not None and Path(meant) != self.data:
            raise Refusal(69, "other_data", f"Another data directory than {meant} is served here.")
        return identity

    def _accept_turn(self, params: Map, then: list[tuple[Script, Map]]) -> Map:
        body = {name: params.get(name) for name in ("target", "parts", "options")}
        known = self._turns.get(params["key"])
        if known is not None:
            if known[0] != body:
                raise self.fault("the same key came with another body")
            return known[1]
        target = params["target"]
        if target["kind"] == "id" or target["kind"] == "session":
            conversation_id = str(uuid.uuid5(uuid.NAMESPACE_OID, target["value"]))
        else:
            conversation_id = str(uuid.uuid5(uuid.NAMESPACE_OID, params["key"]))
        created = conversation_id not in self.events
        if created:
            self.append(conversation_id, "conversation_created", {"id": conversation_id})
        turn = {"conversation_id": conversation_id, "turn_id": f"turn-{len(self._turns) + 1}"}
        event = self.append(
            conversation_id, "prompt_accepted", {"turn_id": turn["turn_id"], "key": params["key"]}
        )
        result = {**turn, "seq": event["seq"], "position": 0, "created": created, "name": None}
        result |= self.results.get("turn/start", {})
        self._turns[params["key"]] = (body, result)
        if params.get("follow"):
            self._play_next(then, turn)
        return result

    def _subscribe(self, params: Map, then: list[tuple[Script, Map]]) -> Map:
        conversation_id = params["conversation_id"]
        if conversation_id not in self.events:
            raise Refusal(3, "conversation_not_found", f"Conversation not found: {conversation_id}")
        after = params.get("after_seq", 0)
        limit = self.results.get("page", 200)
        events = [e for e in self.events[conversation_id] if e["seq"] > after]
        page, rest = events[:limit], events[limit:]
        if rest:
            return {"data": page, "next_after_seq": page[-1]["seq"], "live": []}
        last = list(self._turns.values())[-1][1]
        turn = {"conversation_id": last["conversation_id"], "turn_id": last["turn_id"]}
        over = any(
            e["type"] == "turn_finished" and e["turn_id"] == turn["turn_id"]
            for e in self.events[conversation_id]
        )
        live = [
            {"turn_id": turn["turn_id"], "item_id": item, "kind": kind, "text": text}
            for (item, kind), text in self.live.get(conversation_id, {}).items()
            if not over
        ]
        if not over:
            self._play_next(then, turn)
        return {"data": page, "next_after_seq": None, "live": live}

    def _play_next(self, then: list[tuple[Script, Map]], turn: Map) -> None:
        script = self.scripts.pop(0) if self.scripts else self.always
        if script is not None:
            then.append((script, turn))

    def _accept(self) -> None:
        while True:
            try:
                stream, _ = self._listener.accept()
            except OSError:
                return
            self._start(Peer(self, stream).serve)

    def _start(self, run: Callable[[], None]) -> None:
        thread = threading.Thread(target=run, daemon=True)
        self._threads.append(thread)
        thread.start()


STATUS: Map = {
    "pid": 4711,
    "version": "0.1.0",
    "protocol": 1,
    "boot_id": BOOT_ID,
    "uptime_s": 93784.5,
    "rss_bytes": 45_000_000,
    "sessions": 2,
    "jobs": 0,
    "clients": 1,
    "socket": "/run/user/1000/ask/askd.sock",
    "data": "/home/u/.local/share/ask",
    "sqlite": "3.45.1",
    "draining": False,
}


def find_problems(method: str, params: Map) -> list[str]:
    """What in these parameters the method does not know, misses, or has of another type."""
    shape = METHODS[method].params
    fields = {field.name: field for field in dataclasses.fields(shape)}
    hints = typing.get_type_hints(shape)
    problems = [f"unknown parameter {name!r}" for name in params if name not in fields]
    for name, field in fields.items():
        if name not in params:
            if field.default is dataclasses.MISSING:
                problems.append(f"{name!r} is missing")
        elif not _fits(params[name], hints[name]):
            problems.append(f"{name!r} is {params[name]!r:.60}")
    return problems


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value has an annotated type of `ask.protocol.messages`, looked into deeply."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return True
    if origin is typing.Literal:
        return value in arguments
    if dataclasses.is_dataclass(hint):
        if not isinstance(value, dict):
            return False
        hints = typing.get_type_hints(hint)
        return all(name in hints and _fits(each, hints[name]) for name, each in value.items())
    if origin is list:
        return isinstance(value, list) and all(_fits(each, arguments[0]) for each in value)
    if origin is dict:
        return isinstance(value, dict) and all(_fits(v, arguments[1]) for v in value.values())
    if arguments:  # a union
        return any(_fits(value, each) for each in arguments)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, hint) and not (hint is int and isinstance(value, bool))
