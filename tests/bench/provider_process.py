"""The provider as a process of its own."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.system.world import ROOT


@contextmanager
def run_provider(*words: str) -> Iterator[str]:
    """The base URL of `python -m tests.bench.provider WORDS`; without words it has no latency."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.provider", *words],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.communicate()
