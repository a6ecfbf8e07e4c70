"""Histories that people could have had: turns with and without tools, pins, changes of the view.

`History` grows a healthy log by one thing at a time, as a daemon would; `histories`
draws one. Sizes are small, so that the bounds used with them are, too.
"""

from collections.abc import Sequence
from typing import Literal

from hypothesis import strategies as st

from askd.core.bounds import Bounds, find_bounds
from askd.core.compaction import make_change, plan_compaction
from askd.core.context import build_context
from askd.core.conversation import Conversation, fold
from askd.core.events import (
    Body,
    ConversationCreated,
    Event,
    ItemAdded,
    ItemPinned,
    ItemUnpinned,
    PromptSteered,
    PromptWithdrawn,
    TurnFinished,
    TurnStarted,
    ViewChanged,
)
from askd.core.items import AssistantMessage, Blob, Item, Text, ToolCall, ToolOutput, UserMessage
from askd.core.pruning import plan_pruning
from tests.core.turn_world import accept

OVERHEAD = 5
FRAME = 4
CALL = 8


def count_tokens(items: Sequence[Item]) -> int:
    """A token is four characters here, so that tests can count."""
    return sum(_count_item(item) for item in items)


def _count_item(item: Item) -> int:
    size = FRAME
    for part in getattr(item, "parts", ()):
        size += part.bytes // 4 if isinstance(part, Blob) else -(-len(part.text) // 4)
    size += -(-len(getattr(item, "text", "")) // 4)
    for call in getattr(item, "calls", ()):
        size += CALL + len(call.arguments) // 4
    return size + sum(len(each.text) // 4 for each in getattr(item, "reasoning", ()))


BOUNDS = find_bounds(
    2000,
    1500,
    compaction_threshold=0.6,
    prune_threshold=0.7,
    user_tokens=200,
    summary_tokens=100,
    min_turns=2,
)
Step = tuple[str, int, int]


class History:
    """A log that grows. `bounds` are those that its changes are planned with."""

    def __init__(self, bounds: Bounds = BOUNDS) -> None:
        self.bounds = bounds
        self.bodies: list[Body] = [ConversationCreated("c")]
        self.running: str | None = None
        self._count = 0
        self._changes = 0

    @property
    def conversation(self) -> Conversation:
        """The log, folded."""
        numbered = enumerate(self.bodies, start=1)
        return fold("c", [Event("c", seq, float(seq), body) for seq, body in numbered])

    @property
    def tokens(self) -> int:
        """Of the next request, as planners count it."""
        it = self.conversation
        return OVERHEAD + count_tokens(build_context(it, it.running, system=None).items)

    def begin(self, size: int, *, attach: bool = False) -> str:
        """A prompt of about `size` tokens, and its turn."""
        turn_id = f"t{self._count}"
        self._count += 1
        words = f"ask {turn_id} " + "why " * size
        accepted = accept(turn_id, text=words)
        if attach:
            blob = Blob(f"{self._count:064x}", 4 * size, "text/plain", "notes.txt")
            message = UserMessage(f"{turn_id}.0", (Text(words), blob))
            accepted = accept(turn_id, items=(message,))
        self.bodies += [accepted, TurnStarted(turn_id, 1)]
        self.running = turn_id
        return turn_id

    def use_tool(self, size: int, *, parallel: bool = False) -> None:
        """One exchange of the running turn."""
        assert self.running is not None
        number = 1 + sum(isinstance(body, ItemAdded) for body in self.bodies)
        item_id = f"{self.running}.{number}"
        calls = tuple(ToolCall(f"{item_id}c{k}", "f", "{}") for k in range(2 if parallel else 1))
        message = AssistantMessage(item_id, (Text("Let me see."),), calls=calls)
        self.bodies.append(ItemAdded(self.running, message, number))
        for k, call in enumerate(calls):
            text = Text("out " * size)
            output = ToolOutput(f"{item_id}.{k}", call.call_id, "f", (text,))
            self.bodies.append(ItemAdded(self.running, output, number))

    def end(
        self, size: int, *, outcome: Literal["completed", "failed", "interrupted"] = "completed"
    ) -> None:
        """The answer of the running turn, and its end."""
        assert self.running is not None
        if outcome != "failed":
            answer = AssistantMessage(f"{self.running}.last", (Text("because " * size),))
            self.bodies.append(ItemAdded(self.running, answer, 99))
        self.bodies.append(TurnFinished(self.running, outcome, 0))
        self.running = None

    def steer(self, size: int) -> None:
        """A message that cuts the answer of the running turn."""
        assert self.running is not None
        number = 1 + sum(isinstance(body, ItemAdded) for body in self.bodies)
        item_id = f"{self.running}.{number}"
        said = UserMessage(f"{item_id}s", (Text("rather this " * size),))
        self.bodies.append(PromptSteered(self.running, f"key-{said.id}", (said,)))
        cut = AssistantMessage(item_id, (Text("because"),))
        self.bodies.append(ItemAdded(self.running, cut, number, "interrupted"))
        self.bodies.append(ItemAdded(self.running, said))

    def withdraw(self) -> None:
        """A prompt that was taken back."""
        turn_id = f"t{self._count}"
        self._count += 1
        end = TurnFinished(turn_id, "withdrawn", 1)
        self.bodies += [accept(turn_id), PromptWithdrawn(turn_id), end]

    def compact(self, summary: str = "It was said.") -> ViewChanged | None:
        """Plan and carry out a compaction, if one is of use."""
        plan = plan_compaction(
            self.conversation, bounds=self.bounds, count=count_tokens, overhead=OVERHEAD
        )
        if plan is None:
            return None
        name = self._name_change()
        return self._add(
            make_change(plan, summary, change_id=name, summary_id=f"{name}s", count=count_tokens)
        )

    def prune(self) -> ViewChanged | None:
        """Plan and carry out a pruning, if one is of use."""
        name = self._name_change()
        return self._add(
            plan_pruning(
                self.conversation,
                change_id=name,
                summary_id=f"{name}s",
                bounds=self.bounds,
                count=count_tokens,
                overhead=OVERHEAD,
            )
        )

    def undo(self) -> bool:
        """Take the last change back, if there is one."""
        last = self.conversation.views.find_undoable()
        if last is not None:
            self.bodies.append(ViewChanged(self._name_change(), "undo", restored=last.id))
        return last is not None

    def _name_change(self) -> str:
        self._changes += 1
        return f"v{self._changes}"

    def _add(self, change: ViewChanged | None) -> ViewChanged | None:
        if change is not None:
            self.bodies.append(change)
        return change

    def take(self, step: Step) -> None:
        """One drawn step; what makes no sense now is passed over."""
        kind, size, chance = step
        if self.running is None and kind in ("turn", "begin", "failed"):
            self.begin(size, attach=chance % 5 == 0)
            for k in range(chance % 3):
                self.use_tool(size, parallel=k == 1)
            if kind != "begin":
                self.end(size, outcome="failed" if kind == "failed" else "completed")
        elif self.running is not None and kind == "tool":
            self.use_tool(size, parallel=chance % 2 == 0)
        elif self.running is not None and kind == "steer":
            self.steer(size)
        elif self.running is not None and kind == "turn":
            self.end(size, outcome="interrupted" if chance % 4 == 0 else "completed")
        elif kind == "withdraw":
            self.withdraw()
        elif kind in ("pin", "unpin"):
            self._pin(kind, chance)
        elif kind == "clear":
            self.bodies.append(ViewChanged(self._name_change(), "clear"))
        elif kind == "compact":
            self.compact()
        elif kind == "prune":
            self.prune()
        elif kind == "undo":
            self.undo()

    def _pin(self, kind: str, chance: int) -> None:
        ids = [body.item.id for body in self.bodies if isinstance(body, ItemAdded)]
        ids += [f"t{k}.0" for k in range(self._count)]
        if ids:
            item_id = ids[chance % len(ids)]
            self.bodies.append(ItemPinned(item_id) if kind == "pin" else ItemUnpinned(item_id))


KINDS = (
    *("turn",) * 6, "begin", *("tool",) * 3, "failed", "withdraw", "steer", "pin", "unpin", "clear",
    "compact", "compact", "prune", "prune", "undo",
)  # fmt: skip
STEPS: st.SearchStrategy[Step] = st.tuples(
    st.sampled_from(KINDS), st.sampled_from([1, 10, 80, 300, 1800]), st.integers(0, 20)
)


def histories(least: int = 0, most: int = 25) -> st.SearchStrategy[list[Step]]:
    """Steps of a history."""
    return st.lists(STEPS, min_size=least, max_size=most)


def play(steps: list[Step]) -> History:
    """The history that these steps make."""
    history = History()
    for step in steps:
        history.take(step)
    return history
