"""The daemon itself: how it is, its end, its settings."""

import platform

from ask.protocol.messages import (
    ConfigRead,
    ConfigReadResult,
    ConfigWrite,
    DaemonCheck,
    DaemonStatus,
    DaemonStop,
    DamagedRecord,
    Done,
    Empty,
    MirrorRecord,
)
from askd.server import wire
from askd.server.handlers.models import check_model
from askd.server.house import House
from askd.server.peer import Peer

WAIT_LIMIT_S = 3600.0
"""A drain that would take longer is not meant."""


async def status(house: House, peer: Peer, params: Empty) -> DaemonStatus:
    """How the daemon is."""
    return await house.host.status(clients=house.clients())


async def check(house: House, peer: Peer, params: Empty) -> DaemonCheck:
    """Look at all that is stored; nothing is repaired."""
    health = await house.checkup.check()
    sound, survey = health.soundness, health.survey
    return DaemonCheck(
        problems=sound.problems,
        strays=sound.strays,
        conversations=sound.conversations,
        records=survey.records,
        unreadable=survey.unreadable,
        lost=survey.lost,
        damaged=[wire.describe(DamagedRecord, each) for each in survey.damaged],
        complete=sound.complete and survey.complete,
        database_bytes=sound.database_bytes,
        wal_bytes=sound.wal_bytes,
        python=platform.python_version(),
        recoverable=health.recoverable,
        rollouts=None if health.rollouts is None else wire.describe(MirrorRecord, health.rollouts),
    )


def drain(house: House, peer: Peer, params: DaemonStop) -> Done:
    """Accept no more prompts, let turns end, then exit; answered at once."""
    house.host.drain(_bound(params.wait_s))
    return Done()


def stop(house: House, peer: Peer, params: DaemonStop) -> Done:
    """As drain, then interrupt what still runs; answered at once."""
    house.host.stop(_bound(params.wait_s))
    return Done()


def _bound(wait_s: float) -> float:
    return min(max(wait_s, 0.0), WAIT_LIMIT_S)


def read_config(house: House, peer: Peer, params: ConfigRead) -> ConfigReadResult:
    """The settings that are in force."""
    return house.host.read_config()


async def write_config(house: House, peer: Peer, params: ConfigWrite) -> ConfigReadResult:
    """Change one setting in the file, and read the result."""
    names_model = params.key == "default_model" or params.key.startswith("aliases.")
    if names_model and params.value is not None:
        await check_model(house, str(params.value), env=params.env, secrets=params.secrets)
    return await house.host.write_config(params.key, params.value)
