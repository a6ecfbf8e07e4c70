"""The unit forbids system calls, for the daemon and whatever it starts: not those they live by.

A daemon and its tools are traced while they do what models have them do, and each call is
looked up in what the unit allows, as systemd itself expands it.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.system.world import LIMIT_S, ROOT, World

BUBBLEWRAP = {"capset", "mount", "umount2", "pivot_root"}
"""What the unit forbids on purpose: where they fail, Landlock confines commands instead."""
WORK = (
    "git init -q . && echo a > a && git add a && git -c user.name=a -c user.email=b commit -qm x"
    " && cp -a a b && tar cf t.tar a b && tar xf t.tar && mv b c && chmod 600 c"
    " && python3 -c 'import threading, subprocess; subprocess.run([\"ls\"])' && echo worked"
)

pytestmark = pytest.mark.skipif(
    shutil.which("strace") is None or shutil.which("systemd-analyze") is None,
    reason="strace or systemd-analyze is not installed",
)


def expand(name: str) -> set[str]:
    """The calls of a group, or the one call of that name."""
    if not name.startswith("@"):
        return {name}
    done = subprocess.run(
        ["systemd-analyze", "syscall-filter", name],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=True,
    )
    words = [line.strip() for line in done.stdout.splitlines()[1:]]
    return {call for word in words if word and word[0] != "#" for call in expand(word)}


def read_allowed(text: str) -> set[str]:
    """What a unit's lines allow, one after the other: systemd.exec(5), SystemCallFilter=."""
    allowed: set[str] = set()
    for line in re.findall(r"^SystemCallFilter=(.*)$", text, re.MULTILINE):
        calls = {call for word in line.removeprefix("~").split() for call in expand(word)}
        allowed = allowed - calls if line.startswith("~") else allowed | calls
    return allowed


def test_what_the_daemon_and_its_tools_call_is_allowed(world: World, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    strace = ("strace", "-f", "-qq", "-e", "signal=none", "-o", str(trace))
    daemon = world.start(command=(*strace, sys.executable, "-P", "-m", "askd", "run"))
    daemon.wait_for("Ready", where="err")
    project = tmp_path / "project"
    project.mkdir()
    calls = [["run_command", {"command": WORK}], ["write_file", {"path": "z", "content": "z"}]]
    words = ("-T", "all", "--approve", "auto", "-s", "work", "CALLS:" + json.dumps(calls))
    result = world.ask(*words, cwd=project)
    assert result.code == 0, result
    assert "worked" in world.ok("history", "show", "work").out
    world.ok("daemon", "stop")
    daemon.finish()
    used = set(re.findall(r"^\d+ +(\w+)\(", trace.read_text(errors="replace"), re.MULTILINE))
    assert {"execve", "write", "fchown"} <= used, "the trace is not whole"
    unit = (ROOT / "systemd" / "askd.service").read_text(encoding="utf-8")
    assert used - read_allowed(unit) <= BUBBLEWRAP
    planted = unit.replace("SystemCallFilter=@chown\n", "")
    assert "fchown" in used - read_allowed(planted)
