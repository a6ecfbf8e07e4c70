"""A face of the fake daemon: says what it is told to, and keeps what it hears."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ask.protocol.frames import encode_notification
from tests.client.commands.fake_daemon import FakeDaemon
from tests.client.commands.fake_log import Refusal

Map = dict[str, Any]
Told = tuple[str, Map]


class FaceDaemon(FakeDaemon):
    """A daemon with one face for all connections.

    Attributes:
        heard: the lines that came, whole.
        replies: the notifications for a line.
        last_words: those that come as it is closed.
        closed: how often it was.
        ends_after: lines after which it is there no more.
    """

    def __init__(self, socket_path: Path) -> None:
        super().__init__(socket_path)
        self.heard: list[bytes] = []
        self.replies: Callable[[bytes], list[Told]] = lambda line: []
        self.last_words: list[Told] = []
        self.closed = 0
        self.ends_after: int | None = None
        self._begun = b""

    def _notify(self, told: list[Told]) -> None:
        for connection in self.connections:
            for method, params in told:
                connection.sendall(encode_notification(method, params))

    def _mcp_open(self, params: Map) -> Map:
        return {"conversation_id": None}

    def _mcp_send(self, params: Map) -> Map:
        self._begun += params["bytes"]
        if params.get("more"):
            return {"conversation_id": None}
        line, self._begun = self._begun, b""
        self.heard.append(line)
        self._notify(self.replies(line))
        if self.ends_after is not None and len(self.heard) >= self.ends_after:
            raise Refusal("no_face", "mcp/send: the face has ended.")
        return {"conversation_id": None}

    def _mcp_close(self, params: Map) -> Map:
        self.closed += 1
        self._notify(self.last_words)
        return {"conversation_id": None}
