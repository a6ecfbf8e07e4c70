"""The dialect "copilot": GitHub Copilot's chat, which is OpenAI's with headers of its own.

GitHub documents none of this for others than its own editors; what is here is
what its public clients send. The headers that say which editor asks are no part
of this codec: they are the user's to set, in `headers` of the provider.

`X-Initiator` decides what GitHub counts as a request of a person: `user` if a
person's words ask for this answer, `agent` if it goes on after a tool's output.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from uuid import uuid4

from askd.core.items import AssistantMessage, Item, Summary, ToolOutput, UserMessage
from askd.providers.base import Endpoint, HttpCall, ModelRequest
from askd.providers.codecs.images import split_images
from askd.providers.codecs.openai_chat import OpenAIChat, Rules
from askd.providers.codecs.sent_calls import PLAIN_IDS


def _make_request_id() -> str:
    return str(uuid4())


class Copilot(OpenAIChat):
    """The Chat codec, its calls with Copilot's headers. `make_id` makes request ids."""

    dialect = "copilot"

    def __init__(self, provider: str, *, make_id: Callable[[], str] = _make_request_id) -> None:
        # Claude answers here too, and takes fewer ids than OpenAI's models.
        super().__init__(provider, Rules(call_ids=PLAIN_IDS))
        self._make_id = make_id

    def encode(self, request: ModelRequest) -> HttpCall:
        """The streaming call that asks for this completion."""
        call = super().encode(request)
        headers = {
            **call.headers,
            "x-initiator": "user" if is_asked_by_person(request.items) else "agent",
            "x-request-id": self._make_id(),
        }
        if shows_images(request):
            headers["copilot-vision-request"] = "true"
        return replace(call, headers=headers)


def codec_for(endpoint: Endpoint) -> Copilot:
    """The codec as this endpoint understands it."""
    return Copilot(endpoint.provider)


def is_asked_by_person(items: Sequence[Item]) -> bool:
    """Whether the last thing that a model sees of these is a person's message."""
    for item in reversed(items):
        match item:
            case UserMessage() | Summary():
                return True
            case AssistantMessage() | ToolOutput():
                return False
            case _:
                pass  # never for a model
    return True


def shows_images(request: ModelRequest) -> bool:
    """Whether an image goes along, a person's or a tool's."""
    return any(
        split_images(item.parts, request.images)[0]
        for item in request.items
        if isinstance(item, UserMessage | ToolOutput)
    )
