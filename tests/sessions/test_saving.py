"""What a running turn has said is kept at once if it is much, else soon."""

import pytest
import trio
import trio.testing

from askd.sessions.hub import Hub
from askd.sessions.live import LiveSession
from askd.sessions.saving import save_much, save_now_and_then
from askd.sessions.streaming import SAVE_BYTES, SAVE_INTERVAL_S
from askd.store.log import Partial
from tests.fakes.log import FakeStore
from tests.fakes.sessions import encode


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> list[Partial]:
    """What the log was given to keep."""
    found: list[Partial] = []
    monkeypatch.setattr(FakeStore, "save_partial", lambda self, partial: found.append(partial))
    return found


def make_session() -> LiveSession:
    return LiveSession("c", log=FakeStore(), hub=Hub(encode), ephemeral=False)


def is_asleep() -> bool:
    """Whether no task here waits for a moment: nothing would run however long one waits."""
    return trio.lowlevel.current_statistics().seconds_to_next_deadline == float("inf")


async def test_little_is_kept_soon_also_while_nothing_more_is_said(
    kept: list[Partial], autojump_clock: trio.testing.MockClock
) -> None:
    session = make_session()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(save_now_and_then, session)
        await trio.testing.wait_all_tasks_blocked()
        assert is_asleep(), "nothing was said yet"
        session.say("t", "i", kind="text", text="so ")
        session.say("t", "i", kind="text", text="far")
        save_much(session)
        assert kept == []
        await trio.sleep(SAVE_INTERVAL_S * 1.5)
        assert kept == [Partial("c", "t", "i", "text", "so far")]
        await trio.sleep(SAVE_INTERVAL_S * 2)
        assert len(kept) == 1, "what is kept already is not kept again"
        assert is_asleep()
        session.say("t", "i", kind="text", text=", so good")
        await trio.sleep(SAVE_INTERVAL_S * 1.5)
        assert kept[1:] == [Partial("c", "t", "i", "text", "so far, so good")]
        nursery.cancel_scope.cancel()


async def test_much_is_kept_at_once(kept: list[Partial]) -> None:
    session = make_session()
    session.say("t", "i", kind="reasoning", text="x" * SAVE_BYTES)
    save_much(session)
    assert kept == [Partial("c", "t", "i", "reasoning", "x" * SAVE_BYTES)]
