"""Repetition: a model that makes the same call again and again, and what it is told then.

Pure. The same call is the same tool with arguments that say the same, however they are
spelled. It judges no loop that takes two different calls in turns: the limit of completions
ends those.
"""

from askd.core.arguments import canonical_arguments
from askd.core.conversation import TurnRecord
from askd.core.items import AssistantMessage, ToolCall, UserMessage

REFUSAL = (
    "This call was not run: you have made it, with the same arguments, {count} times in a row by "
    "now, and {limit} is the most. The outputs above are what there is. Go on with them, try "
    "something else, or say what is missing."
)


def refuse_repetition(record: TurnRecord, call: ToolCall, limit: int) -> str | None:
    """What the model is told instead of an output, once it repeats itself too often.

    Args:
        call: one of the turn's, with its answer among the record's items.
        limit: how often in a row the same call may run.

    Returns:
        None: it may run.
    """
    count = count_repeats(record, call)
    return None if count <= limit else REFUSAL.format(count=count, limit=limit)


def count_repeats(record: TurnRecord, call: ToolCall) -> int:
    """How often in a row the call was made up to and with itself; 1: it is the first.

    Answers count as a row when each of them makes the call, whatever else they call beside it;
    a person's word between them begins a new row.
    """
    wanted = _describe(call)
    count = 0
    is_before = False
    for added in reversed(record.items):
        if added.status == "superseded":
            continue
        match added.item:
            case UserMessage() if is_before:
                break
            case AssistantMessage(calls=calls) if calls:
                if not is_before:
                    place = _find_place(calls, call)
                    if place is None:
                        continue
                    calls = calls[: place + 1]
                found = sum(_describe(each) == wanted for each in calls)
                if not found:
                    break
                count += found
                is_before = True
            case _:
                pass
    return max(count, 1)


def _find_place(calls: tuple[ToolCall, ...], call: ToolCall) -> int | None:
    return next((k for k, each in enumerate(calls) if each.call_id == call.call_id), None)


def _describe(call: ToolCall) -> tuple[str, str]:
    """The tool, and its arguments in the one spelling."""
    return call.name, canonical_arguments(call.arguments)
