"""What a chat's slash commands work on: one conversation, and how to reach it and its person.

The plain chat and the one with an editor each make one. It shows nothing itself, keeps no
history, and reads no line.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ask.commands.calls import Map, take_caller
from ask.exits import Failed
from ask.whereabouts import find_terminal

if TYPE_CHECKING:
    from ask.connection import Caller
    from ask.inputs import Input

COMMAND, RESULT = "command", "result"
"""Levels of the notices that are kept: what was typed, and what came of it."""

STOPS, LEAVES = "stops an answer", "leaves, and stops nothing"
"""What Ctrl-C does in a chat, and where somebody is attached."""

DELETED = "This conversation has been deleted."
DELETED_CHAT = "This conversation has been deleted, so the chat ends."


def _nothing(*_: Any) -> None:
    """What is done where nobody wants to hear."""


@dataclass(slots=True, kw_only=True)
class Desk:
    """One chat, as slash commands see it.

    Attributes:
        caller: asks the daemon.
        show: shows a person what they asked for; `tell`: what is beside that.
        steer: says a text to what is being answered; None: nothing is.
        options: what every further prompt is sent with (`TurnOptions`).
        attached: what goes with the next prompt.
        conversation_id: None until the first thing that needs one.
        ctrl_c: what that key does, in words; `keys`: what others do, where there is an editor.
        columns: of the terminal that `show` reaches; None: it is none.
        expect_notice, expect_change: told of what will come back as an event of our own.
    """

    caller: "Caller"
    show: Callable[[str], None]
    tell: Callable[[str], None]
    steer: Callable[[str], str] | None = None
    options: Map = field(default_factory=dict)
    attached: "list[Input]" = field(default_factory=list)
    conversation_id: str | None = None
    ctrl_c: str = STOPS
    keys: str = ""
    columns: Callable[[], int | None] = _nothing
    expect_notice: Callable[[str], None] = _nothing
    expect_change: Callable[[], None] = _nothing
    _keeps_notices: bool | None = None

    @property
    def target(self) -> Map:
        """Where the next prompt goes, as `turn/start` takes it: the first begins a conversation."""
        if self.conversation_id is None:
            return {"kind": "new"}
        return {"kind": "id", "value": self.conversation_id}

    def begin(self) -> str:
        """The conversation's id; it is created by the first thing that needs it."""
        if self.conversation_id is None:
            kept = {name: self.options.get(name) for name in ("model", "system")}
            caller = take_caller(self.caller) if kept["model"] else {}
            asked = {**kept, **caller, "terminal": find_terminal(os.environ)}
            self.conversation_id = str(self.caller.call("conversation/create", asked)["id"])
        return self.conversation_id

    def note(self, text: str, *, level: str = COMMAND) -> None:
        """Keep a notice, which no model is ever sent, unless the settings say not to."""
        if self._keeps_notices is None:
            settings = self.caller.call("config/read")["settings"]
            self._keeps_notices = settings.get("persist_special_commands", True) is not False
        if self._keeps_notices:
            params = {"conversation_id": self.begin(), "text": text, "level": level}
            self.expect_notice(text)
            self.caller.call("conversation/note", params)

    def find(self) -> Map:
        """The conversation's summary; it is created if it is not there yet."""
        target = {"kind": "id", "value": self.begin()}
        return self.caller.call("conversation/resolve", {"target": target})


def tell_deleted(error: Failed, said: str) -> Failed:
    """How a chat ends whose conversation is gone: nothing typed from now on could be answered."""
    return Failed(error.code, said, hint="Begin another: ask chat", data=error.data)
