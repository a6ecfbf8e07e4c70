"""A conversation as a rollout that Codex can resume from, written piece by piece."""

from askd.core.conversation import Conversation
from askd.core.events import Event
from askd.core.rollout import RolloutWriter, split_model
from askd.core.rollout_items import Contents
from askd.core.rollout_lines import encode_line


class CodexExport:
    """Writes the lines of `RolloutWriter`. `version`: of the program that writes."""

    def __init__(self, conversation: Conversation, *, version: str) -> None:
        provider = split_model(find_model(conversation))[0]
        self._writer = RolloutWriter(conversation.id, provider=provider, version=version)

    def begin(self) -> bytes:
        """Nothing: the first event brings the first line."""
        return b""

    def feed(self, event: Event, contents: Contents) -> bytes:
        """The lines of the next event. `contents`: of the blobs that it names."""
        return b"".join(encode_line(record) for record in self._writer.feed(event, contents))

    def end(self) -> bytes:
        """Nothing: a rollout can always go on."""
        return b""


def find_model(conversation: Conversation) -> str | None:
    """The model that a conversation is with, else the one that answered first."""
    if conversation.settings.model is not None:
        return conversation.settings.model
    models = (record.model for record in conversation.turns.values())
    return next((model for model in models if model is not None), None)
