"""Standard input in a test's own hand."""

import os
from collections.abc import Iterator

import pytest


@pytest.fixture
def stdin() -> Iterator[int]:
    """The writing end of a pipe that is standard input."""
    before = os.dup(0)
    reader, writer = os.pipe()
    os.dup2(reader, 0)
    os.close(reader)
    yield writer
    os.dup2(before, 0)
    os.close(before)
