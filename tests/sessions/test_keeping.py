"""What blobs of outputs hold, before they are stored and after."""

import hashlib

import pytest

from askd.core.events import ItemAdded
from askd.core.items import Blob, Text, ToolOutput
from askd.errors import NotFound
from askd.sessions.keeping import Kept

CONTENT = b"GIF89a"
DIGEST = hashlib.sha256(CONTENT).hexdigest()


async def read_nothing(sha256: str) -> bytes:
    raise NotFound(sha256)


def added(*parts: Text | Blob) -> ItemAdded:
    return ItemAdded("t", ToolOutput("t.1.1", "call_1", "x__y", parts), 1)


async def test_it_is_read_before_it_is_stored_and_goes_with_the_event_that_names_it() -> None:
    kept = Kept(read_nothing)
    kept.keep({DIGEST: CONTENT, "other": b"x"})
    assert await kept.read(DIGEST) == CONTENT
    assert kept.find([added(Text("a"))]) == {}
    assert kept.find([added(Text("a"), Blob(DIGEST, 6, "image/gif"))]) == {DIGEST: CONTENT}
    kept.drop([DIGEST, "unknown"])
    with pytest.raises(NotFound):
        await kept.read(DIGEST)
    assert await kept.read("other") == b"x"


async def test_what_it_does_not_hold_is_read_from_where_it_is() -> None:
    async def read(sha256: str) -> bytes:
        return sha256.encode()

    assert await Kept(read).read("abc") == b"abc"
    assert Kept(read).find([added(Blob("abc", 3, "image/gif"))]) == {}
