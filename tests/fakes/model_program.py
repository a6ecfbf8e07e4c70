"""Stands for the embedded model's process: the same standard input and output, no llama.cpp.

It keeps the child's promises (one line in, one line out, 401 without the key)
and serves the scripted answers of `chat_server`. A first argument changes it:
`refuse` answers a sentence in place of a port, `mumble` prints nonsense, `die`
ends while it loads, `brief` serves until its standard input closes or it is sent
`DIE` as a prompt's text.
"""

import json
import os
import sys
from pathlib import Path

import trio

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.fakes.chat_server import ChatServer, open_chat_server

PROGRAM = [sys.executable, str(Path(__file__).resolve())]


async def serve(api_key: str) -> None:
    """Print the port, serve for ever; die when the word comes."""
    async with open_chat_server(api_key=api_key) as server:
        print(json.dumps({"port": int(server.base_url.split(":")[2].split("/")[0])}), flush=True)
        await die_when_told(server)


async def die_when_told(server: ChatServer) -> None:
    """End the process, as a crash would, on a request with the word in it."""
    count = 0
    while True:
        count += 1
        requests = await server.wait_for("requests", count)
        if "DIE" in requests[count - 1]["messages"][-1]["content"]:
            os._exit(3)


def main() -> None:
    """Read the spec and do what the first argument says."""
    spec = json.loads(sys.stdin.readline())
    match sys.argv[1:]:
        case ["refuse"]:
            print(json.dumps({"error": f"{spec['model_path']} is not a GGUF file"}), flush=True)
        case ["mumble"]:
            print("loading...", flush=True)
        case ["die"]:
            print("a crash in words", file=sys.stderr)
            sys.exit(3)
        case _:
            trio.run(serve, spec["api_key"])


if __name__ == "__main__":
    main()
