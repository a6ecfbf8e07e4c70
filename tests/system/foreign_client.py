"""Drives askd with somebody else's MessagePack-RPC client: pynvim's, made for an editor.

No line of this project speaks the protocol here. Run with the socket's path, a
base URL and a key for the model; prints what it saw as one line of JSON.
"""

import json
import sys
from typing import Any

from pynvim.msgpack_rpc.async_session import AsyncSession
from pynvim.msgpack_rpc.event_loop import EventLoop
from pynvim.msgpack_rpc.msgpack_stream import MsgpackStream
from pynvim.msgpack_rpc.session import Session

KEY = "00000000-0000-4000-8000-00000000f0e1"


def main(path: str, base_url: str, api_key: str) -> dict[str, Any]:
    """Say hello, ask, subscribe, and listen to the end of the turn."""
    session = Session(AsyncSession(MsgpackStream(EventLoop("socket", path))))
    hello = session.request("hello", {"client": "foreign", "version": "1", "protocol": 1})
    started = session.request(
        "turn/start",
        {
            "target": {"kind": "session", "value": "foreign", "create": True},
            "key": KEY,
            "parts": [{"type": "text", "text": "HOLD:2 to a stranger"}],
            "env": {"OPENAI_BASE_URL": base_url},
            "secrets": {"OPENAI_API_KEY": api_key},
        },
    )
    page = session.request(
        "conversation/subscribe", {"conversation_id": started["conversation_id"], "after_seq": 0}
    )
    print("subscribed", flush=True)
    seen: list[list[Any]] = []
    while not seen or seen[-1][1].get("type") != "turn_finished":
        message = session.next_message()
        assert message is not None
        _, method, (params,) = message
        seen.append([method, params])
    session.close()
    return {"hello": hello, "started": started, "page": page, "seen": seen}


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
