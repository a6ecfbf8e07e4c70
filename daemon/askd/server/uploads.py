"""Content that a client sends in parts, before the prompt that uses it is accepted.

Kept in memory files without a name, one for each blob, owned by the connection:
nothing of it reaches the disk until a transaction takes it, and all of it is
gone when the connection is.
"""

import hashlib
import os
import re
from dataclasses import dataclass, field
from typing import Any

from ask.protocol.messages import BLOB_CHUNK_BYTES, BLOB_LIMIT_BYTES
from askd.errors import NotFound, RequestError

UPLOADS_LIMIT = 64
UPLOADS_LIMIT_BYTES = 2 * BLOB_LIMIT_BYTES
"""What one connection may have waiting: a large standard input and a few files beside it."""

_SHA256 = re.compile(r"[0-9a-f]{64}")


class BadBlob(RequestError):
    """What was sent is not the blob that was announced, or too much of it."""

    reason = "bad_blob"


@dataclass(slots=True)
class Upload:
    """One blob on its way; `received` counts its bytes so far."""

    size: int
    file: int
    received: int = 0
    digest: Any = field(default_factory=hashlib.sha256)

    @property
    def is_complete(self) -> bool:
        """Whether all of it is here, and is what was announced."""
        return self.received == self.size


class Uploads:
    """The blobs of one connection, by their digests."""

    def __init__(self) -> None:
        self._uploads: dict[str, Upload] = {}

    def put(self, sha256: str, *, size: int, offset: int, chunk: bytes) -> Upload:
        """Take the next chunk; offset 0 begins, or begins again. Raise `BadBlob`."""
        upload = self._uploads.get(sha256)
        if upload is not None and upload.is_complete:
            return upload  # sent again after a lost answer
        if offset == 0:
            upload = self._begin(sha256, size)
        if upload is None or offset != upload.received or size != upload.size:
            here = 0 if upload is None else upload.received
            raise BadBlob(f"blob/put: chunks come in order; the next one's offset is {here}.")
        if len(chunk) > BLOB_CHUNK_BYTES:
            raise BadBlob(f"blob/put: a chunk holds {BLOB_CHUNK_BYTES} bytes at the most.")
        if (not chunk and size) or len(chunk) > size - offset:
            raise BadBlob("blob/put: a chunk is empty, or reaches beyond the size.")
        os.pwrite(upload.file, chunk, offset)
        upload.digest.update(chunk)
        upload.received += len(chunk)
        if upload.is_complete and upload.digest.hexdigest() != sha256:
            self.drop(sha256)
            raise BadBlob("blob/put: the content does not have the digest that was announced.")
        return upload

    def _begin(self, sha256: str, size: int) -> Upload:
        self.drop(sha256)
        if not _SHA256.fullmatch(sha256):
            raise BadBlob("blob/put: sha256 must be 64 hexadecimal digits in lower case.")
        if not 0 <= size <= BLOB_LIMIT_BYTES:
            raise BadBlob(f"blob/put: a blob holds {BLOB_LIMIT_BYTES} bytes at the most.")
        waiting = sum(upload.size for upload in self._uploads.values())
        if len(self._uploads) >= UPLOADS_LIMIT or waiting + size > UPLOADS_LIMIT_BYTES:
            raise BadBlob(
                f"blob/put: at most {UPLOADS_LIMIT} blobs and {UPLOADS_LIMIT_BYTES} bytes may wait "
                "for their prompt."
            )
        upload = Upload(size, os.memfd_create("ask-blob", os.MFD_CLOEXEC))
        self._uploads[sha256] = upload
        return upload

    def has(self, sha256: str) -> bool:
        """Whether this blob is here, whole."""
        upload = self._uploads.get(sha256)
        return upload is not None and upload.is_complete

    def read(self, sha256: str) -> bytes:
        """A whole blob; raise `NotFound`."""
        upload = self._uploads.get(sha256)
        if upload is None or not upload.is_complete:
            raise NotFound(f"Blob not found: {sha256}", reason="blob_not_found")
        return os.pread(upload.file, upload.size, 0)

    def drop(self, sha256: str) -> None:
        """Forget a blob; one that is not here is no error."""
        upload = self._uploads.pop(sha256, None)
        if upload is not None:
            os.close(upload.file)

    def close(self) -> None:
        """Forget all."""
        for sha256 in list(self._uploads):
            self.drop(sha256)
