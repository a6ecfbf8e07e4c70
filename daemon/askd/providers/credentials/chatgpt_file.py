"""Our own ChatGPT sign-in on the disk: one file of mode 0600, replaced whole.

It holds what OpenAI knows this machine by, also when nobody is signed in, and
the tokens of who is. It asks nobody and renews nothing.
"""

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import trio

from askd.errors import NotConfigured
from askd.files import replace_file
from askd.providers.credentials.key_file import read_private_json
from askd.providers.redact import KnownSecrets

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What the file holds; without an access token nobody is signed in.

    Attributes:
        host_id: a URN that we made up for this machine (`ext_agent_host_id`).
        client_id: the client that was issued at the first sign-in.
        valid_until_at: of the access token, in unix seconds of this machine's clock.
    """

    host_id: str
    client_id: str | None = None
    access_token: str | None = field(default=None, repr=False)
    refresh_token: str | None = field(default=None, repr=False)
    valid_until_at: float | None = None
    account: str | None = None


class ChatGPTFile:
    """The file at `path`; every token that is read is told to `secrets`."""

    def __init__(self, path: Path, secrets: KnownSecrets) -> None:
        self.path = path
        self._secrets = secrets
        # Tokens that the disk would not take, with the refresh token that they cost.
        self._unsaved: tuple[str, Kept] | None = None

    def read(self) -> Kept | None:
        """What it holds; None: nothing yet. Raises `NotConfigured` if it is refused."""
        data = read_private_json(self.path)
        host_id = None if data is None else _text(data, "host_id")
        if data is None or host_id is None:
            return None
        kept = Kept(
            host_id=host_id,
            client_id=_text(data, "client_id"),
            access_token=_text(data, "access_token"),
            refresh_token=_text(data, "refresh_token"),
            valid_until_at=_number(data, "valid_until_at"),
            account=_text(data, "account"),
        )
        if self._unsaved is not None and kept.refresh_token == self._unsaved[0]:
            kept = self._unsaved[1]
        for value in (kept.access_token, kept.refresh_token):
            self._secrets.add(value)
        return kept

    async def save(self, kept: Kept, *, spent: str) -> None:
        """Replace it; if the disk will not have it, memory must do until `save_late` succeeds."""
        self._unsaved = (spent, kept)
        await self.save_late()

    async def save_late(self) -> None:
        """Write what is not written yet, unless somebody has signed in anew meanwhile."""
        if self._unsaved is None:
            return
        kept = self._unsaved[1]
        if self.read() != kept:
            self._unsaved = None
            return
        try:
            await self.write(kept)
        except NotConfigured as error:
            log.error("%s", error.message)
        else:
            self._unsaved = None

    async def write(self, kept: Kept) -> None:
        """Replace it; on the disk when this returns. Raises `NotConfigured`."""
        content = {name: each for name, each in asdict(kept).items() if each is not None}
        text = json.dumps(content, indent=2) + "\n"
        try:
            await trio.to_thread.run_sync(replace_file, self.path, text.encode())
        except OSError as error:
            raise NotConfigured(f"{self.path} cannot be written: {error.strerror}") from None


def _text(data: Mapping[str, Any], name: str) -> str | None:
    value = data.get(name)
    return value if isinstance(value, str) and value else None


def _number(data: Mapping[str, Any], name: str) -> float | None:
    value = data.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < 1e12 else None  # nor what no clock can say
