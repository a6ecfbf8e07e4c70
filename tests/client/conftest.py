"""A home of its own for each test of the client, with nothing of the caller's in it."""

import os
from pathlib import Path

import pytest

from ask.protocol.names import SECRET_NAMES


@pytest.fixture
def lone_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty ASK_HOME in the process's environment; where its daemon would listen."""
    home = tmp_path / "h"
    for name in (*SECRET_NAMES, "OPENAI_BASE_URL", "TMUX"):
        monkeypatch.delenv(name, raising=False)
    for name in [each for each in os.environ if each.startswith("ASK_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("ASK_HOME", str(home))
    return home / "run" / "askd.sock"
