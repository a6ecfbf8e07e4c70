"""Finds whoever descends from this process, and ends all of it, however it tries to stay.

Standard library only, for the launcher, which is the reaper of its descendants: what
forks twice or starts a session of its own becomes its child in the end and not init's.
It never ends anything else.

System call: prctl(2), PR_SET_CHILD_SUBREAPER
"""

import contextlib
import ctypes
import os
import signal
import time

PR_SET_CHILD_SUBREAPER = 36

POLL_S = 0.01
"""Between two questions whether those who were told to end are gone: most are at the first."""

KILL_S = 2.0
"""The longest that rounds of SIGKILL go on: only what is stuck in the kernel takes that long."""

CHASES = 50
"""Looks at our own children for each at all processes: who forks and is gone again within a
millisecond is not there any more when /proc has been read, but was a child of ours meanwhile."""

GENERATIONS = 100
"""Parents of parents that are looked at; more there never are, and numbers may be used anew."""

Family = dict[int, int]
"""Process ids, each with its group."""


def adopt() -> None:
    """Become the parent of all orphans among the descendants."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, *map(ctypes.c_ulong, (1, 0, 0, 0)))


def has_living() -> bool:
    """Whether a descendant of this process, the adopter of all, runs; a zombie does not.

    The kernel answers at one moment, and so misses none: who loses a parent is a child of ours
    before that parent is a zombie. Zombies are no answer to a question that is not about ends.
    """
    try:
        os.waitid(os.P_ALL, 0, os.WSTOPPED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def find(root: int) -> Family:
    """Those descendants of a process that run; a zombie does not.

    `/proc` is read one by one: who forks or loses a parent meanwhile may be missed. That
    nobody was found means nothing; `has_living` knows.
    """
    children: dict[int, list[int]] = {}
    groups: Family = {}
    for pid, parent, group, state in _read_all():
        children.setdefault(parent, []).append(pid)
        if state not in "ZX":
            groups[pid] = group
    found: Family = {}
    queue = [root]
    while queue:
        for pid in children.get(queue.pop(), ()):
            queue.append(pid)
            if pid in groups:
                found[pid] = groups[pid]
    return found


def descends(pid: int, root: int) -> bool:
    """Whether a process is a child of this one, or a child of such, however often."""
    for _ in range(GENERATIONS):
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                # The name stands in parentheses and may hold any byte.
                pid = int(file.read().rpartition(b")")[2].split()[1])
        except OSError:
            return False
        if pid == root:
            return True
    return False


def find_group(group: int) -> Family:
    """The members of a process group that run."""
    return {pid: group for pid, _, its, state in _read_all() if its == group and state not in "ZX"}


def find_children(leader: int) -> Family:
    """The children of this process, zombies too, and the leader; each with its group."""
    found: Family = {leader: leader}
    for pid in _list_children():
        with contextlib.suppress(ProcessLookupError):
            found[pid] = os.getpgid(pid)
    return found


def terminate(family: Family, *, spared: int | None) -> None:
    """Ask all to end: once each, and only who is not spared. Who is stopped has to go on for it."""
    for pid in family:
        if pid != spared:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGTERM)
                os.kill(pid, signal.SIGCONT)


def kill(family: Family) -> None:
    """End all of it: whole groups at once, for within one nobody forks in time."""
    for group in set(family.values()):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
    for pid in family:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def end_all(*, leader: int, grace_s: float, spared: int | None) -> None:
    """Nobody of this process' descendants runs after this: asked first, then made to end.

    Only for who has adopted them. The leader is left as a zombie, so that nobody gets its number,
    or its group's, meanwhile.
    """
    asked: Family = {}
    deadline = time.monotonic() + grace_s
    while has_living() and time.monotonic() < deadline:
        if not asked:
            # Once: whom they start to end well is not disturbed.
            asked = find(os.getpid())
            terminate(asked, spared=spared)
        time.sleep(POLL_S)
        reap(leader)
    deadline = time.monotonic() + KILL_S
    while has_living() and time.monotonic() < deadline:
        for _ in range(CHASES):
            kill(find_children(leader))
            reap(leader)
        kill(find(os.getpid()))


def end_group(group: int, *, grace_s: float) -> None:
    """The same for a process group alone: who left it stays."""
    family = find_group(group)
    deadline = time.monotonic() + grace_s
    terminate(family, spared=None)
    while family and time.monotonic() < deadline:
        time.sleep(POLL_S)
        family = find_group(group)
    kill(family)


def reap(leader: int) -> None:
    """Forget the adopted who have ended; not the leader.

    Each is asked about by itself: of all at once the kernel tells of the oldest that has ended,
    and that is the leader as a rule.
    """
    for pid in _list_children():
        if pid != leader:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


def _list_children() -> list[int]:
    """The children of this process, zombies too."""
    me = os.getpid()
    try:
        with open(f"/proc/self/task/{me}/children", encoding="ascii") as file:
            return list(map(int, file.read().split()))
    except OSError:  # a kernel without CONFIG_PROC_CHILDREN
        return [pid for pid, parent, _, _ in _read_all() if parent == me]


def count_tasks() -> int:
    """All tasks of the machine, from the load averages: cheap enough to ask often."""
    with open("/proc/loadavg", encoding="ascii") as file:
        return int(file.read().split()[3].partition("/")[2])


def _read_all() -> list[tuple[int, int, int, str]]:
    """Every process: its id, its parent's, its group's, and its state."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            # A process may end between the listing and the look.
            with contextlib.suppress(OSError), open(f"/proc/{entry}/stat", "rb") as file:
                # The name stands in parentheses and may hold any byte.
                state, parent, group = file.read().rpartition(b")")[2].split()[:3]
                found.append((int(entry), int(parent), int(group), state.decode()))
    return found
