"""Compaction: a model's summary takes the place of a beginning of the view.

Planned here and carried out elsewhere: what is summarised, what stays word for
word, what the model is asked, and the event that comes of its answer. The order
afterwards: pinned items, the users' own latest messages, the summary, the turns
that stay. A plan is for one view; on another it is worthless.

The prefix of a summary, and the rule by which users' messages are kept, are those
of Codex (its 0.63, 0.98 and 0.169 were observed), so that either reads the other's.
"""

import json
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from askd.core import answers
from askd.core.bounds import Bounds, is_worth
from askd.core.conversation import Conversation
from askd.core.cutting import cut_middle
from askd.core.events import HeadItem, ViewChanged
from askd.core.exchanges import split_exchanges
from askd.core.items import (
    AssistantMessage,
    Blob,
    Item,
    Part,
    Summary,
    Text,
    ToolCall,
    ToolOutput,
    UserMessage,
    join_text,
)
from askd.core.outcome import Usage
from askd.core.pairs import heal
from askd.core.sight import CUT, SeenTurn, Sight, find_finished, find_sight, find_staying

Count = Callable[[Sequence[Item]], int]
"""About how many tokens items are, for the model in question."""

PREFIX = (
    "Another language model started to solve this problem and produced a summary of its thinking "
    "process. You also have access to the state of the tools that were used by that language "
    "model. Use this to build on the work that has already been done and avoid duplicating work. "
    "Here is the summary produced by the other language model, use the information in this "
    "summary to assist with your own analysis:"
)
PREFIX_WORDS = len(PREFIX.split())
UNAVAILABLE = "(summary unavailable)"
PROMPT = """\
Write a concise summary of this conversation so far, for a model that will continue it without \
seeing what came before. Keep to what was said; add nothing. Cover, as far as they occur:
- the goal, and every constraint and preference, in the user's own words
- decisions that were made, and why
- information that will be needed again: names, numbers, paths, addresses, exact values
- files that were read or changed, and how
- attempts that failed, and why
- the working directory and the current state of the work
- points that are unresolved, and what comes next
Answer with the summary alone."""
MARK_CHARACTERS = 64
"""Arguments no longer than this are not worth a mark in their middle."""
GOAL_SHARE = 0.75
"""Of the threshold: what is compacted to just below it would be compacted again at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionPlan:
    """What is to be summarised, and what the view will be.

    Attributes:
        basis: the view that it was made for, as `View.basis`.
        through_turn, dropped_items: what leaves the view, as in `ViewChanged`.
        source: what the summary is made from, healed, in order.
        kept: users' messages that stand before the summary.
        tokens_before: of the next request, as things are.
        tokens_rest: of it afterwards, without the summary.
        up_to_seq: the log as it was.
    """

    basis: str | None
    through_turn: str | None
    dropped_items: tuple[str, ...]
    source: tuple[Item, ...]
    kept: tuple[HeadItem, ...]
    tokens_before: int
    tokens_rest: int
    up_to_seq: int


def plan_compaction(
    conversation: Conversation, *, bounds: Bounds, count: Count, overhead: int
) -> CompactionPlan | None:
    """What to summarise; None: nothing that could be would make it small enough.

    As many of the last turns stay whole as are asked for, fewer if that is not
    enough; of a turn that runs, the earlier exchanges go last and its latest never.

    Args:
        overhead: tokens of a request that are no items: the system prompt, tools.
    """
    sight = find_sight(conversation, conversation.running)
    before = overhead + count(sight.items)
    summary_tokens = count([Summary("", PREFIX)]) + bounds.summary_tokens
    goal = min(before * 3 // 4, int(bounds.compact_above * GOAL_SHARE))
    finished = find_finished(conversation, sight)

    def plan(covered: int, leaves: Sequence[Item] = ()) -> CompactionPlan | None:
        return _plan(
            conversation,
            sight,
            finished[:covered],
            leaves,
            bounds=replace(bounds, budget=bounds.budget - overhead - summary_tokens),
            count=count,
            tokens_before=before,
            overhead=overhead,
        )

    def is_enough(found: CompactionPlan | None) -> bool:
        return found is not None and found.tokens_rest + summary_tokens <= goal

    wanted = max(0, len(finished) - bounds.min_turns)
    if is_enough(first := plan(wanted)):
        return first
    # The more is covered the less is left: so the least that is enough is found in a few looks,
    # however many turns are asked for.
    covers = range(wanted + 1, len(finished) + 1)
    place = bisect_left(covers, True, key=lambda covered: is_enough(plan(covered)))
    if place < len(covers):
        return plan(covers[place])
    all_turns = plan(len(finished))
    within = plan(len(finished), find_old_exchanges(sight, conversation))
    if is_enough(within):
        return within
    found = [each for each in (first, all_turns, within) if each is not None]
    best = min(found, key=lambda each: each.tokens_rest, default=None)
    return best if best is not None and is_worth(before, best.tokens_rest) else None


def make_change(
    plan: CompactionPlan,
    text: str,
    *,
    change_id: str,
    summary_id: str,
    count: Count,
    model: str | None = None,
    usage: Usage | None = None,
    truncated: int = 0,
    reason: str | None = None,
) -> ViewChanged | None:
    """The event that carries a plan out with this summary; None: it would not be small enough."""
    summary = Summary(summary_id, f"{PREFIX}\n{clean_summary(text)}")
    after = plan.tokens_rest + count([summary])
    if not is_worth(plan.tokens_before, after):
        return None
    return ViewChanged(
        change_id,
        "compact",
        plan.through_turn,
        dropped_items=plan.dropped_items,
        summary=summary,
        kept=plan.kept,
        tokens_before=plan.tokens_before,
        tokens_after=after,
        model=model,
        usage=usage,
        truncated=truncated,
        up_to_seq=plan.up_to_seq,
        reason=reason,
    )


def clean_summary(text: str) -> str:
    """A model's summary as it is kept; one with nothing in it says so."""
    if is_summary(text):
        # It repeated the frame around the summary before: that is not nested.
        text = " ".join(text.split())[len(PREFIX) :]
    return text.strip() if any(each.isalnum() for each in text) else UNAVAILABLE


def is_summary(text: str) -> bool:
    """Whether a message is a summary that was sent as one of a user's; white space aside."""
    # No more of it than it takes: a message can be as long as a file.
    words = text.split(maxsplit=PREFIX_WORDS)[:PREFIX_WORDS]
    return " ".join(words).startswith(PREFIX)


def keep_messages(items: Sequence[Item], *, limit: int, count: Count) -> tuple[HeadItem, ...]:
    """Users' own messages, the newest that fit; the first that does not is cut, and is the last."""
    kept: list[HeadItem] = []
    room = limit
    for item in reversed(items):
        if not isinstance(item, UserMessage) or not _is_of_a_person(item):
            continue
        size = count([item])
        if size > room:
            cut = shorten_item(replace(item, id=f"{item.id}{CUT}"), room, count)
            if isinstance(cut, UserMessage) and count([cut]) <= room:
                kept.append(cut)
            break
        kept.append(item)
        room -= size
    return tuple(reversed(kept))


def split_source(items: Sequence[Item], *, limit: int, count: Count) -> list[list[Item]]:
    """The source in pieces that fit a request, in order, exchanges whole; at least one piece.

    One message that is longer than a piece is cut in its middle.
    """
    pieces: list[list[Item]] = [[]]
    used = 0
    for exchange in split_exchanges(items):
        size = count(exchange)
        if size > limit:
            exchange = tuple(shorten_item(item, limit // len(exchange), count) for item in exchange)
            size = count(exchange)
        if used + size > limit and pieces[-1]:
            pieces.append([])
            used = 0
        pieces[-1] += exchange
        used += size
    return pieces


def shorten_item(item: Item, limit: int, count: Count) -> Item:
    """An item of at most about `limit` tokens: texts cut in their middle, attachments named."""
    size = count([item])
    if size <= limit:
        return item
    share = limit / size
    match item:
        case UserMessage(parts=parts) | ToolOutput(parts=parts):
            return replace(item, parts=(_shorten(parts, share),))
        case AssistantMessage(parts=parts, calls=calls):
            # Without the reasoning: nothing that is cut can go back to whoever sealed it.
            shorter = tuple(_shorten_call(call, share) for call in calls)
            said = (_shorten(parts, share),) if parts else ()
            return replace(item, parts=said, reasoning=(), calls=shorter)
        case Summary(text=text):
            return replace(item, text=cut_middle(text, int(len(text) * share)))
        case _:
            return item


def _plan(
    conversation: Conversation,
    sight: Sight,
    covered: Sequence[SeenTurn],
    leaves: Sequence[Item],
    *,
    bounds: Bounds,
    count: Count,
    tokens_before: int,
    overhead: int,
) -> CompactionPlan | None:
    """The plan that summarises these turns and these items of the running one.

    Args:
        bounds: their budget is what items alone may take, beside the summary.
    """
    source: list[Item] = [*sight.head, *(item for turn in covered for item in turn.items), *leaves]
    if not (covered or leaves):
        return None
    said = [item for turn in covered for item in turn.items]
    pinned = [*sight.pinned, *find_staying(covered, conversation.pinned)]
    staying = {item.id for item in pinned}
    gone = {item.id for item in leaves}
    retained = [item for turn in sight.turns[len(covered) :] for item in turn.items]
    asking = [] if sight.asking is None else [i for i in sight.asking.items if i.id not in gone]
    # Older messages take what is free of the budget and no more: a long prompt comes before them.
    room = bounds.budget - count([*pinned, *retained, *asking])
    older = [item for item in (*sight.head, *said) if item.id not in staying]
    kept = keep_messages(older, limit=max(0, min(bounds.user_tokens, room)), count=count)
    rest = overhead + count([*pinned, *kept, *retained, *asking])
    return CompactionPlan(
        basis=conversation.view.basis,
        through_turn=covered[-1].turn_id if covered else None,
        dropped_items=tuple(item.id for item in leaves),
        source=heal(source)[0],
        kept=kept,
        tokens_before=tokens_before,
        tokens_rest=rest,
        up_to_seq=conversation.last_seq,
    )


def find_old_exchanges(sight: Sight, conversation: Conversation) -> tuple[Item, ...]:
    """Of the turn that runs, all that a model said and did but for the latest exchange."""
    if sight.asking is None:
        return ()
    pieces = [
        piece
        for piece in split_exchanges(heal(sight.asking.items)[0])
        if not isinstance(piece[0], UserMessage | Summary)
    ]
    return tuple(
        item
        for piece in pieces[:-1]
        if conversation.pinned.isdisjoint(item.id for item in piece)
        for item in piece
    )


def _is_of_a_person(item: UserMessage) -> bool:
    return not answers.is_objection(item) and not is_summary(join_text(item.parts))


def _shorten(parts: tuple[Part, ...], share: float) -> Text:
    """The words of a message, cut; what was attached is named before them."""
    attached = [_name(part) for part in parts if part.name is not None or isinstance(part, Blob)]
    words = "".join(part.text for part in parts if isinstance(part, Text) and part.name is None)
    size = sum(len(part.text) for part in parts if isinstance(part, Text))
    lines = [*dict.fromkeys(attached), cut_middle(words, int(size * share))]
    return Text("\n".join(line for line in lines if line))


def _shorten_call(call: ToolCall, share: float) -> ToolCall:
    room = int(len(call.arguments) * share)
    if len(call.arguments) <= max(room, MARK_CHARACTERS):
        return call
    return replace(call, arguments=json.dumps({"truncated": cut_middle(call.arguments, room)}))


def _name(part: Part) -> str:
    size = part.bytes if isinstance(part, Blob) else len(part.text.encode("utf-8", "replace"))
    return f"[{part.name or 'content'}, {size} bytes, left out]"
