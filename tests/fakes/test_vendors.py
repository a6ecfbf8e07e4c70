"""The scripted vendors: what they say is what the vendors' own packages read; what they refuse."""

import json
from collections.abc import Sequence
from typing import Any

import anthropic
import httpx
import httpx2
import ollama
import openai
import pytest
from anthropic.types import TextBlock, ThinkingBlock, ToolUseBlock

from tests.fakes.chat_answers import Json, Status
from tests.fakes.vendor import Said
from tests.fakes.vendor_anthropic import Anthropic
from tests.fakes.vendor_copilot import SIGN_IN, TOKEN, Copilot
from tests.fakes.vendor_ollama import Ollama
from tests.fakes.vendor_openai import OpenAIResponses
from tests.fakes.vendors import VENDORS, open_vendor

WHOLE = Said(
    texts=("Hel", "lo"),
    thought="Hmm",
    call=("call_9", "look", '{"a": "é"}'),
    stop="calls",
    input_tokens=12,
    cached_tokens=4,
    output_tokens=7,
)


def replying(events: Sequence[bytes]) -> httpx2.Client:
    """A client on whose network every request gets this stream."""
    content = b"".join(events)
    headers = {"content-type": "text/event-stream"}
    return httpx2.Client(
        transport=httpx2.MockTransport(
            lambda _: httpx2.Response(200, headers=headers, content=content)
        )
    )


def test_openai_reads_our_responses() -> None:
    with openai.OpenAI(api_key="k", http_client=replying(OpenAIResponses().speak(WHOLE))) as client:
        events = list(client.responses.create(model="fake", input="Hi", stream=True))
    final = events[-1]
    assert isinstance(final, openai.types.responses.ResponseCompletedEvent)
    thought, message, call = final.response.output
    assert thought.type == "reasoning"
    assert thought.summary[0].text == "Hmm"
    assert message.type == "message"
    assert final.response.output_text == "Hello"
    assert call.type == "function_call"
    assert (call.call_id, call.name, call.arguments) == ("call_9", "look", '{"a": "é"}')
    usage = final.response.usage
    assert usage is not None
    assert (usage.input_tokens, usage.input_tokens_details.cached_tokens) == (12, 4)
    deltas = [each.delta for each in events if each.type == "response.output_text.delta"]
    assert "".join(deltas) == "Hello"
    pieces = [e.delta for e in events if e.type == "response.function_call_arguments.delta"]
    assert "".join(pieces) == '{"a": "é"}'


def test_anthropic_reads_our_messages() -> None:
    with (
        anthropic.Anthropic(api_key="k", http_client=replying(Anthropic().speak(WHOLE))) as client,
        client.messages.stream(
            model="fake", max_tokens=5, messages=[{"role": "user", "content": "Hi"}]
        ) as stream,
    ):
        message = stream.get_final_message()
    thought, text, call = message.content
    assert isinstance(thought, ThinkingBlock)
    assert (thought.thinking, thought.signature) == ("Hmm", "c2VhbGVk")
    assert isinstance(text, TextBlock)
    assert text.text == "Hello"
    assert isinstance(call, ToolUseBlock)
    assert (call.id, call.name, call.input) == ("call_9", "look", {"a": "é"})
    assert message.stop_reason == "tool_use"
    usage = message.usage
    assert (usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens) == (8, 4, 7)


def test_ollama_reads_our_lines() -> None:
    lines = [ollama.ChatResponse.model_validate_json(line) for line in Ollama().speak(WHOLE)]
    assert "".join(line.message.thinking or "" for line in lines) == "Hmm"
    assert "".join(line.message.content or "" for line in lines) == "Hello"
    calls = [call for line in lines for call in line.message.tool_calls or ()]
    assert [(call.function.name, dict(call.function.arguments)) for call in calls] == [
        ("look", {"a": "é"})
    ]
    assert [line.done for line in lines] == [False] * (len(lines) - 1) + [True]
    assert (lines[-1].prompt_eval_count, lines[-1].eval_count) == (12, 7)


def test_openai_reads_copilots_chunks() -> None:
    with openai.OpenAI(api_key="k", http_client=replying(Copilot().speak(WHOLE))) as client:
        messages: Any = [{"role": "user", "content": "Hi"}]
        chunks = list(client.chat.completions.create(model="f", messages=messages, stream=True))
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert "".join(delta.content or "" for delta in deltas) == "Hello"
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.prompt_tokens == 12


def words(refusal: Status | None) -> str:
    """The message of a refusal, or nothing."""
    if refusal is None:
        return ""
    error = json.loads(refusal.body)["error"]
    return str(error if isinstance(error, str) else error["message"])


USER: Json = {"role": "user", "content": "Hi"}
CALL: Json = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}
OUTPUT: Json = {"type": "function_call_output", "call_id": "c1", "output": "seen"}


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([USER], ""),
        ([USER, CALL, OUTPUT], ""),
        ([USER, CALL, USER, OUTPUT], ""),  # pairing is by id, not by place
        ([USER, OUTPUT], "No tool call found for function call output with call_id c1."),
        ([USER, OUTPUT, CALL], "No tool call found for function call output with call_id c1."),
        ([USER, CALL], "No tool output found for function call c1."),
        ([], 'One of "input" or "previous_response_id" or \'prompt\' must be provided.'),
        ([{**CALL, "call_id": "c" * 65}], "string too long"),
        ([{**CALL, "id": "call_1"}], "begins with 'fc'"),
        ([{"type": "reasoning", "id": "rs_1", "summary": []}], "are not persisted"),
        (
            [{"type": "reasoning", "id": "rs_1", "encrypted_content": "x"}, USER],
            "without its required following item",
        ),
        ([{"role": "assistant", "content": [{"type": "input_text"}]}], "Supported values are"),
    ],
)
def test_responses_rules(items: list[Json], expected: str) -> None:
    said = words(OpenAIResponses().find_violation({"model": "fake", "input": items}))
    assert expected in said
    assert bool(expected) == bool(said)


def test_responses_knows_its_parameters() -> None:
    vendor = OpenAIResponses()
    assert "Unknown parameter: 'stop'" in words(vendor.find_violation({"input": "x", "stop": []}))
    small = {"input": "x", "max_output_tokens": 3}
    assert "below minimum" in words(vendor.find_violation(small))
    loose = {"format": {"type": "json_schema", "name": "a", "strict": True, "schema": {}}}
    refused = vendor.find_violation({"input": [USER], "text": loose})
    assert "'additionalProperties' is required" in words(refused)


def use(name: str = "t1") -> Json:
    return {"type": "tool_use", "id": name, "name": "look", "input": {}}


def result(name: str = "t1") -> Json:
    return {"type": "tool_result", "tool_use_id": name, "content": "seen"}


def text(words: str = "Hi") -> Json:
    return {"type": "text", "text": words}


def said(role: str, *blocks: Json) -> Json:
    return {"role": role, "content": list(blocks)}


FOUND = "`tool_use` ids were found without `tool_result` blocks immediately after: t1"
UNEXPECTED = "unexpected `tool_use_id` found in `tool_result` blocks: t1"


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([USER], ""),
        ([USER, said("assistant", text(), use()), said("user", result(), text())], ""),
        ([USER, said("assistant", use())], FOUND),
        ([USER, said("assistant", use()), USER, said("user", result())], FOUND),
        ([USER, said("assistant", use()), said("user", text(), result())], FOUND),
        ([USER, said("user", result())], UNEXPECTED),
        (
            [
                USER,
                said("assistant", use()),
                said("user", result()),
                said("assistant", text()),
                said("user", result()),
            ],
            UNEXPECTED,
        ),
        (
            [USER, said("assistant", use(), use("t2")), said("user", result())],
            "immediately after: t2",
        ),
        ([said("assistant", text()), USER], 'first message must use the "user" role'),
        ([USER, said("assistant", text("")), USER], "text content blocks must be non-empty"),
        ([USER, said("assistant", text(" ")), USER], "non-whitespace"),
        ([USER, said("assistant")], ""),
        (
            [
                USER,
                said("assistant", text("So ")),
            ],
            "trailing whitespace",
        ),
        ([USER, said("assistant", use("a.b")), said("user", result("a.b"))], "should match"),
        ([USER, said("assistant", {**use(), "name": "a b"}), said("user", result())], "_use.name"),
        (
            [USER, *[said("assistant", use()), said("user", result())] * 2],
            "must be unique",
        ),
        ([{"role": "system", "content": "x"}, USER], 'Unexpected role "system"'),
        ([USER, said("assistant", use(), use()), said("user", result())], "must be unique"),
    ],
)
def test_messages_rules(messages: list[Json], expected: str) -> None:
    body = {"model": "fake", "max_tokens": 5, "messages": messages}
    found = words(Anthropic().find_violation(body))
    assert expected in found
    assert bool(expected) == bool(found)


def test_messages_needs_a_limit() -> None:
    assert words(Anthropic().find_violation({"messages": [USER]})) == "max_tokens: Field required"


@pytest.mark.parametrize("dialect", sorted(VENDORS))
async def test_who_is_let_in(dialect: str) -> None:
    vendor = VENDORS[dialect]()
    bodies: dict[str, Json] = {
        "openai-responses": {"input": [USER]},
        "anthropic": {"messages": [USER], "max_tokens": 9},
    }
    body = {"model": "fake", "stream": True, **bodies.get(dialect, {"messages": [USER]})}
    extra = {
        "anthropic-version": "2023-06-01",
        "editor-version": "x/1",
        "copilot-integration-id": "x",
    }
    good = {"authorization": "Bearer k", **extra}
    async with open_vendor(dialect, api_key="k") as server, httpx.AsyncClient() as client:
        url = server.base_url + vendor.completion_path

        async def ask(headers: dict[str, str] = good, **fields: Any) -> httpx.Response:
            return await client.post(url, headers=headers, json={**body, **fields})

        assert (await ask({**good, "authorization": "Bearer other"})).status_code == 401
        assert (await ask(extra)).status_code == 401
        unknown = await ask(model="gone")
        assert unknown.status_code in (400, 404)
        assert len(server.violations) == 3
        assert server.requests == []
        answer = await ask()
        assert answer.status_code == 200
        assert answer.headers["content-type"] == vendor.stream_type
        assert "tok19" in answer.text
        server.say(Said(texts=("scripted",)))
        assert "scripted" in (await ask()).text
        server.script(vendor.fail(429))
        assert (await ask()).status_code == 429
        assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("dialect", "status", "expected"),
    [
        ("openai-responses", 400, "context_length_exceeded"),
        ("anthropic", 400, "prompt is too long: "),
        ("copilot", 400, "model_max_prompt_tokens_exceeded"),
        ("ollama", 200, '"prompt_eval_count": 100'),
    ],
)
async def test_what_is_too_long(dialect: str, status: int, expected: str) -> None:
    long = {"role": "user", "content": "word " * 200}
    bodies: dict[str, Json] = {
        "openai-responses": {"input": [long]},
        "anthropic": {"messages": [long], "max_tokens": 5},
        "copilot": {"messages": [long]},
        "ollama": {"messages": [long], "options": {"num_ctx": 100}},
    }
    headers = {"anthropic-version": "1", "editor-version": "x", "copilot-integration-id": "x"}
    headers["authorization"] = f"Bearer {TOKEN}"
    async with open_vendor(dialect, context_tokens=100) as server, httpx.AsyncClient() as client:
        url = server.base_url + server.vendor.completion_path
        answer = await client.post(url, headers=headers, json={"model": "fake", **bodies[dialect]})
    assert answer.status_code == status
    assert expected in answer.text


async def test_copilot_exchanges_a_sign_in_for_a_token() -> None:
    async with open_vendor("copilot") as server, httpx.AsyncClient() as client:
        path = f"{server.base_url}/copilot_internal/v2/token"
        wrong = await client.get(path, headers={"authorization": "token other"})
        assert wrong.status_code == 401
        given = (await client.get(path, headers={"authorization": f"token {SIGN_IN}"})).json()
        assert given["endpoints"]["api"] == server.base_url
        headers = {
            "authorization": f"Bearer {given['token']}",
            "editor-version": "x/1",
            "copilot-integration-id": "x",
        }
        listed = await client.get(f"{server.base_url}/models", headers=headers)
        assert [each["id"] for each in listed.json()["data"]] == ["fake", "fake-large"]
        assert server.exchanges == 2


def test_ollama_reads_types_and_nothing_more() -> None:
    vendor = Ollama()
    orphan = {"role": "tool", "content": "seen"}
    assert vendor.find_violation({"messages": [orphan]}) is None
    listed = {"role": "user", "content": [text()]}
    refused = words(vendor.find_violation({"messages": [listed]}))
    assert refused.startswith("json: cannot unmarshal array into Go struct field messages.content")
    call = {"function": {"name": "look", "arguments": "{}"}}
    asked = {"role": "assistant", "content": "", "tool_calls": [call]}
    assert "cannot unmarshal string" in words(vendor.find_violation({"messages": [asked]}))


@pytest.mark.parametrize(
    ("call_id", "name", "arguments", "expected"),
    [
        ("c", "f", "{}", ""),
        ("", "f", "{}", "string too long"),
        ("x" * 41, "f", "{}", "maximum length 40"),
        ("c", "a b", "{}", "does not match pattern"),
        ("c", "", "{}", "does not match pattern"),
        ("c", "f", {}, "expected a string"),
    ],
)
def test_chat_reads_each_call(call_id: str, name: str, arguments: Any, expected: str) -> None:
    called = {"id": call_id, "function": {"name": name, "arguments": arguments}}
    messages = [
        USER,
        {"role": "assistant", "content": None, "tool_calls": [called]},
        {"role": "tool", "tool_call_id": call_id, "content": "seen"},
    ]
    found = words(Copilot().find_violation({"messages": messages}))
    assert expected in found
    assert bool(expected) == bool(found)


def test_responses_refuses_names() -> None:
    called = {"type": "function_call", "call_id": "c", "name": "a b", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c", "output": "seen"}
    items = [USER, called, output]
    said = words(OpenAIResponses().find_violation({"input": items}))
    assert "input[1].name" in said
