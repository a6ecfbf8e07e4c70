"""With what the commands of tools are confined: what the daemon found, or what could be found.

The daemon has tried it. Where none runs the kernel is asked, and nothing is started.
"""

import ctypes
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from ask.commands.findings import Finding
from ask.commands.tools import fetch_tools
from ask.exits import Failed

if TYPE_CHECKING:
    from ask.connection import Client

LANDLOCK_CREATE_RULESET = 444
"""The number of the system call (linux/include/uapi/asm-generic/unistd.h)."""
LANDLOCK_VERSION = 1
"""Its flag: answer the version of the interface, make nothing (landlock(7))."""
LANDLOCK_MIN = 6
"""Below, the daemon confines nothing with it: a command could signal whatever is the user's."""
PROC = Path("/proc/sys")
SWITCHES = (
    ("kernel/unprivileged_userns_clone", "0"),
    ("kernel/apparmor_restrict_unprivileged_userns", "1"),
    ("user/max_user_namespaces", "0"),
)
"""Where a distribution forbids user namespaces to those who are not root, and the value."""


UNCONFINED = (
    "none: a tool's command can do whatever you can; it could reach this daemon's socket and "
    "answer its own questions. So each one is asked about, and refused where nobody can be asked."
)
INSTALL = (
    "Install bubblewrap (bwrap), or use a kernel with Landlock of version 6 (Linux 6.12 or newer)."
)
CHOSEN = 'The settings say so: [tools] sandbox = "{chosen}"; take it out, or set "auto".'


def ask_confinement(client: "Client") -> Finding | None:
    """One line with what the daemon found; None: it is older, and knows of no tools."""
    try:
        page = fetch_tools(client, {})
    except Failed as error:
        if error.data.get("reason") == "unknown_method":
            return None
        return Finding("confinement", "warn", error.message, error.hint or "ask daemon restart")
    kind = page["confinement"]["kind"]
    if kind != "none":
        return Finding("confinement", "ok", f"{kind}: commands of tools are confined with it")
    tools = client.call("config/read")["settings"].get("tools") or {}
    chosen = tools.get("sandbox", "auto")
    hint = INSTALL if chosen == "auto" else CHOSEN.format(chosen=chosen)
    return Finding("confinement", "warn", UNCONFINED, hint)


def check_confinement() -> Finding:
    """One line with all that there is."""
    version = find_landlock()
    found = [f"Landlock (ABI {version})"] if version >= LANDLOCK_MIN else []
    if shutil.which("bwrap"):
        found.append("bubblewrap")
    if not found:
        return Finding(
            "confinement",
            "warn",
            "There is nothing here that tools could be confined with.",
            INSTALL,
        )
    if may_unshare():
        found.append("user namespaces")
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
