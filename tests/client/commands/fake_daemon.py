"""A daemon in a thread: the real wire; what it holds and answers stands in the files beside it.

It enforces the contract: parameters and results must have the fields of METHODS,
a method needs `hello` first. What it is not told to know it refuses as the daemon does.
"""

import os
import socket
import threading
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ask.protocol import PROTOCOL
from ask.protocol.frames import FrameReader, Request, encode_response
from ask.protocol.messages import METHODS
from tests.client.commands.fake_contents import FakeContents
from tests.client.commands.fake_files import FakeFiles
from tests.client.commands.fake_jobs import FakeJobs
from tests.client.commands.fake_log import Refusal
from tests.client.commands.fake_providers import FakeProviders
from tests.client.commands.fake_schedules import FakeSchedules
from tests.client.commands.fake_servers import FakeServers
from tests.client.commands.fake_views import FakeViews
from tests.client.commands.shapes import check_shape

Map = dict[str, Any]
SOUND: Map = {
    "problems": [],
    "strays": 0,
    "conversations": 2,
    "records": 9,
    "unreadable": 0,
    "lost": 0,
    "damaged": [],
    "complete": True,
    "database_bytes": 45_000,
    "wal_bytes": 0,
    "python": "3.11.7",
    "rollouts": {"directory": "/r", "mirrored": 2, "behind": 0, "trouble": None},
}
"""What `daemon/check` finds where all is in order."""


class FakeDaemon(
    FakeFiles, FakeViews, FakeJobs, FakeSchedules, FakeServers, FakeProviders, FakeContents
):
    """One daemon on `socket_path`, for as long as the `with` block lasts.

    Attributes:
        calls: every request, `(method, params)`, in the order of arrival.
        unknown: parameters that it does not know yet, for it is older than the client.
        deleting: called before a conversation is deleted.
        check: the fields of `daemon/check` that are not in order.
    """

    def __init__(self, socket_path: Path) -> None:
        super().__init__()
        self.path = socket_path
        self.calls: list[tuple[str, Map]] = []
        self.deleting: Callable[[str], object] = lambda conversation_id: None
        self.check: Map = {}
        self.refusals: dict[str, Refusal] = {}
        self.unknown: set[str] = set()
        self.boot_id = str(uuid.uuid4())
        self.connections: list[socket.socket] = []

    def __enter__(self) -> "FakeDaemon":
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(self.path))
        self.path.chmod(0o600)
        self._listener.listen(16)
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self.hold.set()
        self.stop()
        for thread in self._threads:
            thread.join(10)

    def stop(self) -> None:
        """Stop listening and drop everybody."""
        if self._listener.fileno() >= 0:
            # A close alone does not wake the thread in accept().
            self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self.path.unlink(missing_ok=True)
        self.drop()

    def drop(self) -> None:
        """Lose every connection, as a network would."""
        with self._lock:
            for connection in self.connections:
                connection.shutdown(socket.SHUT_RDWR)
            self.connections.clear()
            self._subscribers.clear()

    def called(self, method: str) -> list[Map]:
        """The parameters of every call of a method."""
        return [params for name, params in self.calls if name == method]

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self.connections.append(connection)
            thread = threading.Thread(target=self._serve, args=(connection,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            self._read(connection)
        finally:
            with self._lock, connection:
                if connection in self.connections:
                    self.connections.remove(connection)
                for subscribers in self._subscribers.values():
                    if connection in subscribers:
                        subscribers.remove(connection)

    def _read(self, connection: socket.socket) -> None:
        reader = FrameReader()
        greeted = False
        while True:
            try:
                data = connection.recv(65536)
            except OSError:
                return
            if not data:
                return
            for message in reader.feed(data):
                assert isinstance(message, Request)
                assert greeted or message.method == "hello"
                greeted = True
                if not self._answer(connection, message):
                    return

    def _answer(self, connection: socket.socket, request: Request) -> bool:
        follow: Callable[[], None] | None = None
        try:
            with self._lock:
                self.calls.append((request.method, request.params))
                result, follow = self._call(connection, request.method, request.params)
                check_shape(METHODS[request.method].result, result)
                connection.sendall(encode_response(request.id, None, result))
        except Refusal as refusal:
            connection.sendall(encode_response(request.id, refusal.error))
        except OSError:
            return False
        if follow is not None:
            thread = threading.Thread(target=follow)
            self._threads.append(thread)
            thread.start()
        if request.method in ("daemon/stop", "daemon/drain"):
            self.stop()
            return False
        return True

    def _call(
        self, connection: socket.socket, method: str, params: Map
    ) -> tuple[Map, Callable[[], None] | None]:
        if method not in METHODS:
            raise Refusal("unknown_method", f"There is no method {method!r}.")
        for name in set(params) & self.unknown:
            raise Refusal("bad_params", f"there is no parameter {name!r}.", field=name)
        try:
            check_shape(METHODS[method].params, params)
        except AssertionError as error:
            raise Refusal("bad_params", str(error)) from None
        if method in self.refusals:
            raise self.refusals[method]
        if method == "turn/start":
            return self._start_turn(connection, params)
        if method == "conversation/subscribe":
            return self._subscribe(connection, params), None
        handler = getattr(self, "_" + method.replace("/", "_"))
        result: Map = handler(params)
        return result, None

    def _hello(self, params: Map) -> Map:
        return {
            "protocol": PROTOCOL,
            "version": "0.1.0",
            "pid": os.getpid(),
            "boot_id": self.boot_id,
            "capabilities": [],
        }

    def _start_turn(self, connection: socket.socket, params: Map) -> tuple[Map, Callable[[], None]]:
        target = params["target"]
        if target["kind"] == "new":
            conversation_id = self.create(target.get("value"), live=True)
        else:
            conversation_id = self._find({**target, "kind": target["kind"]})
        text = params["parts"][0]["text"]
        if params.get("follow"):
            self._subscribers.setdefault(conversation_id, []).append(connection)
        turn_id = str(uuid.uuid4())
        seq = len(self.events[conversation_id]) + 1
        begun = [e["turn_id"] for e in self.events[conversation_id] if e["type"] == "turn_started"]
        if params.get("busy") == "steer" and begun:
            said = {"type": "user_message", "id": turn_id, "parts": params["parts"]}

            def join() -> None:
                fields = {"key": params["key"], "items": [said]}
                self.append(conversation_id, "prompt_steered", turn_id=begun[-1], **fields)
                self.append(conversation_id, "item_added", turn_id=begun[-1], item=said)

            joined = {"turn_id": begun[-1], "steers": turn_id, "seq": seq, "position": 0}
            return {**joined, "conversation_id": conversation_id}, join

        def follow() -> None:
            self.accept(conversation_id, text, turn_id=turn_id, key=params["key"])
            self.say(conversation_id, text, turn_id=turn_id)
            self.after_turn()

        result = {
            "turn_id": turn_id,
            "conversation_id": conversation_id,
            "seq": seq,
            "position": 0,
        }
        return result, follow

    def _subscribe(self, connection: socket.socket, params: Map) -> Map:
        conversation_id = self._known(params)
        events = self.events[conversation_id][params["after_seq"] :]
        page = events[: params.get("limit", 200)]
        if len(page) < len(events):
            return {"data": page, "next_after_seq": page[-1]["seq"], "live": []}
        self.live.add(conversation_id)
        subscribers = self._subscribers.setdefault(conversation_id, [])
        if connection not in subscribers:
            subscribers.append(connection)
        live = [self.partial[conversation_id]] if conversation_id in self.partial else []
        return {"data": page, "next_after_seq": None, "live": live}

    def _conversation_resolve(self, params: Map) -> Map:
        conversation_id = self._find(params["target"])
        if params.get("bind"):
            self.terminals[params["bind"]] = conversation_id
        return self.summary(conversation_id)

    def _conversation_create(self, params: Map) -> Map:
        if params.get("name") in set(self.names.values()) - {None}:
            raise Refusal("name_taken", f"The name {params['name']!r} is taken.")
        conversation_id = self.create(params.get("name"), live=True)
        if params.get("terminal"):
            self.terminals[params["terminal"]] = conversation_id
        return self.summary(conversation_id)

    def _question_answer(self, params: Map) -> Map:
        conversation_id = params["conversation_id"]
        fields = {name: params[name] for name in ("question_id", "decision")}
        by = params.get("terminal") or "test"
        self.append(conversation_id, "question_answered", turn_id="", by=by, **fields)
        return {"conversation_id": conversation_id}

    def _conversation_list(self, params: Map) -> Map:
        rows = [self.summary(each) for each in reversed(self.events)]
        if params.get("before_at") is not None:
            rows = [row for row in rows if row["updated_at"] < params["before_at"]]
        if params.get("live"):
            rows = [row for row in rows if row["id"] in self.live]
        if params.get("begins"):
            begins = params["begins"]
            rows = [
                row
                for row in rows
                if any((row[k] or "").startswith(begins) for k in ("id", "name"))
            ]
        first = int(params.get("cursor") or 0)
        last = first + params["limit"]
        cursor = str(last) if last < len(rows) else None
        return {"data": rows[first:last], "total": len(rows), "next_cursor": cursor}

    def _conversation_read(self, params: Map) -> Map:
        events = self.events[self._known(params)][params["after_seq"] :]
        page = events[: params["limit"]]
        return {"data": page, "next_after_seq": page[-1]["seq"] if page != events else None}

    def _conversation_rename(self, params: Map) -> Map:
        self.names[self._known(params)] = params["name"]
        return self.summary(params["conversation_id"])

    def _conversation_clear(self, params: Map) -> Map:
        self.append(self._known(params), "view_changed", id="v", kind="clear")
        return {"conversation_id": params["conversation_id"]}

    def _conversation_delete(self, params: Map) -> Map:
        id = self._known(params)
        self.deleting(id)
        if id not in self.events:
            raise Refusal("conversation_not_found", f"Conversation not found: id={id}")
        summary = self.summary(id)
        is_busy = summary["state"] == "working"
        before_at = params.get("before_at")
        if before_at is not None:
            spared = is_busy or self.names[id] or id in self.pinned
            if spared or summary["updated_at"] >= before_at:
                return {"conversation_id": id, "deleted": False}
        elif is_busy and not params.get("interrupt"):
            raise Refusal("busy", "The conversation is busy.")
        del self.events[id]
        return {"conversation_id": id, "deleted": True}

    def _conversation_note(self, params: Map) -> Map:
        conversation_id = self._known(params)
        item = {"type": "notice", "id": str(uuid.uuid4()), "text": params["text"]}
        if params["level"] != "command":
            item["level"] = params["level"]
        self.append(conversation_id, "item_added", turn_id=None, item=item)
        return {"conversation_id": conversation_id}

    def _turn_interrupt(self, params: Map) -> Map:
        return {**params, "state": "finished", "outcome": "interrupted", "code": 1}

    _turn_withdraw = _turn_interrupt

    def _daemon_status(self, params: Map) -> Map:
        return {
            "pid": os.getpid(),
            "version": "0.1.0",
            "protocol": PROTOCOL,
            "boot_id": self.boot_id,
            "uptime_s": 12.5,
            "rss_bytes": 45_000_000,
            "sessions": len(self.live),
            "jobs": 0,
            "clients": 1,
            "socket": str(self.path),
            "data": "/home/me/data",
            "sqlite": "3.45.1",
            "draining": False,
        }

    def _daemon_check(self, params: Map) -> Map:
        return {**SOUND, **self.check}

    def _daemon_stop(self, params: Map) -> Map:
        return {"conversation_id": None}

    _daemon_drain = _daemon_stop
