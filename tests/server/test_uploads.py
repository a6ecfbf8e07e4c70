"""Uploads: whole and as announced, or refused; never more than may wait."""

import hashlib
import os

import pytest

from ask.protocol.messages import BLOB_CHUNK_BYTES, BLOB_LIMIT_BYTES
from askd.errors import NotFound
from askd.server.uploads import UPLOADS_LIMIT, UPLOADS_LIMIT_BYTES, BadBlob, Uploads


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def put_all(uploads: Uploads, content: bytes) -> str:
    digest = sha(content)
    for offset in range(0, max(len(content), 1), BLOB_CHUNK_BYTES):
        chunk = content[offset : offset + BLOB_CHUNK_BYTES]
        uploads.put(digest, size=len(content), offset=offset, chunk=chunk)
    return digest


@pytest.mark.parametrize("size", [0, 1, BLOB_CHUNK_BYTES, BLOB_CHUNK_BYTES + 1, 1_000_000])
def test_what_was_sent_is_read_back(size: int) -> None:
    uploads = Uploads()
    content = os.urandom(size)
    digest = put_all(uploads, content)
    assert uploads.has(digest)
    assert uploads.read(digest) == content
    uploads.close()
    assert not uploads.has(digest)


def test_nothing_is_there_before_it_is_whole() -> None:
    uploads = Uploads()
    upload = uploads.put(sha(b"ab"), size=2, offset=0, chunk=b"a")
    assert (upload.received, upload.is_complete) == (1, False)
    assert not uploads.has(sha(b"ab"))
    with pytest.raises(NotFound) as caught:
        uploads.read(sha(b"ab"))
    assert caught.value.reason == "blob_not_found"
    assert uploads.put(sha(b"ab"), size=2, offset=1, chunk=b"b").is_complete
    uploads.close()


def test_a_lost_answer_may_be_asked_for_again() -> None:
    uploads = Uploads()
    digest = put_all(uploads, b"abc")
    assert uploads.put(digest, size=3, offset=0, chunk=b"abc").is_complete
    other = sha(b"xyz")
    uploads.put(other, size=3, offset=0, chunk=b"x")
    assert uploads.put(other, size=3, offset=0, chunk=b"xy").received == 2
    uploads.close()


@pytest.mark.parametrize(
    ("digest", "size", "offset", "chunk"),
    [
        (sha(b"ab"), 2, 1, b"b"),  # not from the beginning
        (sha(b"ab"), 2, 0, b""),
        (sha(b"ab"), 2, 0, b"abc"),
        (sha(b"ab"), 2, 0, b"xx"),  # other content
        (sha(b"ab").upper(), 2, 0, b"ab"),
        ("ab", 2, 0, b"ab"),
        (sha(b"ab"), -1, 0, b""),
        (sha(b"ab"), 2, -1, b"ab"),
        (sha(b"ab"), BLOB_LIMIT_BYTES + 1, 0, b"ab"),
        (sha(b"ab"), BLOB_CHUNK_BYTES + 1, 0, b"x" * (BLOB_CHUNK_BYTES + 1)),
    ],
)
def test_what_does_not_fit_is_refused(digest: str, size: int, offset: int, chunk: bytes) -> None:
    uploads = Uploads()
    with pytest.raises(BadBlob) as caught:
        uploads.put(digest, size=size, offset=offset, chunk=chunk)
    assert caught.value.reason == "bad_blob"
    assert not uploads.has(digest)
    uploads.close()


def test_another_size_in_the_middle_is_refused() -> None:
    uploads = Uploads()
    uploads.put(sha(b"abc"), size=3, offset=0, chunk=b"a")
    with pytest.raises(BadBlob, match="offset is 1"):
        uploads.put(sha(b"abc"), size=4, offset=1, chunk=b"b")
    uploads.close()


def test_only_so_many_wait() -> None:
    uploads = Uploads()
    for number in range(UPLOADS_LIMIT):
        put_all(uploads, str(number).encode())
    with pytest.raises(BadBlob, match="may wait"):
        put_all(uploads, b"one more")
    uploads.drop(sha(b"0"))
    put_all(uploads, b"one more")
    uploads.close()


def test_only_so_much_waits() -> None:
    uploads = Uploads()
    half = UPLOADS_LIMIT_BYTES // 2
    for content in (b"a", b"b"):
        uploads.put(sha(content), size=half, offset=0, chunk=content)
    with pytest.raises(BadBlob, match="may wait"):
        uploads.put(sha(b"c"), size=1, offset=0, chunk=b"c")
    uploads.close()


def test_nothing_of_it_is_left() -> None:
    before = set(os.listdir("/proc/self/fd"))
    uploads = Uploads()
    put_all(uploads, b"abc")
    assert len(set(os.listdir("/proc/self/fd")) - before) == 1
    uploads.close()
    assert set(os.listdir("/proc/self/fd")) <= before
