"""Our own ChatGPT sign-in on the disk: one file of mode 0600, replaced whole.

It holds what OpenAI knows this machine by, also when nobody is signed in, and
the tokens of who is. It asks nobody and renews nothing.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import trio

from askd.errors import NotConfigured
from askd.files import replace_file
from askd.providers.key_file import read_private_json
from askd.providers.redact import KnownSecrets


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
        for value in (kept.access_token, kept.refresh_token):
            self._secrets.add(value)
        return kept

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
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
