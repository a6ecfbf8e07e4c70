"""Who waits for a daemon looks for it often; whoever is to wait in vain gives up at once."""

import pytest

from ask.library import link


@pytest.fixture(autouse=True)
def no_long_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon that comes back is found at once."""
    monkeypatch.setattr(link, "RECONNECT_PAUSE_S", 0.001)


@pytest.fixture
def in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon that is gone is looked for no longer than one look takes."""
    monkeypatch.setattr(link, "RECONNECT_LIMIT_S", 0.0)
