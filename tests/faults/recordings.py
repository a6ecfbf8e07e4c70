"""One short answer of every dialect, with what it means said by hand.

Text, one tool call and the usage, in the vendor's own events. The text holds what
careless parsers break at (U+2028, U+0085) and what ends inside a UTF-8 sequence
at some byte. The meaning is written here and not computed by any codec.
"""

import re
from dataclasses import dataclass
from functools import cache

from askd.core.items import Text, UserMessage
from askd.providers.base import Codec, Dialect, Endpoint, ModelRequest
from askd.providers.models import dialects
from tests.fakes.vendor import Said, Vendor
from tests.fakes.vendor_anthropic import Anthropic
from tests.fakes.vendor_copilot import Copilot
from tests.fakes.vendor_ollama import Ollama
from tests.fakes.vendor_openai import OpenAIResponses

TEXT = ("Hé\u2028", "llo\x85\U0001f600")
CALL = ("c1", "look", '{"a":"ü"}')
SAID = Said(texts=TEXT, call=CALL, stop="calls", input_tokens=7, output_tokens=3)

IDLE = re.compile(
    rb'"(?:object|model|created_at|sequence_number|content_index|total_duration|output_index)"'
    rb':(?:"[^"]*"|\d+),'
)
"""Fields that no meaning hangs on."""

REQUEST = ModelRequest(
    model="fake",
    items=[UserMessage("u1", (Text("Hi"),))],
    tools=[{"name": "look", "description": "Look.", "parameters": {"type": "object"}}],
    max_output_tokens=100,
    context_window=4096,
)


@dataclass(frozen=True, slots=True)
class Recording:
    """What one dialect sends, and the bytes in it that matter.

    Attributes:
        stop: where the model's stop has been said, and a call may count.
        end: where the answer has ended.
        essence: of the end event, the bytes that make it one.
        keep_alive: what the vendor sends when it has nothing to say.
    """

    dialect: Dialect
    vendor: Vendor
    stop: bytes
    end: bytes
    essence: bytes
    keep_alive: bytes

    @property
    def events(self) -> tuple[bytes, ...]:
        """The whole answer."""
        return _speak_briefly(self.vendor)

    @property
    def codec(self) -> Codec:
        """The one that is under test."""
        return dialects.codec_for(self.endpoint)

    @property
    def endpoint(self) -> Endpoint:
        """Where it is asked for."""
        return Endpoint(
            provider="work",
            base_url=f"http://127.0.0.1:9{self.vendor.prefix}",
            dialect=self.dialect,
            api_key="sk-secret-canary",
        )


@cache
def _speak_briefly(vendor: Vendor) -> tuple[bytes, ...]:
    """The answer without spaces and idle fields: every byte costs the sweep a case."""
    packed = (each.replace(b'": ', b'":').replace(b', "', b',"') for each in vendor.speak(SAID))
    return tuple(IDLE.sub(b"", each) for each in packed)


RECORDINGS: dict[str, Recording] = {
    each.dialect: each
    for each in (
        Recording(
            "openai-chat",
            Copilot(),
            stop=b'"finish_reason":"tool_calls"}]}\n\n',
            end=b"data: [DONE]\n\n",
            essence=b"data: [DONE]",
            keep_alive=b":keep-alive\n\n",
        ),
        Recording(
            "openai-responses",
            OpenAIResponses(),
            stop=b'"total_tokens":10}}}\n\n',
            end=b'"total_tokens":10}}}\n\n',
            essence=b':"response.completed"',  # the name of the event says it too
            keep_alive=b'event: keepalive\ndata: {"type":"keepalive"}\n\n',
        ),
        Recording(
            "anthropic",
            Anthropic(),
            stop=b'"usage":{"output_tokens":3}}\n\n',
            end=b'data: {"type":"message_stop"}\n\n',
            essence=b'data: {"type":"message_stop"}',
            keep_alive=b'event: ping\ndata: {"type":"ping"}\n\n',
        ),
        Recording(
            "ollama",
            Ollama(),
            stop=b'"eval_count":3}\n',
            end=b'"eval_count":3}\n',
            essence=b'"done":true',
            keep_alive=b"\n",
        ),
        Recording(
            "copilot",
            Copilot(),
            stop=b'"finish_reason":"tool_calls"}]}\n\n',
            end=b"data: [DONE]\n\n",
            essence=b"data: [DONE]",
            keep_alive=b":keep-alive\n\n",
        ),
    )
}
