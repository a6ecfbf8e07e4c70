"""kill -9 while detached turns use tools: what may run again does, and no effect comes twice.

The model of these turns reads a file, runs a command that leaves a line in a file, and says
that it is done. A turn may be run again until its command may have begun; from then on it
ends with what there is. The moment of the kill is held by the model's server or by the
command itself, or is whenever so many events of the turn are on the disk.
"""

import json
import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes import chat_answers
from tests.fakes.chat_answers import Answer, Hold, Status, Step
from tests.system.servers import tell, write_config
from tests.system.test_approvals import answer, outputs_of, until, wait_asked
from tests.system.test_detached import check_disk, events_of, query, read_job, wait
from tests.system.world import World, open_world

CONFIG = """\
default_model = "work/fake"
title = "off"
[providers.work]
dialect = "openai-chat"
base_url = "{base_url}"
[models."work/fake"]
context_window = 60000
"""
"""The daemon's own server: what runs after a restart has no caller to lend it a key."""
SPOKEN = ("I look ", "first. ")
DONE = ("All ", "done.")
STEPS = 10
"""Events of one such turn, from its prompt to what comes just before its end."""
UNASKED = 2
"""So many of them are there before its model has said anything."""
MOMENTS = (
    *("over", "silent", "queued", "talking", "looked", "asked"),
    *("allowed", "working", "worked", "ending"),
)


class Model:
    """Answers by what has been done so far; `holds`: before which piece of which answer it waits.

    The prompt is the turn's name.
    """

    def __init__(self, effects: Path) -> None:
        self.holds: dict[str, tuple[int, int]] = {}
        self._effects = shlex.quote(str(effects))

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
        if not path.endswith("/chat/completions"):
            return Status(404, b'{"error":{"message":"not here"}}')
        parsed = json.loads(body)
        violation = chat_answers.find_violation(parsed)
        assert violation is None, violation
        name = chat_answers.last_prompt(parsed)
        begun = max(n for n, each in enumerate(parsed["messages"]) if each["role"] == "user")
        stage = sum(each["role"] == "tool" for each in parsed["messages"][begun:])
        steps = self._script(name)[stage]
        held, place = self.holds.get(name, (-1, 0))
        return [*steps[:place], Hold(), *steps[place:]] if held == stage else steps

    def _script(self, name: str) -> list[list[Step]]:
        line = f"echo {name} >> {self._effects}"
        if name == "working":
            line += "; sleep 300"  # it has had its effect, and is at it still
        read = chat_answers.call("call_r", "read_file", '{"path": "notes"}')
        run = chat_answers.call("call_w", "run_command", json.dumps({"command": line}))
        spoken = [chat_answers.chunk({"content": text}) for text in SPOKEN]
        return [[*spoken, *read], run, chat_answers.say(*DONE)]


class Place:
    """A world, its model, and the file in which effects are counted."""

    def __init__(self, world: World, model: Model, project: Path) -> None:
        self.world = world
        self.model = model
        self.project = project

    def leave(self, name: str, *, hold: tuple[int, int] | None = None, **options: str) -> str:
        """Leave a turn; its job."""
        if hold is not None:
            self.model.holds[name] = hold
        words = ("--detach", "-T", "all", "--approve", options.get("approve", "auto"))
        session = options.get("session", name)
        result = self.world.ask(*words, "-s", session, name, cwd=self.project)
        assert result.code == 0, result
        return result.out.strip()

    def count_effects(self) -> Counter[str]:
        path = self.project / "effects"
        return Counter(path.read_text().splitlines() if path.exists() else [])

    def count_events(self, job: str) -> int:
        sql = f"SELECT count(*) FROM events WHERE json_extract(body, '$.turn_id') = '{job}'"
        count: int = query(self.world, sql)[0][0]
        return count

    def outcome(self, job: str) -> tuple[str, int]:
        """How the turn ended, and how often it was begun."""
        (end,) = events_of(self.world, job, "turn_finished")
        return end["outcome"], len(events_of(self.world, job, "turn_started"))

    def statuses(self, job: str) -> list[tuple[str, str]]:
        """Each item's type and what became of it."""
        return [
            (each["item"]["type"], each.get("status", "complete"))
            for each in events_of(self.world, job, "item_added")
        ]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A world whose daemon knows its server itself, and a project with a file to read."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "notes").write_text("a note\n")
    model = Model(project / "effects")
    with tell(model.answer) as told, open_world(tmp_path / "home", model=False) as world:
        world.home.mkdir(exist_ok=True)
        write_config(world, CONFIG.format(base_url=told.base_url))
        yield Place(world, model, project)


def test_killed_at_ten_moments_at_once_no_effect_comes_twice(place: Place) -> None:
    world = place.world
    over = place.leave("over")
    assert wait(world, over).code == 0
    silent = place.leave("silent", hold=(0, 0))  # asked, and nothing said
    queued = place.leave("queued", session="silent")  # accepted only
    talking = place.leave("talking", hold=(0, 1))  # in the middle of its first words
    looked = place.leave("looked", hold=(1, 0))  # a tool has answered that changes nothing
    asked = place.leave("asked", approve="ask")  # a person is asked, and has not answered
    allowed = place.leave("allowed", approve="ask", hold=(2, 0))  # asked, allowed and done
    working = place.leave("working")  # in the middle of the command
    worked = place.leave("worked", hold=(2, 0))  # the command is over
    ending = place.leave("ending", hold=(2, 2))  # in the middle of its last words
    wait_asked(world, allowed, 1)
    answer(world, allowed, "yes")
    wait_asked(world, asked, 1)
    until(lambda: place.count_effects()["working"], "an effect")
    for job, count in ((looked, 1), (worked, 2), (ending, 2), (allowed, 2)):
        until(lambda job=job, count=count: len(outputs_of(world, job)) == count, "outputs")  # type: ignore[misc]
    world.wait_saved(SPOKEN[0])
    world.wait_saved(DONE[0])
    world.kill_daemon()
    place.model.holds = {}

    world.ok("daemon", "start")
    answer(world, asked, "yes")
    codes = {job: wait(world, job).code for job in (silent, queued, talking, looked, asked)}
    assert set(codes.values()) == {0}
    for job in (allowed, working, worked, ending):
        assert wait(world, job).code == 1
    check_disk(world)
    assert place.count_effects() == Counter(MOMENTS), "each once"
    jobs = (over, silent, queued, talking, looked, asked, allowed, working, worked, ending)
    assert dict(zip(MOMENTS, map(place.outcome, jobs), strict=True)) == {
        "over": ("completed", 1),
        "silent": ("completed", 2),
        "queued": ("completed", 1),
        "talking": ("completed", 2),
        "looked": ("completed", 2),
        "asked": ("completed", 1),
        "allowed": ("interrupted", 1),
        "working": ("interrupted", 1),
        "worked": ("interrupted", 1),
        "ending": ("interrupted", 1),
    }
    # What had been begun is kept for people, and every call has one output.
    assert ("assistant_message", "superseded") in place.statuses(talking)
    assert place.statuses(ending)[-1] == ("assistant_message", "interrupted")
    (said,) = [
        each["item"]["parts"][0]["text"]
        for each in events_of(world, ending, "item_added")
        if each.get("status") == "interrupted"
    ]
    assert said == DONE[0]
    assert [each.get("synthetic") for each in outputs_of(world, working)] == [None, "interrupted"]
    assert len(events_of(world, allowed, "question_asked")) == 1
    for job in jobs:
        calls = [
            call["call_id"]
            for each in events_of(world, job, "item_added")
            for call in each["item"].get("calls", ())
        ]
        outputs = [each["call_id"] for each in outputs_of(world, job)]
        assert len(outputs) == len(set(outputs))
        assert set(outputs) <= set(calls)


def test_killed_at_every_step_of_ten_turns_each_has_one_end_and_one_effect_at_most(
    place: Place,
) -> None:
    """Each turn is killed when one event more of it is on the disk than of the one before."""
    world = place.world
    seen: list[tuple[str, int]] = []
    for step in range(1, STEPS + 1):
        # Until its model is asked nothing goes on by itself: a kill comes in time on any machine.
        job = place.leave(f"step{step}", hold=(0, 0) if step <= UNASKED else None)
        until(lambda job=job, step=step: place.count_events(job) >= step, f"{step} events")  # type: ignore[misc]
        world.kill_daemon()
        place.model.holds = {}
        effects = place.count_effects()[f"step{step}"]
        world.ok("daemon", "start")
        code = wait(world, job).code
        outcome, attempts = place.outcome(job)
        seen.append((outcome, attempts))
        assert (outcome, code) in {("completed", 0), ("interrupted", 1)}
        after = place.count_effects()[f"step{step}"]
        assert after in ((1,) if outcome == "completed" else (0, 1)), "at most once, and not lost"
        assert not (effects and attempts > 1), "what may have had an effect is not run again"
        assert read_job(world, job)["attempt"] == attempts
    check_disk(world)
    assert {("completed", 2), ("interrupted", 1)} <= set(seen), f"the kills missed: {seen}"
