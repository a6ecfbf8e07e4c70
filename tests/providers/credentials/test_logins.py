"""Sign-ins that wait for a person: several clients, bounded numbers, an end to each."""

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import MockClock

from askd.errors import AskdError, NotConfigured, NotFound, RequestError, Unavailable
from askd.providers.credentials.logins import KEPT_S, LOGINS, Logins, SignedIn

DONE = SignedIn(account="ada", path="/file")


class Scripted:
    """A login that ends when it is told to, and remembers whether it was let go."""

    def __init__(self, outcome: SignedIn | Exception = DONE, life_s: float = 900.0) -> None:
        self.url = "https://x.example"
        self.user_code: str | None = None
        self.can_paste = True
        self.life_s = life_s
        self.go = trio.Event()
        self.is_closed = False
        self._outcome = outcome

    def take(self, pasted: str) -> bool:
        if pasted != "right":
            raise RequestError("not of this sign-in")
        self.go.set()
        return True

    async def finish(self) -> SignedIn:
        try:
            await self.go.wait()
            if isinstance(self._outcome, Exception):
                raise self._outcome
            return self._outcome
        finally:
            self.is_closed = True


@asynccontextmanager
async def running() -> AsyncIterator[Logins]:
    """Logins with their nursery."""
    numbers = itertools.count(1)
    logins = Logins(new_id=lambda: f"login-{next(numbers)}")
    async with trio.open_nursery() as nursery:
        await nursery.start(logins.run)
        yield logins
        nursery.cancel_scope.cancel()


async def test_several_clients_wait_for_one(autojump_clock: MockClock) -> None:
    login = Scripted()
    results: list[SignedIn | None] = []
    async with running() as logins:
        login_id = logins.add(login)

        async def wait(timeout_s: float) -> None:
            results.append(await logins.wait(login_id, pasted=None, timeout_s=timeout_s))

        async with trio.open_nursery() as clients:
            for timeout_s in (5, 60, 60, 60):
                clients.start_soon(wait, timeout_s)
            await trio.sleep(10)
            login.go.set()
        assert results == [None, DONE, DONE, DONE]
        assert await logins.wait(login_id, pasted="late", timeout_s=0) == DONE


async def test_it_goes_on_when_nobody_waits(autojump_clock: MockClock) -> None:
    login = Scripted()
    async with running() as logins:
        login_id = logins.add(login)
        with trio.move_on_after(1):
            await logins.wait(login_id, pasted=None, timeout_s=60)
        assert not login.is_closed
        login.go.set()
        assert await logins.wait(login_id, pasted=None, timeout_s=60) == DONE


async def test_pasted_address(autojump_clock: MockClock) -> None:
    async with running() as logins:
        login_id = logins.add(Scripted())
        with pytest.raises(RequestError, match="not of this sign-in"):
            await logins.wait(login_id, pasted="wrong", timeout_s=5)
        assert await logins.wait(login_id, pasted=None, timeout_s=0) is None
        assert await logins.wait(login_id, pasted="right", timeout_s=5) == DONE


@pytest.mark.parametrize(
    "error",
    [
        NotConfigured("It failed.", reason="login_failed"),
        Unavailable("It failed."),
        ExceptionGroup("group", [ExceptionGroup("inner", [NotConfigured("It failed.")])]),
    ],
)
async def test_failure_is_told_to_all(error: Exception) -> None:
    login = Scripted(error)
    login.go.set()
    async with running() as logins:
        login_id = logins.add(login)
        for _ in range(2):
            with pytest.raises(AskdError, match="It failed"):
                await logins.wait(login_id, pasted=None, timeout_s=5)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(28, "No space left on device"), "No space left on device"),
        (ExceptionGroup("group", [ValueError("a secret thing")]), "the daemon's log says more"),
    ],
)
async def test_trouble_that_is_not_foreseen_ends_that_sign_in_alone(
    error: Exception, words: str
) -> None:
    login, other = Scripted(error), Scripted()
    login.go.set()
    async with running() as logins:
        login_id, other_id = logins.add(login), logins.add(other)
        with pytest.raises(NotConfigured, match=words) as caught:
            await logins.wait(login_id, pasted=None, timeout_s=5)
        assert caught.value.reason == "login_failed"
        assert "secret" not in caught.value.message
        assert await logins.wait(other_id, pasted="right", timeout_s=5) == DONE


async def test_each_has_its_time(autojump_clock: MockClock) -> None:
    login = Scripted(life_s=100)
    async with running() as logins:
        login_id = logins.add(login)
        with pytest.raises(NotConfigured, match="not finished in time") as caught:
            await logins.wait(login_id, pasted=None, timeout_s=600)
        assert caught.value.reason == "login_failed"
        assert trio.current_time() == pytest.approx(100)
        assert login.is_closed


async def test_oldest_makes_room_and_its_waiters_are_told() -> None:
    logs = [Scripted() for _ in range(LOGINS + 1)]
    async with running() as logins:
        ids = [logins.add(each) for each in logs[:LOGINS]]
        async with trio.open_nursery() as clients:

            async def wait() -> None:
                with pytest.raises(NotConfigured):
                    await logins.wait(ids[0], pasted=None, timeout_s=60)

            clients.start_soon(wait)
            await trio.testing.wait_all_tasks_blocked()
            logins.add(logs[-1])
        assert [each.is_closed for each in logs] == [True] + [False] * LOGINS
        with pytest.raises(NotFound) as caught:
            await logins.wait(ids[0], pasted=None, timeout_s=1)
        assert caught.value.reason == "login_not_found"


async def test_what_is_over_is_forgotten_after_a_while(autojump_clock: MockClock) -> None:
    login = Scripted()
    login.go.set()
    async with running() as logins:
        login_id = logins.add(login)
        assert await logins.wait(login_id, pasted=None, timeout_s=1) == DONE
        await trio.sleep(KEPT_S + 1)
        logins.add(Scripted())
        with pytest.raises(NotFound):
            await logins.wait(login_id, pasted=None, timeout_s=1)


async def test_end_of_the_house_lets_go_of_all() -> None:
    login = Scripted()
    async with running() as logins:
        logins.add(login)
        await trio.testing.wait_all_tasks_blocked()
    assert login.is_closed
