"""Pruning: a view made smaller without any model, by leaving out what is old.

First the text of old tool outputs, then whole exchanges, then whole turns, each
from the oldest on and no more than is needed. Pinned items and the last turns
stay; one summary stays that a model wrote. What left is told in one item, by the
first line of each message. What cannot be made small enough is an overflow, and
somebody else's to decide.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

from askd.core.bounds import Bounds, is_worth
from askd.core.compaction import Count
from askd.core.conversation import Conversation
from askd.core.cutting import cut_middle
from askd.core.events import HeadItem, ViewChanged
from askd.core.exchanges import Exchange, split_exchanges
from askd.core.items import AssistantMessage, Item, Summary, Text, ToolOutput, UserMessage
from askd.core.pairs import heal
from askd.core.sight import SeenTurn, Sight, find_finished, find_sight, find_staying, stub_output

GOAL_SHARE = 0.9
"""Of what starts a compaction: pruned to just below it, the next turn would be over it again."""
LINE_CHARACTERS = 100
"""Of a message that left, its first line, or so much of it."""
MOST_LINES = 50
"""More than this nobody reads; and together they take no more than a summary may."""
COMING_MESSAGES = 2
"""The prompt that is coming and its answer."""


@dataclass(slots=True, kw_only=True)
class _Draft:
    """What has been decided so far.

    Attributes:
        stubbed: what is seen of the outputs that were reduced, by their id.
        gone: ids of all that left.
    """

    stubbed: dict[str, ToolOutput] = field(default_factory=dict)
    dropped: list[Item] = field(default_factory=list)
    head: list[UserMessage] = field(default_factory=list)
    turns: list[SeenTurn] = field(default_factory=list)
    left: list[Item] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)

    @property
    def is_empty(self) -> bool:
        return not (self.stubbed or self.dropped or self.head or self.turns)


def plan_pruning(
    conversation: Conversation,
    *,
    change_id: str,
    summary_id: str,
    bounds: Bounds,
    count: Count,
    overhead: int,
    reason: str | None = None,
) -> ViewChanged | None:
    """What makes the next request small enough; None: nothing that may leave does.

    It goes on to `GOAL_SHARE` of the threshold of compaction, and to `max_messages`,
    as long as there is something to leave. Small enough is what fits the budget, if
    the request did not; one that did must become smaller by enough to matter.

    Args:
        overhead: tokens of a request that are no items: the system prompt, tools.
    """
    sight = find_sight(conversation, conversation.running)
    before = overhead + count(sight.items)
    goal = int(bounds.compact_above * GOAL_SHARE)
    pruner = _Pruner(conversation, sight, bounds=bounds, count=count, tokens=before)
    pruner.reduce(goal)
    if pruner.draft.is_empty or not pruner.begins_well:
        return None
    rest = pruner.find_rest()
    room = bounds.budget - overhead - count(rest)
    note = pruner.note(summary_id, limit=min(room, bounds.summary_tokens))
    tokens = overhead + count([*note, *rest])
    if tokens > bounds.budget:
        return None
    helps = before > bounds.budget or tokens <= bounds.compact_above or is_worth(before, tokens)
    if not (helps or pruner.had_too_many):
        return None
    return pruner.make_change(change_id, note, before=before, after=tokens, reason=reason)


class _Pruner:
    """One plan in the making."""

    def __init__(
        self,
        conversation: Conversation,
        sight: Sight,
        *,
        bounds: Bounds,
        count: Count,
        tokens: int,
    ) -> None:
        self.draft = _Draft()
        self._conversation = conversation
        self._sight = sight
        self._bounds = bounds
        self._count = count
        self._old_turns = self._find_old_turns()
        self._old_items = self._find_old_items()
        self._staying = self._find_staying()
        # What an earlier pruning told: a new note takes its place.
        self._notes = [each for each in sight.head if isinstance(each, Summary) and is_note(each)]
        self._tokens = tokens
        self._messages = _count_messages(sight.items)
        self.had_too_many = self._has_too_many()

    def reduce(self, goal: int) -> None:
        """Leave out what is needed."""
        steps = (self._stub_outputs, self._drop_exchanges, self._drop_turns)
        for step in steps:
            if self._is_done(goal):
                break
            step(goal)

    def find_rest(self) -> list[Item]:
        """What stays, as it will be seen, without the note."""
        draft = self.draft
        replaced = {each.id for each in self._notes} if draft.left or draft.turns else set()
        gone = draft.gone | replaced
        return [draft.stubbed.get(i.id, i) for i in self._sight.items if i.id not in gone]

    def make_change(
        self,
        change_id: str,
        note: tuple[Summary, ...],
        *,
        before: int,
        after: int,
        reason: str | None,
    ) -> ViewChanged:
        """The event that carries it out."""
        draft = self.draft
        return ViewChanged(
            change_id,
            "prune",
            draft.turns[-1].turn_id if draft.turns else None,
            dropped_items=tuple(item.id for item in draft.dropped),
            stubbed_items=tuple(draft.stubbed),
            summary=note[0] if note else None,
            kept=self._find_head() if note else (),
            tokens_before=before,
            tokens_after=after,
            up_to_seq=self._conversation.last_seq,
            reason=reason,
        )

    # ---- the steps ---------------------------------------------------------------

    def _is_done(self, goal: int) -> bool:
        return not self._has_too_many() and self._tokens <= goal

    def _has_too_many(self) -> bool:
        most = self._bounds.max_messages
        return most is not None and self._messages + COMING_MESSAGES > most

    def _stub_outputs(self, goal: int) -> None:
        """The text of old outputs leaves; what they answered stays."""
        staying = self._staying | self._conversation.view.stubbed
        for item in self._old_items:
            if self._tokens <= goal:
                return
            if not isinstance(item, ToolOutput) or item.id in staying:
                continue
            stub = stub_output(item)
            saved = self._count([item]) - self._count([stub])
            if saved > 0:
                self.draft.stubbed[item.id] = stub
                self._tokens -= saved

    def _drop_exchanges(self, goal: int) -> None:
        """Calls leave together with their outputs; what was said to people stays."""
        for piece in split_exchanges(self._old_items):
            if self._is_done(goal):
                return
            first = piece[0]
            if isinstance(first, AssistantMessage) and first.calls and self._may_leave(piece):
                self._drop(piece)

    def _drop_turns(self, goal: int) -> None:
        """What stands in front leaves, then whole turns."""
        for item in self._sight.head:
            if self._is_done(goal):
                return
            if isinstance(item, UserMessage):
                self.draft.head.append(item)
                self._leave([item])
        for turn in self._old_turns:
            if self._is_done(goal) and self.begins_well:
                return
            self.draft.turns.append(turn)
            self._leave(
                [
                    item
                    for item in turn.items
                    if item.id not in self._staying and item.id not in self.draft.gone
                ]
            )

    def _drop(self, piece: Exchange) -> None:
        self.draft.dropped += piece
        self._leave(piece)

    def _leave(self, items: Sequence[Item]) -> None:
        draft = self.draft
        draft.left += items
        draft.gone.update(item.id for item in items)
        self._tokens -= self._count([draft.stubbed.get(item.id, item) for item in items])
        self._messages -= _count_messages(items)

    def _may_leave(self, piece: Exchange) -> bool:
        return self._conversation.pinned.isdisjoint(item.id for item in piece)

    # ---- what may leave ------------------------------------------------------------

    def _find_old_turns(self) -> tuple[SeenTurn, ...]:
        """The turns that are over and not among the last ones."""
        old = max(0, len(self._sight.turns) - self._bounds.min_turns)
        return find_finished(self._conversation, self._sight)[:old]

    def _find_old_items(self) -> list[Item]:
        """Items of old turns, and of the running one all before its latest exchange."""
        items = [item for turn in self._old_turns for item in turn.items]
        asking = self._sight.asking
        if asking is not None:
            pieces = split_exchanges(heal(asking.items)[0])
            items += [item for piece in pieces[:-1] for item in piece]
        return items

    def _find_staying(self) -> set[str]:
        """Ids of all that is pinned, of exchanges all or nothing."""
        turns = list(self._old_turns)
        if self._sight.asking is not None:
            turns.append(self._sight.asking)
        return {item.id for item in find_staying(turns, self._conversation.pinned)}

    # ---- what is told ----------------------------------------------------------------

    @property
    def begins_well(self) -> bool:
        """Whether what stays, if turns left, begins with a person's message that says something."""
        if not self.draft.turns:
            return True
        turns, asking = self._sight.turns, self._sight.asking
        staying = (turns[k].items for k in range(len(self.draft.turns), len(turns)))
        pieces = chain(staying, [asking.items] if asking is not None else [])
        first = next((items[0] for items in pieces if items), None)
        return first is None or (isinstance(first, UserMessage) and bool(_find_line(first)))

    def _find_head(self) -> tuple[HeadItem, ...]:
        """What still stands in front; a note from before is replaced by the new one."""
        gone = {item.id for item in self.draft.head}
        return tuple(
            item
            for item in self._sight.head
            if item.id not in gone and not (isinstance(item, Summary) and is_note(item))
        )

    def note(self, summary_id: str, *, limit: int) -> tuple[Summary, ...]:
        """One item that tells what left; nothing if only the text of outputs did.

        Of the lines in it, the latest stay that fit `limit` tokens.
        """
        left = self.draft.left
        if not left and not self.draft.turns:
            return ()
        lines = [line for note in self._notes for line in note.text.splitlines()[1:]]
        lines += [_find_line(item) for item in left if isinstance(item, UserMessage)]
        total = _count_messages(left) + sum(_read_count(note) for note in self._notes)
        told = [f"- {line.removeprefix('- ')}" for line in lines if line][-MOST_LINES:]
        head = f"{total} earlier messages ({self._count(left)} tokens) were summarized:"
        note = Summary(summary_id, "\n".join([head, *told]))
        while told and self._count([note]) > limit:
            del told[: max(1, len(told) // 4)]
            note = Summary(summary_id, "\n".join([head, *told]))
        return (note,)


def is_note(summary: Summary) -> bool:
    """Whether this is what pruning tells, and no model's summary."""
    words = summary.text.split("\n", 1)[0].split()
    return len(words) > 3 and words[1:3] == ["earlier", "messages"] and words[-1] == "summarized:"


def _read_count(note: Summary) -> int:
    number = note.text.split(" ", 1)[0]
    return int(number) if number.isascii() and number.isdecimal() and len(number) < 10 else 0


def _find_line(message: UserMessage) -> str:
    """The first line of what a person said; of attachments alone their names."""
    for part in message.parts:
        if isinstance(part, Text) and part.name is None and part.text.strip():
            return cut_middle(part.text.strip().splitlines()[0].strip(), LINE_CHARACTERS)
    names = [part.name or "an attachment" for part in message.parts]
    return f"[{', '.join(names)}]" if names else ""


def _count_messages(items: Sequence[Item]) -> int:
    return sum(isinstance(item, UserMessage | AssistantMessage | ToolOutput) for item in items)
