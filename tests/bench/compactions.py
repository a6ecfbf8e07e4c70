"""What a compaction costs those who do not wait for it, and what planning one costs.

The first: a conversation of 150,000 tokens is being compacted by a model that takes its
time, and the next prompt of the same conversation is sent. How long until its first
delta, beside the same prompt of a like conversation that nobody compacts. The second:
plans for long logs, beside finding what a model sees of them.
"""

import statistics
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from ask.connection import Client
from askd.core.bounds import find_bounds
from askd.core.calibration import Rates, estimate
from askd.core.compaction import plan_compaction
from askd.core.context import build_context
from askd.core.conversation import Conversation, fold
from askd.core.events import Body, ItemAdded
from askd.core.items import AssistantMessage, Text
from askd.core.pruning import plan_pruning
from askd.core.tokens import measure
from tests.bench.contexts import (
    EVENTS,
    ID,
    LINEAR,
    TEXT,
    begin,
    end,
    exchange,
    make_events,
    talk,
    time_once,
    work,
)
from tests.bench.rows import Row
from tests.system.servers import write_config
from tests.system.world import World

WINDOW = 200_000
TOKENS = 150_000
TURNS = 30
WORDS = "and so it goes on "
WORDS_TOKENS = 5
SETTINGS = f"""
default_model = "openai/fake"
[models."openai/fake"]
context_window = {WINDOW}
[context]
compaction = false
"""
"""None begins by itself: each is asked for, at the moment that is measured."""
LIMIT_S = 60.0
BUSY, QUIET = "compacted", "quiet"
"""Two conversations that are alike."""
PAUSE_S = 0.3
"""The request for the summary is with the model by then."""
NEARLY = 1.1
"""Of the time that the same prompt takes with nothing beside it."""


class Asking:
    """One client of a daemon, with the provider's key."""

    def __init__(self, client: Client, env: Mapping[str, str]) -> None:
        self._client = client
        self._lent = {
            "env": {"OPENAI_BASE_URL": env["OPENAI_BASE_URL"]},
            "secrets": {"OPENAI_API_KEY": env["OPENAI_API_KEY"]},
        }

    def prompt(self, name: str, text: str) -> float:
        """Seconds until the first delta; returns when the turn is over."""
        first: float | None = None
        began = time.perf_counter()
        target = {"kind": "session", "value": name, "create": True}
        accepted = self._client.call(
            "turn/start",
            {
                "target": target,
                "key": str(uuid.uuid4()),
                "parts": [{"type": "text", "text": text}],
                "follow": True,
                **self._lent,
            },
        )
        while True:
            _, fields = self._client.receive()
            if fields.get("turn_id") != accepted["turn_id"]:
                continue
            if first is None and fields.get("kind") == "text":
                first = time.perf_counter() - began
            if fields.get("type") == "turn_finished":
                break
        if first is None or fields["outcome"] != "completed":
            raise RuntimeError(f"no answer: {fields}")
        self._unsubscribe(accepted["conversation_id"])
        return first

    def compact(self, conversation_id: str, *, wait_s: float) -> dict[str, Any]:
        """Have it compacted; with `wait_s` 0 it has just begun."""
        wanted = {"conversation_id": conversation_id, "timeout_s": wait_s, **self._lent}
        return self._client.call("conversation/compact", wanted, limit_s=wait_s + LIMIT_S)

    def undo(self, conversation_id: str) -> None:
        """Take it back."""
        undone = self._client.call("conversation/undo", {"conversation_id": conversation_id})
        if undone.get("undone") != "compact":
            raise RuntimeError(f"it was not compacted: {undone}")

    def find(self, name: str) -> str:
        """The id of a conversation."""
        target = {"kind": "session", "value": name}
        return str(self._client.call("conversation/resolve", {"target": target})["id"])

    def _unsubscribe(self, conversation_id: str) -> None:
        self._client.call("conversation/unsubscribe", {"conversation_id": conversation_id})


def measure_beside(world: World, rounds: int) -> Iterator[Row]:
    """The next prompt's first delta with a compaction under way, and without."""
    write_config(world, SETTINGS)
    world.ok("warm")
    with Client.connect(world.env) as client:
        asking = Asking(client, world.env)
        share = TOKENS // TURNS // WORDS_TOKENS
        for name in (BUSY, QUIET):
            for number in range(TURNS):
                asking.prompt(name, f"turn {number}: {WORDS * share}")
        name = f"the first delta of a prompt while its {TOKENS:,} tokens are being compacted"
        under_way = [pair_up(asking, number, pause_s=PAUSE_S) for number in range(rounds)]
        ratio = statistics.median(under_way)
        yield Row(
            f"{name}, against the same prompt without",
            f"{ratio:.2f}× ({min(under_way):.2f}–{max(under_way):.2f})",
            f"≤ {NEARLY}×",
            ratio <= NEARLY,
            ratio=ratio,
        )
        at_once = [pair_up(asking, number, pause_s=0.0) for number in range(rounds)]
        ratio = statistics.median(at_once)
        yield Row(
            "the same in the moment in which the compaction begins",
            f"{ratio:.2f}× ({min(at_once):.2f}–{max(at_once):.2f})",
            "reported",
            None,
            ratio=ratio,
        )


def pair_up(asking: Asking, number: int, *, pause_s: float) -> float:
    """The ratio of one pair; which of the two comes first alternates with `number`."""

    def ask_quietly() -> float:
        # After as long a pause: a machine that has rested is slower at first.
        time.sleep(pause_s)
        return asking.prompt(QUIET, "and now?")

    def ask_beside() -> float:
        conversation_id = asking.find(BUSY)
        begun = asking.compact(conversation_id, wait_s=0)
        time.sleep(pause_s)
        first_s = asking.prompt(BUSY, "and now?")
        ended = asking.compact(conversation_id, wait_s=LIMIT_S)
        if begun["state"] != "pending" or ended["state"] != "finished":
            raise RuntimeError(f"no compaction was under way: {begun}, {ended}")
        asking.undo(conversation_id)
        return first_s

    if number % 2:
        quiet_s = ask_quietly()
        return ask_beside() / quiet_s
    return ask_beside() / ask_quietly()


def turns_with_tools(count: int) -> list[Body]:
    """Turns of two exchanges and an answer, nine events each."""
    bodies: list[Body] = []
    for turn in range(count // 9):
        name = f"t{turn}"
        bodies += begin(name)
        for step in range(2):
            bodies += exchange(name, step, call_id=f"call-{turn}-{step}")
        answer = AssistantMessage(f"{name}.last", (Text(TEXT),))
        bodies += [ItemAdded(name, answer, 3), *end(name)]
    return bodies


def running(count: int) -> list[Body]:
    """One turn of tool calls that has not ended."""
    return work(count)[:-2]


LOGS: dict[str, Callable[[int], list[Body]]] = {
    "questions and answers": talk,
    "turns with tool calls": turns_with_tools,
    "one turn of tool calls that runs": running,
}
BOUNDS = find_bounds(
    WINDOW,
    WINDOW * 3 // 4,
    compaction_threshold=0.8,
    prune_threshold=0.9,
    user_tokens=20_000,
    summary_tokens=500,
    min_turns=2,
)


def measure_plans(rounds: int) -> Iterator[Row]:
    """For each kind of log what its plans cost beside its context, and how that grows."""
    for name, make in LOGS.items():
        one, two = (fold(ID, make_events(make(n))) for n in (EVENTS, 2 * EVENTS))
        samples = [
            [
                time_once(partial(see, one)),
                time_once(partial(compact, one)),
                time_once(partial(compact, two)),
                time_once(partial(prune, one)),
                time_once(partial(prune, two)),
            ]
            for _ in range(rounds)
        ]
        # The least of each: all that comes on top of it is the machine's.
        seen_s, *planned = (min(column) for column in zip(*samples, strict=True))
        for what, one_s, two_s in (("compaction", *planned[:2]), ("pruning", *planned[2:])):
            growth = two_s / one_s
            yield Row(
                f"a {what} planned for {len(one.started):,} turns in {EVENTS:,} events, "
                f"against what a model sees of them: {name}",
                f"{one_s / seen_s:.1f}× ({one_s * 1000:.0f} ms)",
                "reported",
                None,
                ratio=one_s / seen_s,
            )
            limit = f"≤ {LINEAR}×"
            growing = "the same of twice the events"
            yield Row(growing, f"{growth:.2f}×", limit, growth <= LINEAR, ratio=growth)


def count_items(items: Any) -> int:
    """As the daemon counts for a model that nothing is known of."""
    return estimate(measure(items), Rates())


def see(conversation: Conversation) -> None:
    """Find what a model sees."""
    build_context(conversation, conversation.running, system=None)


def compact(conversation: Conversation) -> None:
    """Plan a compaction; there is one."""
    plan = plan_compaction(conversation, bounds=BOUNDS, count=count_items, overhead=100)
    if plan is None:
        raise RuntimeError("nothing was planned")


def prune(conversation: Conversation) -> None:
    """Plan a pruning; there is one."""
    change = plan_pruning(
        conversation,
        change_id="v",
        summary_id="s",
        bounds=BOUNDS,
        count=count_items,
        overhead=100,
    )
    if change is None:
        raise RuntimeError("nothing was planned")
