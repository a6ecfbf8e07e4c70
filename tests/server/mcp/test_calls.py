"""Arguments are checked strictly, in sentences that repeat no value."""

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from askd.server.mcp.calls import (
    TIMEOUT_S,
    AskArguments,
    ListArguments,
    ReadArguments,
    SearchArguments,
    explain,
    refuse,
)


def test_what_is_left_out_is_decided_here() -> None:
    asked = AskArguments.model_validate({"prompt": "Why?"})
    assert (asked.conversation, asked.model, asked.timeout_s) == (None, None, TIMEOUT_S)
    assert AskArguments.model_validate({"prompt": "Why?", "timeout_s": 5}).timeout_s == 5.0
    assert ReadArguments.model_validate({"conversation": "c"}).turns == 10


@pytest.mark.parametrize(
    ("model", "arguments", "said"),
    [
        (AskArguments, {}, "prompt: Field required"),
        (AskArguments, {"prompt": ""}, "prompt: String should have at least 1"),
        (AskArguments, {"prompt": 5}, "prompt: Input should be a valid string"),
        (AskArguments, {"prompt": "x", "approve": "auto"}, "approve: Extra inputs"),
        (AskArguments, {"prompt": "x", "timeout_s": 0}, "timeout_s: Input should be greater"),
        (AskArguments, {"prompt": "x", "timeout_s": 1e9}, "timeout_s: Input should be less"),
        (AskArguments, {"prompt": "x", "conversation": "y" * 65}, "conversation: String should"),
        (SearchArguments, {"query": "x", "limit": 51}, "limit: Input should be less"),
        (ReadArguments, {"conversation": "x", "turns": 0}, "turns: Input should be greater"),
        (ReadArguments, {"conversation": "x", "turns": "1"}, "turns: Input should be a valid"),
        (ListArguments, {"limit": True}, "limit: Input should be a valid integer"),
    ],
)
def test_what_cannot_be_is_said_by_its_name(
    model: type[BaseModel], arguments: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        model.model_validate(arguments)
    assert explain("ask", caught.value).startswith(f"The arguments of 'ask' do not fit: {said}")


def test_no_value_is_repeated_and_the_sentence_is_bounded() -> None:
    with pytest.raises(ValidationError) as caught:
        AskArguments.model_validate({"prompt": {"secret": 1}, **{f"{k:060}": k for k in range(99)}})
    sentence = explain("ask", caught.value)
    assert "secret" not in sentence
    assert len(sentence) < 1100


def test_a_refusal_is_an_error() -> None:
    assert (refuse("No.").texts, refuse("No.").is_error) == (("No.",), True)
