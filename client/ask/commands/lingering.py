"""Whether askd outlives a logout: `linger`, where systemd decides that and somebody relies on it.

Without a schedule and without units the next `ask` starts a daemon, so that nobody misses one
in between; nothing is said then. It asks, and changes nothing.
"""

import os
import pwd
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ask.commands.calls import Map
from ask.commands.findings import Finding
from ask.commands.layout import count
from ask.units import is_installed

LOGINCTL_LIMIT_S = 5.0
"""A system bus that hangs is not worth waiting for."""
BOOTED = Path("/run/systemd/system")
"""It is there where systemd is the init: sd_booted(3)."""
LINGERS = Path("/var/lib/systemd/linger")
"""A file for each user who lingers: what `loginctl enable-linger` leaves (systemd-logind)."""


def check_linger(environ: Mapping[str, str], schedules: Sequence[Map]) -> Iterator[Finding]:
    """One finding where it matters, else none; `schedules`: all of them, as they are listed."""
    enabled = sum(1 for each in schedules if each.get("paused_at") is None)
    reasons = [count(enabled, "schedule")] if enabled else []
    if is_installed(environ):
        reasons.append("the user unit")
    if not reasons or not BOOTED.is_dir():
        return
    who = " and ".join(reasons)
    if does_linger():
        yield Finding("linger", "ok", f"on: askd may run while you are logged out ({who})")
        return
    yield Finding(
        "linger",
        "warn",
        f"off: systemd ends askd when you log out, and starts none before you log in ({who}).",
        "loginctl enable-linger",
    )


def does_linger() -> bool:
    """Whether systemd keeps this user's processes without a session: by loginctl, or its file."""
    user = pwd.getpwuid(os.getuid()).pw_name
    try:
        done = subprocess.run(
            ["loginctl", "show-user", user, "--property=Linger", "--value"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LOGINCTL_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        said = ""
    else:
        said = done.stdout.strip() if done.returncode == 0 else ""
    # It knows no user who is not logged in and does not linger; then its file decides.
    return said == "yes" if said else (LINGERS / user).exists()
