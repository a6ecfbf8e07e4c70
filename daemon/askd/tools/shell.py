"""`run_command`: one line of shell in the caller's directory, confined, bounded, and ended.

It runs with the caller's picked variables, nothing on its standard input, and both outputs
in one, as they came. Beyond its time it is stopped with everything it has started. It keeps
no state between calls, and it does not decide whether a command may run: it says what it
is, and what keeps it from more.
"""

import os
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import trio
from pydantic import Field, field_validator

from askd.core.approval import Grant
from askd.core.commands import find_prefix
from askd.processes.confinement import Confiner
from askd.processes.supervise import CannotStart, Child, Command, open_child
from askd.tools.base import BuiltIn, CannotRun, Preview, Result, Site, Tool, ToolArguments, say
from askd.tools.capture import Capture
from askd.tools.workspace import (
    Workspace,
    find_protected,
    find_repositories,
    open_workspace,
    pick_environment,
)

NAME = "run_command"

COMMAND_BYTES = 128 * 1024 - 1
"""The longest single argument that Linux starts a program with (MAX_ARG_STRLEN), with its NUL."""
COMMANDS_AT_ONCE = 8
"""Of all conversations; the others wait, and their time has not begun."""
REPORT_S = 10.0
"""Between two words about a command that runs on."""
WORKSPACES_KNOWN = 256
"""Of so many, the last ones, is remembered which repositories are in them."""
LAST_WORDS_S = 1.0
"""For what is left in the pipes once everything that was started has ended."""
TROUBLE_BYTES = 4096
"""Of what the sandbox itself says; the command's own words go another way."""
TITLE_LENGTH = 200

SHELLS = ("/bin/bash", "/bin/sh")
JOINING = 'exec "$0" -c -- "$1" 2>&1 </dev/null'
"""Both outputs into one pipe, so that the order in which they came is not lost."""

DESCRIPTION = (
    "Run a command line with the shell, in the user's working directory, and read its output "
    "(standard output and standard error together) and its exit code. There is no terminal and "
    "nothing on standard input; every call is a new shell. It may be confined: without network, "
    "and able to write only to the working directory and $TMPDIR. When it ends or its time is "
    "over, everything that it has started is ended too. Of a long output the beginning and the "
    "end are kept."
)


class RunArguments(ToolArguments):
    """What `run_command` takes."""

    command: str = Field(min_length=1, description="The command line, for the shell.")
    timeout_s: float | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="Stop it after so many seconds; there is a limit beyond which nothing runs.",
    )

    @field_validator("command")
    @classmethod
    def _check_command(cls, command: str) -> str:
        if "\0" in command:
            raise ValueError("no command can hold a NUL character")
        size = len(command.encode())
        if size > COMMAND_BYTES:
            raise ValueError(
                f"{size:,} bytes are more than a command line can have ({COMMAND_BYTES:,}); write "
                "them to a file first"
            )
        return command


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRules:
    """`[tools]`, as far as commands are concerned.

    Attributes:
        timeout_s: the longest that one may run.
        network: a confined one may reach the network.
        writable: directories beside the workspace that a confined one may write to.
    """

    timeout_s: float = 120.0
    network: bool = False
    writable: Sequence[str] = ()


class Confines(Protocol):
    """What commands need of `sandbox.Sandbox`."""

    async def find(self) -> Confiner:
        """With what commands are confined."""
        ...

    def describe(self, *, network: bool = False, writable: Sequence[str] = ()) -> str:
        """What a command is kept from, in a sentence; `writable`: the places, in words."""
        ...

    async def confine(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str,
        cwd_fd: int | None = None,
        writable: Sequence[str] = (),
        read_only: Sequence[str] = (),
        network: bool = False,
    ) -> Command:
        """The command that is kept to what is said here."""
        ...


@dataclass(slots=True)
class _Ended:
    """What became of a command. `status`: None: its time was over."""

    output: Capture = field(default_factory=Capture)
    trouble: Capture = field(default_factory=lambda: Capture(TROUBLE_BYTES))
    status: int | None = None


def make_run_command(
    *,
    sandbox: Callable[[], Confines],
    rules: Callable[[], CommandRules] = CommandRules,
    own: Sequence[str] = (),
) -> Tool:
    """The tool.

    Args:
        sandbox, rules: by the settings of now.
        own: our own directories, absolute; no command writes to them.
    """
    places = trio.CapacityLimiter(COMMANDS_AT_ONCE)
    repositories: dict[str, frozenset[str]] = {}

    async def show(arguments: RunArguments, site: Site) -> Preview:
        with open_workspace(site, own) as workspace:
            directory = workspace.path
            here = [] if workspace.is_wide else ["the working directory"]
        confines, rule = sandbox(), rules()
        is_confined = await confines.find() != "none"
        prefix = find_prefix(arguments.command)
        limit_s = _limit(arguments, rule)
        return Preview(
            title=_title(arguments.command),
            body=f"{arguments.command}\n\nIn {directory}, for {limit_s:g} s at the most.",
            needs="ask",
            grant=None
            if prefix is None
            else Grant(tool=NAME, cwd=directory, only=prefix, label=prefix),
            command=arguments.command,
            confined=is_confined,
            confinement=confines.describe(network=rule.network, writable=[*here, *rule.writable]),
            writes=(),
        )

    async def do(arguments: RunArguments, site: Site) -> Result:
        rule = rules()
        limit_s = _limit(arguments, rule)
        async with places:
            with open_workspace(site, own) as workspace:
                protected = await _find_protected(workspace, site, rule, repositories)
                command = await _confine(arguments, site, workspace, sandbox(), rule, protected)
                ended = await _run(command, limit_s, _watch(arguments.command, site))
        return _present(ended, limit_s)

    return BuiltIn(
        name=NAME,
        description=DESCRIPTION,
        arguments=RunArguments,
        does=do,
        shows=show,
        effects=True,
        needs="ask",
    )


def _limit(arguments: RunArguments, rule: CommandRules) -> float:
    return min(arguments.timeout_s or rule.timeout_s, rule.timeout_s)


def _title(command: str) -> str:
    lines = command.strip().splitlines() or [""]
    first = lines[0][:TITLE_LENGTH]
    return f"Run: {first}" if lines == [first] else f"Run: {first} ..."


async def _find_protected(
    workspace: Workspace, site: Site, rule: CommandRules, known: dict[str, frozenset[str]]
) -> frozenset[str]:
    """What no command writes to; by directory, what is `known` of it is added to.

    What was found once stays so: in a tree that commands have made too large to be looked
    through, it would not be found again.
    """
    said: list[str] = []

    before = known.get(workspace.path, frozenset())

    def look() -> frozenset[str]:
        beside = [each for path in rule.writable for each in find_repositories(path, said.append)]
        there = [each for each in before if os.path.lexists(each)]
        return frozenset((*find_protected(workspace, said.append), *beside, *there))

    found = await trio.to_thread.run_sync(look)
    for sentence in said:
        site.report(sentence)
    known.pop(workspace.path, None)
    known[workspace.path] = found
    if len(known) > WORKSPACES_KNOWN:
        del known[next(iter(known))]
    return found


async def _confine(
    arguments: RunArguments,
    site: Site,
    workspace: Workspace,
    confines: Confines,
    rule: CommandRules,
    protected: frozenset[str],
) -> Command:
    # Of a directory that holds everything the caller has, nothing is written.
    place = [workspace.path]
    writable, read_only = ([], place) if workspace.is_wide else (place, [])
    return await confines.confine(
        ["/bin/sh", "-c", JOINING, _find_shell(), arguments.command],
        env=pick_environment(site.env),
        cwd=workspace.path,
        cwd_fd=workspace.fd,
        writable=[*writable, *rule.writable],
        read_only=list(dict.fromkeys([*read_only, *sorted(protected), *workspace.own])),
        network=rule.network,
    )


def _find_shell() -> str:
    return next((each for each in SHELLS if os.access(each, os.X_OK)), SHELLS[-1])


async def _run(
    command: Command, limit_s: float, watch: Callable[[Capture], Awaitable[None]]
) -> _Ended:
    """Run it to its end, or until its time is over; nothing of it is left either way."""
    ended = _Ended()
    try:
        with trio.move_on_after(limit_s):
            async with open_child(command) as child:
                await _follow(child, ended, watch)
    except CannotStart as error:
        raise CannotRun(f"The command could not be started: {error}") from None
    return ended


async def _follow(child: Child, ended: _Ended, watch: Callable[[Capture], Awaitable[None]]) -> None:
    drained = trio.Event()

    async def drain() -> None:
        async for piece in child.stdout:
            ended.output.feed(piece)
        drained.set()

    async def drain_trouble() -> None:
        async for piece in child.stderr:
            ended.trouble.feed(piece)

    # In it: who empties the pipes and who tells of it, until the command and all it has started
    # are gone.
    async with trio.open_nursery() as nursery:
        nursery.start_soon(drain)
        nursery.start_soon(drain_trouble)
        nursery.start_soon(watch, ended.output)
        await child.stdin.aclose()
        status = await child.wait()
        with trio.move_on_after(LAST_WORDS_S):
            await drained.wait()
        ended.status = status
        nursery.cancel_scope.cancel()


def _watch(command: str, site: Site) -> Callable[[Capture], Awaitable[None]]:
    async def watch(output: Capture) -> None:
        began = trio.current_time()
        while True:
            await trio.sleep(REPORT_S)
            passed_s = trio.current_time() - began
            site.report(
                f"{_title(command)}: {passed_s:.0f} s, {output.total_bytes:,} bytes of output"
            )

    return watch


def _present(ended: _Ended, limit_s: float) -> Result:
    texts = [ended.output.text(), ended.trouble.text()]
    lines = [each.rstrip("\n") for each in texts if each.strip()]
    return say(
        "\n".join([*lines, f"[{_describe(ended.status, limit_s)}]"]),
        is_error=ended.status != 0,
    )


def _describe(status: int | None, limit_s: float) -> str:
    if status is None:
        return f"stopped after {limit_s:g} s"
    if status < 0:
        return f"ended by {_name_signal(-status)}"
    if status > 128 and (name := _name_signal(status - 128)).startswith("SIG"):
        # What a shell says of a program that a signal ended, and bubblewrap of the shell.
        return f"exit code {status}, as after {name}"
    return f"exit code {status}"


def _name_signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
