"""A full disk: the daemon starts and runs on it, and a deletion frees room."""

import json
import subprocess
import sys
from pathlib import Path

from tests.faults.programmes import CannotRun, Outcome
from tests.house.floors import ROOT

CLAIM = (
    "On a disk without room the daemon starts and serves what it has, refuses what it cannot store "
    "with code 74, and a deletion or an expiry succeeds all the same: the reserve is given up for "
    "it, and afterwards there is room to write."
)
CONTROL = "The reserve has been taken away before the disk is full."
UNIT = "full disks"
CI = 3
FULL = 60

CONTROLLED = 3
"""Each way in which a disk becomes full, once; it ends with the first harm."""
CASE_S = 60.0


def prove(size: int, seed: int, directory: Path) -> Outcome:
    """So many disks in memory, one after the other."""
    return _run(size, seed, directory, "reserve")


def control(size: int, seed: int, directory: Path) -> Outcome:
    """The same without the reserve."""
    return _run(min(size, CONTROLLED), seed, directory, "none")


def _run(size: int, seed: int, directory: Path, way: str) -> Outcome:
    place = directory / "disk"
    place.mkdir()
    scene = [sys.executable, "-m", "tests.faults.full_disk_scene"]
    done = subprocess.run(
        [*find_mounts(), *scene, str(place), str(size), str(seed), way],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=CASE_S * size,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"The scene ended with {done.returncode}: {done.stderr}")
    told = json.loads(done.stdout)
    slowest = f"{told['slowest_s']:.1f} s"
    return Outcome(told["cases"], tuple(told["harms"]), {"slowest case": slowest})


def find_mounts() -> list[str]:
    """A command that gives a process mounts of its own; raises `CannotRun` if nothing may."""
    for command in (["unshare", "--mount"], ["unshare", "--map-root-user", "--mount"]):
        probe = [*command, "mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", "/mnt"]
        try:
            if subprocess.run(probe, capture_output=True, check=False).returncode == 0:
                return command
        except FileNotFoundError:
            break
    raise CannotRun("No process here may mount a small disk: unshare and mount are refused.")
