"""The context: what one completion sees of a conversation.

All that can be seen, in its order (`sight`), with calls and outputs healed last,
and how large that is. Nothing is cut to fit here: a context that is too long is the
shell's to refuse.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from askd.core.conversation import Conversation
from askd.core.framing import frame_text
from askd.core.items import Blob, Item, Part, Text
from askd.core.pairs import Fault, heal
from askd.core.sight import find_sight
from askd.core.tokens import Size, measure_request

STDIN = "stdin"
"""The name of an attachment that came through standard input, and the tag around it."""
FILE = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a model will see. Blobs are still blobs.

    Attributes:
        faults: what was wrong with the calls and outputs before they were healed.
    """

    items: tuple[Item, ...]
    system: str | None
    faults: tuple[Fault, ...] = ()

    def measure(self, tools: Sequence[Mapping[str, Any]] = ()) -> Size:
        """How large a request of it is, with these tools."""
        return measure_request(self.items, system=self.system, tools=tools)


def build_context(
    conversation: Conversation, turn_id: str | None, *, system: str | None
) -> Context:
    """What the next completion of this turn sees; None: what a turn to come would see before it.

    The turn itself is there even if it has not started or its view was cleared
    while it ran.
    """
    sight = find_sight(conversation, turn_id)
    healed, faults = heal(sight.items)
    return Context(items=healed, system=system, faults=tuple(faults))


def render_parts(parts: tuple[Part, ...]) -> str:
    """The text of a message as a model reads it.

    Parts with a name are attachments, each in a frame that says where it came
    from: `<stdin>` or `<file path="...">`. Neighbours of one name are pieces of
    one attachment. They stand first and the words last: models answer better
    when the question follows what it is about, and `cat file | ask "..."` reads
    in that order. A blob that was not resolved is named, not shown.
    """
    attachments = []
    words = []
    for name, group in groupby(parts, key=lambda part: part.name):
        text = "".join(_text_of(part) for part in group)
        if name is None:
            words.append(text)
        else:
            path = None if name == STDIN else name
            attachments.append(frame_text(STDIN if path is None else FILE, text, path=path))
    spoken = "".join(words)
    return "\n\n".join([*attachments, spoken] if spoken else attachments)


def _text_of(part: Part) -> str:
    match part:
        case Text(text=text):
            return text
        case Blob(bytes=size, media_type=media_type):
            return f"[{media_type}, {size} bytes, not shown]"
