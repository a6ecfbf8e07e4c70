"""What the blobs of tools' outputs hold, from the moment a tool answers until it is stored.

An output goes through the turn's machine before it is appended, and where nothing can be
stored it never is; a model is to see its images all the same. It keeps nothing after the turn.
"""

from collections.abc import Iterable, Mapping, Sequence

from askd.core.blob_parts import find_blobs
from askd.core.events import Body
from askd.sessions.contents import ReadBlob
from askd.sessions.offload import Blobs


class Kept:
    """Made once for a turn; `read_blob` reads what is stored."""

    def __init__(self, read_blob: ReadBlob) -> None:
        self._read_blob = read_blob
        self._contents: Blobs = {}

    def keep(self, blobs: Mapping[str, bytes]) -> None:
        """Hold these until `drop`."""
        self._contents.update(blobs)

    async def read(self, sha256: str) -> bytes:
        """A blob's content, stored or not; raise `NotFound`."""
        held = self._contents.get(sha256)
        return await self._read_blob(sha256) if held is None else held

    def find(self, bodies: Sequence[Body]) -> Blobs:
        """Those that these bodies name, to be stored with them."""
        if not self._contents:
            return {}
        return {
            digest: self._contents[digest]
            for digest in find_blobs(bodies)
            if digest in self._contents
        }

    def drop(self, digests: Iterable[str]) -> None:
        """They are stored by now."""
        for digest in digests:
            self._contents.pop(digest, None)
