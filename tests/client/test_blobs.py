"""Blobs go in chunks and come in chunks."""

import hashlib
from pathlib import Path
from typing import Any

from ask.blobs import put_blob, read_answer, read_blob
from ask.connection import connect
from ask.protocol.messages import BLOB_CHUNK_BYTES
from tests.fakes.daemon import FakeDaemon


def test_a_blob_is_sent_in_chunks_in_order(lone_home: Path) -> None:
    content = bytes(range(256)) * (BLOB_CHUNK_BYTES // 128) + b"rest"
    with FakeDaemon(lone_home) as daemon, connect() as client:
        digest = put_blob(client, content)
    assert digest == hashlib.sha256(content).hexdigest()
    sent = daemon.asked("blob/put")
    assert [each["offset"] for each in sent] == [0, BLOB_CHUNK_BYTES, 2 * BLOB_CHUNK_BYTES]
    assert b"".join(each["bytes"] for each in sent) == content
    assert {(each["sha256"], each["size"]) for each in sent} == {(digest, len(content))}


def test_a_blob_is_read_to_its_end(lone_home: Path) -> None:
    content = b"large " * 10

    def read(params: dict[str, Any]) -> dict[str, Any]:
        return {"bytes": content[params["offset"] :][:25], "size": len(content)}

    with FakeDaemon(lone_home, results={"blob/read": read}) as daemon, connect() as client:
        assert read_blob(client, "0") == content
    assert len(daemon.asked("blob/read")) == 3


def test_a_blob_that_ends_too_early_is_no_endless_reading(lone_home: Path) -> None:
    results = {"blob/read": lambda params: {"bytes": b"", "size": 5}}
    with FakeDaemon(lone_home, results=results), connect() as client:
        assert read_blob(client, "0") == b""


def test_an_answer_that_is_stored_as_a_blob_is_read(lone_home: Path) -> None:
    content = "large \u00fc".encode()
    blob = {"type": "blob", "sha256": "0", "bytes": len(content), "media_type": "text/plain"}
    picture = {"type": "blob", "sha256": "1", "bytes": 9, "media_type": "image/png"}
    text = {"type": "text", "text": "small"}
    item = {"type": "assistant_message", "id": "m", "parts": [text, blob, picture]}
    results = {"blob/read": lambda params: {"bytes": content, "size": len(content)}}
    with FakeDaemon(lone_home, results=results) as daemon, connect() as client:
        found = read_answer(client, {"seq": 3, "item": item})
        assert found["item"]["parts"] == [text, {"type": "text", "text": "large \u00fc"}, picture]
        assert len(daemon.asked("blob/read")) == 1
        for event in ({"seq": 1}, {"item": {**item, "parts": [text]}}, {"item": {"type": "x"}}):
            assert read_answer(client, event) is event
