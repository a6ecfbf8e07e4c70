"""Installations of `ask` and `askd` side by side: environments of their own, each of its version.

What a wheel would unpack is copied, and its numbers are changed; the packages that it
needs are this environment's.
"""

import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from tests.system.world import LIMIT_S, ROOT

PACKAGES = ("daemon/askd", "client/ask")
SCRIPT = """\
#!{python}
import sys
from {module}.__main__ import main
sys.exit(main())
"""


class Installation:
    """One environment.

    Attributes:
        ask: the words that run its `ask`, as `World.start` takes them.
    """

    def __init__(self, place: Path, version: str, *, protocol: int | None = None) -> None:
        python = place / "bin" / "python"
        subprocess.run(
            [sys.executable, "-m", "venv", "--without-pip", "--symlinks", str(place)],
            timeout=LIMIT_S,
            check=True,
        )
        (self._packages,) = (place / "lib").glob("python*/site-packages")
        ours = sysconfig.get_paths()["purelib"]
        (self._packages / "needed.pth").write_text(f"{ours}\n")  # found after what stands here
        for module in ("ask", "askd"):
            script = place / "bin" / module
            script.write_text(SCRIPT.format(python=python, module=module))
            script.chmod(0o700)
        self.ask = (str(place / "bin" / "ask"),)
        self.askd = (str(place / "bin" / "askd"), "run")
        self.install(version, protocol=protocol)

    def install(self, version: str, *, protocol: int | None = None) -> None:
        """Put a version in the place of the one that is there, as an upgrade does."""
        for source in PACKAGES:
            package = self._packages / source.rpartition("/")[2]
            if package.exists():
                shutil.rmtree(package)
            shutil.copytree(ROOT / source, package)
            _change(package / "__init__.py", r'^__version__ = ".*"$', f'__version__ = "{version}"')
        if protocol is not None:
            for module in ("protocol/__init__.py", "fast/caller.py"):
                path = self._packages / "ask" / module
                _change(path, r"^PROTOCOL = \d+$", f"PROTOCOL = {protocol}")


def _change(path: Path, pattern: str, line: str) -> None:
    text, count = re.subn(pattern, line, path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert count == 1, (path, pattern)
    path.write_text(text, encoding="utf-8")
