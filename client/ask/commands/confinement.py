"""With what tools could be confined on this machine: Landlock, bubblewrap, user namespaces.

It asks the kernel and starts nothing.
"""

import ctypes
import shutil
from pathlib import Path

from ask.commands.findings import Finding

LANDLOCK_CREATE_RULESET = 444
"""The number of the system call (linux/include/uapi/asm-generic/unistd.h)."""
LANDLOCK_VERSION = 1
"""Its flag: answer the version of the interface, make nothing (landlock(7))."""
PROC = Path("/proc/sys")
SWITCHES = (
    ("kernel/unprivileged_userns_clone", "0"),
    ("kernel/apparmor_restrict_unprivileged_userns", "1"),
    ("user/max_user_namespaces", "0"),
)
"""Where a distribution forbids user namespaces to those who are not root, and the value."""


def check_confinement() -> Finding:
    """One line with all that there is."""
    version = find_landlock()
    found = [f"Landlock (ABI {version})"] if version > 0 else []
    if shutil.which("bwrap"):
        found.append("bubblewrap")
    if may_unshare():
        found.append("user namespaces")
    if not found:
        return Finding(
            "confinement",
            "warn",
            "There is nothing here that tools could be confined with.",
            "Install bubblewrap, or a kernel with Landlock (5.13 or newer).",
        )
    return Finding("confinement", "ok", f"tools can be confined with {', '.join(found)}")


def find_landlock() -> int:
    """The version of the kernel's Landlock; 0: it has none, or does not say."""
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        return max(0, int(libc.syscall(LANDLOCK_CREATE_RULESET, None, 0, LANDLOCK_VERSION)))
    except (OSError, AttributeError):
        return 0


def may_unshare(proc: Path = PROC) -> bool:
    """Whether somebody who is not root may make a user namespace."""
    if not (proc / "user").is_dir():
        return False
    return not any(_read(proc / name) == forbidden for name, forbidden in SWITCHES)


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
