"""Snapshots on fakes: the table of refs in memory, and real git in a directory of a test."""

import os
import subprocess
from pathlib import Path

from askd.core.events import ItemAdded
from askd.core.items import Snapshot
from askd.tools.snapshots.recorder import Recorder
from tests.fakes.log import FakeStore

USER = {
    "GIT_AUTHOR_NAME": "u",
    "GIT_AUTHOR_EMAIL": "u@localhost",
    "GIT_COMMITTER_NAME": "u",
    "GIT_COMMITTER_EMAIL": "u@localhost",
    "GIT_CONFIG_NOSYSTEM": "1",
}


class FakeRefs:
    """Which refs were claimed; what is left over follows from what the store holds."""

    def __init__(self, store: FakeStore) -> None:
        self.claimed: dict[str, str] = {}
        self._store = store

    async def claim(self, id: str, git_dir: str) -> None:
        assert id not in self.claimed, "an id is given once"
        self.claimed[id] = git_dir

    async def forget(self, id: str) -> None:
        del self.claimed[id]

    async def find_left_over(self) -> list[tuple[str, str]]:
        held = {id for id, _ in self._list()}
        return [(id, git_dir) for id, git_dir in self.claimed.items() if id not in held]

    async def find_holders(self, text: str) -> list[tuple[str, str]]:
        return [(id, holder) for id, holder in self._list() if id.startswith(text)]

    def _list(self) -> list[tuple[str, str]]:
        there = {row.id for row in self._store.rows()}
        return [
            (body.item.id, write.conversation_id)
            for write in self._store.writes
            if write.conversation_id in there
            for body in write.bodies
            if isinstance(body, ItemAdded) and isinstance(body.item, Snapshot)
        ]


class Repository:
    """A repository of a person's, whom nothing of ours may disturb."""

    def __init__(self, top: Path, *options: str) -> None:
        self.top = top
        top.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main", *options)

    def git(self, *arguments: str) -> str:
        """What a command of git's writes, in the person's own environment."""
        return self._run("git", *arguments)

    def sh(self, script: str) -> str:
        """What a script of the person's writes."""
        return self._run("sh", "-c", script)

    def write(self, path: str, content: str = "x\n") -> Path:
        """Make a file with the directories above it."""
        place = self.top / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content)
        return place

    def commit(self) -> str:
        """Commit all there is; the commit."""
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "mine")
        return self.git("rev-parse", "HEAD").strip()

    def refs(self) -> list[str]:
        """The refs of ours."""
        return self.git("for-each-ref", "--format=%(refname)", "refs/ask").split()

    def read_index(self) -> bytes:
        """The user's index, byte by byte."""
        return (self.top / ".git" / "index").read_bytes()

    def _run(self, *argv: str) -> str:
        env = {**USER, "PATH": os.environ["PATH"], "HOME": str(self.top.parent)}
        done = subprocess.run(argv, cwd=self.top, env=env, check=True, capture_output=True)
        return done.stdout.decode(errors="surrogateescape")


def make_recorder(home: Path, refs: FakeRefs) -> Recorder:
    """A recorder whose git knows nobody's settings but those in `home`."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
    return Recorder(environment=environment, scratch=home / "scratch", claim=refs.claim)
