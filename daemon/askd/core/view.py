"""The view: what of a log a model may see, as the changes that are in force say.

The log keeps everything; a change hides a beginning of it, single exchanges, or
the text of tool outputs, and may put something in its place. Changes are folded
in their order, and an `undo` takes one back together with every pruning and
compaction that was built on it. A tool output that was shortened stays so, whatever
else changes: requests would else not begin as they did before. It plans no change,
and shows no item.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from askd.core.events import HeadItem, ViewChanged
from askd.core.items import ToolOutput


@dataclass(frozen=True, slots=True)
class View:
    """What may be seen.

    Attributes:
        floor: turns up to this position are out, but for their pinned items. -1: none is.
        head: what stands in front of what remains, in place of what left.
        stubbed: ids of tool outputs of which only a line is shown.
        dropped: ids of single items that left; whole exchanges.
        shortened: tool outputs that were too large, as they are seen, by their id.
        basis: the id of the last change in force. A plan is made for one view: it must not be
            carried out on another.
    """

    floor: int = -1
    head: tuple[HeadItem, ...] = ()
    stubbed: frozenset[str] = frozenset()
    dropped: frozenset[str] = frozenset()
    basis: str | None = None
    shortened: Mapping[str, ToolOutput] = field(default_factory=dict)

    def holds(self, position: int) -> bool:
        """Whether the turn at this position may be seen."""
        return position > self.floor


@dataclass(frozen=True, slots=True)
class _Change:
    """A change in force, the last turn that it hides (None: it hides none), and what came of it."""

    body: ViewChanged
    position: int | None
    floor: int
    head: tuple[HeadItem, ...]


class Views:
    """The changes of one conversation, and the view that they make."""

    def __init__(self) -> None:
        self._changes: list[_Change] = []
        self._shortened: dict[str, ToolOutput] = {}
        self._view = View()

    @property
    def current(self) -> View:
        """The view as it is now."""
        return self._view

    def apply(self, change: ViewChanged, position: int | None) -> None:
        """The next change of the log; `position` of the last turn that it hides, if any."""
        match change.kind:
            case "undo":
                self._take_back(change.restored)
            case "shorten":
                # Beside the changes: no plan that was made before is wrong because of it.
                added = {output.id: output for output in change.shortened}
                self._shortened = {**self._shortened, **added}
                self._view = replace(self._view, shortened=self._shortened)
            case "prune" | "compact" | "clear":
                self._add(change, position)

    def find_undoable(self) -> ViewChanged | None:
        """The last pruning or compaction that is in force and that nothing cleared away."""
        last = self._changes[-1].body if self._changes else None
        return None if last is None or last.kind == "clear" else last

    def _add(self, body: ViewChanged, position: int | None) -> None:
        view = self._view
        head = view.head
        if body.kind == "clear" or position is not None or body.summary is not None or body.kept:
            # A clear has something to say only where it was not a person who cleared.
            head = body.kept if body.summary is None else (*body.kept, body.summary)
        floor = view.floor if position is None else max(view.floor, position)
        self._changes.append(_Change(body, position, floor, head))
        stubbed, dropped = view.stubbed, view.dropped
        if body.stubbed_items or body.dropped_items:
            stubbed, dropped = stubbed.union(body.stubbed_items), dropped.union(body.dropped_items)
        self._view = View(floor, head, stubbed, dropped, body.id, self._shortened)

    def _take_back(self, change_id: str | None) -> None:
        # From the end: what is taken back is mostly what came last.
        places = range(len(self._changes) - 1, -1, -1)
        place = next((k for k in places if self._changes[k].body.id == change_id), None)
        if place is None:
            return
        gone = self._changes[place:]
        del self._changes[place:]
        self._view = self._look_back(gone)
        for each in gone[1:]:
            # What came after was made of what this one showed; a clear was made of nothing.
            if each.body.kind == "clear":
                self._add(each.body, each.position)

    def _look_back(self, gone: Sequence[_Change]) -> View:
        """The view before these changes, which are the last ones."""
        stubbed, dropped = self._view.stubbed, self._view.dropped
        if any(each.body.stubbed_items or each.body.dropped_items for each in gone):
            bodies = [each.body for each in self._changes]
            stubbed = frozenset(item for body in bodies for item in body.stubbed_items)
            dropped = frozenset(item for body in bodies for item in body.dropped_items)
        if not self._changes:
            return View(shortened=self._shortened)
        last = self._changes[-1]
        return View(last.floor, last.head, stubbed, dropped, last.body.id, self._shortened)
