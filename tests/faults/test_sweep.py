"""Every fault, in every dialect, at every byte of a recorded answer, on the mock clock.

What is covered, each at every byte offset of the response, its head and its framing
included, for openai-chat, openai-responses, anthropic, ollama and copilot:

    split    the bytes arrive in two reads: nothing may change
    cut      the connection is closed; with chunks, with a length, and with neither
    reset    the connection breaks
    stall    nothing comes any more
    drip     only keep-alives come any more
    garble   one byte is another one: NUL, 0xFF, a line break, a digit, a brace in turn
    insert   garbage stands in between: line breaks, half an event, an empty chunk in turn
    trickle  the rest comes byte by byte, 50 s apart (at every 40th byte)

What must hold is said by `sweep.judge`: the answer ends within the time limits, never
well without the dialect's own end event, shows what had come and nothing else, has a
call only after the model had stopped, fails with a `ProviderError` that is a sentence,
leaves no connection open, and nothing is asked again once something was shown.
"""

import pytest
from trio.testing import MockClock

from tests.fakes.fault_network import Framing, Kind
from tests.faults.recordings import RECORDINGS
from tests.faults.sweep import sweep

COMBINATIONS: list[tuple[Kind, Framing, int]] = [
    ("split", "chunked", 1),
    ("cut", "chunked", 5),
    ("cut", "length", 5),
    ("cut", "close", 1),  # the one that httpx takes for a good end
    ("reset", "chunked", 1),
    ("stall", "length", 1),
    ("drip", "chunked", 1),
    ("garble", "chunked", 1),
    ("insert", "close", 1),
    ("trickle", "close", 40),
]
"""The fault, how the body is framed, and at which bytes: at every one, or every fifth."""


@pytest.mark.parametrize(("kind", "framing", "every"), COMBINATIONS)
@pytest.mark.parametrize("dialect", sorted(RECORDINGS))
async def test_every_byte(
    dialect: str, kind: Kind, framing: Framing, every: int, autojump_clock: MockClock
) -> None:
    count, complaints = await sweep(RECORDINGS[dialect], kind, framing, every=every)
    assert count > 400 / every
    assert not complaints, "\n".join(complaints[:20])
