"""The view as changes make it: what is in force, what an undo takes back."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from askd.core.events import ViewChanged
from askd.core.items import Summary, Text, ToolOutput, UserMessage
from askd.core.view import View, Views

KEPT = UserMessage("m", (Text("keep me"),))
FIRST = Summary("s1", "first")
SECOND = Summary("s2", "second")


def make(*changes: tuple[ViewChanged, int | None]) -> Views:
    views = Views()
    for change, position in changes:
        views.apply(change, position)
    return views


def test_without_changes_everything_is_seen() -> None:
    assert Views().current == View()
    assert Views().current.holds(0)


def test_a_compaction_hides_turns_and_stands_in_their_place() -> None:
    views = make((ViewChanged("x", "compact", "t", summary=FIRST, kept=(KEPT,)), 3))
    view = views.current
    assert (view.holds(3), view.holds(4)) == (False, True)
    assert view.head == (KEPT, FIRST)
    assert view.basis == "x"


def test_the_later_one_takes_the_place_of_the_earlier() -> None:
    views = make(
        (ViewChanged("x", "compact", "t", summary=FIRST, kept=(KEPT,)), 3),
        (ViewChanged("y", "compact", "u", summary=SECOND), 5),
    )
    assert views.current.head == (SECOND,)
    assert views.current.floor == 5


def test_stubs_alone_leave_what_stands_in_front() -> None:
    views = make(
        (ViewChanged("x", "compact", "t", summary=FIRST), 3),
        (ViewChanged("y", "prune", stubbed_items=("o",), dropped_items=("a",)), None),
    )
    view = views.current
    assert (view.floor, view.head) == (3, (FIRST,))
    assert (set(view.stubbed), set(view.dropped)) == ({"o"}, {"a"})


def test_a_summary_within_a_turn_needs_no_turn_to_hide() -> None:
    views = make((ViewChanged("x", "compact", summary=FIRST, dropped_items=("a",)), None))
    assert views.current == View(-1, (FIRST,), dropped=frozenset({"a"}), basis="x")


def test_undo_takes_back_what_was_built_on_it() -> None:
    views = make(
        (ViewChanged("x", "compact", "t", summary=FIRST), 3),
        (ViewChanged("y", "prune", "u", summary=SECOND, stubbed_items=("o",)), 5),
        (ViewChanged("z", "undo", restored="x"), None),
    )
    assert views.current == View()


def test_undo_of_the_last_brings_back_the_one_before() -> None:
    views = make(
        (ViewChanged("x", "compact", "t", summary=FIRST), 3),
        (ViewChanged("y", "compact", "u", summary=SECOND), 5),
        (ViewChanged("z", "undo", restored="y"), None),
    )
    assert views.current == View(3, (FIRST,), basis="x")
    undoable = views.find_undoable()
    assert undoable is not None
    assert undoable.id == "x"


def test_a_clear_outlives_the_undo_of_what_was_before_it() -> None:
    views = make(
        (ViewChanged("x", "compact", "t", summary=FIRST), 3),
        (ViewChanged("c", "clear", "v"), 7),
        (ViewChanged("z", "undo", restored="x"), None),
    )
    assert views.current == View(7, basis="c")
    assert views.find_undoable() is None


def test_an_undo_of_nothing_changes_nothing() -> None:
    change = ViewChanged("x", "compact", "t", summary=FIRST)
    views = make((change, 3), (ViewChanged("z", "undo", restored="nobody"), None))
    assert views.current == make((change, 3)).current


def test_a_clear_can_say_what_happened() -> None:
    views = make(
        (ViewChanged("x", "compact", "t", summary=FIRST, kept=(KEPT,)), 3),
        (ViewChanged("c", "clear", "v", summary=SECOND), 7),
    )
    assert views.current == View(7, (SECOND,), basis="c")


def test_a_shortened_output_stays_so_and_makes_no_plan_wrong() -> None:
    short = ToolOutput("o", "call", "f", (Text("in short"),))
    views = make(
        (ViewChanged("x", "compact", "t", summary=FIRST), 3),
        (ViewChanged("y", "shorten", shortened=(short,)), None),
    )
    assert views.current == View(3, (FIRST,), basis="x", shortened={"o": short})
    undoable = views.find_undoable()
    assert undoable is not None
    assert undoable.id == "x"
    views.apply(ViewChanged("u", "undo", restored="x"), None)
    assert views.current == View(shortened={"o": short})
    views.apply(ViewChanged("c", "clear", "t"), 4)
    assert views.current == View(4, basis="c", shortened={"o": short})


def test_a_view_that_was_looked_at_does_not_change() -> None:
    short = ToolOutput("o", "call", "f", ())
    views = make((ViewChanged("y", "shorten", shortened=(short,)), None))
    seen = views.current
    views.apply(ViewChanged("z", "shorten", shortened=(replace(short, id="p"),)), None)
    assert set(seen.shortened) == {"o"}
    assert set(views.current.shortened) == {"o", "p"}


KINDS = st.sampled_from(["prune", "compact", "clear"])


@given(st.lists(st.tuples(KINDS, st.none() | st.integers(0, 9)), max_size=8), st.data())
def test_undo_is_as_if_it_had_never_been(
    made: list[tuple[str, int | None]], data: st.DataObject
) -> None:
    """Of the last change; of an earlier one, as if nothing but clears had followed it."""
    changes = [
        (ViewChanged(str(k), kind, summary=None if kind == "clear" else Summary(f"s{k}", "")), at)  # type: ignore[arg-type]
        for k, (kind, at) in enumerate(made)
    ]
    views = make(*changes)
    if not changes:
        return
    place = data.draw(st.integers(0, len(changes) - 1))
    views.apply(ViewChanged("u", "undo", restored=str(place)), None)
    clears = [each for each in changes[place + 1 :] if each[0].kind == "clear"]
    assert views.current == make(*changes[:place], *clears).current
