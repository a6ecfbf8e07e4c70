"""The view: what of a log a model may see, as the changes that are in force say.

The log keeps everything; a change hides a beginning of it, single exchanges, or
the text of tool outputs, and may put something in its place. Changes are folded
in their order, and an `undo` takes one back together with every pruning and
compaction that was built on it. It plans no change, and shows no item.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from askd.core.events import HeadItem, ViewChanged


@dataclass(frozen=True, slots=True)
class View:
    """What may be seen.

    Attributes:
        floor: turns up to this position are out, but for their pinned items. -1: none is.
        head: what stands in front of what remains, in place of what left.
        stubbed: ids of tool outputs of which only a line is shown.
        dropped: ids of single items that left; whole exchanges.
        basis: the id of the last change in force. A plan is made for one view: it must not be
            carried out on another.
    """

    floor: int = -1
    head: tuple[HeadItem, ...] = ()
    stubbed: frozenset[str] = frozenset()
    dropped: frozenset[str] = frozenset()
    basis: str | None = None

    def holds(self, position: int) -> bool:
        """Whether the turn at this position may be seen."""
        return position > self.floor


@dataclass(frozen=True, slots=True)
class _Change:
    """A change in force; `position` of the last turn that it hides, None: it hides none."""

    body: ViewChanged
    position: int | None


class Views:
    """The changes of one conversation, and the view that they make."""

    def __init__(self) -> None:
        self._changes: list[_Change] = []
        self._view = View()

    @property
    def current(self) -> View:
        """The view as it is now."""
        return self._view

    def apply(self, change: ViewChanged, position: int | None) -> None:
        """The next change of the log; `position` of the last turn that it hides, if any."""
        if change.kind == "undo":
            self._take_back(change.restored)
        else:
            self._changes.append(_Change(change, position))
        self._view = _fold(self._changes)

    def find_undoable(self) -> ViewChanged | None:
        """The last pruning or compaction that is in force and that nothing cleared away."""
        for each in reversed(self._changes):
            if each.body.kind == "clear":
                return None
            return each.body
        return None

    def _take_back(self, change_id: str | None) -> None:
        place = next((k for k, each in enumerate(self._changes) if each.body.id == change_id), None)
        if place is None:
            return
        # What came after was made of what this one showed; a clear was made of nothing.
        after = [each for each in self._changes[place + 1 :] if each.body.kind == "clear"]
        self._changes = [*self._changes[:place], *after]


def _fold(changes: Iterable[_Change]) -> View:
    floor = -1
    head: tuple[HeadItem, ...] = ()
    stubbed: set[str] = set()
    dropped: set[str] = set()
    basis = None
    for change in changes:
        body = change.body
        basis = body.id
        if change.position is not None:
            floor = max(floor, change.position)
        if body.kind == "clear":
            head = ()
        elif change.position is not None or body.summary is not None or body.kept:
            head = body.kept if body.summary is None else (*body.kept, body.summary)
        stubbed.update(body.stubbed_items)
        dropped.update(body.dropped_items)
    return View(floor, head, frozenset(stubbed), frozenset(dropped), basis)
