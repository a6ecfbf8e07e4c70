"""The composition root: the only place that puts the rooms together.

The order is the design. In: the data directory is owned, the socket listens,
the log is open and migrated, recovery has begun, clients are heard. Out: no new
clients, turns end, the log is closed, and the lock goes last.
"""

import logging
import os
import random
import resource
import sys
import time
import uuid
from collections.abc import Sequence
from functools import partial

import trio

from ask.protocol.messages import HelloResult
from ask.protocol.names import KEY_NAMES
from askd import __version__, room_settings
from askd.config import Environment, read_environment, read_settings
from askd.core import outcome
from askd.core.events import Event
from askd.errors import find_known
from askd.host import Daemon, describe_owner, describe_self, find_cache, find_places
from askd.idleness import is_needed, leave_when_idle
from askd.interpreter import settle_in
from askd.jobs.desk import JobDesk
from askd.jobs.kinds import make_kinds
from askd.jobs.turn import steer_turns
from askd.jobs.worker import Worker
from askd.leaving import end_turns
from askd.logs import SetLevel, open_log
from askd.owner import AlreadyOwned, Ownership, own_when_free
from askd.providers.credentials.auth import Auth
from askd.providers.models.registry import Models
from askd.providers.redact import KnownSecrets
from askd.redaction import Redaction
from askd.server import wire
from askd.server.house import House
from askd.server.listener import Door, adopt_door, open_first_door
from askd.server.reception import Reception
from askd.server.takeover import ask_to_drain
from askd.server_logins import FarServers
from askd.sessions.admission import Admission
from askd.sessions.needs import Means
from askd.sessions.registry import Sessions
from askd.sessions.restoring import Restoring
from askd.sessions.retention import Retention
from askd.sessions.scrubs import Scrubs
from askd.sessions.snapshot_refs import SnapshotRefs
from askd.settings import Settings
from askd.signals import watch_signals
from askd.store.backups import Backups
from askd.store.checkup import Checkup
from askd.store.jobs.table import JobTable
from askd.store.memory import MemoryLog
from askd.store.queries import Reader
from askd.store.recovery.entry import enter
from askd.store.rollouts.mirror import Mirror
from askd.store.schedules.table import ScheduleTable
from askd.store.scrub.redacting import RedactingLog
from askd.store.scrub.scrubber import Scrubber
from askd.store.snapshots import SnapshotTable
from askd.store.writer import Writer
from askd.systemd import Notifier, feed_watchdog, find_activated_socket, find_notifier
from askd.timetable import Timetable
from askd.workshop import Workshop, find_scratch, find_sign_ins

DRAIN_S = 20.0
"""How long running turns may take to end after SIGTERM; the unit's TimeoutStopSec is above it."""
TURNS_LIMIT = 64
"""Turns that run at once; the others wait in their queues."""

log = logging.getLogger("askd")


def run() -> int:
    """`askd run`: serve until told to stop; answer the exit code."""
    env = read_environment()
    secrets = KnownSecrets(env.keys[name] for name in KEY_NAMES if name in env.keys)
    set_level = open_log(env.log_level, env.paths.log_file, systemd=env.systemd, hide=secrets.hide)
    try:
        return trio.run(serve, env, secrets, set_level)
    except Exception as error:
        known = find_known(error)
        if known is None:
            # What nobody foresaw is to be seen whole, but for what no log may hold.
            log.critical("askd ends by a fault of its own.", exc_info=error)
            return outcome.FAILED
        print(f"askd: {secrets.hide(known.message)}", file=sys.stderr)
        return known.code


async def serve(environment: Environment, secrets: KnownSecrets, set_level: SetLevel) -> int:
    """Own the data directory and serve; answer the exit code."""
    os.umask(0o077)
    # A core file would hold every key that was seen.
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    paths, pid = environment.paths, os.getpid()
    notifier = find_notifier(environment.systemd, pid=pid)
    passed = find_activated_socket(environment.systemd, pid=pid)
    settings = read_settings(paths.config_file)
    set_level(settings.log.level)
    try:
        # Clients come to the socket that systemd holds: whoever was started by hand makes way.
        is_promised = passed is not None and await ask_to_drain(paths.owner_file, wait_s=DRAIN_S)
        ownership = await own_when_free(paths.lock_file, paths.owner_file, is_promised=is_promised)
    except AlreadyOwned as error:
        # Another client was faster to start one: that is where ours will find an answer.
        log.info("%s Nothing to do.", error)
        return outcome.DONE
    with ownership:
        enter(paths.database, find_places(paths, settings).rollouts)
        door = adopt_door(passed) if passed is not None else open_first_door(paths.sockets)
        try:
            identity = describe_self(pid, boot_id=_new_id())
            application = Application(
                environment,
                settings,
                identity=identity,
                door=door,
                notifier=notifier,
                secrets=secrets,
                set_level=set_level,
            )
            await application.run(ownership, is_activated=passed is not None)
        finally:
            door.close()
    return outcome.DONE


class Application:
    """All the rooms, wired; `run` is their life."""

    def __init__(
        self,
        environment: Environment,
        settings: Settings,
        *,
        identity: HelloResult,
        door: Door,
        notifier: Notifier,
        secrets: KnownSecrets,
        set_level: SetLevel,
    ) -> None:
        paths = environment.paths
        self._environment = environment
        self._set_level = set_level
        self._identity = identity
        self._door = door
        self._notifier = notifier
        self._reception = Reception()
        self._reader = Reader(paths.database)
        self._memory = MemoryLog(observe=self._observe, now=time.time)
        self._writer = Writer(
            paths.database,
            observe=self._observe_stored,
            now=time.time,
            boot_id=identity.boot_id,
            rewritten=self._look,
            jobs_changed=lambda: self._worker.bell.ring(),
        )
        self._refs = SnapshotRefs(
            SnapshotTable(self._writer, self._reader),
            environment=environment.child_env,
            scratch=find_scratch(paths),
            sandbox=lambda: self._workshop.sandbox(),
        )
        self._mirror = Mirror(
            self._writer,
            database=paths.database,
            data=paths.data,
            archive=paths.archive,
            version=__version__,
        )
        self._models = Models(
            environ=environment.keys,
            child_env=environment.child_env,
            directory=paths.data,
            cache=find_cache(paths),
            secrets=secrets,
        )
        self._auth = Auth(lambda: self._models.credentials, new_id=_new_id)
        self._apply(settings)
        self._host = Daemon(
            settings=settings,
            config_file=paths.config_file,
            identity=identity,
            socket=door.address,
            data=paths.data,
            count_sessions=lambda: len(self._sessions.live()),
            count_jobs=self._reader.count_open_jobs,
            apply=self._apply,
        )
        self._redaction = Redaction(secrets, is_on=lambda: self._host.settings.history.redact_keys)
        search, far = self._reader.search, FarServers(find_sign_ins(paths), self._auth)
        self._workshop = Workshop(
            environment, lambda: self._host.settings, socket=door.address, search=search, far=far
        )
        self._people = self._workshop.make_notifier(secrets.hide)
        means = Means(
            models=self._models,
            tools=self._workshop.tools,
            now=time.time,
            new_id=_new_id,
            title_mode=lambda: self._host.settings.title,
            context=lambda: room_settings.read_context(self._host.settings),
            overflow=lambda: self._host.settings.context.overflow,
            approval=lambda: room_settings.read_approval(self._host.settings),
            toolbox=lambda: room_settings.read_tools(self._host.settings),
            recorder=self._refs.recorder,
            prepare=self._workshop.servers.prepare,
            instructions=self._workshop.make_instructions(self._redaction.find_hide),
            notifies=lambda: self._host.settings.notify.detached,
            turns=trio.CapacityLimiter(TURNS_LIMIT),
            later=trio.lowlevel.current_trio_token().run_sync_soon,
        )
        redacting = RedactingLog(self._writer, find_hide=self._redaction.find_hide)
        self._sessions = Sessions(
            log=redacting,
            memory=self._memory,
            reader=self._reader,
            means=means,
            encode=wire.encode_published,
        )
        self._scrubs = Scrubs(
            self._sessions,
            Scrubber(self._writer, places=lambda: find_places(paths, self._host.settings)),
        )
        self._retention = Retention(
            self._sessions,
            ages=self._reader,
            keep=lambda: room_settings.read_keep(self._host.settings),
            belief_file=paths.state / "retention.json",
            now=time.time,
        )
        table = JobTable(self._writer, find_hide=self._redaction.find_hide)
        kinds = make_kinds(self._sessions, self._people.send)
        self._worker = Worker(
            table, log=redacting, kinds=kinds, now=time.time, chance=random.random
        )
        self._admission = Admission(self._sessions, new_id=_new_id, learn=self._redaction.learn)
        turns = steer_turns(self._sessions, self._admission, new_id=_new_id)
        self._jobs = JobDesk(table, reader=self._reader, worker=self._worker, steering=turns)
        schedules = ScheduleTable(self._writer, self._reader, find_hide=self._redaction.find_hide)
        self._timetable = Timetable(
            schedules, sessions=self._sessions, admission=self._admission, send=self._people.send
        )

    def _apply(self, settings: Settings) -> None:
        self._set_level(settings.log.level)
        room_settings.configure_models(self._models, settings, model=self._environment.model)
        self._mirror.configure(
            enabled=settings.rollouts.enabled,
            directory=find_places(self._environment.paths, settings).rollouts,
        )

    def _look(self) -> None:
        self._mirror.look()
        self._refs.look()

    def _observe(self, events: Sequence[Event]) -> None:
        self._sessions.observe(events)
        self._worker.observe(events)

    def _observe_stored(self, events: Sequence[Event]) -> None:
        """The same for what is on the disk: what is ephemeral has no file."""
        self._observe(events)
        self._mirror.observe(events)

    async def run(self, ownership: Ownership, *, is_activated: bool) -> None:
        """Start every room, announce, serve until asked to stop, and leave in order."""
        # In it: the writer alone, which must outlive everybody who writes.
        async with trio.open_nursery() as storage:
            await storage.start(self._writer.run)
            # In it: all the others. They are cancelled together when the turns have ended.
            async with trio.open_nursery() as rooms:
                await rooms.start(self._models.run)
                await rooms.start(self._auth.run)
                await rooms.start(self._workshop.servers.run)
                await rooms.start(self._sessions.run)
                rooms.start_soon(self._sessions.recover)
                await rooms.start(self._worker.run)
                rooms.start_soon(self._timetable.run)
                rooms.start_soon(self._retention.run)
                rooms.start_soon(self._refs.run)
                rooms.start_soon(self._host.watch_config)
                await rooms.start(watch_signals, self._host.reload, self._host.stop, DRAIN_S)
                rooms.start_soon(feed_watchdog, self._notifier, self._writer.ping)
                work = (self._reader.count_open_jobs, self._timetable.count_enabled)
                need = partial(is_needed, self._reception.count_clients, self._sessions.live, work)
                leave = partial(leave_when_idle, is_activated=is_activated)
                rooms.start_soon(leave, need, self._host.stop)
                ownership.announce(describe_owner(self._identity, self._door.address))
                rooms.start_soon(self._mirror.run)  # it takes the last room of a full disk
                rooms.start_soon(self._reception.run, self._door, self._make_house())
                settle_in()
                self._notifier.ready()
                log.info("Ready: pid=%d, socket=%s", self._identity.pid, self._door.address)
                await self._leave(ownership, await self._host.wait_stop())
                await self._mirror.finish()
                rooms.cancel_scope.cancel()
            await self._writer.close()
            self._reader.close()
            storage.cancel_scope.cancel()
        log.info("Stopped: pid=%d", self._identity.pid)

    def _make_house(self) -> House:
        paths = self._environment.paths
        return House(
            identity=self._identity,
            sessions=self._sessions,
            admission=self._admission,
            reader=self._reader,
            models=self._models,
            host=self._host,
            auth=self._auth,
            scrubs=self._scrubs,
            restoring=Restoring(self._sessions, self._refs.table),
            backups=Backups(
                paths.database, find_mirror=lambda: find_places(paths, self._host.settings).rollouts
            ),
            jobs=self._jobs,
            schedules=self._timetable.desk,
            checkup=Checkup(paths.database, surveyor=self._reader, mirrors=self._mirror),
            clients=self._reception.count_clients,
            find_confinement=self._workshop.find_confinement,
            servers=self._workshop.servers,
            server_logins=self._workshop.server_logins,
            notifier=self._people,
            own_env=self._environment.child_env,
        )

    async def _leave(self, ownership: Ownership, wait_s: float) -> None:
        """New clients find nobody, turns end; who is connected hears how."""
        self._notifier.stopping()
        self._notifier.extend(wait_s + DRAIN_S)
        log.info("Draining: %d conversations are live.", len(self._sessions.live()))
        # The note and the socket go first: a client that comes now starts our successor, which
        # waits for the lock.
        ownership.withdraw()
        self._door.close()
        await end_turns(self._sessions.drain, self._host.wait_deadline)


def _new_id() -> str:
    return str(uuid.uuid4())
