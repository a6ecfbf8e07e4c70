"""What tools do, in a line each: `[read_file] notes.md`, `[run_command] make (exit code 2)`.

Pure: events of a turn go in, lines come out. What a model or a program said stands in one
line, cut to the terminal, and with nothing that a terminal would obey. What tools found is
not shown: it is for the model, and the log has it.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from ask.graphemes import find_width
from ask.reveal import shorten_line

Map = Mapping[str, Any]

TELLING = ("command", "url", "query", "pattern", "path")
"""Arguments that say what a call is about; the first that it has stands for it."""
ENDINGS = {"denied": "not run", "interrupted": "interrupted", "unknown_tool": "no such tool"}
"""Why an output was written in a tool's place, in words."""
SOUND = "exit code 0"
_HOW = re.compile(r"\[((?:exit code|stopped after|ended by) [^\[\]]{1,60})\]")
"""The last line of a command's output: how it ended."""


class Activity:
    """The calls of one turn.

    Attributes:
        running: what is being done now, in words; those that wait for a person's word too.
    """

    def __init__(self) -> None:
        self.running: dict[str, str] = {}
        self._asked: set[str] = set()

    @property
    def asked(self) -> bool:
        """Whether a person's word is waited for: nothing runs before it is given."""
        return bool(self._asked)

    def take(self, event: Map) -> str | None:
        """Take in an event of the turn: the line to show, if a call has ended."""
        match event.get("type"):
            case "item_added" if event.get("status") != "superseded":
                return self._take_item(event.get("item") or {})
            case "question_asked":
                self._asked.add(str(event.get("question_id")))
            case "question_answered":
                self._asked.discard(str(event.get("question_id")))
            case "turn_started" | "turn_finished":
                self.running.clear()
                self._asked.clear()
            case _:
                pass
        return None

    def _take_item(self, item: Map) -> str | None:
        for call in item.get("calls") or ():
            words = describe_call(str(call.get("name")), str(call.get("arguments", "")))
            self.running[str(call.get("call_id"))] = words
        if item.get("type") != "tool_output":
            return None
        words = self.running.pop(str(item.get("call_id")), f"[{item.get('name')}]")
        how = describe_end(item)
        return f"{words} ({how})" if how else words


def describe_call(name: str, arguments: str) -> str:
    """A call in few words: the tool, and what it is about."""
    return f"[{name}] {summarize(arguments)}".rstrip()


def summarize(arguments: str) -> str:
    """The one argument that says most; arguments that are no object stand as they are."""
    try:
        found = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return arguments
    if not isinstance(found, dict):
        return arguments
    named = [found[name] for name in TELLING if name in found]
    said = [each for each in (*named, *found.values()) if isinstance(each, str) and each]
    return said[0] if said else ""


def describe_end(output: Map) -> str:
    """How a call ended, if not well; empty: it did."""
    synthetic = output.get("synthetic")
    if synthetic:
        return ENDINGS.get(str(synthetic), str(synthetic))
    text = "\n".join(str(part.get("text", "")) for part in output.get("parts") or ()).strip()
    how = _HOW.fullmatch(text[text.rfind("\n") + 1 :])
    if how is not None:
        return "" if how[1] == SOUND else how[1]
    if not output.get("is_error"):
        return ""
    return f"failed: {text.partition(chr(10))[0]}" if text else "failed"


def fit_line(line: str, columns: int | None) -> str:
    """A line as a terminal takes it; how a call ended is kept where its beginning can be cut."""
    head, bracket, how = line.rpartition(" (")
    ending = shorten_line(bracket + how, None)
    taken = find_width(ending) + 1
    if columns is None or not (bracket and how.endswith(")")) or taken > columns // 2 + 2:
        return shorten_line(line, columns)
    return f"{shorten_line(head, columns - taken)} {ending}"
