"""Pairs: a tool call and its output, joined by `call_id`, never one without the other.

Providers refuse a request in which an output has no call before it, a call has
no output, or something stands between the two. New turns cannot make such a
history; old and imported logs can hold one. `heal` makes any list of items
sendable and says what was wrong; it never touches the log. A tool's name that no
provider takes is replaced on the way too, the same for a call and its output. It
does not log: the texts are here so that they are the same wherever they are logged.
"""

import json
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Literal, assert_never

from askd.core.items import AssistantMessage, Item, Text, ToolCall, ToolOutput, join_text

SYNTHETIC_TEXT = "The tool call was interrupted; it has no output."
"""Part of requests, which providers cache by their text: not to be reworded without need."""
PREVIEW_CHARACTERS = 50

NAMES = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""Names of tools that every provider takes; OpenAI and Anthropic refuse all others."""
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
NAME_LIMIT = 64
NAMELESS = "unknown"
"""What a call without a name is a call of."""

FaultKind = Literal[
    "orphan", "missing_id", "doubled", "unanswered", "displaced", "bad_call_id", "bad_name"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that was wrong with a list of items, and that `heal` put right.

    - `orphan`: an output without a call before it; left out
    - `missing_id`: an output that does not say which call it answers; left out
    - `doubled`: a further output of an answered call; left out
    - `unanswered`: a call without an output; got a synthetic one
    - `displaced`: an output apart from its call; moved there
    - `bad_call_id`: a call without an id, or with one that its message used before; got its own
    - `bad_name`: a call whose tool no provider would name so, or an output that names another
      tool than its call does; `name` is the new one
    """

    kind: FaultKind
    item_id: str
    call_id: str
    name: str = ""
    preview: str = ""

    @property
    def is_dropped(self) -> bool:
        """Whether the item was left out."""
        return self.kind in ("orphan", "missing_id", "doubled")


def describe_fault(fault: Fault) -> str:
    """The line to log for a fault, at WARNING; on load, at DEBUG."""
    call_id, name = _show(fault.call_id), _show(fault.name)
    match fault.kind:
        case "orphan":
            return (
                "Orphan tool message detected and dropped: "
                f'tool_call_id={call_id}, content_preview="{fault.preview}"'
            )
        case "missing_id":
            return "Tool message missing tool_call_id, dropping message"
        case "doubled":
            return f"Second output of a tool call dropped: tool_call_id={call_id}"
        case "unanswered":
            return (
                "Tool call without output answered as interrupted: "
                f"call_id={call_id}, tool_name={name}"
            )
        case "displaced":
            return f"Tool output moved behind its call: tool_call_id={call_id}"
        case "bad_call_id":
            return (
                "Tool call with a missing or doubled id renamed: "
                f"call_id={call_id}, tool_name={name}"
            )
        case "bad_name":
            return (
                f"Tool name replaced by one that can be sent: call_id={call_id}, tool_name={name}"
            )
    assert_never(fault.kind)


def describe_pair(call: ToolCall) -> str:
    """The line to log for a pair that was kept, at DEBUG."""
    call_id, name = _show(call.call_id), _show(call.name)
    return f"Preserved tool call pair: call_id={call_id}, tool_name={name}"


def describe_healing(faults: Sequence[Fault], kept: int) -> str:
    """The line to log for a whole list, at DEBUG; `kept` items are left."""
    dropped = sum(fault.is_dropped for fault in faults)
    return f"Sanitized message sequence: dropped {dropped} orphans, kept {kept} valid"


def name_outputs(message: AssistantMessage) -> list[tuple[str, ToolCall]]:
    """The message's calls, each with the id that its output has."""
    return [(f"{message.id}.{k}", call) for k, call in enumerate(message.calls, start=1)]


def interrupt_call(call: ToolCall, item_id: str) -> ToolOutput:
    """The output of a call that will never have one of its own."""
    return ToolOutput(
        id=item_id,
        call_id=call.call_id,
        name=call.name,
        parts=(Text(SYNTHETIC_TEXT),),
        is_error=True,
        synthetic="interrupted",
    )


def rename_calls(calls: tuple[ToolCall, ...], used: Set[str] = frozenset()) -> tuple[ToolCall, ...]:
    """The same calls, each with an id of its own that is not in `used` either.

    An id that is fine stays. The k-th call, if it has none, becomes `call_k`;
    the second with an id becomes `id#2`, and so on. The same calls always get
    the same ids.
    """
    reserved = {call.call_id for call in calls}
    taken = set(used)
    repeats: dict[str, int] = {}
    renamed = []
    for k, call in enumerate(calls, start=1):
        base = new = call.call_id if call.call_id.strip() else f"call_{k}"
        # An id that another call brought is that call's: it must not be given to this one.
        while new in taken or (new != call.call_id and new in reserved):
            repeats[base] = repeats.get(base, 1) + 1
            new = f"{base}#{repeats[base]}"
        taken.add(new)
        renamed.append(call if new == call.call_id else replace(call, call_id=new))
    return tuple(renamed)


def fit_name(name: str) -> str:
    """The tool's name; what no provider takes becomes `_`, and no name at all `unknown`."""
    if NAMES.fullmatch(name):
        return name
    return _NOT_IN_NAMES.sub("_", name)[:NAME_LIMIT] or NAMELESS


def is_whole(call: ToolCall) -> bool:
    """Whether a call of an answer that was cut had come to its end: a name and a JSON object."""
    try:
        return bool(call.name) and isinstance(json.loads(call.arguments), dict)
    except (ValueError, RecursionError):
        return False


def find_faults(items: Sequence[Item]) -> list[Fault]:
    """What `heal` would put right; empty: the items can be sent as they are."""
    return heal(items)[1]


def heal(items: Sequence[Item]) -> tuple[tuple[Item, ...], list[Fault]]:
    """The items as they can be sent, and what was wrong with them.

    Healthy items come back as they were, and healing twice is healing once. An
    output belongs to the latest unanswered call of its id: ids may come again
    in later messages. An output that arrived is never replaced by a synthetic
    one.
    """
    faults: list[Fault] = []
    renamed = {
        index: tuple(_name_call(call) for call in rename_calls(item.calls))
        for index, item in enumerate(items)
        if isinstance(item, AssistantMessage) and item.calls
    }
    answers = _match_outputs(items, renamed, faults)
    healed: list[Item] = []
    for index, item in enumerate(items):
        if isinstance(item, ToolOutput):
            continue
        if index not in renamed:
            healed.append(item)
            continue
        message = _take_calls(item, renamed[index], faults)
        healed.append(message)
        outputs = answers.get(index, {})
        healed.extend(outputs.values())
        for item_id, call in name_outputs(message):
            if call.call_id not in outputs:
                healed.append(interrupt_call(call, item_id))
                faults.append(_call_fault("unanswered", message, call))
    return tuple(healed), faults


def _take_calls(item: Item, calls: tuple[ToolCall, ...], faults: list[Fault]) -> AssistantMessage:
    assert isinstance(item, AssistantMessage)
    if item.calls == calls:
        return item
    for old, new in zip(item.calls, calls, strict=True):
        if old.call_id != new.call_id:
            faults.append(_call_fault("bad_call_id", item, new))
        if old.name != new.name:
            faults.append(_call_fault("bad_name", item, new))
    return replace(item, calls=calls)


def _name_call(call: ToolCall) -> ToolCall:
    name = fit_name(call.name)
    return call if name == call.name else replace(call, name=name)


def _match_outputs(
    items: Sequence[Item], renamed: Mapping[int, tuple[ToolCall, ...]], faults: list[Fault]
) -> dict[int, dict[str, ToolOutput]]:
    """Join outputs to calls: by the index of a message its outputs, by call, as they arrived."""
    waiting: dict[str, list[tuple[int, ToolCall, ToolCall]]] = {}
    answers: dict[int, dict[str, ToolOutput]] = {}
    nearest = -1  # the message that an output at this place follows directly
    for index, item in enumerate(items):
        if isinstance(item, AssistantMessage) and item.calls:
            # Backwards, for the last is taken first: outputs of one id come in its calls' order.
            for old, new in reversed(list(zip(item.calls, renamed[index], strict=True))):
                waiting.setdefault(old.call_id, []).append((index, old, new))
        if not isinstance(item, ToolOutput):
            nearest = index
        elif not item.call_id.strip():
            faults.append(_fault("missing_id", item))
        elif item.call_id not in waiting:
            faults.append(_fault("orphan", item))
        elif not waiting[item.call_id]:
            faults.append(_fault("doubled", item))
        else:
            owner, asked, call = waiting[item.call_id].pop()
            answers.setdefault(owner, {})[call.call_id] = _join_call(item, call)
            if item.name not in (asked.name, call.name):
                faults.append(replace(_fault("bad_name", item), name=call.name))
            if owner != nearest:
                faults.append(_fault("displaced", item))
    return answers


def _join_call(output: ToolOutput, call: ToolCall) -> ToolOutput:
    """The output under its call's id and name: some models' templates show only the name."""
    if (output.call_id, output.name) == (call.call_id, call.name):
        return output
    return replace(output, call_id=call.call_id, name=call.name)


def _fault(kind: FaultKind, output: ToolOutput) -> Fault:
    return Fault(
        kind=kind,
        item_id=output.id,
        call_id=output.call_id,
        name=output.name,
        preview=_preview(output),
    )


def _call_fault(kind: FaultKind, message: AssistantMessage, call: ToolCall) -> Fault:
    return Fault(kind=kind, item_id=message.id, call_id=call.call_id, name=call.name)


def _preview(output: ToolOutput) -> str:
    return _show(join_text(output.parts)[:PREVIEW_CHARACTERS])


def _show(text: str) -> str:
    """One line, whatever a model or a tool wrote: neither must forge a line of the log."""
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)
