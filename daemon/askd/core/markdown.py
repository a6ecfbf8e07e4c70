"""A conversation as Markdown, for people: who said what, and when. It cannot be read back."""

import re

from askd.core.conversation import Conversation
from askd.core.events import Event
from askd.core.rollout_items import Contents
from askd.core.rollout_lines import format_time
from askd.core.spoken import Speech, Spoken

_FENCE = re.compile(r"^ {0,3}(`{3,})", re.MULTILINE)
_HEADS = {"user": "User", "assistant": "Assistant", "tool": "Tool", "system": "System"}


class MarkdownExport:
    """Writes the page at the end: a turn's place is known when the last event is."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._speech = Speech()

    def begin(self) -> bytes:
        """The heading, and what the conversation is."""
        it = self._conversation
        title = " ".join((it.title or it.name or "Untitled").split())
        facts = [f"ID: {it.id}", f"Model: {it.settings.model or 'unknown'}"]
        if it.name is not None:
            facts.insert(1, f"Name: {it.name}")
        facts.append(f"Begun: {format_time(it.created_at)}")
        lines = "\n".join(f"- {fact}" for fact in facts)
        return _encode(f"# {title}\n\n{lines}\n")

    def feed(self, event: Event, contents: Contents) -> bytes:
        """The next event. `contents`: of the blobs that it names."""
        self._speech.feed(event, contents)
        return b""

    def end(self) -> bytes:
        """Every message under a heading of its own."""
        return b"".join(_encode(lay_out_message(each)) for each in self._speech.messages)


def lay_out_message(message: Spoken) -> str:
    """One message; what tools were given and gave back stands in fences, for it is no prose."""
    head = f"\n## {_HEADS[message.role]} ({format_time(message.at)})\n"
    if message.role == "tool":
        name = f"`{message.name}`: " if message.name else ""
        return f"{head}\n{name}{message.call_id}\n\n{fence(message.text)}"
    body = f"\n{message.text.strip()}\n" if message.text.strip() else ""
    calls = [
        f"\nTool call `{call.name}` ({call.call_id}):\n\n{fence(call.arguments)}"
        for call in message.calls
    ]
    return head + body + "".join(calls)


def fence(text: str) -> str:
    """A fenced block that no fence inside the text can end."""
    longest = max((len(match[1]) for match in _FENCE.finditer(text)), default=2)
    bar = "`" * max(3, longest + 1)
    return f"{bar}\n{text.rstrip()}\n{bar}\n"


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "replace")
