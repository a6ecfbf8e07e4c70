"""A sandbox for tests that confines nothing and says what it was asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from askd.processes.confinement import Confiner
from askd.processes.supervise import Command


@dataclass
class Bare:
    """Commands as they are; it keeps the promises of `sandbox.Sandbox` about what it is given.

    Attributes:
        asked: what each `confine` was told.
    """

    confiner: Confiner = "none"
    asked: list[dict[str, Any]] = field(default_factory=list)

    async def find(self) -> Confiner:
        return self.confiner

    def describe(self, *, network: bool = False, writable: Sequence[str] = ()) -> str:
        return f"{self.confiner}, network {network}, writes to {', '.join(writable) or 'nothing'}"

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
        for path in (cwd, *writable, *read_only):
            assert path.startswith("/"), path
        self.asked.append(
            {"cwd": cwd, "writable": writable, "read_only": read_only, "network": network}
        )
        return Command(argv=argv, env=env, cwd=cwd, cwd_fd=cwd_fd)
