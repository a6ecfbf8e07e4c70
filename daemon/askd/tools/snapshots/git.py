"""Runs git for us: without hooks, without a person, without anything of the caller's.

Every run has its directory, a small environment and a limit of its output; who calls
sets the deadline. Nothing that lies in a work tree is started: neither hooks nor a
monitor, and no program that the search path would find there. Filters are what a run cannot
do without: whoever makes a repository says what they run, and that can be a confined command
of a model's. So a run that may start them is confined like one. It knows no work tree and no
snapshot.
"""

import contextlib
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import trio

from askd.processes.grants import is_beneath
from askd.processes.supervise import Child, Command, open_child
from askd.tools.base import CannotRun
from askd.tools.shell import Confines

OUTPUT_BYTES = 64 * 1024 * 1024
"""The list of a million files; what is longer is no answer that we could use."""
COMPLAINT_BYTES = 8 * 1024
OUR_CONFIG = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.splitIndex": "false",
    "core.quotePath": "false",
    "core.logAllRefUpdates": "false",
    # One sync for all the objects of a snapshot, where this git knows how to.
    "core.fsyncMethod": "batch",
    "commit.gpgSign": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "submodule.recurse": "false",
    "protocol.allow": "never",
}
"""What holds whatever the user's and the repository's configuration say."""
OUR_ENVIRONMENT = {
    "LC_ALL": "C.UTF-8",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    # Stands above `protocol.ext.allow`, with which a repository could have a program fetch.
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_AUTHOR_NAME": "ask",
    "GIT_AUTHOR_EMAIL": "ask@localhost",
    "GIT_COMMITTER_NAME": "ask",
    "GIT_COMMITTER_EMAIL": "ask@localhost",
}
NAMES = ("HOME", "LOGNAME", "TMPDIR", "USER", "XDG_CONFIG_HOME")
"""Of the daemon's environment: where git finds the user's configuration."""


class CannotRecord(Exception):
    """No snapshot, or none that can be read; the message is a sentence for people."""


class GitFailed(CannotRecord):
    """git has said no. `status` is its exit status, `output` what it wrote before."""

    def __init__(self, message: str, *, status: int, output: bytes) -> None:
        super().__init__(message)
        self.status = status
        self.output = output


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What a confined run changes, and what it has to see wherever that is; absolute paths."""

    writes: Sequence[str]
    reads: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Git:
    """How git is run.

    Attributes:
        environment: the daemon's own, of which a part is passed on.
        sandbox: by the settings of now; None: nothing is confined.
    """

    environment: Mapping[str, str] = field(repr=False)
    sandbox: Callable[[], Confines] | None = None

    async def run(
        self,
        *arguments: str,
        at: str,
        data: bytes | memoryview = b"",
        more: Mapping[str, str] | None = None,
        limit: int = OUTPUT_BYTES,
        cut: bool = False,
        filters: Reach | None = None,
    ) -> bytes:
        """What one command writes to its standard output.

        Args:
            at: the directory that it runs in.
            data: its standard input.
            more: variables beside those that every command has.
            cut: of what is longer than `limit`, so much and one byte more; else it is an error.
            filters: it has an index of files, and so may turn them into git's or back by whatever
                programs the repository names; what they reach. All else says None.

        Raises:
            GitFailed: it ended with another status than 0.
            CannotRecord: there is no git, it said more than `limit` bytes, or cannot be confined.
        """
        path = find_path(self.environment.get("PATH", os.defpath), outside=at)
        program = shutil.which("git", path=path)
        if program is None:
            raise CannotRecord("git is not installed.")
        env = {name: self.environment[name] for name in NAMES if name in self.environment}
        config = [word for name, value in OUR_CONFIG.items() for word in ("-c", f"{name}={value}")]
        argv = [program, *config, *arguments]
        env = {**env, "PATH": path, **OUR_ENVIRONMENT, **(more or {})}
        command = Command(argv=argv, env=env, cwd=at)
        try:
            if filters is not None and self.sandbox is not None:
                command = await self.sandbox().confine(
                    argv, env=env, cwd=at, writable=filters.writes, read_only=filters.reads
                )
            return await _run(command, data, limit, cut=cut)
        except CannotRun as error:
            raise CannotRecord(str(error)) from None
        except OSError as error:  # `CannotStart` among others: descriptors run out, too
            raise CannotRecord(f"git could not be started: {error}") from None


async def _run(command: Command, data: bytes | memoryview, limit: int, *, cut: bool) -> bytes:
    said, complaint = bytearray(), bytearray()
    async with open_child(command) as child:
        # In it: one task for each stream, so that none of them fills up while another is read.
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_feed, child, data)
            nursery.start_soon(_drain, child.stderr, complaint)
            async for piece in child.stdout:
                said += piece
                if len(said) > limit:
                    nursery.cancel_scope.cancel()
                    break
        if len(said) > limit:
            if cut:
                return bytes(said[: limit + 1])
            raise CannotRecord(f"git said more than {limit} bytes.")
        status = await child.wait()
    if status != 0:
        raise GitFailed(_explain(bytes(complaint), status), status=status, output=bytes(said))
    return bytes(said)


async def _feed(child: Child, data: bytes | memoryview) -> None:
    # It may have ended; its status says why.
    with contextlib.suppress(trio.BrokenResourceError):
        await child.stdin.send_all(data)
    await child.stdin.aclose()


async def _drain(stream: trio.abc.ReceiveStream, kept: bytearray) -> None:
    """Read to the end, and keep the beginning."""
    async for piece in stream:
        kept += piece[: max(0, COMPLAINT_BYTES - len(kept))]


def _explain(complaint: bytes, status: int) -> str:
    lines = complaint.decode("utf-8", "replace").strip().splitlines()
    fatal = [line for line in lines if line.startswith(("fatal:", "error:"))]
    first = (fatal or lines or [f"it ended with status {status}"])[0]
    return f"git: {first.removeprefix('fatal: ').removeprefix('error: ')}"


def find_path(path: str, *, outside: str) -> str:
    """The directories of a search path that a work tree cannot put a program into."""
    inside = os.path.realpath(outside)
    kept = [
        each
        for each in path.split(os.pathsep)
        if os.path.isabs(each) and not is_beneath(os.path.realpath(each), inside)
    ]
    return os.pathsep.join(kept)


def split_nul(data: bytes) -> Sequence[bytes]:
    """The records of an output that ends each with NUL."""
    return data.split(b"\0")[:-1]
