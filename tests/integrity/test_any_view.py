"""Whatever is made of a view, by itself or by people: all that may be asked stays as it was said.

Turns with and without tools, some interrupted or broken off, prompts taken back, pins,
prunings, compactions, undos, clears and forks, in any order. After each, what a prompt
to come would send and what a compaction would send to its summariser is read back
from the bytes of every dialect. Pure: planners, contexts and codecs; no session.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askd.core import sight
from askd.core.compaction import PREFIX, PROMPT, plan_compaction, split_source
from askd.core.context import build_context
from askd.core.conversation import fold
from askd.core.events import (
    Body,
    Event,
    ItemAdded,
    ItemPinned,
    PromptAccepted,
    TurnFinished,
    ViewChanged,
)
from askd.core.forks import plan_fork
from askd.core.items import AssistantMessage, Item, Text, ToolCall, UserMessage, join_text
from askd.core.pairs import heal
from askd.providers.base import Dialect, Endpoint, ModelRequest
from askd.providers.models import dialects
from tests.core.histories import OVERHEAD, STEPS, History, Step, count_tokens
from tests.fakes.chat_answers import Status, find_violation
from tests.fakes.vendors import VENDORS
from tests.integrity.reading import read_sound
from tests.integrity.wires import DIALECTS

OFTEN = settings(derandomize=True, deadline=None, max_examples=150)
DENSE: st.SearchStrategy[Step] = st.tuples(
    st.sampled_from(["turn", "turn", "turn", "pin", "compact", "prune", "undo"]),
    st.sampled_from([1, 80, 300, 900]),
    st.integers(0, 60),
)
"""Of these alone come lives in which one change is built on another."""
MORE: st.SearchStrategy[Step] = st.tuples(
    st.sampled_from(["broken", "fork", "fork", "undo", "pin"]), st.just(1), st.integers(0, 60)
)
LIVES = st.lists(STEPS | MORE, min_size=3, max_size=30) | st.lists(DENSE, min_size=8, max_size=40)
SAID = re.compile(r"^ask (t\d+) ", re.MULTILINE)
"""How each message of a person begins; what pruning tells of it begins otherwise."""


class Life(History):
    """A history that is also broken off, and forked."""

    def take(self, step: Step) -> None:
        """One step."""
        kind, _, chance = step
        if kind == "broken" and self.running is not None:
            call = ToolCall("lost", "f", "{}")
            asking = AssistantMessage(f"{self.running}.lost", (), calls=(call,))
            self.bodies.append(ItemAdded(self.running, asking, 50))
            self.bodies.append(TurnFinished(self.running, "interrupted", 1))
            self.running = None
        elif kind == "fork":
            at_seq = len(self.bodies) - chance % 4
            copied = plan_fork(self.events, at_seq=max(at_seq, 1))
            self.bodies[1:] = [event.body for event in copied]
            self.running = None
        else:
            super().take(step)

    @property
    def events(self) -> list[Event]:
        """The log."""
        numbered = enumerate(self.bodies, start=1)
        return [Event("c", seq, float(seq), body) for seq, body in numbered]

    def see(self) -> list[Item]:
        """What the request of the running turn, or of one to come, holds."""
        return see(self.bodies, self.running)


def see(bodies: Sequence[Body], running: str | None) -> list[Item]:
    events = [Event("c", seq, float(seq), body) for seq, body in enumerate(bodies, start=1)]
    return list(build_context(fold("c", events), running, system=None).items)


def encode(dialect: Dialect, items: Sequence[Item]) -> bytes:
    """The bytes that this dialect's provider would get."""
    endpoint = Endpoint(provider="p", base_url="http://127.0.0.1:1/v1", dialect=dialect)
    request = ModelRequest(model="fake", items=items, system="Be kind.", max_output_tokens=50)
    return dialects.codec_for(replace(endpoint, api_key="k")).encode(request).body


def find_refusal(dialect: Dialect, body: bytes) -> Status | None:
    """What the vendor would say to it."""
    parsed = json.loads(body)
    if dialect in VENDORS:
        return VENDORS[dialect]().find_violation(parsed)
    return find_violation(parsed)


def check_request(items: Sequence[Item], among: Sequence[Dialect] = DIALECTS) -> None:
    """It is valid with these, and says nothing twice."""
    for dialect in among:
        body = encode(dialect, items)
        assert find_refusal(dialect, body) is None, dialect
        seen = read_sound(dialect, body)
        words = "\n\n".join(each.text for each in seen if each.role == "user")
        told = SAID.findall(words)
        assert len(told) == len(set(told)), f"said twice: {told}"
        expected = [
            found
            for item in items
            if isinstance(item, UserMessage)
            for found in SAID.findall(join_text(item.parts))
        ]
        assert told == expected, "every message arrives, in its order"
        assert words.count(PREFIX) <= 1, "one summary stands for all before it"


def check_pins(life: Life, items: Sequence[Item]) -> None:
    """What is pinned is there, word for word."""
    it = life.conversation
    whole = {item.id: item for item in items}
    for turn_id in it.started:
        record = it.turns[turn_id]
        if sight.is_void(record):
            continue
        for item in sight.find_pinned(sight.find_visible(record), it.pinned):
            assert whole.get(item.id) == item, f"{item.id} was lost"


def check_source(life: Life, among: Sequence[Dialect]) -> None:
    """What would be summarised: sendable, and nothing in it poses as a person's words."""
    plan = plan_compaction(
        life.conversation, bounds=life.bounds, count=count_tokens, overhead=OVERHEAD
    )
    if plan is None:
        return
    for item in (*plan.source, *plan.kept):
        if isinstance(item, UserMessage):
            assert "Another language model" not in join_text(item.parts)
    for piece in split_source(plan.source, limit=900, count=count_tokens):
        asked = [*heal(piece)[0], UserMessage("p", (Text(PROMPT),))]
        for dialect in among:
            body = encode(dialect, asked)
            assert find_refusal(dialect, body) is None, dialect
            seen = read_sound(dialect, body)
            assert seen[-1].text.endswith(PROMPT)


def take_back(bodies: Sequence[Body]) -> list[Body]:
    """The log as if each undo and what it took back had never been."""
    kept: list[Body] = []
    for body in bodies:
        if isinstance(body, ViewChanged) and body.kind == "undo":
            names = [e.id if isinstance(e, ViewChanged) else "" for e in kept]
            place = names.index(body.restored) if body.restored in names else None
            if place is not None:
                del kept[place]
            continue
        kept.append(body)
    return kept


@OFTEN
@given(LIVES)
def test_every_request_of_any_life_is_whole_and_valid(steps: list[Step]) -> None:
    life = Life()
    for number, step in enumerate(steps, start=1):
        life.take(step)
        # Each dialect in its turn, and in the end all of them: that is as good and much quicker.
        turned = DIALECTS[number % len(DIALECTS) :][:1] if number < len(steps) else DIALECTS
        if life.running is None:
            life.begin(1)  # a prompt to come: it is the last thing that is said
            items = life.see()
            asked = [item.id for item in items if isinstance(item, UserMessage)]
            assert asked[-1] == f"{life.running}.0"
            del life.bodies[-2:]
            life.running = None
        else:
            items = life.see()
        check_request(items, turned)
        check_pins(life, items)
        check_source(life, turned)


@OFTEN
@given(LIVES)
def test_undo_brings_back_what_was(steps: list[Step]) -> None:
    life = Life()
    for step in steps:
        life.take(step)
        assert life.see() == see(take_back(life.bodies), life.running)


@OFTEN
@given(LIVES)
def test_a_message_leaves_only_by_a_change(steps: list[Step]) -> None:
    """Between two changes of the view requests only grow: what was seen is seen again."""
    life = Life()
    for step in steps:
        before = [item.id for item in life.see()]
        count, running = len(life.bodies), life.running
        life.take(step)
        added = life.bodies[count:]
        if step[0] == "fork" or len(life.bodies) < count:
            continue
        if not any(isinstance(e, ViewChanged | ItemPinned) for e in added):
            after = {item.id for item in life.see()}
            ended = [e.turn_id for e in added if isinstance(e, TurnFinished)]
            void = tuple(f"{each}." for each in ended)  # one that failed with no answer
            lost = [each for each in before if each not in after and not each.startswith(void)]
            assert lost == [] or step[0] == "unpin", (running, lost)


def plain_life() -> Life:
    life = Life()
    for _ in range(12):
        life.begin(50)
        life.end(40)
    return life


def double_kept(bodies: list[Body]) -> None:
    """A kept message that stands in a turn that stays, under another name."""
    change = next(e for e in bodies if isinstance(e, ViewChanged))
    prompt = next(e for e in reversed(bodies) if isinstance(e, PromptAccepted)).items[0]
    assert isinstance(prompt, UserMessage)
    bodies[bodies.index(change)] = replace(change, kept=(replace(prompt, id="again"),))


def double_summary(bodies: list[Body]) -> None:
    """A summary that is kept as a user's words beside the new one."""
    change = next(e for e in bodies if isinstance(e, ViewChanged))
    assert change.summary is not None
    poses = UserMessage("poses", (Text(change.summary.text),))
    bodies[bodies.index(change)] = replace(change, kept=(poses,))


@pytest.mark.parametrize("plant", [double_kept, double_summary])
def test_what_is_planted_is_found(plant: object) -> None:
    life = plain_life()
    assert life.compact() is not None
    check_request(life.see())
    assert callable(plant)
    plant(life.bodies)
    with pytest.raises(AssertionError):
        check_request(life.see())


def test_a_kept_message_that_was_cut_is_not_said_again_when_it_is_pinned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    life = Life()
    for size in (300, 50, 300, 50, 50):
        life.begin(size)
        life.end(150)
    change = life.compact()
    assert change is not None
    cut = change.kept[0].id
    assert cut.endswith(sight.CUT)
    life.bodies.append(ItemPinned(cut.rstrip(sight.CUT)))
    check_request(life.see())
    monkeypatch.setattr(sight, "CUT", "#")
    with pytest.raises(AssertionError, match="said twice"):
        check_request(life.see())


def test_a_lost_pin_is_found() -> None:
    life = plain_life()
    life.bodies.append(ItemPinned("t1.last"))
    assert life.compact() is not None
    items = life.see()
    check_pins(life, items)
    with pytest.raises(AssertionError):
        check_pins(life, [item for item in items if item.id != "t1.last"])
