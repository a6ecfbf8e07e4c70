"""Sign-ins that have begun and wait for a person, a few at once, each for its time.

Each is a task of its own, so that it goes on whoever listens; any number of
clients may wait for the same one. It knows no vendor: a `Login` does the work.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import trio

from askd.errors import AskdError, NotFound, find_leaves
from askd.providers.credentials.sign_in import fail_login

log = logging.getLogger(__name__)

LOGINS = 8
"""At once; the oldest makes room, for a person who tries again has given it up."""

KEPT_S = 10 * 60.0
"""How long the end of one is remembered, for clients that ask late."""

WAIT_MAX_S = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedIn:
    """A sign-in that came about: whose it is, and the file that holds it."""

    account: str | None
    path: str


class Login(Protocol):
    """A sign-in that has begun.

    Attributes:
        url: to open in a browser.
        user_code: to type in there.
        can_paste: `take` understands the address that the browser ended at.
        life_s: how long it may take.
    """

    url: str
    user_code: str | None
    can_paste: bool
    life_s: float

    def take(self, pasted: str) -> object:
        """An address that somebody pasted. Raises `RequestError` if it is not of this one."""
        ...

    async def finish(self) -> SignedIn:
        """See it through, and let go of what it holds. Raises `AskdError`."""
        ...


@dataclass(slots=True)
class _Running:
    login: Login
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)
    is_over: trio.Event = field(default_factory=trio.Event)
    result: SignedIn | None = None
    error: AskdError | None = None
    over_at: float = 0.0


class Logins:
    """The sign-ins that are under way. `run` must be running."""

    def __init__(self, *, new_id: Callable[[], str]) -> None:
        self._new_id = new_id
        self._running: dict[str, _Running] = {}
        self._nursery: trio.Nursery | None = None

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Own the tasks until cancelled."""
        try:
            # Here lives one task for each sign-in that waits. Cancelled from outside.
            async with trio.open_nursery() as self._nursery:
                task_status.started()
                await trio.sleep_forever()
        finally:
            self._nursery = None

    def add(self, login: Login) -> str:
        """See it through from now on; its id."""
        assert self._nursery is not None, "Logins.run is not running"
        self._make_room()
        login_id = self._new_id()
        running = self._running[login_id] = _Running(login)
        self._nursery.start_soon(self._see_through, running)
        return login_id

    async def wait(self, login_id: str, *, pasted: str | None, timeout_s: float) -> SignedIn | None:
        """What came of it; None: it is not over after `timeout_s`.

        Raises:
            NotFound: there is none of that id, or not any more.
            RequestError: what was pasted is not of this sign-in, which goes on.
            AskdError: it failed; `NotConfigured` says so with `login_failed`.
        """
        running = self._running.get(login_id)
        if running is None:
            raise NotFound(
                "There is no such sign-in, or it ended a while ago; begin again.",
                reason="login_not_found",
            )
        if pasted is not None and not running.is_over.is_set():
            running.login.take(pasted)
        with trio.move_on_after(min(max(timeout_s, 0.0), WAIT_MAX_S)):
            await running.is_over.wait()
        if not running.is_over.is_set():
            return None
        if running.error is not None:
            # A fresh one each time: raising adds to a traceback, and several may wait.
            raise type(running.error)(running.error.message, reason=running.error.reason)
        return running.result

    async def _see_through(self, running: _Running) -> None:
        try:
            with running.scope, trio.move_on_after(running.login.life_s):
                running.result = await running.login.finish()
        except AskdError as error:
            running.error = error
        except ExceptionGroup as group:
            running.error = _read_group(group)
        except OSError as error:
            running.error = fail_login(f"The sign-in failed: {error.strerror}.")
        finally:
            if running.result is None and running.error is None:
                running.error = fail_login("The sign-in was not finished in time; begin again.")
            running.over_at = trio.current_time()
            running.is_over.set()

    def _make_room(self) -> None:
        now = trio.current_time()
        for login_id, each in list(self._running.items()):
            if each.is_over.is_set() and now - each.over_at > KEPT_S:
                del self._running[login_id]
        while len(self._running) >= LOGINS:
            oldest = next(iter(self._running))
            self._running.pop(oldest).scope.cancel()


def _read_group(group: ExceptionGroup[Exception]) -> AskdError:
    """The error that a nursery wrapped; what is none of ours is logged and told as a failure."""
    for error in find_leaves(group):
        if isinstance(error, AskdError):
            return error
    log.error("A sign-in failed.", exc_info=group)
    return fail_login("The sign-in failed; the daemon's log says more.")
