"""Commands that try to reach sockets, other processes, and what only root should have."""

import os
import resource

from tests.faults.escapes import Case, World, is_dead, receives
from tests.faults.escapes_of_files import CALL, IS_ROOT

NUMBERS = {
    "x86_64": {
        "ptrace": 101, "process_vm_readv": 310, "shmget": 29, "keyctl": 250, "bpf": 321,
        "perf_event_open": 298, "unshare": 272, "clone": 56, "name_to_handle_at": 303,
        "open_by_handle_at": 304, "userfaultfd": 323, "msgget": 68,
    },
    "aarch64": {
        "ptrace": 117, "process_vm_readv": 270, "shmget": 194, "keyctl": 219, "bpf": 280,
        "perf_event_open": 241, "unshare": 97, "clone": 220, "name_to_handle_at": 264,
        "open_by_handle_at": 265, "userfaultfd": 282, "msgget": 186,
    },
}[os.uname().machine]  # fmt: skip

SOCKETS = """
import os, socket
E = os.environ
def reach(family, kind, address):
    one = socket.socket(family, kind)
    one.settimeout(2)
    one.connect(address)
    one.send(b"x")
"""

PAIR = """
import os, socket
one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
one.connect(os.environ["OUT"] + "/log.sock")
one.send(b"x")
"""

BY_HANDLE = (
    CALL
    + f"""
class Handle(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint), ("kind", ctypes.c_int), ("data", ctypes.c_char * 128)]
handle, mount = Handle(size=128), ctypes.c_int()
path = (E["OWN"] + "/auth.json").encode()
call({NUMBERS["name_to_handle_at"]}, -100, path, ctypes.byref(handle), ctypes.byref(mount), 0)
fd = call({NUMBERS["open_by_handle_at"]}, os.open(E["WS"], 0), ctypes.byref(handle), 0)
print(os.read(fd, 100).decode() if fd >= 0 else fd)
"""
)

NAMESPACE = CALL + f"print(ESCAPED if call({NUMBERS['unshare']}, 0x10000000) == 0 else 0)"

CLONED = (
    CALL
    + f"""
pid = call({NUMBERS["clone"]}, 0x10000011, 0, 0, 0, 0)
if pid == 0:
    os._exit(0)
print(ESCAPED if pid > 0 else pid)
"""
)


def _call(name: str, *arguments: str) -> str:
    """A script that says so if a call is answered at all."""
    said = ", ".join((str(NUMBERS[name]), *arguments))
    return f"{CALL}found = call({said}); print(ESCAPED if found >= 0 else found)"


def _has_caller(world: World, name: str) -> bool:
    try:
        getattr(world, name).accept()[0].close()
    except BlockingIOError:
        return False
    return True


def _is_first(world: World) -> bool:
    with open(f"/proc/{world.victim.pid}/oom_score_adj") as file:
        return file.read().strip() == "900"


REACHED = (
    Case(
        "our socket",
        python=SOCKETS + "reach(socket.AF_UNIX, socket.SOCK_STREAM, E['OUT'] + '/askd.sock')",
        look=lambda w: _has_caller(w, "pathname"),
    ),
    Case(
        "our socket through /proc",
        python=SOCKETS
        + "reach(socket.AF_UNIX, socket.SOCK_STREAM, f\"/proc/{E['VICTIM']}/cwd/askd.sock\")",
        look=lambda w: _has_caller(w, "pathname"),
    ),
    Case(
        "abstract socket",
        python=SOCKETS
        + "reach(socket.AF_UNIX, socket.SOCK_STREAM, '\\0' + os.path.dirname(E['WS']))",
        look=lambda w: _has_caller(w, "abstract"),
    ),
    Case(
        "datagrams",
        python=SOCKETS + "reach(socket.AF_UNIX, socket.SOCK_DGRAM, E['OUT'] + '/log.sock')",
        look=lambda w: receives(w.datagrams),
    ),
    Case("datagrams of a pair", python=PAIR, look=lambda w: receives(w.datagrams)),
    Case(
        "loopback",
        python=SOCKETS + "reach(socket.AF_INET, socket.SOCK_STREAM, ('127.0.0.1', int(E['PORT'])))",
        look=lambda w: _has_caller(w, "loopback"),
    ),
    Case(
        "loopback, the longer address",
        python=SOCKETS
        + "reach(socket.AF_INET6, socket.SOCK_STREAM, ('::ffff:127.0.0.1', int(E['PORT'])))",
        look=lambda w: _has_caller(w, "loopback"),
    ),
    Case(
        "UDP",
        python=SOCKETS + "reach(socket.AF_INET, socket.SOCK_DGRAM, ('127.0.0.1', int(E['UDP'])))",
        look=lambda w: receives(w.udp),
    ),
    Case(
        "packets",
        python=SOCKETS + "socket.socket(socket.AF_PACKET, socket.SOCK_RAW); print('ESCAPED')",
        control=IS_ROOT,
    ),
    Case(
        "pipe outside", "timeout 5 sh -c 'echo x > \"$OUT/fifo\"'", look=lambda w: receives(w.fifo)
    ),
    Case("terminal of others", 'echo x > "$TTY"', look=lambda w: receives(w.terminal)),
    Case(
        "words put into a terminal",
        python=CALL
        + """
import fcntl, pty
try:
    fcntl.ioctl(pty.openpty()[1], 0x5412, b"x")
except OSError as error:
    print(error)
else:
    print(ESCAPED)
""",
        control=False,
    ),
)

PROCESSES = (
    Case("kill", 'kill -9 "$VICTIM"', look=is_dead),
    Case(
        "kill by a descriptor",
        python=CALL + "import signal\nsignal.pidfd_send_signal(os.pidfd_open(int(E['VICTIM'])), 9)",
        look=is_dead,
    ),
    Case(
        "signal by the owner of a pipe",
        python=CALL
        + """
import fcntl
ends = os.pipe()
fcntl.fcntl(ends[0], fcntl.F_SETOWN, int(E["VICTIM"]))
fcntl.fcntl(ends[0], 10, 9)  # F_SETSIG, SIGKILL
fcntl.fcntl(ends[0], fcntl.F_SETFL, os.O_ASYNC)
os.write(ends[1], b"x")
""",
        look=is_dead,
    ),
    Case("trace", python=_call("ptrace", "0x4206", "int(E['VICTIM'])", "0", "0")),
    Case("memory", python=CALL + "os.open(f\"/proc/{E['VICTIM']}/mem\", 2); print(ESCAPED)"),
    Case(
        "memory read",
        python=CALL
        + f"""
with open(f"/proc/{{E['VICTIM']}}/stat") as file:
    start = int(file.read().rpartition(")")[2].split()[47])  # env_start
class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
data = ctypes.create_string_buffer(64)
ours, theirs = Vector(ctypes.addressof(data), 64), Vector(start, 64)
call({NUMBERS["process_vm_readv"]}, int(E["VICTIM"]), ctypes.byref(ours), 1,
    ctypes.byref(theirs), 1, 0)
print(data.raw.decode("utf-8", "replace"))
""",
    ),
    Case("environment", 'tr "\\0" "\\n" < "/proc/$VICTIM/environ"'),
    Case("environment of all", "cat /proc/[0-9]*/environ 2> /dev/null | tr '\\0' '\\n'"),
    Case(
        "limits",
        python=CALL
        + "import resource\nresource.prlimit(int(E['VICTIM']), resource.RLIMIT_NOFILE, (7, 7))",
        look=lambda w: resource.prlimit(w.victim.pid, resource.RLIMIT_NOFILE)[0] == 7,
    ),
    Case(
        "priority",
        python=CALL + "os.setpriority(os.PRIO_PROCESS, int(E['VICTIM']), 7)",
        look=lambda w: os.getpriority(os.PRIO_PROCESS, w.victim.pid) == 7,
    ),
    Case(
        "place",
        python=CALL + "os.sched_setscheduler(int(E['VICTIM']), os.SCHED_BATCH, os.sched_param(0))",
        look=lambda w: os.sched_getscheduler(w.victim.pid) == os.SCHED_BATCH,
    ),
    Case("first to be killed", 'echo 900 > "/proc/$VICTIM/oom_score_adj"', look=_is_first),
)

KERNEL = (
    Case("namespace of users", python=NAMESPACE),
    Case("process in a namespace", python=CLONED),
    Case("namespaces of another", 'nsenter -t "$VICTIM" -i true && echo ESCAPED', control=IS_ROOT),
    Case("mount", "mount -t tmpfs none plain && echo ESCAPED", control=False),
    Case("other root", "chroot . /bin/true; chroot / true && echo ESCAPED", control=IS_ROOT),
    Case("keyring", python=_call("keyctl", "0", "-5", "0")),
    Case("counters", python=_call("perf_event_open", "0", "0", "-1", "-1", "0"), control=False),
    Case("programs for the kernel", python=_call("bpf", "0", "0", "0"), control=False),
    Case("faults", python=_call("userfaultfd", "1"), control=IS_ROOT),
    Case("file by its handle", python=BY_HANDLE, control=IS_ROOT),
    Case(
        "rings",
        python=CALL + "p = ctypes.create_string_buffer(120)\n"
        "print(ESCAPED if call(425, 1, p) >= 0 else 0)",
        control=False,
    ),
    Case("name of the machine", "hostname nobody-else && echo ESCAPED", control=False),
    Case(
        "capabilities",
        "grep -q 'CapEff:.*[1-9a-f]' /proc/self/status && echo ESCAPED",
        control=IS_ROOT,
    ),
    Case(
        "capabilities for the asking",
        "cd /proc/self; grep -q 'CapBnd:.*[1-9a-f]' status && grep -q 'NoNewPrivs:.0' status "
        "&& echo ESCAPED",
        control=IS_ROOT,
    ),
    Case(
        "another user", "setpriv --reuid 65534 --clear-groups true && echo ESCAPED", control=IS_ROOT
    ),
    Case(
        "descriptors",
        "for each in /proc/self/fd/*; do case $(readlink $each) in "
        "*work|*askd*|socket*) echo ESCAPED;; esac; done",
        control=False,
    ),
    Case(
        "descriptors of init",
        "ls -l /proc/1/fd /proc/$PPID/fd 2> /dev/null | grep -q work && echo ESCAPED",
        control=False,
    ),
    Case("core dumps", '[ "$(ulimit -Hc)" = 0 ] || echo ESCAPED'),
    Case("descriptors without end", '[ "$(ulimit -Hn)" -le 4096 ] || echo ESCAPED', control=False),
    Case("files without end", '[ "$(ulimit -Hf)" != unlimited ] || echo ESCAPED', control=False),
)


CASES = (*REACHED, *PROCESSES, *KERNEL)
