"""Counting a request's tokens without answering it: the call that asks for it, and its answer.

OpenAI's API takes at `/responses/input_tokens` what `/responses` takes, Anthropic's at
`/messages/count_tokens`, and llama.cpp's server takes both and `/chat/completions/input_tokens`
too; all answer in the same words. Pure; whether a count is worth its wait is decided elsewhere.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from askd.errors import BadAnswer
from askd.providers.base import HttpCall
from askd.providers.codecs.sent_body import write_body

MOST_TOKENS = 10**9
"""No window comes near: whoever says more counts something else."""


def count_call(call: HttpCall, word: str, counted: Sequence[str]) -> HttpCall:
    """The call that asks how many tokens this one's input has.

    Args:
        word: what follows the path of a call that wants an answer.
        counted: the fields of its body that say what is read; what is about the answer is left out.
    """
    body: Mapping[str, Any] = json.loads(call.body)
    kept = {name: body[name] for name in counted if name in body}
    return replace(
        call,
        path=f"{call.path}/{word}",
        body=write_body(kept),
        headers={**call.headers, "accept": "application/json"},
    )


def read_count(provider: str, answer: Any) -> int:
    """The count in an answer; raises `BadAnswer` if it says none."""
    count = answer.get("input_tokens") if isinstance(answer, Mapping) else None
    if isinstance(count, bool) or not isinstance(count, int) or not 0 < count < MOST_TOKENS:
        raise BadAnswer(f"{provider}: the answer holds no count of tokens")
    return count
