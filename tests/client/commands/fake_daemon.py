"""A daemon in a thread: the real wire, conversations in memory, a model that repeats.

It enforces the contract: parameters and results must have the fields of METHODS,
a method needs `hello` first, an event has the next seq. What it is not told to
know it refuses as the daemon does.
"""

import dataclasses
import hashlib
import os
import socket
import threading
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ask.protocol import PROTOCOL
from ask.protocol.errors import REASONS
from ask.protocol.frames import (
    FrameReader,
    Request,
    encode_notification,
    encode_response,
)
from ask.protocol.messages import METHODS, NOTIFICATIONS
from ask.transcript import ROLES

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


class FakeDaemon:
    """One daemon on `socket_path`, for as long as the `with` block lasts.

    Attributes:
        calls: every request, `(method, params)`, in the order of arrival.
        settings: what `config/read` answers.
        models: the rows of `model/list`.
        blobs: what `blob/read` reads from, by digest.
        answer: what the model says to a prompt, in pieces.
        after_turn: called when a prompt that was sent has had its answer.
        outcome: the fields of a prompt's `turn_finished` that are not as usual.
        holding: called when an answer has stopped before its last piece.
        usage: the rows of `usage/read`, whatever they are grouped by.
        hits: the rows of `conversation/search`, whatever is looked for.
        scrubbed: what `conversation/scrub` answers, one after the other.
        shrunk: what `conversation/compact`, `prune` and `undo` answer, one after the other.
        context: the items of `conversation/context`; `limits`, what else it says.
        unknown: parameters that it does not know yet, for it is older than the client.
        pinned: ids of conversations.
        busy: those of conversations at work.
        backups: copies of the database by name, and the ids of conversations that each holds.
        deleting: called before a conversation is deleted.
        ephemeral: every conversation is one.
        auth: the rows of `auth/status`.
        check: the fields of `daemon/check` that are not in order.
        keys: what `auth/set` has kept.
        begun: what `auth/login` answers.
        pending: how many `auth/wait` answer "not yet" before the browser is done.
        file: what `conversation/export` writes.
        imports: what `conversation/import` answers with a file's last chunk, in their order.
        imported: the whole files that came.
        jobs: the rows of `job/list`; `job_page`, how many a page has at the most.
        waiting: called with the number of each `job/wait` before it is answered.
        deaf: notifications are dropped, as for a subscriber that is too slow.
        hold: cleared, an answer stops before its last piece until it is set.
    """

    def __init__(self, socket_path: Path) -> None:
        self.path = socket_path
        self.calls: list[tuple[str, Map]] = []
        self.settings: Map = {"default_model": None, "persist_special_commands": True}
        self.warnings: list[str] = []
        self.models: list[Map] = [
            {"name": "fake/echo", "provider": "fake", "context_window": 8192, "default": True}
        ]
        self.usage: list[Map] = []
        self.hits: list[Map] = []
        self.scrubbed: list[Map] = []
        self.shrunk: list[Map] = []
        self.context: list[Map] = []
        self.limits: Map = {"context_window": 8192, "budget": 8000, "healed": 1}
        self.pinned: set[str] = set()
        self.busy: set[str] = set()
        self.backups: dict[str, list[str]] = {}
        self.deleting: Callable[[str], object] = lambda conversation_id: None
        self.ephemeral = False
        self.auth: list[Map] = []
        self.check: Map = {}
        self.keys: dict[str, str] = {}
        self.begun: Map = {"login_id": "l1", "url": "https://v/auth", "expires_at": 4e9}
        self.pending = 0
        self.file = b"{}\n"
        self.imports: list[Map] = []
        self.imported: list[bytes] = []
        self.jobs: list[Map] = []
        self.job_page = 200
        self.job_waits = 0
        self.waiting: Callable[[int], None] = lambda number: None
        self.blobs: dict[str, bytes] = {}
        self.events: dict[str, list[Map]] = {}
        self.names: dict[str, str | None] = {}
        self.terminals: dict[str, str] = {}
        self.live: set[str] = set()
        self.refusals: dict[str, Refusal] = {}
        self.unknown: set[str] = set()
        self.boot_id = str(uuid.uuid4())
        self.answer: Callable[[str], list[str]] = lambda text: ["You said: ", text]
        self.after_turn: Callable[[], None] = lambda: None
        self.outcome: Callable[[str], Map] = lambda text: {}
        self.holding: Callable[[], object] = lambda: None
        self.deaf = False
        self.hold = threading.Event()
        self.hold.set()
        self.partial: dict[str, Map] = {}
        self.connections: list[socket.socket] = []
        self._subscribers: dict[str, list[socket.socket]] = {}
        self._lock = threading.RLock()

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

    # ---- what there is -------------------------------------------------------

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

    # ---- the wire ------------------------------------------------------------

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

    def _conversation_export(self, params: Map) -> Map:
        self._known(params)
        offset = params["offset"]
        chunk = self.file[offset : offset + 10]
        more = offset + len(chunk) < len(self.file)
        return {"bytes": chunk, "next_offset": offset + len(chunk) if more else None}

    def _conversation_import(self, params: Map) -> Map:
        if params["offset"] == 0:
            self.imported.append(b"")
        assert params["offset"] == len(self.imported[-1])
        self.imported[-1] += params["bytes"]
        received = len(self.imported[-1])
        result = {"received": received, "skipped": []}
        if received < params["size"]:
            return result
        answer = self.imports[len(self.imported) - 1]
        if "refused" in answer:
            raise Refusal("bad_import", answer["refused"])
        full = {"existed": False, "message_count": 2, "skipped_count": 0}
        return {**result, **full, **answer}

    def _find_job(self, params: Map) -> Map:
        found = [job for job in self.jobs if job["id"].startswith(params["job_id"])]
        if len(found) != 1:
            text = f"Job not found: id={params['job_id']}\nList them: ask jobs list"
            raise Refusal("job_not_found", text)
        return found[0]

    def _job_list(self, params: Map) -> Map:
        kind, states = params.get("kind"), params.get("states")
        rows = [
            job
            for job in self.jobs
            if kind in (None, job["kind"]) and (not states or job["state"] in states)
        ]
        first = int(params.get("cursor") or 0)
        last = first + min(params["limit"], self.job_page)
        return {"data": rows[first:last], "next_cursor": str(last) if last < len(rows) else None}

    def _job_read(self, params: Map) -> Map:
        return self._find_job(params)

    def _job_cancel(self, params: Map) -> Map:
        job = self._find_job(params)
        if job["finished_at"] is None:
            job.update(state="cancelled", finished_at=NOW)
        return job

    def _job_retry(self, params: Map) -> Map:
        job = self._find_job(params)
        if job["state"] == "completed":
            raise Refusal("wrong_job_state", f"The job {job['id']} is completed.")
        job.update(state="available", attempt=0, finished_at=None)
        return job

    def _question_answer(self, params: Map) -> Map:
        conversation_id = params["conversation_id"]
        fields = {name: params[name] for name in ("question_id", "decision")}
        by = params.get("terminal") or "test"
        self.append(conversation_id, "question_answered", turn_id="", by=by, **fields)
        return {"conversation_id": conversation_id}

    def _job_wait(self, params: Map) -> Map:
        self.job_waits += 1
        self.waiting(self.job_waits)
        rows = [self._find_job({"job_id": id}) for id in params["job_ids"]]
        over = [job["finished_at"] is not None for job in rows]
        return {"data": rows, "over": any(over) if params.get("any") else all(over)}

    def _conversation_list(self, params: Map) -> Map:
        rows = [self.summary(each) for each in reversed(self.events)]
        if params.get("before_at") is not None:
            rows = [row for row in rows if row["updated_at"] < params["before_at"]]
        if params.get("live"):
            rows = [row for row in rows if row["id"] in self.live]
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

    def _conversation_compact(self, params: Map) -> Map:
        return self._shrink(params)

    def _conversation_prune(self, params: Map) -> Map:
        return self._shrink(params)

    def _conversation_undo(self, params: Map) -> Map:
        return self._shrink(params)

    def _shrink(self, params: Map) -> Map:
        return {"conversation_id": self._known(params), **self.shrunk.pop(0)}

    def _conversation_scrub(self, params: Map) -> Map:
        return self.scrubbed.pop(0)

    def _conversation_search(self, params: Map) -> Map:
        first = int(params.get("cursor") or 0)
        last = first + params["limit"]
        cursor = str(last) if last < len(self.hits) else None
        return {"data": self.hits[first:last], "next_cursor": cursor}

    def _conversation_fork(self, params: Map) -> Map:
        source = self._known(params)
        made = self.create(params.get("name"), live=True)
        self.events[made][0]["forked_from"] = source
        self.events[made] += self.events[source][1:]
        if params.get("terminal"):
            self.terminals[params["terminal"]] = made
        return self.summary(made)

    def _conversation_pin(self, params: Map) -> Map:
        conversation_id = self._known(params)
        self.append(conversation_id, "item_pinned", item_id=params.get("item_id"))
        if params.get("item_id") is None:
            self.pinned.add(conversation_id)
        return self.summary(conversation_id)

    def _conversation_unpin(self, params: Map) -> Map:
        conversation_id = self._known(params)
        self.append(conversation_id, "item_unpinned", item_id=params.get("item_id"))
        if params.get("item_id") is None:
            self.pinned.discard(conversation_id)
        return self.summary(conversation_id)

    def _conversation_context(self, params: Map) -> Map:
        self._known(params)
        newest = params.get("last") or len(self.context)
        first = int(params.get("cursor") or max(0, len(self.context) - newest))
        last = first + params["limit"]
        return {
            "data": self.context[first:last],
            "total": len(self.context),
            "tokens": sum(item["tokens"] for item in self.context),
            "model": "fake/echo",
            "next_cursor": str(last) if last < len(self.context) else None,
            **self.limits,
        }

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

    def _backup_list(self, params: Map) -> Map:
        wanted = params.get("holding")
        found = [
            {"name": name, "bytes": 4096, "at": NOW}
            for name, held in self.backups.items()
            if wanted is None or set(held) & set(wanted)
        ]
        return {"data": found}

    def _backup_remove(self, params: Map) -> Map:
        if self.backups.pop(params["name"], None) is None:
            raise Refusal("backup_not_found", f"There is no copy {params['name']!r}.")
        return {}

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

    def _blob_read(self, params: Map) -> Map:
        content = self.blobs[params["sha256"]]
        assert hashlib.sha256(content).hexdigest() == params["sha256"]
        offset = params["offset"]
        return {"bytes": content[offset : offset + 1000], "size": len(content)}

    def _model_list(self, params: Map) -> Map:
        found = [row["name"] for row in self.models if row.get("default")]
        chosen = self.settings["default_model"] or (found[0] if found else None)
        return {
            "data": self.models,
            "warnings": self.warnings,
            "default": chosen,
            "default_why": "it is the only one" if chosen else "Looked for a key: set KEY.",
            "next_cursor": None,
        }

    def _model_refresh(self, params: Map) -> Map:
        return self._model_list(params)

    def _usage_read(self, params: Map) -> Map:
        first = int(params.get("cursor") or 0)
        last = first + params["limit"]
        counts = ("answers", "input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")
        costs = [row["cost_usd"] for row in self.usage if row["cost_usd"] is not None]
        total = {
            "group": None,
            **{name: sum(row[name] for row in self.usage) for name in (*counts, "unpriced")},
            "cost_usd": sum(costs) if costs else None,
        }
        cursor = str(last) if last < len(self.usage) else None
        return {"data": self.usage[first:last], "total": total, "next_cursor": cursor}

    def _auth_status(self, params: Map) -> Map:
        return {"data": self.auth}

    def _auth_set(self, params: Map) -> Map:
        changed = self.keys.get(params["provider"]) != params["key"]
        self.keys[params["provider"]] = params["key"]
        return {"provider": params["provider"], "changed": changed, "path": "/home/me/keys.json"}

    def _auth_logout(self, params: Map) -> Map:
        changed = self.keys.pop(params["provider"], None) is not None
        path, note = "/home/me/keys.json", "Revoke it at the vendor too."
        return {"provider": params["provider"], "changed": changed, "path": path, "note": note}

    def _auth_login(self, params: Map) -> Map:
        return self.begun

    def _auth_wait(self, params: Map) -> Map:
        if params["login_id"] != self.begun["login_id"]:
            raise Refusal("login_not_found", "There is no such sign-in.")
        if params.get("pasted") is None and self.pending:
            self.pending -= 1
            return {"state": "pending"}
        if params.get("pasted") is not None and not params["pasted"].endswith("ok"):
            raise Refusal("login_failed", "The sign-in failed: access_denied.")
        return {"state": "done", "account": "me@here", "path": "/home/me/auth.json"}

    def _config_read(self, params: Map) -> Map:
        return {"path": "/home/me/config.toml", "settings": self.settings, "warnings": []}

    def _config_write(self, params: Map) -> Map:
        self.settings[params["key"]] = params.get("value")
        return self._config_read({})

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
        sound = {
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
        return {**sound, **self.check}

    def _daemon_stop(self, params: Map) -> Map:
        return {"conversation_id": None}

    _daemon_drain = _daemon_stop


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


def check_shape(shape: type, value: Mapping[str, Any]) -> None:
    """Demand that a map has the fields of a dataclass: none unknown, none missing."""
    fields = {each.name: each for each in dataclasses.fields(shape)}
    unknown = set(value) - set(fields)
    assert not unknown, f"{shape.__name__} has no {sorted(unknown)}"
    missing = find_required(shape) - set(value)
    assert not missing, f"{shape.__name__} lacks {sorted(missing)}"


def find_required(shape: type) -> set[str]:
    """The fields of a dataclass that have no default."""
    return {
        each.name
        for each in dataclasses.fields(shape)
        if each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING
    }
