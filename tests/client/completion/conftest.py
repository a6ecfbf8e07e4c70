"""The home and the daemon of the commands' tests, and a limit that no busy machine passes."""

import pytest

from tests.client.commands.conftest import daemon, home

__all__ = ["daemon", "home", "patient"]


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon has as long as it takes: what is tested is not how fast it is."""
    monkeypatch.setattr("ask.completion.daemon.LIMIT_S", 20.0)
