"""How a server is reached: what every transport gives, and how it says what it knows.

A transport is opened for one session and knows nothing of the protocol above it. It raises
`CannotRun` with a sentence when it cannot be opened; how it ended it tells its journal.
"""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Protocol, TypeAlias

from askd.tools.base import CannotRun
from askd.tools.mcp.configs import ServerConfig
from askd.tools.mcp.journal import Journal

if TYPE_CHECKING:
    # The SDK is loaded when the first server is started, and not by who only knows of it.
    from mcp.client._transport import TransportStreams

Streams: TypeAlias = "TransportStreams"
"""What the SDK's `ClientSession` takes: what comes, and what goes."""


class OpenTransport(Protocol):
    """Opens the way to a server, and closes it with all that it holds."""

    def __call__(
        self, config: ServerConfig, *, journal: Journal
    ) -> AbstractAsyncContextManager[Streams]:
        """Open it; `CannotRun` says why it cannot be."""
        ...


NOT_INSTALLED: Sequence[str] = (
    "Servers of tools (MCP) need a part that is not installed:",
    'pip install "askd[mcp]"',
)


def check_installed() -> None:
    """Load the SDK; raise `CannotRun` with the command that installs it."""
    try:
        import mcp  # noqa: F401  # that it can be imported is all that is asked
    except ImportError:
        raise CannotRun(" ".join(NOT_INSTALLED)) from None
