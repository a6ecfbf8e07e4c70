"""Fixtures of the room's tests."""

import os
from collections.abc import Callable, Iterator

import pytest


@pytest.fixture
def pipe() -> Iterator[tuple[int, Callable[[], None]]]:
    """What can be read from when something was said, and the saying."""
    reader, writer = os.pipe()

    def say() -> None:
        os.write(writer, b"x")

    yield reader, say
    os.close(reader)
    os.close(writer)
