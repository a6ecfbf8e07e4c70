"""The calls of a turn that have no output yet: each gets exactly one, under its own id.

It starts nothing and decides nothing: which of them may run is said by whoever adds them,
and when those are closed that never will be answered, by whoever asks for it.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from askd.core.events import ItemAdded
from askd.core.items import AssistantMessage, ToolCall, ToolOutput
from askd.core.pairs import interrupt_call, name_outputs, rename_calls


class OpenCall(NamedTuple):
    """A call without an output. `runs`: a tool may be started for it, or has been."""

    call: ToolCall
    item_id: str
    completion: int
    runs: bool


class OpenCalls:
    """Those of one turn, in the order in which they were made; true while there are any."""

    def __init__(self, turn_id: str) -> None:
        self._turn_id = turn_id
        self._open: dict[str, OpenCall] = {}
        self._names: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._open)

    def __iter__(self) -> Iterator[OpenCall]:
        return iter(list(self._open.values()))

    def rename(self, calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
        """These calls with ids that no other call of the turn has."""
        return rename_calls(calls, self._names)

    def note_names(self, message: AssistantMessage) -> None:
        """The ids of its calls are taken, whatever becomes of them."""
        self._names.update(call.call_id for call in message.calls)

    def add(self, message: AssistantMessage, completion: int, *, runs: bool) -> None:
        """The calls that it makes are open from here on."""
        self.note_names(message)
        for item_id, call in name_outputs(message):
            self._open[call.call_id] = OpenCall(call, item_id, completion, runs)

    def answer(self, output: ToolOutput) -> ItemAdded | None:
        """Close a call with its output; None: no such call is open."""
        each = self._open.pop(output.call_id, None)
        if each is None:
            return None
        return ItemAdded(self._turn_id, replace(output, id=each.item_id), each.completion)

    def interrupt(self, *, those_that_run: bool) -> list[ItemAdded]:
        """Close those that will never run; `those_that_run`: the others too."""
        closed = []
        for each in self:
            if those_that_run or not each.runs:
                closed.append(self.answer(interrupt_call(each.call, each.item_id)))
        return [each for each in closed if each is not None]
