"""Tool outputs that are too large: which are, and what of one is seen instead.

What a model sees of an output is decided once and recorded; the log has the whole
of it, and a model that is told so can read it in ranges. It decides nothing about
what shall be done, and reads no content that is kept beside the log.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from askd.core.compaction import Count
from askd.core.conversation import Conversation, TurnRecord
from askd.core.cutting import cut_middle
from askd.core.items import AssistantMessage, Item, Part, Text, ToolOutput

READ_OUTPUT = "read_output"
"""The tool that reads on, offered where there is something to read on."""

ONE_SHARE = 4
"""Of the budget a single output gets a quarter: so much of one thing is enough to go on with, and
the model can ask for more."""
ALL_SHARE = 2
"""Those of one answer's calls get half of it together, for a conversation is more than them."""
LEAST_TOKENS = 100
"""Less than this would show little more than that something was cut."""
SHRINK = 0.8
"""What is still too long is cut again to so much of it; a text's ends may be denser than it is."""
TRIES = 12

CUT_NOTE = (
    "[The middle of this output is left out here: it has {count} characters in all. Read any part "
    'of it with {tool}: {{"call_id": "{call_id}", "offset": ..., "limit": ...}}, in characters.]'
)
BLANK_NOTE = (
    "[This output is left out: it has {count} characters. Read any part of it with "
    '{tool}: {{"call_id": "{call_id}", "offset": ..., "limit": ...}}, in characters.]'
)


def find_latest(record: TurnRecord) -> list[ToolOutput]:
    """The outputs that answer the last answer's calls; none if something was said since."""
    found: list[ToolOutput] = []
    for added in reversed(record.items):
        match added.item:
            case ToolOutput() as output:
                found.append(output)
            case AssistantMessage():
                break
            case _:
                pass
    return found[::-1]


def find_cap(sizes: Sequence[int], *, budget: int, rest: int) -> int:
    """How many tokens one of these outputs may have; those that are smaller leave it to others.

    Args:
        rest: tokens of the request that cannot leave it.
    """
    room = max(min(budget // ALL_SHARE, budget - rest), 0)
    fair = max(sizes, default=0)
    for place, size in enumerate(sorted(sizes)):
        share = room // (len(sizes) - place)
        if size > share:
            fair = share
            break
        room -= size
    return max(min(fair, budget // ONE_SHARE), LEAST_TOKENS)


def can_shorten(output: ToolOutput) -> bool:
    """Whether it has text that could leave it; pictures stay, and what we wrote ourselves."""
    return output.synthetic is None and any(_is_text(part) for part in output.parts)


def count_bytes(output: ToolOutput) -> int:
    """Bytes of an output's text, wherever it is kept; pictures do not count."""
    return sum(
        len(part.text.encode("utf-8", "replace")) if isinstance(part, Text) else part.bytes
        for part in output.parts
        if _is_text(part)
    )


def cut_output(output: ToolOutput, text: str, *, limit: int, count: Count) -> ToolOutput:
    """The output with its text cut in the middle, to at most about `limit` tokens.

    Args:
        text: the whole of it, whatever the parts hold.
    """
    note = CUT_NOTE.format(count=len(text), tool=READ_OUTPUT, call_id=output.call_id)
    room = len(text) * min(limit / max(count([_with_text(output, text)]), 1), 1.0)
    for _ in range(TRIES):
        cut = _with_text(output, f"{cut_middle(text, int(room))}\n{note}")
        if count([cut]) <= limit:
            return cut
        room *= SHRINK
    return _with_text(output, note)


def blank_output(output: ToolOutput, text: str) -> ToolOutput:
    """The output as a line that says how long it is, and how to read it."""
    note = BLANK_NOTE.format(count=len(text), tool=READ_OUTPUT, call_id=output.call_id)
    return _with_text(output, note)


def find_output(conversation: Conversation, call_id: str) -> ToolOutput | None:
    """The whole output of a call, as the log has it; of several with one id the latest."""
    return next((each for each in _walk_back(conversation) if each.call_id == call_id), None)


def _walk_back(conversation: Conversation) -> Iterator[ToolOutput]:
    for turn_id in reversed(conversation.started):
        for added in reversed(conversation.turns[turn_id].items):
            if isinstance(added.item, ToolOutput) and added.status != "superseded":
                yield added.item


def find_fixed(items: Sequence[Item]) -> list[Item]:
    """What of a running turn's items stays in its request beside its outputs, whatever leaves."""
    last = next((item.id for item in reversed(items) if isinstance(item, AssistantMessage)), None)
    return [
        item
        for item in items
        if not isinstance(item, ToolOutput | AssistantMessage) or item.id == last
    ]


def _with_text(output: ToolOutput, text: str) -> ToolOutput:
    kept: tuple[Part, ...] = tuple(part for part in output.parts if not _is_text(part))
    return replace(output, parts=(Text(text), *kept))


def _is_text(part: Part) -> bool:
    return isinstance(part, Text) or not part.media_type.startswith("image/")
