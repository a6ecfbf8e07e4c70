"""Fixtures for the tests that run real processes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.system.world import World, open_world


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """An empty home with a scripted model server."""
    with open_world(tmp_path) as opened:
        yield opened
