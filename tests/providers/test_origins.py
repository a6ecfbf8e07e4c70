"""What was sealed for one account goes back to that account, and to nobody else."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from askd.core.items import AssistantMessage, Item, Reasoning, Text, UserMessage
from askd.providers.base import Endpoint, ModelRequest, ReasoningSealed, TextDelta
from askd.providers.origins import MARK, find_origin, keep_own_thoughts, mark_thought

WORK = Endpoint(provider="work", base_url="https://a.example/v1", api_key="sk-canary")
SIGNED_IN = replace(WORK, account="chatgpt:a@example.com")
RAW = {"type": "reasoning", "encrypted_content": "sealed"}


def seal(endpoint: Endpoint) -> Reasoning:
    """A thought as it is kept when it came from there."""
    event = mark_thought(ReasoningSealed(RAW), find_origin(endpoint))
    assert isinstance(event, ReasoningSealed)
    return Reasoning("hm", event.raw)


def send(endpoint: Endpoint, *thoughts: Reasoning) -> tuple[Reasoning, ...]:
    """What of these thoughts is sent there."""
    answer = AssistantMessage("a", (Text("so"),), reasoning=thoughts, provider="work")
    items: list[Item] = [UserMessage("u", (Text("hi"),)), answer]
    sent = keep_own_thoughts(ModelRequest(model="m", items=items), find_origin(endpoint)).items
    assert sent[0] is items[0]
    assert isinstance(sent[1], AssistantMessage)
    assert replace(sent[1], reasoning=thoughts) == answer
    return sent[1].reasoning


def test_a_thought_goes_back_to_where_it_came_from() -> None:
    assert send(WORK, seal(WORK)) == (seal(WORK),)


@pytest.mark.parametrize(
    "change",
    [
        lambda each: replace(each, api_key="sk-other"),
        lambda each: replace(each, api_key=None),
        lambda each: replace(each, base_url="https://b.example/v1"),
        lambda each: replace(each, dialect="anthropic"),
        lambda each: replace(each, unix_socket="/run/model"),
        lambda each: replace(each, headers={"x-org": "other"}),
        lambda each: replace(each, account="chatgpt:b@example.com"),
    ],
)
@pytest.mark.parametrize("endpoint", [WORK, SIGNED_IN], ids=["key", "sign-in"])
def test_nobody_else_gets_it(change: Callable[[Endpoint], Endpoint], endpoint: Endpoint) -> None:
    other = change(endpoint)
    if endpoint.account and other.account == endpoint.account and _differs_in_key(other):
        # A sign-in's tokens change; whose they are does not.
        assert send(other, seal(endpoint)) == (seal(endpoint),)
        return
    assert send(other, seal(endpoint)) == (Reasoning("hm"),)


def _differs_in_key(other: Endpoint) -> bool:
    return replace(other, api_key=SIGNED_IN.api_key, headers={}) == SIGNED_IN


def test_what_has_no_mark_belongs_to_nobody() -> None:
    assert send(WORK, Reasoning("hm", RAW), seal(WORK)) == (Reasoning("hm"), seal(WORK))


def test_words_alone_are_not_sealed() -> None:
    assert send(WORK, Reasoning("hm")) == (Reasoning("hm"),)
    assert mark_thought(ReasoningSealed(None), "x") == ReasoningSealed(None)
    assert mark_thought(TextDelta("hi"), "x") == TextDelta("hi")


def test_a_request_with_nothing_of_others_is_the_same_one() -> None:
    request = ModelRequest(model="m", items=[AssistantMessage("a", reasoning=(seal(WORK),))])
    assert keep_own_thoughts(request, find_origin(WORK)) is request


def test_a_mark_tells_no_key() -> None:
    raw = seal(WORK).raw or {}
    assert len(raw[MARK]) == 16
    assert "canary" not in str(raw)
