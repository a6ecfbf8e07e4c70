"""Our own ChatGPT sign-in on the disk."""

import math
import stat
from pathlib import Path

import pytest

from askd.errors import NotConfigured
from askd.providers.credentials.chatgpt_file import ChatGPTFile, Kept
from askd.providers.redact import KnownSecrets
from tests.fakes.credentials import write_private

WHOLE = Kept(
    host_id="urn:uuid:1",
    client_id="oaiapp_1",
    access_token="access-secret",
    refresh_token="refresh-secret",
    valid_until_at=1.5,
    account="ada@example.com",
)


@pytest.mark.parametrize("kept", [WHOLE, Kept(host_id="urn:uuid:1")])
async def test_what_is_written_is_read(tmp_path: Path, kept: Kept) -> None:
    secrets = KnownSecrets()
    path = tmp_path / "ask" / "chatgpt.json"
    await ChatGPTFile(path, secrets).write(kept)
    assert ChatGPTFile(path, secrets).read() == kept
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "secret" not in secrets.hide("access-secret refresh-secret") or kept != WHOLE
    assert "secret" not in repr(kept)


@pytest.mark.parametrize(
    "data",
    [{}, {"host_id": 5}, {"host_id": "h", "access_token": 5, "valid_until_at": True},
     {"host_id": "h", "valid_until_at": 10**400}, {"host_id": "h", "valid_until_at": math.nan}],
)  # fmt: skip
def test_what_is_odd_is_left_out(tmp_path: Path, data: object) -> None:
    kept = ChatGPTFile(write_private(tmp_path / "file", data), KnownSecrets()).read()
    assert kept is None or kept == Kept(host_id="h")


async def test_refused(tmp_path: Path) -> None:
    path = write_private(tmp_path / "file", {"host_id": "h"}, 0o644)
    with pytest.raises(NotConfigured, match=f"chmod 600 {path}"):
        ChatGPTFile(path, KnownSecrets()).read()
    with pytest.raises(NotConfigured, match="cannot be written"):
        await ChatGPTFile(path / "below", KnownSecrets()).write(WHOLE)
