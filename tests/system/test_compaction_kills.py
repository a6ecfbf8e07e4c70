"""kill -9 at every step of a compaction: it is applied once or not at all, and nothing hangs.

Before its job is claimed, before the model hears of it, while the summary comes, around
the commit of its effect. After a restart the job ends, the view is what the log says, and
the conversation goes on.
"""

import json
import sqlite3
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from askd.core.compaction import PROMPT
from tests.fakes import chat_answers
from tests.fakes.chat_answers import Answer, Hold, Status
from tests.system.servers import Told, tell, write_config
from tests.system.world import LIMIT_S, World, open_world

CONFIG = """\
default_model = "work/fake"
[providers.work]
dialect = "openai-chat"
base_url = "{base_url}"
[models."work/fake"]
context_window = 3000
max_output_tokens = 500
[context]
compaction_threshold = 0.5
summary_tokens = 200
user_message_tokens = 200
"""
"""The daemon's own server: what runs after a restart has no caller to lend it a key."""
LONG = "and so on " * 100
TURNS = 8
"""The last of them is one too many."""
SUMMARY = "They went on and on."
FRAME = "Here is the summary produced by the other language model"
POLL_S = 0.002
Where = str


class Server:
    """Answers prompts at once, and summaries as it was told: held before, within, or not."""

    def __init__(self, hold: Where | None) -> None:
        self.hold = hold
        self.summaries = 0
        self.last: list[str] = []

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
        if not path.endswith("/chat/completions"):
            return Status(404, b'{"error":{"message":"not here"}}')
        parsed = json.loads(body)
        assert chat_answers.find_violation(parsed) is None, parsed
        if not chat_answers.last_prompt(parsed).endswith(PROMPT):
            self.last = [str(each["content"]) for each in parsed["messages"]]
            return chat_answers.say("Go ", "on.")
        self.summaries += 1
        steps = chat_answers.say(*(f"{word} " for word in SUMMARY.split()))
        middle = {None: len(steps), "before": 0, "within": 3, "end": len(steps) - 1}[self.hold]
        return [*steps[:middle], *([Hold()] if self.hold else []), *steps[middle:]]


@contextmanager
def open_killed(home: Path, hold: Where | None) -> Iterator[tuple[World, Server, Told]]:
    """A world whose daemon asks this server."""
    server = Server(hold)
    with tell(server.answer) as told, open_world(home, model=False) as world:
        write_config(world, CONFIG.format(base_url=told.base_url))
        yield world, server, told


def release(told: Told) -> None:
    """Let held answers go on."""
    request = urllib.request.Request(f"{told.base_url}/control/release", method="POST")
    urllib.request.urlopen(request, timeout=LIMIT_S).close()


def query(world: World, sql: str) -> list[Any]:
    """What is on the disk, whoever runs."""
    database = world.ask_home / "data" / "ask.db"
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as reader:
        return [row[0] for row in reader.execute(sql)]


JOBS = "SELECT state FROM jobs WHERE kind = 'compact'"
APPLIED = "SELECT seq FROM events WHERE type = 'view_changed'"


def wait_until(condition: Callable[[], object], what: str) -> None:
    until = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < until, f"never came: {what}"
        time.sleep(POLL_S)


def fill(world: World, name: str = "work") -> None:
    """Turns until the view is to be compacted."""
    for number in range(TURNS):
        world.ok("-s", name, f"turn {number} {LONG}")


def show_context(world: World, name: str) -> list[str]:
    found = json.loads(world.ok("history", "show", name, "--context", "--json").out)
    return [str(each["content"]) for each in found["items"]]


def check_after(world: World, server: Server, name: str = "work") -> int:
    """The daemon is dead: another one brings all to its end. How often it was applied."""
    server.hold = None
    world.ok("daemon", "start")
    ended = ("completed", "discarded")
    wait_until(lambda: all(each in ended for each in query(world, JOBS)), "the job's end")
    changes = [each for each in world.events(name) if each["type"] == "view_changed"]
    assert [each["kind"] for each in changes] in ([], ["compact"]), "once, or not at all"
    context = show_context(world, name)
    summaries = [text for text in context if FRAME in text]
    assert len(summaries) == len(changes)
    assert all(SUMMARY in text for text in summaries)
    assert f"turn {TURNS - 1} {LONG}" in context
    said = world.ok("-s", name, "and now")
    assert said.out == "Go on.\n"
    assert "\n\n".join(server.last) == "\n\n".join([*context, "and now"])
    turns = [each for each in world.events(name) if each["type"] == "turn_finished"]
    assert [each["outcome"] for each in turns] == ["completed"] * (TURNS + 1)
    return len(changes)


@pytest.mark.parametrize("hold", ["before", "within", "end"])
def test_killed_while_the_summary_is_made(tmp_path: Path, hold: Where) -> None:
    with open_killed(tmp_path, hold) as (world, server, _):
        fill(world)
        wait_until(lambda: server.summaries == 1, "the request for a summary")
        assert query(world, JOBS) == ["running"]
        world.kill_daemon()
        assert query(world, APPLIED) == []
        assert check_after(world, server) == 1, "the second try did it"
        assert server.summaries == 2


def test_killed_before_the_job_is_claimed(tmp_path: Path) -> None:
    """Four run at once: the fifth waits for one of them."""
    names = [f"work{number}" for number in range(5)]
    with open_killed(tmp_path, "within") as (world, server, _):
        for name in names:
            fill(world, name)
        wait_until(lambda: server.summaries == 4, "four requests for summaries")
        assert sorted(query(world, JOBS)) == ["available", *["running"] * 4]
        world.kill_daemon()
        assert [check_after(world, server, name) for name in names] == [1] * 5


@pytest.mark.parametrize("delay_s", [0.0, 0.003, 0.01, 0.03])
def test_killed_around_the_commit(tmp_path: Path, delay_s: float) -> None:
    """The summary is there: its effect is committed soon, has been, or is being."""
    with open_killed(tmp_path, "end") as (world, server, told):
        fill(world)
        wait_until(lambda: server.summaries == 1, "the request for a summary")
        release(told)
        time.sleep(delay_s)
        world.kill_daemon()
        applied = len(query(world, APPLIED))
        assert check_after(world, server) == 1
        assert server.summaries == 2 - applied, "what was applied is not made again"


def test_killed_as_soon_as_the_effect_is_seen(tmp_path: Path) -> None:
    """Committed, and nobody has heard of it."""
    with open_killed(tmp_path, "end") as (world, server, told):
        fill(world)
        wait_until(lambda: server.summaries == 1, "the request for a summary")
        release(told)
        wait_until(lambda: query(world, APPLIED), "the effect")
        world.kill_daemon()
        assert query(world, JOBS)[0] == "completed", "one write: its job is over with it"
        assert check_after(world, server) == 1
        assert server.summaries == 1


def test_killed_twice_it_is_given_up_and_nothing_is_lost(tmp_path: Path) -> None:
    """A crash counts as a try: what kills the daemon does not do so for ever."""
    with open_killed(tmp_path, "within") as (world, server, _):
        fill(world)
        for count in (1, 2):
            wait_until(lambda count=count: server.summaries == count, "a request")  # type: ignore[misc]
            world.kill_daemon()
            world.ok("daemon", "start")
        wait_until(lambda: query(world, JOBS) == ["discarded"], "the job's end")
        assert server.summaries == 2
        world.kill_daemon()
        assert check_after(world, server) == 0, "the next turn may cause another"
