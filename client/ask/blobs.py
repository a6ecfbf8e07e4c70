"""Content that no message holds: sent and read chunk by chunk, told by its digest.

It looks at nothing that it carries.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

from ask.connection import Caller
from ask.protocol.limits import BLOB_CHUNK_BYTES

UPLOAD_LIMIT_S = 60.0
"""For one chunk."""


def put_blob(client: Caller, content: bytes) -> str:
    """Send content in chunks; its digest."""
    digest = hashlib.sha256(content).hexdigest()
    for offset in range(0, len(content), BLOB_CHUNK_BYTES):
        chunk = content[offset : offset + BLOB_CHUNK_BYTES]
        params = {"sha256": digest, "size": len(content), "offset": offset, "bytes": chunk}
        client.call("blob/put", params, limit_s=UPLOAD_LIMIT_S)
    return digest


def read_blob(client: Caller, sha256: str) -> bytes:
    """The whole of a blob, chunk by chunk."""
    content = bytearray()
    while True:
        chunk = client.call("blob/read", {"sha256": sha256, "offset": len(content)})
        content += chunk["bytes"]
        if len(content) >= chunk["size"] or not chunk["bytes"]:
            return bytes(content)


def read_answer(client: Caller, event: Mapping[str, Any]) -> Mapping[str, Any]:
    """The event with those parts of an answer as text that are stored as blobs."""
    item = event.get("item") or {}
    if item.get("type") != "assistant_message":
        return event
    if all(part.get("type") == "text" for part in item.get("parts", ())):
        return event
    parts = [
        part
        if part.get("type") == "text" or not str(part.get("media_type")).startswith("text/")
        else {"type": "text", "text": read_blob(client, part["sha256"]).decode()}
        for part in item["parts"]
    ]
    return {**event, "item": {**item, "parts": parts}}
