"""The embedded model's process: llama.cpp's own HTTP server on loopback, with a key.

A program, run by path: the standard library and xllamacpp, nothing of ours, so
that a crash in there is only the end of this process. It reads one JSON line on
standard input, `{packages, model_path, model_name, api_key, context_tokens,
threads}`, and prints one, `{"port": N}` or `{"error": "sentence"}`; then it
serves until it is killed. Without the key, which other users of the machine do
not have, the server answers 401.
"""

import importlib
import json
import os
import signal
import sys

CACHE_MIB = 64
"""Prompts kept for the next turn of a conversation; llama.cpp's own default is 8 GiB."""

SLOTS = 1
"""Requests at the same time, each with the whole context; more wait in line."""

MAGIC = b"GGUF"


def main() -> int:
    """Load, say the port, serve."""
    # llama.cpp prints where it likes: standard output is kept for our one line.
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    spec = json.loads(sys.stdin.readline())
    message = load(spec)
    print(json.dumps(message), file=answer, flush=True)
    answer.close()
    if "error" in message:
        return 1
    while True:
        signal.pause()


def load(spec: dict[str, str | int]) -> dict[str, str | int]:
    """Load the model and listen; answer the port, or a sentence about what is wrong."""
    path = str(spec["model_path"])
    try:
        with open(path, "rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                return {"error": f"{path} is not a GGUF file"}
    except OSError as error:
        return {"error": f"{path} cannot be read: {error.strerror}"}
    # This process has no packages but this one's folder: it starts fast, whatever is installed.
    sys.path.append(str(spec["packages"]))
    xllamacpp = importlib.import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.model_alias = {str(spec["model_name"])}
    params.n_ctx = int(spec["context_tokens"]) * SLOTS
    params.n_parallel = SLOTS
    params.cache_ram_mib = CACHE_MIB
    params.cpuparams.n_threads = int(spec["threads"])
    params.cpuparams_batch.n_threads = int(spec["threads"])
    params.port = 0  # any free one; the host is 127.0.0.1 unless told otherwise
    params.api_keys = [str(spec["api_key"])]
    params.ui = False
    params.endpoint_slots = True
    params.verbosity = -1
    try:
        server = xllamacpp.Server(params)
    except (RuntimeError, ValueError) as error:
        return {"error": f"{path} could not be loaded: {' '.join(str(error).split())}"}
    address = str(server.listening_address)
    if "://127.0.0.1:" not in address:
        return {"error": f"the model server listens on {address}, which is not the loopback"}
    keep.append(server)
    return {"port": int(address.rpartition(":")[2])}


keep: list[object] = []
"""The server stops when nothing refers to it."""

if __name__ == "__main__":
    sys.exit(main())
