"""A server that trusts its peers: no limit on lengths, lists, depth or memory.

`python -m tests.faults.frames_careless SOCKET`. It answers whatever it can decode; what it cannot
ends the connection. Its address space is limited, so that what it takes is its own harm only.
"""

import resource
import sys
from typing import Any

import msgpack
import trio

UNLIMITED = 2**31 - 1
ADDRESS_SPACE_BYTES = 3 * 1024**3


async def serve(stream: trio.SocketStream) -> None:
    """Answer until the peer leaves."""
    unpacker = msgpack.Unpacker(
        max_buffer_size=UNLIMITED,
        max_str_len=UNLIMITED,
        max_bin_len=UNLIMITED,
        max_array_len=UNLIMITED,
        max_map_len=UNLIMITED,
        max_ext_len=UNLIMITED,
        strict_map_key=False,
    )
    try:
        while data := await stream.receive_some(65536):
            unpacker.feed(data)
            for message in unpacker:
                await stream.send_all(msgpack.packb([1, _read_id(message), None, {"ok": True}]))
    except (ValueError, TypeError, MemoryError, RecursionError, msgpack.UnpackException):
        pass
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        pass
    finally:
        await trio.aclose_forcefully(stream)


def _read_id(message: Any) -> int:
    match message:
        case [_, int() as id, *_] if 0 <= id < 2**32:
            return id
    return 0


async def main(path: str) -> None:
    """Listen and serve until it is ended."""
    listening = trio.socket.socket(trio.socket.AF_UNIX)
    await listening.bind(path)
    listening.listen(64)
    await trio.serve_listeners(serve, [trio.SocketListener(listening)])


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE_BYTES, ADDRESS_SPACE_BYTES))
    trio.run(main, sys.argv[1])
