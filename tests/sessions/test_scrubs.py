"""A scrub over the whole daemon: refused before anything changes, or done and seen by all."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
import trio.testing

from askd.core.events import PromptAccepted
from askd.core.items import Text
from askd.core.scrubbing import MARK, Scrub
from askd.errors import Busy, NotFound, RequestError, StorageFailed
from askd.sessions.live import LiveSession
from askd.sessions.scrubs import PATTERN_CHARACTERS, Order, Scrubs
from askd.sessions.targets import Target
from askd.store.scrub.plans import Scrubbed
from askd.store.scrub.scrubber import Places, Scrubber
from tests.fakes.models import ScriptedModels
from tests.fakes.sessions import Watcher
from tests.sessions.test_with_store import Daemon, boot

SECRET = "hunter22-xyzzy"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "ask.db"


class Stopping(Scrubber):
    """A scrubber that fails when it has done so many; `error`: how."""

    left = 10**9
    error: Exception = AssertionError()

    async def scrub(self, conversation_id: str, scrub: Scrub) -> Scrubbed:
        self.left -= 1
        if self.left < 0:
            raise self.error
        return await super().scrub(conversation_id, scrub)


@asynccontextmanager
async def open_scrubs(
    path: Path, models: ScriptedModels | None = None
) -> AsyncIterator[tuple[Daemon, Scrubs, Stopping]]:
    """The rooms, and what scrubs them."""
    home = path.parent
    places = Places(
        database=path,
        data=home,
        state=home,
        log_file=home / "askd.log",
        archive=home / "archive",
        rollouts=home / "rollouts",
        caches=[],
    )
    async with boot(path, models) as daemon:
        scrubber = Stopping(daemon.writer, places=lambda: places)
        yield daemon, Scrubs(daemon.sessions, scrubber), scrubber


def said(session: LiveSession) -> list[str]:
    """What was asked, as the session in memory has it."""
    snapshot = session.snapshot(0)
    assert snapshot is not None
    return [
        part.text
        for event in snapshot.events
        if isinstance(event.body, PromptAccepted)
        for item in event.body.items
        for part in item.parts
        if isinstance(part, Text)
    ]


async def test_a_live_session_shows_the_new_text_and_goes_on(path: Path) -> None:
    async with open_scrubs(path) as (daemon, scrubs, _):
        accepted = await daemon.ask(f"my {SECRET}")
        await daemon.finish(accepted)
        other = await daemon.ask("nothing")
        await daemon.finish(other)
        watcher, elsewhere = Watcher(), Watcher()
        accepted.session.subscribe(watcher)
        other.session.subscribe(elsewhere)
        report = await scrubs.run(Order(pattern=SECRET))
        assert [each.conversation_id for each in report.found.conversations] == [
            accepted.session.id
        ]
        assert report.cleaned is not None
        assert report.cleaned.is_erased
        assert (watcher.broken_off, elsewhere.broken_off) == (True, False)
        assert not accepted.session.hub.watched
        assert said(accepted.session) == [f"my {MARK}"]
        assert not accepted.session.is_stale
        again = await scrubs.run(Order(pattern=SECRET))
        assert again.found.conversations == []
        await daemon.finish(await daemon.ask("and on", target=Target("id", accepted.session.id)))
        assert SECRET not in repr(daemon.models.requests[-1])
        assert MARK in repr(daemon.models.requests[-1])


async def test_a_look_changes_nothing(path: Path) -> None:
    async with open_scrubs(path) as (daemon, scrubs, _):
        accepted = await daemon.ask(f"my {SECRET}")
        await daemon.finish(accepted)
        report = await scrubs.find(Order(pattern=SECRET))
        assert len(report.found.conversations) == 1
        assert report.cleaned is None
        assert said(accepted.session) == [f"my {SECRET}"]


async def test_where_a_turn_runs_nothing_is_changed_anywhere(path: Path) -> None:
    models = ScriptedModels()
    async with open_scrubs(path, models) as (daemon, scrubs, _):
        idle = await daemon.ask(f"one {SECRET}")
        await daemon.finish(idle)
        gate = trio.Event()
        models.script = lambda request: [gate, "late"]
        running = await daemon.ask(f"two {SECRET}")
        with pytest.raises(Busy, match=running.session.id[:8]) as caught:
            await scrubs.run(Order(pattern=SECRET))
        assert SECRET not in str(caught.value)
        assert said(idle.session) == [f"one {SECRET}"]
        assert (await scrubs.find(Order(pattern=SECRET))).found.conversations[0].is_busy
        report = await scrubs.run(Order(pattern="not in there"))
        assert report.found.conversations == []


async def test_an_expression_finds_what_is_replaced(path: Path) -> None:
    async with open_scrubs(path) as (daemon, scrubs, _):
        accepted = await daemon.ask("keys: sk-aaaa1111 sk-bbbb2222, not sk-c")
        await daemon.finish(accepted)
        order = Order(pattern=r"sk-\w{8}", regex=True)
        report = await scrubs.run(order)
        assert said(accepted.session) == [f"keys: {MARK} {MARK}, not sk-c"]
        assert len(report.found.conversations) == 1
        assert (await scrubs.run(order)).found.conversations == []


@pytest.mark.parametrize(
    ("order", "why"),
    [
        (Order(pattern=""), "empty"),
        (Order(pattern="abc"), "fewer than 4"),
        (Order(pattern="", allow_short=True), "empty"),
        (Order(pattern="x" * (PATTERN_CHARACTERS + 1)), "more than 10000"),
        (Order(pattern="((((", regex=True), "no regular expression"),
        (Order(pattern="(a|b)*", regex=True), "empty text"),
    ],
)
async def test_what_is_refused(path: Path, order: Order, why: str) -> None:
    async with open_scrubs(path) as (_, scrubs, _):
        for refused in (scrubs.find(order), scrubs.run(order)):
            with pytest.raises(RequestError, match=why):
                await refused


async def test_a_short_one_that_is_meant(path: Path) -> None:
    async with open_scrubs(path) as (daemon, scrubs, _):
        accepted = await daemon.ask("a pin: 123")
        await daemon.finish(accepted)
        await scrubs.run(Order(pattern="123", allow_short=True))
        assert said(accepted.session) == [f"a pin: {MARK}"]


async def test_one_that_was_stopped_says_how_far_it_came_and_can_be_run_again(path: Path) -> None:
    async with open_scrubs(path) as (daemon, scrubs, scrubber):
        asked = [await daemon.ask(f"{number} {SECRET}") for number in range(3)]
        for each in asked:
            await daemon.finish(each)
        scrubber.left, scrubber.error = 1, StorageFailed("No space left.")
        with pytest.raises(StorageFailed, match="1 of 3 conversation") as caught:
            await scrubs.run(Order(pattern=SECRET))
        assert SECRET not in caught.value.message
        scrubber.left, scrubber.error = 1, Busy("x")
        with pytest.raises(Busy, match=r"1 conversation\(s\) were scrubbed before"):
            await scrubs.run(Order(pattern=SECRET))
        scrubber.left, scrubber.error = 0, NotFound("deleted meanwhile")
        await scrubs.run(Order(pattern=SECRET))
        scrubber.left = 10
        report = await scrubs.run(Order(pattern=SECRET))
        assert len(report.found.conversations) == 1
        assert not [each for each in asked if SECRET in "".join(said(each.session))]


async def test_two_at_once_are_one_too_many(path: Path) -> None:
    async with open_scrubs(path) as (daemon, scrubs, scrubber):

        async def hold(task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
            async with scrubber.running:
                task_status.started()
                await free.wait()

        free = trio.Event()
        await daemon.nursery.start(hold)
        with pytest.raises(Busy, match="Another scrub"):
            await scrubs.run(Order(pattern=SECRET))
        free.set()
        await trio.testing.wait_all_tasks_blocked()
        await scrubs.run(Order(pattern=SECRET))
