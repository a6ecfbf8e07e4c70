"""What this daemon is installed in: directories that no model changes, wherever they are.

A project's own environment is one of them, if `ask` is among what it holds. Whoever writes
there writes the launcher of the next command, which nothing confines. It looks for them, and
keeps nobody from anything.
"""

import os
import sys
from importlib.util import find_spec

PACKAGES = ("askd", "ask")
SHARED_HOMES = ("site-packages", "dist-packages")
"""Directories in which packages lie beside those that they import."""


def find_installed() -> tuple[str, ...]:
    """Its environment, if it has one of its own, and its packages; absolute, free of links."""
    found = [] if sys.prefix == sys.base_prefix else [sys.prefix]
    for package in PACKAGES:
        spec = find_spec(package)
        found += (spec.submodule_search_locations or ()) if spec is not None else ()
    homes = [os.path.dirname(each) for each in found]
    found += [each for each in homes if os.path.basename(each) in SHARED_HOMES]
    return tuple(sorted({os.path.realpath(each) for each in found}))


INSTALLED = find_installed()
"""Read-only for every command and every tool."""
