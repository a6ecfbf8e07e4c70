"""Wrong readers, planted on purpose: the sweep must catch every one of them.

Each makes a mistake that programs of this kind really make. A sweep that passes
with one of these in place would prove nothing about the right one.
"""

from collections.abc import Callable

import pytest
from trio.testing import MockClock

from askd.providers.base import Decoder
from tests.fakes.fault_network import Framing, Kind
from tests.faults.recordings import RECORDINGS
from tests.faults.sweep import Ask, sweep
from tests.faults.wrong_readers import (
    CallsAtOnce,
    EachReadDecoded,
    EndsAtTheStop,
    HoldsBack,
    SkipsBadLines,
    Splitlines,
    Spoiled,
    ask_again,
    ask_carelessly,
    ask_patiently,
    ask_until_eof,
)

CHAT = RECORDINGS["openai-chat"]


@pytest.mark.parametrize(
    ("spoil", "kind", "complaint"),
    [
        (Splitlines, "split", "did not end|said"),
        (EachReadDecoded, "split", "said"),
        (EndsAtTheStop, "cut", "ended before its end event"),
        (CallsAtOnce, "cut", "before the model had stopped"),
        (HoldsBack, "cut", "kept ''"),
        (SkipsBadLines, "split", "ended with|said"),
    ],
)
async def test_a_wrong_decoder_is_caught(
    spoil: Callable[[Decoder], Decoder], kind: Kind, complaint: str, autojump_clock: MockClock
) -> None:
    codec = Spoiled(CHAT.codec, spoil)
    _, complaints = await sweep(CHAT, kind, "close", codec=codec, every=7)
    found = [each for each in complaints if any(word in each for word in complaint.split("|"))]
    assert found, complaints[:5]


@pytest.mark.parametrize(
    ("ask", "kind", "framing", "complaint"),
    [
        (ask_until_eof, "cut", "close", "ended before its end event"),
        (ask_again, "reset", "chunked", "asked 2 times"),
        (ask_patiently, "stall", "length", "with nothing new"),
        (ask_carelessly, "cut", "close", "raised OSError"),
    ],
)
async def test_a_wrong_reader_is_caught(
    ask: Ask,
    kind: Kind,
    framing: Framing,
    complaint: str,
    autojump_clock: MockClock,
) -> None:
    _, complaints = await sweep(CHAT, kind, framing, ask=ask, every=7)
    assert [each for each in complaints if complaint in each], complaints[:5]
