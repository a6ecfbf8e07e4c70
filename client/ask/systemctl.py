"""This user's systemd, asked through `systemctl --user`: whether it is there, and what it is to do.

Every call has a limit. What systemctl says comes back as text that nobody has cleaned.
"""

import shutil
import subprocess

from ask.exits import FAILED, TIME_LIMIT, Failed

ASK_LIMIT_S = 5.0
"""A bus that hangs is not worth waiting for."""
ACT_LIMIT_S = 60.0
"""Stopping a daemon waits for its drain: `TimeoutStopSec` of its unit, and some more."""


def find_trouble() -> str | None:
    """Why this user's systemd cannot be had, in a few words; None: it answers."""
    if shutil.which("systemctl") is None:
        return "there is no systemctl here"
    try:
        done = _run("show", "--property=Version", limit_s=ASK_LIMIT_S)
    except subprocess.TimeoutExpired:
        return "it does not answer"
    except OSError as error:
        return f"systemctl cannot be run: {error.strerror}"
    return None if done.returncode == 0 else _last_line(done) or f"code {done.returncode}"


def act(*words: str) -> None:
    """Run `systemctl --user WORDS`; raise `Failed` with what it says."""
    said = f"systemctl --user {' '.join(words)}"
    status = " ".join(["status", *words[1:][-1:]])  # of the unit, if it is about one
    try:
        done = _run(*words, limit_s=ACT_LIMIT_S)
    except subprocess.TimeoutExpired:
        raise Failed(
            TIME_LIMIT,
            f"{said} does not come to an end.",
            hint=f"See more: systemctl --user {status}",
        ) from None
    except OSError as error:
        raise Failed(FAILED, f"{said} cannot be run: {error.strerror}.") from None
    if done.returncode != 0:
        raise Failed(
            FAILED,
            f"{said} ended with code {done.returncode}: {_last_line(done)}",
            hint=f"See more: systemctl --user {status}",
        )


def find_main_pid(unit: str) -> int | None:
    """The process that a unit runs as, if it runs and systemd says so."""
    try:
        done = _run("show", "--property=MainPID", "--value", unit, limit_s=ASK_LIMIT_S)
    except (subprocess.TimeoutExpired, OSError):
        return None
    said = done.stdout.strip()
    return int(said) if done.returncode == 0 and said.isdecimal() and int(said) else None


def _run(*words: str, limit_s: float) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["systemctl", "--user", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=limit_s,
        check=False,
    )


def _last_line(done: "subprocess.CompletedProcess[str]") -> str:
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    return lines[-1] if lines else ""
