"""Errands: done by one task, waited for by another, whoever of them ends first."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from askd.tools.base import CannotRun, Said, Site, Wish
from askd.tools.mcp.errands import MOST_WISHES, Errand, SessionOver

WISH = Wish(who="fake", text="Who?")
SITE = Site(conversation_id="c", turn_id="t", call_id="call-1")


def explain(error: Exception) -> str:
    return f"explained: {type(error).__name__}"


def make(do: Callable[[], Awaitable[Any]], *, site: Site | None = SITE) -> Errand[Any]:
    """An errand that needs no session."""
    return Errand(lambda session: do(), limit_s=10, site=site)


async def carry_out(errand: Errand[Any]) -> None:
    await errand.carry_out(None, explain)  # type: ignore[arg-type]  # what it does needs none


@dataclass
class Person:
    """Answers after a while; remembers what was asked, and which questions were withdrawn."""

    takes_s: float = 1.0
    said: Said = field(default_factory=lambda: Said(action="accept", content={"name": "Bob"}))
    asked: list[str] = field(default_factory=list)
    withdrawn: list[str] = field(default_factory=list)

    async def ask(self, wish: Wish) -> Said:
        self.asked.append(wish.text)
        try:
            await trio.sleep(self.takes_s)
        except trio.Cancelled:
            self.withdrawn.append(wish.text)
            raise
        return self.said

    def site(self) -> Site:
        return Site(conversation_id="c", turn_id="t", call_id="call-1", ask=self.ask)


async def test_the_answer_reaches_who_waits(nursery: trio.Nursery) -> None:
    async def do() -> str:
        await trio.lowlevel.checkpoint()
        return "done"

    errand = make(do)
    nursery.start_soon(carry_out, errand)
    assert await errand.wait() == "done"
    assert await errand.wait() == "done"


async def test_what_goes_wrong_is_a_sentence(nursery: trio.Nursery) -> None:
    async def fail() -> None:
        raise ZeroDivisionError

    async def refuse() -> None:
        raise CannotRun("a sentence of its own")

    for do, said in ((fail, "explained: ZeroDivisionError"), (refuse, "a sentence of its own")):
        errand = make(do)
        nursery.start_soon(carry_out, errand)
        with pytest.raises(CannotRun, match=said):
            await errand.wait()


async def test_it_takes_no_longer_than_it_may(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    errand = make(trio.sleep_forever)
    nursery.start_soon(carry_out, errand)
    start = trio.current_time()
    with pytest.raises(CannotRun, match="longer than 10 s"):
        await errand.wait()
    assert trio.current_time() - start == 10


async def test_who_is_cancelled_gives_it_up_and_nothing_else() -> None:
    ended: list[str] = []

    async def do() -> None:
        try:
            await trio.sleep_forever()
        finally:
            ended.append("given up")

    async with trio.open_nursery() as owner:
        errand = make(do)
        owner.start_soon(carry_out, errand)
        async with trio.open_nursery() as caller:
            caller.start_soon(errand.wait)
            await wait_all_tasks_blocked()
            caller.cancel_scope.cancel()
        await wait_all_tasks_blocked()
        assert ended == ["given up"]
        assert not owner.cancel_scope.cancelled_caught


async def test_who_waits_is_told_when_the_session_ends(nursery: trio.Nursery) -> None:
    errand = make(trio.sleep_forever)
    async with trio.open_nursery() as owner:
        owner.start_soon(carry_out, errand)
        await wait_all_tasks_blocked()
        owner.cancel_scope.cancel()
    with pytest.raises(CannotRun, match=f"explained: {SessionOver.__name__}"):
        await errand.wait()


async def test_the_time_does_not_run_while_a_person_thinks(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    person = Person(takes_s=1000)

    async def do() -> Said:
        await trio.sleep(6)
        said = await errand.ask(WISH)
        await trio.sleep(3)
        return said

    errand = make(do, site=person.site())
    nursery.start_soon(carry_out, errand)
    assert await errand.wait() == person.said
    late = make(do, site=person.site())

    async def do_late() -> None:
        await trio.sleep(6)
        await late.ask(WISH)
        await trio.sleep(5)

    late = make(do_late, site=person.site())
    nursery.start_soon(carry_out, late)
    with pytest.raises(CannotRun, match="longer than"):
        await late.wait()


async def test_a_person_reads_one_question_at_a_time(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    person = Person(takes_s=20)
    running: list[int] = []

    async def do() -> list[Said]:
        said: list[Said] = []

        async def ask(text: str) -> None:
            said.append(await errand.ask(Wish(who="fake", text=text)))

        async with trio.open_nursery() as asking:
            for text in ("one", "two", "three"):
                asking.start_soon(ask, text)
                await wait_all_tasks_blocked()
                running.append(len(person.asked))
        return said

    errand = make(do, site=person.site())
    nursery.start_soon(carry_out, errand)
    start = trio.current_time()
    assert await errand.wait() == [person.said] * 3
    assert trio.current_time() - start == 60
    assert running == [1, 1, 1]


async def test_a_server_that_does_not_want_to_know_any_more_withdraws_its_question(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    person = Person(takes_s=100)

    async def do() -> str:
        with trio.move_on_after(5):
            await errand.ask(WISH)
        await trio.sleep(1)
        return "done"

    errand = make(do, site=person.site())
    nursery.start_soon(carry_out, errand)
    assert await errand.wait() == "done"
    assert person.withdrawn == ["Who?"]


async def test_a_question_ends_with_its_errand(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    person = Person(takes_s=100)
    said: list[Said] = []

    async def do() -> str:
        await wait_all_tasks_blocked()
        return "done without an answer"

    async def ask() -> None:
        said.append(await errand.ask(WISH))

    errand = make(do, site=person.site())
    nursery.start_soon(ask)
    nursery.start_soon(carry_out, errand)
    assert await errand.wait() == "done without an answer"
    await wait_all_tasks_blocked()
    assert said == [Said(action="cancel")]
    assert person.asked == person.withdrawn


async def test_nobody_to_ask_is_said_at_once(nursery: trio.Nursery) -> None:
    async def do() -> Said:
        return await errand.ask(WISH)

    errand = make(do, site=None)
    nursery.start_soon(carry_out, errand)
    assert await errand.wait() == Said(action="cancel")
    assert await errand.ask(WISH) == Said(action="cancel")


async def test_a_flood_of_questions_reaches_nobody(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    person = Person(takes_s=1)
    said: list[Said] = []

    async def ask() -> None:
        said.append(await errand.ask(WISH))

    async def do() -> None:
        async with trio.open_nursery() as asking:
            for _ in range(100):
                asking.start_soon(ask)

    errand = make(do, site=person.site())
    nursery.start_soon(carry_out, errand)
    await errand.wait()
    assert len(person.asked) == MOST_WISHES
    assert said.count(Said(action="cancel")) == 100 - MOST_WISHES


async def test_a_question_that_cannot_be_asked_is_cancelled(nursery: trio.Nursery) -> None:
    async def fail(wish: Wish) -> Said:
        raise ZeroDivisionError

    async def do() -> Said:
        return await errand.ask(WISH)

    site = Site(conversation_id="c", turn_id="t", call_id="call-1", ask=fail)
    errand = make(do, site=site)
    nursery.start_soon(carry_out, errand)
    assert await errand.wait() == Said(action="cancel")
