"""uvloop, a faster event loop, as a yardstick: no part of the project stands on it.

`tests.bench.peers` installs it below its directory; a Python finds it there by its path.
"""

import importlib.util
import os
from collections.abc import Mapping
from pathlib import Path

NAME = "uvloop"
ABSENT = f"not measured: {NAME} is not there"


def find_place(directory: Path) -> Path:
    """Where it is installed below the directory of the peers."""
    return directory / "loop"


def find_loop(directory: Path | None) -> Mapping[str, str] | None:
    """What a Python's environment needs besides, to import it; None: it is nowhere."""
    if directory is not None and (find_place(directory) / NAME).is_dir():
        return {"PYTHONPATH": str(find_place(directory).absolute())}
    return {} if importlib.util.find_spec(NAME) is not None else None


def join(env: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """An environment with what `find_loop` has found."""
    paths = [each["PYTHONPATH"] for each in (more, env) if each.get("PYTHONPATH")]
    return {**env, **more, **({"PYTHONPATH": os.pathsep.join(paths)} if paths else {})}
