"""The notifier: runs the command that tells a person, a list of words and never a shell's.

It ends with a few seconds, whatever the command does, and keeps nothing of what that says
but a line when it fails. It is given the way to a desktop and no credential: those that the
daemon knows are taken out of what is told, for everybody may read a command's arguments.
"""

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import trio

from askd.core.notifications import (
    NOTIFY_SEND,
    Notification,
    encode_notification,
    fill_command,
    find_line,
)
from askd.jobs.base import GaveUp
from askd.processes.supervise import CannotStart, Child, Command, open_child

LIMIT_S = 10.0
"""A desktop answers in milliseconds; a script that sends a message over the network in seconds."""
COMPLAINT_BYTES = 4 * 1024
"""Kept of what a command says about its failure; the rest is read and dropped."""
DEFAULT = (NOTIFY_SEND, "--app-name=ask", "--", "{title}", "{body}")
DESKTOP_NAMES = (
    "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR",
)  # fmt: skip
"""How a command finds the person's desktop; a daemon may have some of them, or none."""

NO_PROGRAM = (
    "There is nothing to notify with: no notify-send is on the daemon's PATH. Install it "
    "(libnotify), or set [notify] command."
)
NO_BUS = (
    "There is nobody to notify: the daemon has no session bus of a desktop "
    "($XDG_RUNTIME_DIR/bus). Set [notify] command to hear of it in another way."
)
OFF = "Nothing is run: [notify] command is []."
NOT_THERE = (
    "[notify] command: {name} is no program on the daemon's PATH, nor the whole path of one."
)


@dataclass(frozen=True, slots=True)
class NotifyRules:
    """`[notify]`. `command`: the words to run, empty: nothing is; None: what is usual here."""

    command: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Road:
    """How people can be notified now, and a sentence about it; `command` is empty if not ready."""

    state: Literal["ready", "off", "missing"]
    text: str
    command: tuple[str, ...] = field(default=())


class Notifier:
    """Made once for a daemon.

    Args:
        rules: those of now.
        environ: the daemon's own environment, of which `DESKTOP_NAMES` are passed on.
        child_env: what every command of the settings is run with.
        hide: takes credentials out of a text.
    """

    def __init__(
        self,
        rules: Callable[[], NotifyRules],
        *,
        environ: Mapping[str, str],
        child_env: Mapping[str, str],
        hide: Callable[[str], str],
    ) -> None:
        self._rules = rules
        self._hide = hide
        self._env = dict(child_env) | {
            name: environ[name] for name in DESKTOP_NAMES if name in environ
        }

    def find_road(self) -> Road:
        """How people can be notified now."""
        command = self._rules().command
        if command is not None and not command:
            return Road("off", OFF)
        name, *rest = command or DEFAULT
        program = self._find_program(name)
        if program is None:
            return Road("missing", NOT_THERE.format(name=name) if command else NO_PROGRAM)
        if command is None and not self._has_bus():
            return Road("missing", NO_BUS)
        return Road("ready", f"with {program}", (program, *rest))

    async def send(self, told: Notification) -> None:
        """Run the command; returns when it has ended well, or none is to be run.

        Raises:
            GaveUp: there is none, it failed, or it took too long.
        """
        road = self.find_road()
        if road.state == "off":
            await trio.lowlevel.checkpoint()
            return
        if road.state == "missing":
            raise GaveUp(road.text)
        told = replace(told, title=self._hide(told.title), body=self._hide(told.body))
        argv = fill_command(road.command, told)
        command = Command(argv=argv, env=self._env, cwd="/")
        status: int | None = None
        complaint = bytearray()
        with trio.move_on_after(LIMIT_S):
            try:
                status = await _run(command, encode_notification(told), complaint)
            except OSError as error:  # `CannotStart` among others: descriptors run out, too
                raise GaveUp(f"[notify] command: {_explain(error)}") from None
        if status is None:
            raise GaveUp(f"[notify] command: {argv[0]} took longer than {LIMIT_S:g} s.")
        if status != 0:
            line = find_line(self._hide(complaint.decode("utf-8", "replace")))
            said = f": {line}" if line else "."
            raise GaveUp(f"[notify] command: {argv[0]} ended with status {status}{said}")

    def _find_program(self, name: str) -> str | None:
        """Its whole path; None: there is none. A path from here would be one from anywhere."""
        path = os.path.expanduser(name)
        if "/" in path and not os.path.isabs(path):
            return None
        return shutil.which(path, path=self._env.get("PATH", os.defpath))

    def _has_bus(self) -> bool:
        """Whether there is a session bus: by its address, or where pam_systemd(8) puts it."""
        if self._env.get("DBUS_SESSION_BUS_ADDRESS"):
            return True
        runtime = self._env.get("XDG_RUNTIME_DIR")
        # Not `Path.exists`, which raises for the directory of another user.
        return runtime is not None and os.path.exists(os.path.join(runtime, "bus"))


def _explain(error: OSError) -> str:
    return str(error) if isinstance(error, CannotStart) else f"it could not be started: {error}"


async def _run(command: Command, data: bytes, complaint: bytearray) -> int:
    """Its status. What it says is read to the end, so that it is never held up by us."""
    async with open_child(command) as child, trio.open_nursery() as nursery:
        # In it: one task for each stream; what a descendant keeps open does not keep us.
        nursery.start_soon(_feed, child, data)
        nursery.start_soon(_drain, child.stdout, bytearray(), 0)
        nursery.start_soon(_drain, child.stderr, complaint, COMPLAINT_BYTES)
        status = await child.wait()
        nursery.cancel_scope.cancel()
    return status


async def _feed(child: Child, data: bytes) -> None:
    try:
        await child.stdin.send_all(data)
        await child.stdin.aclose()
    except trio.BrokenResourceError:
        pass  # it does not read it, which is well


async def _drain(stream: trio.abc.ReceiveStream, kept: bytearray, limit: int) -> None:
    """Read to the end, and keep the beginning."""
    async for piece in stream:
        kept += piece[: max(0, limit - len(kept))]
