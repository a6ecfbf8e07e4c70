"""A turn with real tools, cancelled at every step of every task: nothing of it is left.

`Stroke` counts the steps of all tasks and strikes at one of them: the turn is
interrupted, or everything is cancelled as by the daemon's end, and another one takes over. The
next run strikes a step later, until the turn is over before. The calls run at once, or are asked
about and answered first, in a work tree of git whose state is recorded.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import trio
import trio.testing

from askd.core.events import TurnOptions
from askd.core.items import ToolOutput
from askd.providers.base import CallDelta, Stopped
from askd.sessions.live import LiveSession
from askd.sessions.prompts import Accepted
from askd.tools.files import make_file_tools
from askd.tools.shell import CommandRules, make_run_command
from tests.fakes.log import FakeStore
from tests.fakes.models import Step
from tests.fakes.sandboxes import Bare
from tests.fakes.sessions import Room, open_room
from tests.fakes.snapshots import FakeRefs, Repository, make_recorder
from tests.sessions.approval_world import answer, check_approved, models_that

STEPS_MAX = 2000
STRIDES = {"allowed": 3, "asked": 13}
"""Every third step, each time from another start: the same places come at other counts. Git takes
its time."""
LIMIT_S = 10.0
CALLS = (
    ("run_command", '{"command": "echo one > made; cat made"}'),
    ("read_file", '{"path": "notes"}'),
    ("write_file", '{"path": "written", "content": "two"}'),
)


class Stroke(trio.abc.Instrument):
    """Calls `strike` after step number `at` of all tasks, once it is armed."""

    def __init__(self, at: int, strike: Callable[[], None]) -> None:
        self._left = at
        self._strike = strike
        self.has_struck = False

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        self._left -= 1
        if self._left == 0:
            self.has_struck = True
            self._strike()


def answer_with_calls() -> list[Step]:
    calls = [CallDelta(k, f"call_{k}", name, said) for k, (name, said) in enumerate(CALLS)]
    return [*calls, Stopped("calls")]


def count_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def find_children() -> set[str]:
    """Processes that are ours, or were until their parent ended in this room."""
    found = set()
    for each in Path(f"/proc/{os.getpid()}/task").iterdir():
        found.update((each / "children").read_text().split())
    return found


async def play(workspace: Path, at: int, kind: str, scene: str) -> bool:
    """One turn, struck at one step; whether it was over before."""
    store = FakeStore()
    models = models_that(answer_with_calls(), ["done"])
    shell = make_run_command(sandbox=lambda: Bare("bubblewrap"), rules=CommandRules)
    tools = [shell, *make_file_tools()]
    recorder = None
    options = TurnOptions(approve="auto")
    if scene == "asked":
        recorder = make_recorder(workspace.parent, FakeRefs(store))
        options = TurnOptions(approve="ask", detach=True)
    stat = os.stat(workspace)
    accepted: Accepted | None = None
    async with open_room(store=store, models=models, tools=tools, recorder=recorder) as room:
        accepted = await room.ask(
            options=options,
            cwd=str(workspace),
            cwd_id=f"{stat.st_dev}:{stat.st_ino}",
            env={"PATH": os.environ["PATH"]},
        )
        session, turn_id = accepted.session, accepted.turn_id
        stroke = Stroke(at, lambda: strike(room, accepted, kind))
        trio.lowlevel.add_instrument(stroke)
        try:
            await attend(room, session, turn_id, at)
        finally:
            trio.lowlevel.remove_instrument(stroke)
    if kind == "kill" and stroke.has_struck:
        async with open_room(store=store, models=models, tools=tools, recorder=recorder) as room:
            await room.sessions.recover()
            session = await room.sessions.get(accepted.session.id)
            await attend(room, session, turn_id, at)
    await check_approved(store, session.id)
    record = session.conversation.turns[turn_id]
    outputs = [each.item for each in record.items if isinstance(each.item, ToolOutput)]
    assert len(outputs) in (0, len(CALLS))
    return not stroke.has_struck


async def attend(room: Room, session: LiveSession, turn_id: str, at: int) -> None:
    """Say yes to whatever is asked until the turn is over, or the room."""

    async def say_yes() -> None:
        while True:
            await trio.testing.wait_all_tasks_blocked(0.005)
            for question in list(session.conversation.open_questions.values()):
                await answer(session, question)

    room.nursery.start_soon(say_yes)
    with trio.move_on_after(LIMIT_S) as limit:
        await session.wait_finished(turn_id)
    assert not limit.cancelled_caught, f"the turn hangs after step {at}"


def strike(room: Room, accepted: Accepted | None, kind: str) -> None:
    if kind == "kill":
        room.nursery.cancel_scope.cancel()
    elif accepted is not None:
        room.nursery.start_soon(accepted.session.interrupt, accepted.turn_id, "the test")


@pytest.mark.parametrize("scene", STRIDES)
@pytest.mark.parametrize("kind", ["interrupt", "kill"])
async def test_struck_at_any_step_a_turn_leaves_no_task_descriptor_or_process(
    tmp_path: Path, kind: str, scene: str
) -> None:
    workspace = tmp_path / "work"
    repository = Repository(workspace)
    (workspace / "notes").write_text("a note\n")
    repository.commit()
    await play(workspace, STEPS_MAX, "interrupt", scene)  # what is loaded once is loaded now
    tasks = trio.lowlevel.current_statistics().tasks_living
    before, children = count_descriptors(), find_children()
    stride = STRIDES[scene]
    for at in range(1 + os.getpid() % stride, STEPS_MAX, stride):
        is_over = await play(workspace, at, kind, scene)
        assert trio.lowlevel.current_statistics().tasks_living == tasks, at
        assert count_descriptors() <= before, at
        assert find_children() <= children, at
        if is_over:
            break
    else:
        pytest.fail("the sweep did not come to the end of the turn")
    assert (workspace / "written").read_text() == "two"
    assert (workspace / "made").read_text() == "one\n"
    if scene == "asked":
        assert repository.refs(), "nothing was ever recorded"
