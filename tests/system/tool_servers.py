"""Servers of tools for a world: where they are, how they are configured, what comes of a call.

A server that is not installed skips its tests with a reason. Nothing here reaches into the
daemon; what runs is found in `/proc` by a mark in its environment.
"""

import json
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.system.servers import write_config
from tests.system.world import LIMIT_S, ROOT, Result, Running, World

Map = dict[str, Any]

FAKE = str(ROOT / "tests" / "fakes" / "mcp_server.py")
NODE = ROOT / ".venv" / "node" / "node_modules" / ".bin"
"""Where the check of the whole installs servers that are written for Node.js."""
MARK = "ASK_TEST_MARK"
"""A variable that each server of a world is given; its children inherit it."""


def find_program(name: str) -> str:
    """Where a server is installed: beside our interpreter, by the check, or on the PATH."""
    beside = Path(sys.executable).with_name(name)
    found = next((str(each) for each in (beside, NODE / name) if each.exists()), None)
    found = found or shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed here")
    if NODE in Path(found).parents and shutil.which("node") is None:
        pytest.skip("there is no Node.js here")
    return found


class Tools:
    """A world whose daemon knows servers of tools, and a model that calls what it is told to.

    Attributes:
        project: the directory in which prompts are sent.
    """

    def __init__(self, world: World, servers: Mapping[str, Map]) -> None:
        self.world = world
        self.project = world.home / "project"
        self.project.mkdir()
        # The whole path: another run of the same test has a home of the same name.
        self.mark = f"{MARK}={world.home}"
        assert world.model is not None
        text = (
            'default_model = "here/fake"\n'
            f'[providers.here]\ndialect = "openai-chat"\nbase_url = "{world.model.base_url}"\n'
            '[models."here/fake"]\ncontext_window = 1000000\n'
        )
        for name, settings in servers.items():
            marked: Map = settings
            if "command" in settings:
                env = {"PATH": world.env["PATH"], **settings.get("env", {})}
                marked = {**settings, "env": {**env, MARK: str(world.home)}}
            text += f"[mcpServers.{name}]\n"
            text += "".join(f"{key} = {_show(value)}\n" for key, value in marked.items())
        write_config(world, text)
        del world.env["OPENAI_API_KEY"], world.env["OPENAI_BASE_URL"]

    def start(
        self, *calls: tuple[str, Map], cwd: Path | None = None, tools: str = "all"
    ) -> Running:
        """Send a prompt whose model makes these calls at once; each runs unasked."""
        words = "CALLS:" + json.dumps(calls)
        said = ("-T", tools, "--approve", "auto", words)
        return self.world.start(*said, cwd=cwd or self.project)

    def call(
        self, name: str, arguments: Map | None = None, *, cwd: Path | None = None
    ) -> tuple[Result, str]:
        """One call, to its turn's end: how `ask` ended, and what the model was told."""
        result = self.start((name, arguments or {}), cwd=cwd).finish()
        assert self.world.model is not None
        assert self.world.model.requests(), (result, self.world.log())
        return result, self.told()

    def run(self, name: str, arguments: Map | None = None, *, cwd: Path | None = None) -> str:
        """The same of a turn that has to be in order: what the model was told."""
        result, told = self.call(name, arguments, cwd=cwd)
        assert (result.code, result.out) == (0, "done\n"), (result, self.world.log())
        return told

    def told(self) -> str:
        """What the model was told of its last call."""
        assert self.world.model is not None
        messages = self.world.model.requests()[-1]["messages"]
        return str([each["content"] for each in messages if each["role"] == "tool"][-1])

    def offered(self) -> list[str]:
        """The names of the tools that the last request offered."""
        assert self.world.model is not None
        return [
            each["function"]["name"] for each in self.world.model.requests()[-1].get("tools", ())
        ]

    def find_processes(self) -> set[int]:
        """Every process of a server, however it is related to the daemon."""
        found = set()
        for path in Path("/proc").glob("[0-9]*"):
            try:
                state = (path / "stat").read_text().rpartition(")")[2].split()[0]
                variables = (path / "environ").read_bytes().split(b"\0")
                if state not in "ZX" and self.mark.encode() in variables:
                    found.add(int(path.name))
            except OSError:
                continue
        return found

    def count_daemon_bytes(self) -> int:
        """The most memory that the daemon has had, `VmHWM` of proc_pid_status(5)."""
        status = Path(f"/proc/{self.world.daemon_pid()}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024


def fake(*options: str, **settings: Any) -> Map:
    """The settings of the fake server, told how to be."""
    return {"command": sys.executable, "args": [FAKE, *options], **settings}


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait for what other processes do; fail if it does not come."""
    until = time.monotonic() + LIMIT_S
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.02)


def _show(value: object) -> str:
    """A value of TOML: JSON's texts, numbers and lists are the same, its maps are not."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_show(each)}" for key, each in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(_show(each) for each in value) + "]"
    return json.dumps(value)
