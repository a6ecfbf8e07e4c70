"""`ask` as the README puts it on the PATH: the script that `ask install-launcher` writes."""

import atexit
import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.system.world import ASK


@functools.cache
def find_ask() -> str:
    """Its path; it is written once in a run, and goes with it."""
    directory = Path(tempfile.mkdtemp(prefix="ask-bench-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    subprocess.run([ASK, "install-launcher", directory], check=True, capture_output=True)
    return str(directory / "ask")
