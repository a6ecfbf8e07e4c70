"""A server that waits for each subscriber in turn, and for each peer as long as that takes.

`python -m tests.faults.peers_careless SOCKET`. It keeps one conversation in memory and knows the
few methods that the proof asks for.
"""

import sys
from typing import Any

import trio

from ask.protocol.frames import FrameReader, Request, encode_notification, encode_response

Event = dict[str, Any]


class Careless:
    """The conversations, and who follows each."""

    def __init__(self) -> None:
        self._events: dict[str, list[Event]] = {}
        self._followers: dict[str, list[trio.SocketStream]] = {}

    async def serve(self, stream: trio.SocketStream) -> None:
        """Answer one peer until it leaves."""
        reader = FrameReader()
        try:
            while data := await stream.receive_some(65536):
                for message in reader.feed(data):
                    if isinstance(message, Request):
                        result = await self._answer(stream, message)
                        await stream.send_all(encode_response(message.id, None, result))
        except (ValueError, trio.BrokenResourceError, trio.ClosedResourceError):
            pass
        finally:
            for followers in self._followers.values():
                if stream in followers:
                    followers.remove(stream)
            await trio.aclose_forcefully(stream)

    async def _answer(self, stream: trio.SocketStream, request: Request) -> Any:
        id = str(request.params.get("conversation_id"))
        match request.method:
            case "conversation/create":
                id = str(len(self._events))
                self._events[id] = [{"seq": 1, "conversation_id": id, "text": "created"}]
                self._followers[id] = []
                return {"id": id}
            case "conversation/note":
                events = self._events[id]
                event = {
                    "seq": len(events) + 1,
                    "conversation_id": id,
                    "text": request.params["text"],
                }
                events.append(event)
                for follower in list(self._followers[id]):
                    await follower.send_all(encode_notification("event", event))
            case "conversation/read" | "conversation/subscribe":
                after = request.params["after_seq"]
                page = self._events[id][after : after + 10]
                if after + 10 < len(self._events[id]):
                    return {"data": page, "next_after_seq": after + 10}
                if request.method == "conversation/subscribe":
                    self._followers[id].append(stream)
                return {"data": page, "next_after_seq": None}
            case _:
                pass
        return {}


async def main(path: str) -> None:
    """Listen and serve until it is ended."""
    listening = trio.socket.socket(trio.socket.AF_UNIX)
    await listening.bind(path)
    listening.listen(1024)
    await trio.serve_listeners(Careless().serve, [trio.SocketListener(listening)])


if __name__ == "__main__":
    trio.run(main, sys.argv[1])
