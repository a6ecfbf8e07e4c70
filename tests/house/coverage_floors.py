"""Prints coverage and holds each room to its floor; run by `.ci/run` after the tests.

Percentages count branches. The core, the contract and the fast path carry the
promises, so nearly all of them must be run by tests.
"""

import subprocess
import sys

FLOORS: tuple[tuple[str, int], ...] = (
    ("daemon/askd/core/*", 95),
    ("client/ask/protocol/*", 95),
    ("client/ask/fast/*", 95),
    ("daemon/askd/providers/*", 85),
    ("daemon/askd/store/*", 85),
    ("daemon/askd/jobs/*", 85),
    ("daemon/askd/sessions/*", 85),
    ("daemon/askd/server/*", 85),
    ("client/ask/commands/*", 75),
    ("*", 85),
)


def report(pattern: str, floor: int, *, whole: bool) -> bool:
    """Print one room's total (the whole table for all of them); say whether it is high enough."""
    command = [sys.executable, "-m", "coverage", "report", f"--fail-under={floor}"]
    command += [] if pattern == "*" else [f"--include={pattern}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if whole:
        print(done.stdout)
    totals = [line.split()[-1] for line in done.stdout.splitlines() if line.startswith("TOTAL")]
    verdict = "ok" if done.returncode == 0 else "TOO LOW"
    print(f"coverage {pattern}: {totals[0] if totals else '?'} of {floor} % {verdict}")
    return done.returncode == 0


def main() -> int:
    """0 if every room is at or above its floor."""
    results = [report(pattern, floor, whole=pattern == "*") for pattern, floor in FLOORS]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
