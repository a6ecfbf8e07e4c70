"""Tool outputs that are too large, in a running turn: what the model gets to see of them.

Before a completion, each output of the latest calls is looked at. One with more bytes than
the settings allow is cut without a word; about one that is too large for the model it is
decided. Either is recorded as a change of the view, so that every later request holds it
as this one does. The log keeps the whole, and `read_output` reads it in ranges. Nothing of
a turn before is touched here.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import trio

from askd.core import outputs
from askd.core.conversation import Conversation
from askd.core.events import TurnOptions, ViewChanged
from askd.core.items import Blob, Item, Text, ToolCall, ToolOutput
from askd.core.outcome import Failure
from askd.core.outputs import READ_OUTPUT
from askd.core.sight import find_sight
from askd.core.tokens import measure
from askd.core.turn import RunTool
from askd.errors import NotFound
from askd.providers.base import Model
from askd.sessions.contents import ReadBlob
from askd.sessions.live import LiveSession
from askd.sessions.needs import Means, Report
from askd.sessions.overflow import Excess, decide_overflow
from askd.sessions.views import change_view
from askd.tools.base import Site
from askd.tools.registry import Registry

READ_SHARE = 8
"""Of the budget, what one reading brings at the most: half of what any output may have."""
WHOLE = 1000
"""All that an output may have, in thousandths: of bytes or of tokens, whichever it has more of."""
HEAD_BYTES = 100
"""For the line above what was read; a reading is no output that must be cut itself."""
READ_CHARACTERS = 4000
"""Where the model does not say how much it wants: about a thousand tokens of English."""
DESCRIPTION: Mapping[str, Any] = {
    "name": READ_OUTPUT,
    "description": (
        "Read a part of a tool's output that was too large to be shown whole. Offsets and limits "
        "count characters; the answer says where to go on."
    ),
    "parameters": {
        "type": "object",
        "properties": {
            "call_id": {"type": "string", "description": "The call whose output it is."},
            "offset": {"type": "integer", "minimum": 0, "description": "Where to begin."},
            "limit": {"type": "integer", "minimum": 1, "description": "How much to read."},
        },
        "required": ["call_id"],
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What it takes to know how large an output is for a model, and what it holds.

    Attributes:
        overhead: tokens of the request that are no items.
    """

    model: Model
    means: Means
    read_blob: ReadBlob
    overhead: int = 0

    def count(self, items: Sequence[Item]) -> int:
        """About how many tokens these are for the model."""
        return self.means.rates.estimate(self.model.name, measure(items))

    async def read(self, output: ToolOutput) -> str:
        """All the text of an output; what is lost of it is named."""
        texts = []
        for part in output.parts:
            match part:
                case Text(text=text):
                    texts.append(text)
                case Blob(media_type=media_type) if media_type.startswith("image/"):
                    continue
                case Blob():
                    texts.append(await self._read_blob(part))
        return "".join(texts)

    async def _read_blob(self, part: Blob) -> str:
        try:
            return (await self.read_blob(part.sha256)).decode("utf-8", "replace")
        except NotFound:
            return f"[{part.media_type}, {part.bytes} bytes, lost]"


async def fit_outputs(
    session: LiveSession,
    turn_id: str,
    reading: Reading,
    *,
    options: TurnOptions,
    report: Report,
    started: trio.Event,
) -> None:
    """Decide what is seen of the latest outputs, as far as they are too large.

    Args:
        started: set when the turn's start is committed; nothing is asked or changed before.

    Raises:
        TooLarge, Parked, StorageFailed: as `decide_overflow`, of one of them.
    """
    model, means = reading.model, reading.means
    await _cut_long(session, turn_id, reading, started=started)
    for output, cap in find_large(session.conversation, turn_id, reading):
        await started.wait()
        tokens = reading.count([output])
        excess = Excess(subject=output.id, tokens=tokens, model=model, tool=output.name)
        decision = await decide_overflow(
            session, turn_id, excess, options=options, means=means, report=report
        )
        if decision == "continue":
            continue
        text = await reading.read(output)
        if decision == "compact":
            shown = outputs.cut_output(output, text, limit=cap, count=reading.count)
        else:
            shown = outputs.blank_output(output, text)
        await _shorten(session, shown, reading, tokens_before=tokens, reason="overflow")


async def _cut_long(
    session: LiveSession, turn_id: str, reading: Reading, *, started: trio.Event
) -> None:
    """Cut those that have more bytes than the settings allow; what is left fits the model, too."""
    most = reading.means.toolbox().output_bytes

    def is_long(output: ToolOutput) -> bool:
        return _is_open(session.conversation, output) and outputs.count_bytes(output) > most

    if not any(map(is_long, outputs.find_latest(session.conversation.turns[turn_id]))):
        return  # as nearly always: what they are in tokens is measured only once then
    latest, sizes, cap = _measure_latest(session.conversation, turn_id, reading)
    for output, tokens in zip(latest, sizes, strict=True):
        if not is_long(output):
            continue
        await started.wait()

        def weigh(items: Sequence[Item]) -> int:
            size = sum(outputs.count_bytes(each) for each in items if isinstance(each, ToolOutput))
            return math.ceil(WHOLE * max(size / most, reading.count(items) / cap))

        text = await reading.read(output)
        shown = outputs.cut_output(output, text, limit=WHOLE, count=weigh)
        await _shorten(session, shown, reading, tokens_before=tokens, reason="output_bytes")


async def _shorten(
    session: LiveSession, shown: ToolOutput, reading: Reading, *, tokens_before: int, reason: str
) -> None:
    change = ViewChanged(
        reading.means.new_id(),
        "shorten",
        shortened=(shown,),
        tokens_before=tokens_before,
        tokens_after=reading.count([shown]),
        reason=reason,
    )
    await change_view(session, partial(_always, change))


def _always(change: ViewChanged, conversation: Conversation) -> ViewChanged:
    """An output that is too large is so in every view."""
    return change


def find_large(
    conversation: Conversation, turn_id: str, reading: Reading
) -> list[tuple[ToolOutput, int]]:
    """Those of the turn's latest outputs that are too large, and the tokens each may have."""
    latest, sizes, cap = _measure_latest(conversation, turn_id, reading)
    return [
        (output, cap)
        for output, size in zip(latest, sizes, strict=True)
        if size > cap and _is_open(conversation, output)
    ]


def _measure_latest(
    conversation: Conversation, turn_id: str, reading: Reading
) -> tuple[list[ToolOutput], list[int], int]:
    """The turn's latest outputs, the tokens of each as it is seen, and those that one may have."""
    view = conversation.view
    latest = outputs.find_latest(conversation.turns[turn_id])
    if not latest:
        return [], [], 0
    sight = find_sight(conversation, turn_id)
    asking = sight.asking.items if sight.asking is not None else ()
    rest = reading.overhead + reading.count([*sight.pinned, *outputs.find_fixed(asking)])
    sizes = [reading.count([view.shortened.get(each.id, each)]) for each in latest]
    return latest, sizes, outputs.find_cap(sizes, budget=reading.model.limits.budget, rest=rest)


def _is_open(conversation: Conversation, output: ToolOutput) -> bool:
    """Whether an output can become shorter, and nothing was decided about it yet."""
    return output.id not in conversation.view.shortened and outputs.can_shorten(output)


def list_tools(conversation: Conversation, tools: Registry) -> Sequence[Mapping[str, Any]]:
    """The tools of a request: those that there are, and one to read on where something was cut."""
    described = tools.describe()
    if not can_read(conversation, tools):
        return described
    return [*described, DESCRIPTION]


def can_read(conversation: Conversation, tools: Registry) -> bool:
    """Whether `read_output` is offered, and is ours."""
    return bool(conversation.view.shortened) and READ_OUTPUT not in tools


def is_reading(conversation: Conversation, call: ToolCall, tools: Registry) -> bool:
    """Whether the call reads on in what the conversation holds: of that nobody has to be asked."""
    return call.name == READ_OUTPUT and can_read(conversation, tools)


async def run_tool(
    conversation: Conversation,
    command: RunTool,
    *,
    tools: Registry,
    model: Model | Failure,
    means: Means,
    read_blob: ReadBlob,
    site: Site,
) -> ToolOutput:
    """The output of one of the turn's tools, or of what this conversation has to read on."""
    if not is_reading(conversation, command.call, tools) or isinstance(model, Failure):
        return await tools.run(command.call, item_id=command.item_id, site=site)
    reading = Reading(model=model, means=means, read_blob=read_blob)
    return await read_output(conversation, command.call, command.item_id, reading)


async def read_output(
    conversation: Conversation, call: ToolCall, item_id: str, reading: Reading
) -> ToolOutput:
    """Run one call of `read_output` to its output."""
    is_error = False
    try:
        said = await _read_range(conversation, call, reading)
    except ValueError as error:
        said, is_error = str(error), True
    return ToolOutput(item_id, call.call_id, call.name, (Text(said),), is_error=is_error)


async def _read_range(conversation: Conversation, call: ToolCall, reading: Reading) -> str:
    """What was asked for, and where it goes on; raise `ValueError` with a sentence."""
    call_id, offset, limit = _read_arguments(call)
    output = outputs.find_output(conversation, call_id)
    if output is None:
        raise ValueError(f"There is no output of a call {call_id!r}.")
    text = await reading.read(output)
    if offset >= len(text):
        raise ValueError(f"That output ends at {len(text)}; there is nothing from {offset} on.")
    room = reading.model.limits.budget // READ_SHARE
    most = reading.means.toolbox().output_bytes - HEAD_BYTES
    piece = text[offset : offset + min(limit, most)]
    while len(piece) > 1 and (
        measured(piece, reading) > room or len(piece.encode("utf-8", "replace")) > most
    ):
        piece = piece[: len(piece) // 2]
    end = offset + len(piece)
    more = f"; go on with offset {end}" if end < len(text) else ""
    return f"[Characters {offset} to {end} of {len(text)}{more}.]\n{piece}"


def measured(text: str, reading: Reading) -> int:
    """About how many tokens a text is for the model."""
    return reading.means.rates.estimate(reading.model.name, measure(text))


def _read_arguments(call: ToolCall) -> tuple[str, int, int]:
    try:
        found = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("call_id"), str):
        raise ValueError(f"{READ_OUTPUT!r} takes a JSON object with a call_id.")
    offset, limit = found.get("offset", 0), found.get("limit", READ_CHARACTERS)
    if not (_is_count(offset, 0) and _is_count(limit, 1)):
        raise ValueError("offset is 0 or more, limit is 1 or more; both are whole numbers.")
    return found["call_id"], offset, limit


def _is_count(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least
