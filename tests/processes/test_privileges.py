"""What root is left with: nothing that other users do not have, and no way back."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import subprocess
from askd.processes import privileges
privileges.drop()
print(subprocess.run(["cat", "/proc/self/status"], capture_output=True, text=True).stdout)
"""


def test_nothing_is_left_nor_gained_by_executing() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, check=True)
    said = dict(line.split(":\t") for line in done.stdout.decode().splitlines() if ":\t" in line)
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        assert int(said[name], 16) == 0, name
    assert said["NoNewPrivs"] == "1"


def test_with_nothing_to_give_up_it_need_not_be_allowed_to() -> None:
    """A service's filter may refuse `capset` altogether."""
    script = """
import struct
from askd.processes import privileges, seccomp, syscalls
capset = {"x86_64": 126, "aarch64": 91}[syscalls.MACHINE]
code = [(0x20, 0, 0, 0), (0x15, 0, 1, capset), (6, 0, 0, 0x50001), (6, 0, 0, 0x7FFF0000)]
privileges.drop()
seccomp.install(b"".join(struct.pack("=HBBI", *each) for each in code))
privileges.drop()
print("done")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout == b"done\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has a bound to lower")
def test_root_loses_the_bound_too() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, check=True)
    assert b"CapBnd:\t0000000000000000" in done.stdout
