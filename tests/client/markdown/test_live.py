"""The region on a terminal: all that came stands on the screen once, painted where that is so."""

import re
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ask.markdown.blocks import Splitter
from ask.markdown.live import PAINT_S, QUIET_S, Live
from ask.markdown.loading import Loading
from ask.markdown.paint import Painter
from tests.client.markdown.texts import ANSWER, PLACES, cut_up
from tests.fakes.growth import LINEAR, find_growth
from tests.fakes.screens import FakeScreen


class AtHand(Loading):
    """A painter that comes when it is told to."""

    def __init__(self, *, now: bool = True, broken: bool = False) -> None:
        super().__init__()
        self._now, self._broken = now, broken
        self.waited = False

    def begin(self) -> None:
        self.begun = True

    def arrive(self) -> None:
        self._now = True

    @property
    def over(self) -> bool:
        return self.begun and self._now

    @property
    def found(self) -> type[Painter] | None:
        return Painter if self.over and not self._broken else None

    def wait(self, limit_s: float) -> None:
        self.begin()
        self._now = self.waited = True


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Stand:
    """A live region on a screen."""

    def __init__(
        self,
        columns: int = 60,
        lines: int = 200,
        *,
        loading: AtHand | None = None,
        reflows: bool = True,
    ) -> None:
        self.screen = FakeScreen(columns, lines, reflows=reflows)
        self.clock = Clock()
        self.loading = loading or AtHand()
        self.live = Live(
            size=self.screen.size, out=self.screen.write, clock=self.clock, loading=self.loading
        )


def paint_whole(text: str, columns: int, lines: int = 200) -> str:
    """The screen after the whole answer was painted at once."""
    splitter = Splitter()
    screen = FakeScreen(columns, lines)
    screen.write(Painter(columns).paint_all([*splitter.feed(text), *splitter.finish()]))
    return screen.text


def said(text: str) -> str:
    """The words without what painting changes."""
    return re.sub(r"[\W_]", "", text)


LEADS = st.sampled_from(["  a b", " c   d  ", "a\tb"])
WORDS = st.integers(min_value=0, max_value=10**6).map(lambda n: f"w{n}")
LINES = st.one_of(
    WORDS,
    st.lists(WORDS, min_size=12, max_size=30).map(" ".join),
    WORDS.map(lambda word: f"- **{word}** a"),
    WORDS.map(lambda word: f"## {word}"),
    LEADS,
    st.sampled_from(["", "", "```", "```python", "> q", "日本語 e\u0301 ❤\ufe0f"]),
    st.just("\n|a|b|\n|-|-|\n|c|d|\n"),
)
TEXTS = st.lists(LINES, min_size=1, max_size=40).map(lambda lines: "\n".join(lines) + "\n")


@settings(deadline=None)
@given(TEXTS, PLACES, st.integers(40, 300), st.lists(st.floats(0, 0.1), max_size=20))
def test_a_high_screen_shows_the_whole_painted(
    text: str, places: list[int], columns: int, pauses: list[float]
) -> None:
    stand = Stand(columns, 2000)
    for number, piece in enumerate(cut_up(text, places)):
        stand.clock.now += pauses[number] if number < len(pauses) else 0.05
        stand.live.feed(piece)
        stand.live.tick()
    stand.live.finish()
    assert stand.screen.text == paint_whole(text, columns)


SIZES = st.tuples(st.integers(20, 300), st.integers(4, 60))


@settings(max_examples=200, deadline=None)
@given(
    TEXTS,
    PLACES,
    st.lists(SIZES, min_size=1, max_size=6),
    st.booleans(),
    st.lists(st.integers(0, 3), max_size=30),
)
def test_nothing_is_lost_and_nothing_shown_twice(
    text: str,
    places: list[int],
    sizes: list[tuple[int, int]],
    late: bool,
    turns: list[int],
) -> None:
    stand = Stand(*sizes[0], loading=AtHand(now=not late))
    for number, piece in enumerate(cut_up(text, places)):
        stand.live.feed(piece)
        match turns[number] if number < len(turns) else 0:
            case 0:
                stand.clock.now += 1.0
                stand.live.tick()
            case 1 if len(sizes) > 1:
                sizes = sizes[1:]
                stand.screen.resize(*sizes[0])
            case 2:
                stand.loading.arrive()
            case 3:
                stand.live.pause()
                assert stand.screen.text.endswith("\n")
            case _:
                pass
    stand.live.finish()
    assert said(stand.screen.text) == said(text)


def test_text_is_shown_before_it_is_finished() -> None:
    stand = Stand()
    stand.live.feed("Some **bo")
    assert stand.screen.text == "Some **bo\n"
    stand.live.feed("ld** words")
    assert stand.screen.text == "Some **bold** words\n"
    stand.live.feed("\n\nmore")
    stand.clock.now += PAINT_S
    stand.live.tick()
    assert stand.screen.text == "Some bold words\n\nmore\n"


def test_the_painter_may_come_late() -> None:
    stand = Stand(loading=AtHand(now=False))
    stand.live.feed("# One\n\n**two** th")
    assert stand.live.tick() is not None
    assert stand.screen.text == "# One\n\n**two** th\n"
    stand.loading.arrive()
    stand.clock.now += PAINT_S
    assert stand.live.tick() is None
    assert stand.screen.text == "One\n\n**two** th\n"


def test_what_has_scrolled_stays_as_it_is() -> None:
    stand = Stand(40, 6, loading=AtHand(now=False))
    stand.live.feed("".join(f"- **{number}**\n" for number in range(10)))
    stand.loading.arrive()
    stand.live.finish()
    lines = stand.screen.text.splitlines()
    assert lines[:5] == [f"- **{number}**" for number in range(5)]
    assert lines[5:] == [f"• {number}" for number in range(5, 10)]


def test_a_block_that_no_screen_holds_stays_plain_and_the_next_is_painted() -> None:
    stand = Stand(40, 6)
    for word in range(100):
        stand.live.feed(f"**w{word}** ")
    stand.live.feed("\n\n**next**\n")
    stand.live.finish()
    text = stand.screen.text
    assert text.endswith("\n\nnext\n")
    assert "**w99**" in text.replace("\n", "")


@pytest.mark.parametrize("reflows", [True, False])
@pytest.mark.parametrize("columns", [200, 41])
def test_another_width_leaves_what_stands(columns: int, reflows: bool) -> None:
    stand = Stand(80, 24, reflows=reflows)
    stand.live.feed("**one** " + "x" * 100)
    stand.screen.resize(columns, 24)
    stand.live.feed(" two\n\n**three**\n")
    stand.live.finish()
    text = stand.screen.text
    assert text.startswith("**one** xxx")
    assert text.endswith("\n\nthree\n")
    assert text.count("x") == 100


def test_paintings_are_bounded_however_many_deltas_come() -> None:
    stand = Stand(80, 24)
    text = "".join(f"- item *{number}*\n" for number in range(2500))
    painted: list[float] = []
    paint_all = Painter.paint_all

    class Counting(Painter):
        def paint_all(self, blocks: object) -> str:
            painted.append(stand.clock.now)
            return paint_all(self, blocks)  # type: ignore[arg-type] # as it came

    stand.loading.__class__ = type("Found", (AtHand,), {"found": property(lambda _: Counting)})
    for place in range(0, len(text), 4):
        stand.clock.now += 0.0001
        stand.live.feed(text[place : place + 4])
    stand.live.finish()
    screens = 2500 / 24
    assert len(painted) < 1 / PAINT_S + 2 * screens
    assert all(later >= earlier for earlier, later in pairwise(painted))
    assert stand.screen.text == paint_whole(text, 80, 24)


def test_a_large_piece_is_painted_at_once() -> None:
    stand = Stand(80, 24)
    stand.live.feed("a")
    stand.clock.now += 0.001
    before = stand.screen.writes
    stand.live.feed(ANSWER * 50)
    assert stand.screen.writes == before + 1
    stand.live.finish()
    assert stand.screen.text == paint_whole("a" + ANSWER * 50, 80)


def test_plain_words_wait_for_no_painter() -> None:
    stand = Stand(loading=AtHand(now=False))
    stand.live.feed("Yes.\n")
    stand.live.finish()
    assert not stand.loading.waited
    assert stand.screen.text == "Yes.\n"


def test_the_end_waits_for_the_painter() -> None:
    stand = Stand(loading=AtHand(now=False))
    stand.live.feed("# Yes")
    stand.live.finish()
    assert stand.loading.waited
    assert stand.screen.text == "Yes\n"


def test_without_a_painter_it_stays_plain() -> None:
    stand = Stand(200, loading=AtHand(broken=True))
    stand.live.feed(ANSWER)
    assert stand.live.tick() is None
    stand.live.finish()
    assert stand.screen.text == ANSWER.replace("\t", "    ")


def test_the_painter_is_loaded_after_the_first_text_or_a_while() -> None:
    stand = Stand()
    assert stand.live.tick() == pytest.approx(QUIET_S)
    assert not stand.loading.begun
    stand.clock.now += QUIET_S
    assert stand.live.tick() is None
    other = Stand()
    other.live.feed("a")
    assert (stand.loading.begun, other.loading.begun) == (True, True)


def test_something_else_is_shown_below() -> None:
    stand = Stand()
    stand.live.feed("```python\nx = **1")
    stand.live.pause()
    stand.screen.write("told\n")
    stand.live.feed("**\n```\n*end*")
    stand.live.finish()
    assert stand.screen.text == "```python\nx = **1\ntold\n**\n```\nend\n"
    assert "```" in stand.screen.text


def test_a_pause_without_text_writes_nothing() -> None:
    stand = Stand()
    stand.live.pause()
    stand.live.finish()
    assert stand.screen.writes == 0


def test_a_small_terminal_stays_plain() -> None:
    stand = Stand(12, 3)
    stand.live.feed("# One\n\n**two**\n")
    stand.live.finish()
    assert stand.screen.text == "# One\n\n**two**\n"


def test_it_rests_until_something_can_be_read(pipe: tuple[int, Callable[[], None]]) -> None:
    reader, say = pipe
    stand = Stand()
    stand.clock.now += QUIET_S
    stand.live.rest(reader)  # nothing is due: it does not wait
    stand.live.feed("# a\n")
    say()
    stand.live.rest(reader)
    assert stand.screen.text == "a\n"


def test_after_a_block_that_was_lost_the_next_is_painted() -> None:
    stand = Stand(40, 6)
    stand.live.feed("- " + "word " * 100)
    stand.clock.now += 1.0
    stand.live.feed("\n- **next**\n")  # the first is finished, and nothing else
    stand.live.finish()
    assert stand.screen.text.endswith("word\n• next\n")


def test_plain_words_are_left_where_they_are() -> None:
    stand = Stand()
    for _ in range(3):
        stand.clock.now += 1.0
        stand.live.feed("Yes, so it is.\n\n")
    assert stand.live.tick() is None
    before = stand.screen.writes
    stand.live.finish()
    assert stand.screen.writes == before


@pytest.mark.parametrize("broken", [False, True])
@pytest.mark.parametrize(
    "unit",
    ["word ", "**b** ", "words and words\n", "- **x** y\n", "```\n```\n", "> a *b*\n", "日本 "],
)
def test_a_long_answer_takes_its_time_in_proportion(unit: str, broken: bool) -> None:
    def make(size: int) -> Callable[[], None]:
        text = (unit * size)[:size]

        def work() -> None:
            clock = Clock()
            loading = AtHand(broken=broken)
            live = Live(size=lambda: (80, 24), out=lambda _: None, clock=clock, loading=loading)
            for place in range(0, size, 4):
                clock.now += 0.001
                live.feed(text[place : place + 4])
                live.tick()
            live.finish()

        return work

    assert find_growth(make, 2000) < LINEAR
