"""Descendants are found however they are related, and ended."""

import os
import signal
import subprocess
import sys

import pytest

from askd.processes import descendants
from tests.processes.test_launcher import PATIENCE_S, is_running

FAMILY = """
import os, sys, time
from askd.processes import descendants
descendants.adopt()
inside, ready = os.pipe(), os.pipe()
os.set_inheritable(ready[1], True)
pid = os.fork()
if pid == 0:
    os.setsid()
    if os.fork() == 0:  # its parent goes
        os.setsid()
        os.write(inside[1], b"%d" % os.getpid())
        time.sleep(600)
    os._exit(0)
orphan = int(os.read(inside[0], 99))
os.waitpid(pid, 0)
leader = os.fork()
if leader == 0:
    os.setsid()
    os.execvp("sh", ["sh", "-c", f"{sys.argv[1]} echo >&{ready[1]}; exec sleep 600"])
os.read(ready[0], 1)
print(sorted(descendants.find(os.getpid())) == sorted((orphan, leader)), flush=True)
descendants.end_all(leader=leader, grace_s=float(sys.argv[2]), spared=None)
print(descendants.find(os.getpid()), os.waitpid(leader, 0)[1], orphan, leader)
"""


@pytest.mark.parametrize(
    ("first", "grace_s", "status"), [("", 5.0, 15), ("", 0.0, 9), ("trap '' TERM;", 0.1, 9)]
)
def test_orphans_too(first: str, grace_s: float, status: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FAMILY, first, str(grace_s)],
        capture_output=True,
        check=True,
        timeout=PATIENCE_S,
    )
    found, ended = done.stdout.decode().splitlines()
    assert found == "True"
    left, said, orphan, leader = ended.split()
    assert (left, int(said)) == ("{}", status)
    assert not is_running(int(orphan))
    assert not is_running(int(leader))


def test_who_is_no_descendant_is_not_found() -> None:
    found = descendants.find(os.getpid())
    assert os.getpid() not in found
    assert os.getppid() not in found
    with subprocess.Popen(["sleep", "600"]) as child:
        assert child.pid in descendants.find(os.getpid())
        assert child.pid in descendants.find(os.getppid())
        assert child.pid in descendants.find_group(os.getpgid(0))
        assert child.pid not in descendants.find(child.pid)
        child.kill()


def test_a_zombie_does_not_run() -> None:
    with subprocess.Popen(["true"]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert child.pid not in descendants.find(os.getpid())


FLEEING = """
import os, sys, time
from askd.processes import descendants
descendants.adopt()
until = time.monotonic() + float(sys.argv[3])
leader = os.fork()
if leader == 0:
    os.setsid()
    # Each is gone when the next one runs, and so when /proc has been read. If the test is
    # over before they were ended, they end by themselves: else they would flee for ever.
    while time.monotonic() < until:
        if os.fork():
            os._exit(0)
        if sys.argv[1] == "own":
            os.setsid()
    os._exit(0)
os.waitid(os.P_PID, leader, os.WEXITED | os.WNOWAIT)
print(descendants.has_living())
if sys.argv[2] == "unseen":  # where there are thousands, whoever is found is gone by then
    descendants.find = lambda root: {}
descendants.end_all(leader=leader, grace_s=0.05, spared=None)
print(descendants.has_living())
while descendants.has_living():  # leave none behind when the test has failed
    descendants.kill(descendants.find_children(leader))
    descendants.reap(leader)
"""


@pytest.mark.parametrize(("sessions", "how"), [("one", "seen"), ("own", "seen"), ("own", "unseen")])
def test_who_flees_from_parent_to_child_is_ended(sessions: str, how: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FLEEING, sessions, how, str(PATIENCE_S)],
        # Measured by coverage each writes a file before it ends, long after its child has forked:
        # then they are many at once, and nobody who flees is like that.
        env={name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")},
        capture_output=True,
        check=True,
        timeout=PATIENCE_S,
    )
    assert done.stdout.split() == [b"True", b"False"]


def test_who_has_ended_is_forgotten_and_not_the_leader() -> None:
    """Though the leader ended first: who flees leaves thousands behind, who would be in the way."""
    program = """
import os, time
from askd.processes import descendants
descendants.adopt()
leader = os.fork()
if leader == 0:
    os._exit(0)
os.waitid(os.P_PID, leader, os.WEXITED | os.WNOWAIT)
others = [os.fork() or os._exit(0) for _ in range(5)]
for pid in others:
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
descendants.reap(leader)
print([*descendants.find_children(leader)] == [leader], os.waitpid(leader, 0)[0] == leader)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.split() == [b"True", b"True"]


def test_only_who_lives_is_living() -> None:
    program = """
import os, signal
from askd.processes import descendants
print(descendants.has_living())
pid = os.fork()
if pid == 0:
    signal.pause()
os.kill(pid, signal.SIGSTOP)
os.waitid(os.P_PID, pid, os.WSTOPPED)
print(descendants.has_living())
os.kill(pid, signal.SIGKILL)
os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
print(descendants.has_living())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.split() == [b"False", b"True", b"False"]


def test_the_stopped_ends_when_it_is_asked() -> None:
    with subprocess.Popen(["sleep", "600"]) as child:
        child.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, child.pid, os.WSTOPPED)
        descendants.terminate({child.pid: 0}, spared=None)
        try:
            assert child.wait(2.0) == -signal.SIGTERM
        finally:
            child.kill()


def test_the_spared_is_not_asked() -> None:
    with subprocess.Popen(["sleep", "600"]) as spared, subprocess.Popen(["sleep", "600"]) as other:
        descendants.terminate({spared.pid: 0, other.pid: 0, 2**22 + 1: 0}, spared=spared.pid)
        assert other.wait(PATIENCE_S) == -15
        assert spared.poll() is None
        spared.kill()


def test_tasks_are_counted() -> None:
    assert descendants.count_tasks() > 1


def test_who_descends_from_whom() -> None:
    script = "sleep 600 & echo $!; wait"
    with subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, text=True) as shell:
        assert shell.stdout is not None
        grandchild = int(shell.stdout.readline())
        try:
            assert descendants.descends(shell.pid, os.getpid())
            assert descendants.descends(grandchild, os.getpid())
            assert descendants.descends(grandchild, shell.pid)
            assert not descendants.descends(shell.pid, grandchild)
            assert not descendants.descends(shell.pid, shell.pid)
        finally:
            os.kill(grandchild, signal.SIGKILL)
    assert not descendants.descends(shell.pid, os.getpid())  # it is no more
    assert not descendants.descends(1, os.getpid())
    assert not descendants.descends(0, os.getpid())
