"""Sixty texts and what three vocabularies make of them, for the tests of estimates.

The counts were recorded once, `tests/data/tokens/counts.json` says from where; no
tokenizer is needed to use them.
"""

import json
from functools import cache
from pathlib import Path

from askd.core.calibration import UNKNOWN, Rates, estimate, learn
from askd.core.items import Text, UserMessage
from askd.core.tokens import measure, measure_request

DATA = Path(__file__).parents[1] / "data" / "tokens"
SCRIPTS = ("english", "code", "russian", "chinese_japanese", "arabic_hindi", "mixed")
VOCABULARIES = ("smollm2", "cl100k", "o200k")
TEMPLATE_TOKENS, MESSAGE_TOKENS = 28, 5
"""What SmolLM2's template adds: its own system prompt once, and around each message."""


@cache
def read_texts(script: str) -> list[str]:
    """The ten texts of a script."""
    text = (DATA / f"{script}.txt").read_text(encoding="utf-8")
    return text.removesuffix("\n").split("\n=====\n")


@cache
def read_counts(script: str, vocabulary: str) -> list[int]:
    """What the vocabulary makes of each."""
    found: list[int] = json.loads((DATA / "counts.json").read_text())["counts"][script][vocabulary]
    return found


def converse(rates: Rates, script: str, vocabulary: str, turns: list[int]) -> Rates:
    """What is known after a conversation whose turns are these texts; each request holds all
    that was said before."""
    said, reported = [], TEMPLATE_TOKENS
    for turn in turns:
        said.append(UserMessage("u", (Text(read_texts(script)[turn]),)))
        reported += read_counts(script, vocabulary)[turn] + MESSAGE_TOKENS
        rates = learn(rates, measure_request(said), reported)
    return rates


def find_errors(rates: Rates, script: str, vocabulary: str, turns: list[int]) -> list[float]:
    """How far the estimates of these texts are off, as shares of the truth."""
    texts, counts = read_texts(script), read_counts(script, vocabulary)
    return [abs(estimate(measure(texts[turn]), rates) / counts[turn] - 1) for turn in turns]


def find_errors_after(
    script: str, vocabulary: str, *, known: Rates = UNKNOWN, turns: int = 3
) -> list[float]:
    """The errors of the texts that were not talked about, whichever ones those are."""
    errors = []
    for first in range(11 - turns):
        said = list(range(first, first + turns))
        rates = converse(known, script, vocabulary, said)
        errors += find_errors(rates, script, vocabulary, [n for n in range(10) if n not in said])
    return errors
