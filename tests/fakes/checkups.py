"""A look at a store that is not there: it finds what it is told, in the shape of the real one."""

from pathlib import Path

import trio

from askd.store.checkup import CHECK_S, Checkup, Health, Soundness
from askd.store.rollouts.mirror import MirrorStatus
from askd.store.surveys import Survey


class FakeCheckup(Checkup):
    """`health`: what is found; in order, if nothing else is said."""

    def __init__(self) -> None:
        super().__init__(Path("/nowhere"), surveyor=_Nobody(), mirrors=_Nobody())
        self.health = Health(
            soundness=Soundness(conversations=2, database_bytes=4096, complete=True),
            survey=Survey(records=9, complete=True),
            rollouts=MirrorStatus("/r", 2, 0, None),
        )

    async def check(self, *, limit_s: float = CHECK_S) -> Health:
        await trio.lowlevel.checkpoint()
        return self.health


class _Nobody:
    async def count_unreadable(self, *, limit_s: float) -> Survey:
        raise AssertionError("nothing is read here")

    async def status(self) -> MirrorStatus:
        raise AssertionError("nothing is mirrored here")

    def sweep(self) -> None:
        raise AssertionError("nothing is missing here")
