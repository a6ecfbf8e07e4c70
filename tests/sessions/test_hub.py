"""What is published reaches everyone who watches, encoded once."""

import itertools
from collections.abc import Callable
from dataclasses import replace

import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from askd.core.events import Event, Renamed
from askd.server.outbox import WRITE_BYTES
from askd.sessions import hub as hub_module
from askd.sessions.hub import (
    GATHERED_LENGTH,
    Attached,
    Client,
    Delta,
    Hub,
    Progress,
    Published,
    TextKind,
    TurnUnsaved,
    join_deltas,
)

EVENT = Event("c", 1, 5.0, Renamed("x"))
DELTA = Delta(conversation_id="c", turn_id="t", item_id="t.1", kind="text", offset=0, text="hi")
PROGRESS = Progress(conversation_id="c", turn_id="t", kind="model_loading", text="loading")
UNSAVED = TurnUnsaved(conversation_id="c", turn_id="t", outcome="completed", code=74, reason="full")


class Recorder:
    """Keeps frames; raises on the ones that it is told to."""

    def __init__(self, *, bad: bytes | None = None) -> None:
        self.bad = bad
        self.frames: list[tuple[bytes, bool]] = []

    def offer(self, frame: bytes, *, droppable: bool) -> None:
        if frame == self.bad:
            raise RuntimeError("no")
        self.frames.append((frame, droppable))

    def break_off(self) -> None:
        self.frames.append((b"over", False))


class Encoder:
    """Counts what it encodes."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, value: Published) -> bytes:
        self.count += 1
        return type(value).__name__.encode()


def test_only_deltas_and_progress_may_be_dropped() -> None:
    hub, one = Hub(Encoder()), Recorder()
    hub.subscribe(one)
    for value in (EVENT, DELTA, PROGRESS, UNSAVED):
        hub.publish(value)
    assert one.frames == [
        (b"Event", False),
        (b"Delta", True),
        (b"Progress", True),
        (b"TurnUnsaved", False),
    ]


def test_a_value_is_encoded_once_for_all_and_not_at_all_for_nobody() -> None:
    encode = Encoder()
    hub = Hub(encode)
    hub.publish(EVENT)
    assert encode.count == 0
    watchers = [Recorder() for _ in range(5)]
    for each in watchers:
        hub.subscribe(each)
    hub.publish(EVENT)
    assert encode.count == 1
    assert all(len(each.frames) == 1 for each in watchers)


def test_one_that_raises_is_dropped_and_the_others_are_not() -> None:
    hub, bad, good = Hub(Encoder()), Recorder(bad=b"Event"), Recorder()
    hub.subscribe(bad)
    hub.subscribe(good)
    hub.publish(EVENT)
    hub.publish(DELTA)
    assert bad.frames == []
    assert [frame for frame, _ in good.frames] == [b"Event", b"Delta"]


def test_who_watches_and_whether_a_person_does() -> None:
    hub, one, two = Hub(Encoder()), Recorder(), Recorder()
    assert (hub.watched, hub.attended) == (False, False)
    hub.subscribe(one)
    assert (hub.watched, hub.attended) == (True, False)
    hub.subscribe(two, interactive=True)
    assert hub.attended
    hub.unsubscribe(two)
    hub.unsubscribe(two)
    assert (hub.watched, hub.attended) == (True, False)


def test_all_who_watch_hear_of_the_end_once() -> None:
    hub, one, two = Hub(Encoder()), Recorder(), Recorder()
    hub.subscribe(one)
    hub.subscribe(two)
    hub.break_off()
    hub.break_off()
    hub.publish(EVENT)
    assert one.frames == two.frames == [(b"over", False)]
    assert not hub.watched


def test_one_that_leaves_while_something_is_published_breaks_nothing() -> None:
    hub, last = Hub(Encoder()), Recorder()

    class Leaver(Recorder):
        def offer(self, frame: bytes, *, droppable: bool) -> None:
            super().offer(frame, droppable=droppable)
            hub.unsubscribe(self)

    leaver = Leaver()
    hub.subscribe(leaver)
    hub.subscribe(last)
    hub.publish(EVENT)
    hub.publish(DELTA)
    assert len(leaver.frames) == 1
    assert len(last.frames) == 2


def tell(value: Published) -> bytes:
    """An encoder that keeps the names of those who are there."""
    assert isinstance(value, Attached)
    return ",".join(each.program for each in value.clients).encode()


CHAT = Client(program="chat", hears=True)
CRON = Client(program="cron")


def test_who_is_there_is_told_to_those_who_want_to_hear_it() -> None:
    hub, chat, cron, inner = Hub(tell), Recorder(), Recorder(), Recorder()
    for subscriber, client in ((chat, CHAT), (cron, CRON), (inner, None)):
        hub.subscribe(subscriber, client=client)
        hub.tell_attached("c")
    assert hub.clients == (CHAT, CRON)
    hub.unsubscribe(cron)
    hub.tell_attached("c")
    assert chat.frames == [(b"chat", True), (b"chat,cron", True), (b"chat", True)]
    assert cron.frames == inner.frames == []


def test_who_is_there_is_told_once() -> None:
    hub, chat = Hub(tell), Recorder()
    hub.subscribe(chat, client=CHAT)
    hub.tell_attached("c")
    hub.subscribe(chat, client=CHAT)
    hub.tell_attached("c")
    assert len(chat.frames) == 1
    hub.subscribe(chat, client=CHAT, interactive=True)
    hub.tell_attached("c")
    assert len(chat.frames) == 2
    assert hub.clients[0].interactive


def test_nothing_is_encoded_where_nobody_hears() -> None:
    encode = Encoder()
    hub = Hub(encode)
    hub.subscribe(Recorder(), client=CRON)
    hub.tell_attached("c")
    assert encode.count == 0


def test_one_that_leaves_when_told_leaves_nobody_with_old_news() -> None:
    hub = Hub(tell)

    class Full(Recorder):
        def offer(self, frame: bytes, *, droppable: bool) -> None:
            hub.unsubscribe(self)
            hub.tell_attached("c")

    last = Recorder()
    hub.subscribe(Full(), client=CHAT)
    hub.subscribe(last, client=Client(program="last", hears=True))
    hub.tell_attached("c")
    assert last.frames == [(b"last", True)]


def spell(value: Published) -> bytes:
    """An encoder that keeps the text of a delta."""
    return value.text.encode() if isinstance(value, Delta) else type(value).__name__.encode()


class Burst:
    """A hub that gathers, the one who watches it, and what is to be called later."""

    def __init__(self) -> None:
        self.calls: list[Callable[[], None]] = []
        self.hub = Hub(spell, later=self.calls.append)
        self.one = Recorder()
        self.hub.subscribe(self.one)
        self.offsets: dict[TextKind, int] = {}

    def say(self, *texts: str, kind: TextKind = "text") -> None:
        for text in texts:
            offset = self.offsets.get(kind, 0)
            self.offsets[kind] = offset + len(text)
            self.hub.publish(replace(DELTA, kind=kind, offset=offset, text=text))

    def run_calls(self) -> None:
        while self.calls:
            self.calls.pop(0)()

    @property
    def heard(self) -> list[bytes]:
        return [frame for frame, _ in self.one.frames]


async def test_a_lone_delta_goes_at_once_and_those_that_follow_go_together(
    autojump_clock: trio.testing.MockClock,
) -> None:
    burst = Burst()
    burst.say("1", "2", "3", "4")
    assert burst.heard == [b"1"]
    assert len(burst.calls) == 1
    burst.run_calls()
    assert burst.one.frames == [(b"1", True), (b"234", True)]
    burst.say("5")
    assert burst.heard == [b"1", b"234"]
    burst.run_calls()
    await trio.sleep(hub_module.QUIET_S)
    burst.say("6")
    assert burst.heard == [b"1", b"234", b"5", b"6"]
    assert burst.calls == []


async def test_whatever_else_is_published_comes_behind_what_was_gathered(
    autojump_clock: trio.testing.MockClock,
) -> None:
    burst = Burst()
    for value in (EVENT, PROGRESS, UNSAVED):
        burst.say("a", "b")
        burst.hub.publish(value)
    burst.run_calls()
    assert burst.heard == [b"a", b"b", b"Event", b"ab", b"Progress", b"ab", b"TurnUnsaved"]


async def test_who_comes_later_hears_nothing_of_what_was_gathered_before(
    autojump_clock: trio.testing.MockClock,
) -> None:
    burst, late = Burst(), Recorder()
    burst.say("a", "b")
    burst.hub.subscribe(late)
    burst.say("c")
    burst.run_calls()
    assert burst.heard == [b"a", b"b", b"c"]
    assert late.frames == [(b"c", True)]


async def test_who_has_left_is_offered_nothing_that_was_gathered(
    autojump_clock: trio.testing.MockClock,
) -> None:
    burst = Burst()
    burst.say("a", "b")
    burst.hub.break_off()
    burst.run_calls()
    assert burst.heard == [b"a", b"over"]


async def test_no_more_is_gathered_than_an_outbox_writes_at_once(
    autojump_clock: trio.testing.MockClock,
) -> None:
    burst = Burst()
    half = "\N{GRINNING FACE}" * (GATHERED_LENGTH // 2)
    burst.say("a", half, half)
    assert [len(frame) for frame in burst.heard] == [1, WRITE_BYTES]
    burst.run_calls()
    assert len(burst.heard) == 2


async def test_what_is_gathered_goes_out_when_the_tasks_have_run(
    autojump_clock: trio.testing.MockClock,
) -> None:
    burst = Burst()
    burst.hub = Hub(spell, later=trio.lowlevel.current_trio_token().run_sync_soon)
    burst.hub.subscribe(burst.one)
    burst.say("a", "b", "c")
    await trio.testing.wait_all_tasks_blocked()
    assert burst.heard == [b"a", b"bc"]


async def test_thought_and_text_stay_apart_and_in_order(
    autojump_clock: trio.testing.MockClock,
) -> None:
    burst = Burst()
    encoded: list[tuple[TextKind, int, str]] = []

    def encode(value: Published) -> bytes:
        if isinstance(value, Delta):
            encoded.append((value.kind, value.offset, value.text))
        return spell(value)

    burst.hub = Hub(encode, later=burst.calls.append)
    burst.hub.subscribe(burst.one)
    burst.say("now")
    burst.say("I ", "think", kind="reasoning")
    burst.say(", so", " I", " am")
    burst.run_calls()
    assert burst.heard == [b"now", b"I think, so I am"]
    assert encoded == [
        ("text", 0, "now"),
        ("reasoning", 0, "I think"),
        ("text", 3, ", so I am"),
    ]


FRAGMENT = st.tuples(
    st.sampled_from(["t.0", "t.1"]), st.sampled_from(["text", "reasoning"]), st.text()
)


@given(st.lists(FRAGMENT))
def test_joined_deltas_say_what_they_said_apart(fragments: list[tuple[str, TextKind, str]]) -> None:
    deltas: list[Delta] = []
    lengths: dict[tuple[str, TextKind], int] = {}
    for item_id, kind, text in fragments:
        offset = lengths.get((item_id, kind), 0)
        lengths[item_id, kind] = offset + len(text)
        deltas.append(replace(DELTA, item_id=item_id, kind=kind, offset=offset, text=text))
    joined = join_deltas(deltas)
    assert spread(joined) == spread(deltas)
    keys = [(each.item_id, each.kind) for each in joined]
    assert all(one != other for one, other in itertools.pairwise(keys))


def spread(deltas: list[Delta]) -> list[tuple[str, str, int, str]]:
    """Every code point with its place, in the order in which it is heard."""
    return [
        (each.item_id, each.kind, each.offset + number, point)
        for each in deltas
        for number, point in enumerate(each.text)
    ]


async def test_events_that_were_committed_together_are_offered_together_behind_what_was_said(
    autojump_clock: trio.testing.MockClock,
) -> None:
    burst = Burst()
    burst.say("a", "b")
    burst.hub.publish_all([EVENT, EVENT, EVENT])
    assert burst.one.frames == [(b"a", True), (b"b", True), (b"Event" * 3, False)]
    burst.hub.publish_all([])
    assert len(burst.heard) == 3


def test_many_events_are_offered_in_several_pieces_for_those_who_have_room_for_some() -> None:
    each = hub_module.TOGETHER_BYTES // 2
    hub, one = Hub(lambda value: b"e" * each), Recorder()
    hub.subscribe(one)
    hub.publish_all([EVENT] * 5)
    assert [len(frame) for frame, _ in one.frames] == [2 * each, 2 * each, each]


def test_events_that_nobody_watches_are_not_encoded() -> None:
    encode = Encoder()
    Hub(encode).publish_all([EVENT])
    assert encode.count == 0
