"""What the tests of codecs share: items, streams from files, and what a decoder hears in them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from askd.core.items import (
    AssistantMessage,
    Blob,
    Item,
    Notice,
    Reasoning,
    Summary,
    Text,
    ToolCall,
    ToolOutput,
    UserMessage,
)
from askd.core.outcome import Failure, Stop, Usage
from askd.providers.assemble import Assembler
from askd.providers.base import Codec, ModelRequest, StreamEvent

STREAMS = Path(__file__).parents[1] / "data" / "streams"
"""Recorded and written streams, by folder; each folder says where its files come from."""

REQUEST = ModelRequest(model="m", items=())

PICTURE = Blob("aa", 3, "image/png", "shot.png")


def user(*texts: str) -> UserMessage:
    """A user's message of these parts."""
    return UserMessage("u", tuple(map(Text, texts)))


def assistant(
    text: str,
    *calls: ToolCall,
    thoughts: Sequence[Reasoning] = (),
    provider: str | None = "work",
    model: str | None = "m",
) -> AssistantMessage:
    """An assistant's message; unless told otherwise, of the provider and model that is asked."""
    return AssistantMessage(
        "a",
        (Text(text),) if text else (),
        reasoning=tuple(thoughts),
        calls=calls,
        provider=provider,
        model=model,
    )


def output(call_id: str, text: str = "ok") -> ToolOutput:
    """A tool's output."""
    return ToolOutput("o", call_id, "f", (Text(text),))


@st.composite
def histories(draw: st.DrawFn, raw: Mapping[str, Any] | None = None) -> list[Item]:
    """Healed histories: whatever was said, every call is answered at once.

    `raw` is that of all reasoning in them.
    """
    words, thoughts = st.text(max_size=5), [Reasoning("Hm.", raw)]
    items: list[Item] = []
    for number in range(draw(st.integers(0, 5))):
        kind = draw(st.sampled_from(["user", "assistant", "calls", "notice", "summary"]))
        if kind == "user":
            shown = draw(st.sampled_from([(), (PICTURE,)]))
            items.append(UserMessage("u", (Text(draw(words)), *shown)))
        elif kind == "assistant":
            items.append(assistant(draw(words), thoughts=thoughts))
        elif kind == "calls":
            ids = [f"{number}.{place}{draw(words)}" for place in range(draw(st.integers(1, 3)))]
            calls = [ToolCall(each, draw(words), draw(words)) for each in ids]
            items.append(assistant(draw(words), *calls, thoughts=thoughts))
            items += [ToolOutput("o", each, "f", (Text("x"), PICTURE)) for each in ids]
        else:
            items.append(Notice("n", "x") if kind == "notice" else Summary("s", draw(words)))
    return items


def read_stream(name: str) -> bytes:
    """The bytes of a stream, as `openai-chat/text`."""
    return (STREAMS / f"{name}.sse").read_bytes()


def list_streams(folder: str) -> list[str]:
    """The names of all streams of a folder; never none."""
    names = sorted(path.stem for path in (STREAMS / folder).glob("*.sse"))
    assert names, f"no streams in {folder}"
    return [f"{folder}/{name}" for name in names]


def decode(codec: Codec, *pieces: bytes, request: ModelRequest = REQUEST) -> list[StreamEvent]:
    """What one decoder makes of these bytes, one piece after the other."""
    decoder = codec.decoder(request)
    return [event for piece in pieces for event in decoder.feed(piece)]


def cut(data: bytes, places: Sequence[int]) -> list[bytes]:
    """The bytes in pieces, cut at these places (taken modulo their number)."""
    bounds = sorted({place % (len(data) + 1) for place in places} | {0, len(data)})
    return [data[start:end] for start, end in pairwise(bounds)]


@dataclass(frozen=True)
class Heard:
    """An answer as a turn would take it."""

    text: str
    thoughts: tuple[Reasoning, ...]
    calls: tuple[ToolCall, ...]
    stop: Stop
    usage: Usage | None
    failure: Failure | None
    ended: bool


def hear(events: Sequence[StreamEvent]) -> Heard:
    """The events as one answer."""
    answer = Assembler("i")
    for event in events:
        answer.feed(event)
    message = answer.message()
    return Heard(
        text=answer.text,
        thoughts=message.reasoning,
        calls=message.calls,
        stop=answer.stop,
        usage=answer.usage,
        failure=answer.failure,
        ended=answer.ended,
    )


def any_json(keys: Sequence[str], words: Sequence[str] = ()) -> st.SearchStrategy[Any]:
    """Any JSON at all, in which these keys and words come often."""
    texts = st.text(max_size=4) | st.sampled_from(["\ud800", *words])
    numbers = st.integers() | st.floats() | st.sampled_from([0, 1, -1, 1 << 70])
    return st.recursive(
        st.none() | st.booleans() | numbers | texts,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(list(keys)), inner, max_size=5)
        ),
        max_leaves=24,
    )
