"""A small window and everything that can be done to a view, through the sessions and their jobs.

Prompts of many sizes to any provider, calls of tools, interrupts, kills; compactions and
prunings that come by themselves or are asked for, undos, clears, pins, forks, resumes, in
any order. Every request that arrives anywhere is whole, valid and says nothing twice;
what is pinned is in it; every turn has one end.
"""

import itertools
import re
from collections.abc import Sequence
from typing import Any

import trio
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st

from askd.core.compaction import PREFIX
from askd.core.events import ItemPinned, ItemUnpinned, TurnOptions
from askd.core.items import AssistantMessage, UserMessage, join_text
from askd.core.sight import find_pinned, find_visible, is_void
from askd.errors import TooLarge
from askd.jobs.worker import Worker
from askd.sessions import shrinking
from askd.sessions.chores import hand_over
from askd.sessions.forks import fork
from askd.sessions.live import LiveSession
from askd.sessions.targets import Target
from askd.sessions.triggers import REQUEST, make_job
from tests.fakes.log import FakeStore
from tests.fakes.long_talks import at_work, settle
from tests.fakes.sessions import Room
from tests.integrity.logs import ID, store_with
from tests.integrity.reading import read_request, read_sound
from tests.integrity.talks import Look, Teller
from tests.integrity.test_any_log import run
from tests.integrity.test_lives import check_log
from tests.integrity.wires import DIALECTS, Wires, lay_wires, open_wired

WINDOW = 3000
SEEN = settings(derandomize=True, deadline=None, max_examples=40)
SIZES = st.sampled_from([1, 30, 150, 400, 700])
STEPS = st.one_of(
    st.tuples(st.just("say"), st.sampled_from(DIALECTS), SIZES, st.just(())),
    st.tuples(
        st.just("say"),
        st.sampled_from(DIALECTS),
        SIZES,
        st.lists(st.sampled_from([10, 300, 4000]), min_size=1, max_size=4).map(tuple),
    ),
    st.tuples(st.sampled_from(["interrupt", "kill"]), st.sampled_from(DIALECTS), SIZES),
    st.tuples(st.sampled_from(["compact", "prune", "undo", "clear", "fork", "resume"])),
    st.tuples(st.sampled_from(["pin", "pin", "unpin"]), st.integers(0, 50)),
)
SAID = re.compile(r"^turn (\d+): .", re.MULTILINE)


class Life:
    """One conversation, or what it has become."""

    def __init__(self, wires: Wires, store: FakeStore) -> None:
        self.id = ID
        self.teller = Teller(WINDOW, calls={}, usage_share=None)
        self._wires = wires
        self._store = store
        self._numbers = itertools.count(1)
        for line in wires.lines.values():
            line.script = self.teller

    async def go(self, steps: Sequence[tuple[Any, ...]]) -> None:
        waiting = [*steps, ("say", "openai-chat", 1, ())]
        while waiting:
            async with (
                open_wired(self._wires, self._store, tools=[Look()]) as room,
                at_work(room) as worker,
            ):
                while waiting and not await self._step(room, worker, *waiting.pop(0)):
                    check_requests(self._wires)

    async def _step(self, room: Room, worker: Worker, kind: str, *what: Any) -> bool:
        """One step; True: the daemon is gone after it."""
        if kind in ("say", "interrupt", "kill"):
            return await self._say(room, kind, *what)
        session = await room.sessions.get(self.id)
        means = room.sessions.means
        name = self._wires.lines["openai-chat"].model
        match kind:
            case "compact":
                job = make_job("compact", session, name, means, reason=REQUEST)
                await hand_over(session, job)
                await settle(room, worker)
            case "prune":
                model = await means.models.resolve(name, session.compactions.last_caller)
                await shrinking.prune(session, model, means=means, reason=REQUEST)
            case "undo":
                await undo(session, room)
            case "clear":
                await shrinking.clear(session, new_id=means.new_id)
            case "fork":
                self.id = (await fork(room.sessions, self.id)).id
            case "pin" | "unpin":
                items = find_items(session)
                if items:
                    item_id = items[what[0] % len(items)]
                    body = ItemPinned(item_id) if kind == "pin" else ItemUnpinned(item_id)
                    if kind == "unpin" or len(session.conversation.pinned) < 2:
                        await session.append([body])
            case _:
                pass
        return kind == "resume"

    async def _say(
        self, room: Room, kind: str, dialect: Any, size: int, calls: Sequence[int] = ()
    ) -> bool:
        number = next(self._numbers)
        line = self._wires.lines[dialect]
        self.teller.calls = {**self.teller.calls, number: calls}
        line.hanging = kind != "say"
        try:
            accepted = await room.ask(
                f"turn {number}: {'and so on ' * size}",
                target=Target("id", self.id),
                options=TurnOptions(model=line.model),
            )
        except TooLarge:
            line.hanging = False
            return False  # by itself more than the window, as the model counts by now
        if line.hanging:
            await trio.testing.wait_all_tasks_blocked()
            line.hanging = False
            if kind == "kill":
                return True
            await accepted.session.interrupt(accepted.turn_id, "test")
        end = await room.finish(accepted)
        session = accepted.session
        if kind == "say" and end.outcome == "completed":
            check_pins(session, line.bodies[-1].decode(), dialect)
        # What cannot fit is refused with a reason; nothing else goes wrong.
        assert end.outcome in ("completed", "interrupted") or end.code == 7, end
        return False


def check_pins(session: LiveSession, body: str, dialect: Any) -> None:
    """What is pinned is in the request, but for turns that failed and said nothing."""
    seen = "\n".join(each.text for each in read_request(dialect, body.encode()))
    it = session.conversation
    for turn_id in it.started:
        record = it.turns[turn_id]
        if is_void(record):
            continue
        for item in find_pinned(find_visible(record), it.pinned):
            if isinstance(item, UserMessage | AssistantMessage) and item.parts:
                assert join_text(item.parts).strip() in seen, f"{item.id} was lost"


def check_requests(wires: Wires) -> None:
    """Of all that has arrived since the last look."""
    assert wires.find_violations() == []
    for dialect, line in wires.lines.items():
        while line.bodies:
            seen = read_sound(dialect, line.bodies.pop())
            words = "\n\n".join(each.text for each in seen if each.role == "user")
            told = SAID.findall(words)
            assert len(told) == len(set(told)), f"said twice: {told}"
            assert words.count(PREFIX) <= 1


def find_items(session: LiveSession) -> list[str]:
    """Ids of all that was said."""
    it = session.conversation
    return [item.id for turn in it.started for item in find_visible(it.turns[turn])]


async def undo(session: LiveSession, room: Room) -> None:
    """Take the last change back; a job may have made one just before."""
    taken = await shrinking.undo(session, new_id=room.sessions.means.new_id)
    if taken is not None:
        assert session.conversation.view.basis != taken.id


@SEEN
@given(st.lists(STEPS, min_size=4, max_size=16))
def test_any_life_in_a_small_window(steps: list[tuple[Any, ...]]) -> None:
    async def main() -> None:
        store = await store_with([])
        store.now = lambda: 1_000_000.0 + trio.current_time()
        with lay_wires(window=WINDOW, reserved=500) as wires:
            await Life(wires, store).go(steps)
            check_requests(wires)
        for row in store.rows():
            check_log([event.body for event in await store.load(row.id)], foreign=set())

    run(main)
