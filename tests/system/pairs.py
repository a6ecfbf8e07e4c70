"""Two machines in one: a near home, a far one with its daemon, and a real sshd between them."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fakes.chat_answers import TOKENS
from tests.system.servers import write_config
from tests.system.sshd import NAME, SSHD, Sshd, list_children, name_process, open_sshd
from tests.system.world import ASK, LIMIT_S, World, open_world

needs_sshd = pytest.mark.skipif(SSHD is None, reason="sshd is not installed")

CONFIG = """\
default_model = "work/fake"
[providers.work]
dialect = "openai-chat"
base_url = "{base_url}"
[models."work/fake"]
context_window = 2000000
"""
NEEDY = CONFIG.replace("base_url =", 'api_key_env = "WORK_KEY"\nbase_url =')
"""With a server that asks for a key, which the far side does not have."""
ANSWER = "".join(TOKENS)
CANARY = "sk-canary-7f3a9c"


@dataclass(frozen=True)
class Pair:
    """Two machines: `near`, where a person sits, and `far`, where the daemon runs."""

    near: World
    far: World
    server: Sshd

    def find_ssh(self) -> list[int]:
        """The pids of the running `ssh` of the near side."""
        found = []
        for running in self.near.running:
            for pid in list_children(running.process.pid):
                if name_process(pid) == "ssh":
                    found.append(pid)
        return found


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    """Two machines, and `ASK_HOST` set on the near one."""
    yield from open_pair(tmp_path, CONFIG)


def open_pair(directory: Path, config: str, *options: str) -> Iterator[Pair]:
    for name in ("near", "far"):
        (directory / name).mkdir()
    with open_world(directory / "far", options=options) as far:
        assert far.model is not None
        write_config(far, config.format(base_url=far.model.base_url))
        for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ASK_TERMINAL"):
            del far.env[name]
        far.env["PATH"] = f"{Path(ASK).parent}:{far.env['PATH']}"
        with open_sshd(directory / "sshd", far_env=far.env) as server:
            near = World(directory / "near", None)
            near.env["PATH"] = f"{server.path}:{near.env['PATH']}"
            near.env["ASK_HOST"] = f"ssh://{NAME}"
            try:
                yield Pair(near, far, server)
            finally:
                near.close()


def wait_until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + LIMIT_S
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.01)


def wait_connected(pair: Pair) -> None:
    """Wait until somebody from afar is the daemon's client, who had said hello."""

    def is_there() -> bool:
        clients: int = json.loads(pair.far.ok("daemon", "status", "--json").out)["clients"]
        return clients == 2  # whoever asks is one

    wait_until(is_there)
