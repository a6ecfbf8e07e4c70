"""Fixtures for the tests that run real processes."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.system.chats import Panes, prepare
from tests.system.world import World, open_world


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """An empty home with a scripted model server."""
    with open_world(tmp_path) as opened:
        yield opened


@pytest.fixture(scope="module")
def shared_talks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A world for talking that the tests of a module share: one daemon, one model."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    with open_world(tmp_path_factory.mktemp("talks")) as opened:
        prepare(opened)
        yield opened


@pytest.fixture
def talks(shared_talks: World) -> Iterator[World]:
    """The same, and nothing left of what the test before said in the conversation `work`."""
    yield shared_talks
    assert shared_talks.model is not None
    shared_talks.model.release()
    assert shared_talks.ask("history", "delete", "work", "--yes").code in (0, 3)
    (shared_talks.ask_home / "state" / "chat_history").unlink(missing_ok=True)


@pytest.fixture
def panes(talks: World) -> Iterator[Panes]:
    """A tmux with a person at it; it and what runs in it end before the conversation does."""
    found = Panes(talks)
    yield found
    found.close()
