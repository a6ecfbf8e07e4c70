"""A real `sshd` on loopback, as a plain process: its own keys, configuration and port.

Nothing of the machine's own is touched, and it runs as whoever runs the tests. It is ended
by its pid, and what it serves may be cut off in the middle.
"""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

LIMIT_S = 30.0
SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
CONFIG = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {directory}/host_key
PidFile none
AuthorizedKeysFile {directory}/authorized_keys
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PrintMotd no
PrintLastLog no
LoginGraceTime 20
MaxStartups 100
MaxSessions 100
AcceptEnv LANG
LogLevel VERBOSE
SetEnv {variables}
"""
CLIENT = """\
Host {name}
    HostName 127.0.0.1
    Port {port}
    User {user}
    IdentityFile {directory}/key
    IdentitiesOnly yes
    UserKnownHostsFile {directory}/known_hosts
    StrictHostKeyChecking yes
    {more}
"""
NAME = "box"
"""What the machine is called in the configuration of `ssh`."""


class Sshd:
    """One server, and the means to reach it.

    Attributes:
        path: holds an `ssh` that reads our configuration, for a PATH.
    """

    def __init__(self, directory: Path, *, far_env: Mapping[str, str], more: str = "") -> None:
        assert SSHD is not None
        directory.mkdir(parents=True)
        self.directory = directory
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = int(found.getsockname()[1])
        for name in ("host_key", "key"):
            make_key(directory / name)
        (directory / "authorized_keys").write_text((directory / "key.pub").read_text())
        kind, key, *_ = (directory / "host_key.pub").read_text().split()
        (directory / "known_hosts").write_text(f"[127.0.0.1]:{self.port} {kind} {key}\n")
        variables = " ".join(f'"{name}={value}"' for name, value in far_env.items())
        self._config = directory / "sshd_config"
        self._config.write_text(
            CONFIG.format(port=self.port, directory=directory, variables=variables)
        )
        self.client_config = directory / "ssh_config"
        self.configure(more)
        self.path = directory / "bin"
        self.path.mkdir()
        ssh = self.path / "ssh"
        ssh.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {self.client_config} "$@"\n')
        ssh.chmod(0o755)
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def configure(self, more: str = "", *, user: str | None = None) -> None:
        """Write the near side's configuration, with further lines."""
        self.client_config.write_text(
            CLIENT.format(
                name=NAME,
                port=self.port,
                user=user or pwd.getpwuid(os.getuid()).pw_name,
                directory=self.directory,
                more=more,
            )
        )

    def start(self) -> None:
        """Start to listen."""
        assert SSHD is not None
        if os.getuid() == 0:
            os.makedirs("/run/sshd", mode=0o755, exist_ok=True)  # it insists, and drops into it
        log = (self.directory / "sshd.log").open("ab")
        with log:
            self._process = subprocess.Popen(
                [SSHD, "-D", "-e", "-f", str(self._config)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        until = time.monotonic() + LIMIT_S
        while time.monotonic() < until:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            assert self._process.poll() is None, self.log()
            time.sleep(0.01)
        raise AssertionError("sshd does not listen")

    def stop(self) -> None:
        """Stop to listen; sessions go on."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(LIMIT_S)
            self._process = None

    def log(self) -> str:
        """What it has said."""
        return (self.directory / "sshd.log").read_text(errors="replace")

    def list_sessions(self) -> list[int]:
        """The pids of the processes of `sshd` that serve one connection each."""
        return [] if self._process is None else list_children(self._process.pid)

    def vanish(self) -> None:
        """Be gone, as a machine that is switched off: nobody listens, and no session goes on."""
        sessions = self.list_sessions()
        self.stop()
        self.cut(sessions)

    def cut(self, sessions: Sequence[int] | None = None) -> None:
        """Kill sessions, all there are if none is named, as a network does that goes away."""
        for session in self.list_sessions() if sessions is None else sessions:
            for pid in (*list_children(session), session):
                if name_process(pid).startswith("sshd"):  # newer ones call it sshd-session
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)


def make_key(path: Path) -> None:
    """A pair of keys without a passphrase."""
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)],
        check=True,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=LIMIT_S,
    )


def list_children(pid: int) -> list[int]:
    """The pids of a process's children."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += [int(each) for each in (task / "children").read_text().split()]
    return found


def name_process(pid: int) -> str:
    """What a process is called; nothing if it is gone."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


@contextmanager
def open_sshd(directory: Path, *, far_env: Mapping[str, str], more: str = "") -> Iterator[Sshd]:
    """A server, until the end of the block."""
    server = Sshd(directory, far_env=far_env, more=more)
    try:
        yield server
    finally:
        server.cut()
        server.stop()
