"""Listings as the vendors document them, read to values; and any JSON, which never raises."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.providers.base import Price
from askd.providers.models.listings import (
    Listed,
    read_anthropic,
    read_copilot,
    read_listing,
    read_next_page,
    read_ollama_model,
    read_ollama_names,
)

FIELDS = (
    "data", "models", "id", "slug", "name", "model", "type", "active", "owned_by", "lifecycle",
    "context_length", "max_model_len", "max_tokens", "architecture", "input_modalities",
    "output_modalities", "pricing", "prompt", "completion", "input", "output", "meta", "n_ctx",
    "top_provider", "capabilities", "limits", "supports", "vision", "max_prompt_tokens", "policy",
    "state", "image_input", "supported", "supported_parameters", "model_info", "parameters",
    "x.context_length", "has_more", "last_id", "remote_host",
)  # fmt: skip
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6)
    | st.sampled_from(["image", "text", "tools", "chat", "vlm", "1e400", "-1", "num_ctx 4096"])
)  # fmt: skip
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=6)
    ),
    max_leaves=25,
)


@given(JSON)
def test_any_json_is_read_without_an_error(page: Any) -> None:
    shown = read_ollama_model("m", page)
    found = [
        *read_listing(page),
        *read_listing(page, is_openai=True),
        *read_anthropic(page),
        *read_copilot(page),
        *([shown] if shown is not None else []),
    ]
    for each in found:
        assert each.name.isprintable()
        assert each.name
        for size in (each.context_window, each.max_output_tokens):
            assert size is None or (type(size) is int and size > 0)
        assert each.images in (None, True, False)
        if each.price is not None:
            assert 0 <= each.price.input < 1e10
            assert 0 <= each.price.output < 1e10
    assert all(isinstance(name, str) for name in read_ollama_names(page))
    assert isinstance(read_next_page(page), str | None)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"id": "gpt-5", "object": "model", "owned_by": "system"}, Listed(name="gpt-5")),
        (  # OpenRouter
            {
                "id": "anthropic/claude-sonnet-4",
                "context_length": 1_000_000,
                "architecture": {"input_modalities": ["text", "image"],
                                 "output_modalities": ["text"]},
                "pricing": {"prompt": "0.000003", "completion": "0.000015",
                            "input_cache_read": "0.0000003", "image": "0.0048"},
                "top_provider": {"context_length": 200_000, "max_completion_tokens": 64_000},
                "supported_parameters": ["temperature", "tools"],
            },
            Listed(name="anthropic/claude-sonnet-4", context_window=200_000,
                   max_output_tokens=64_000, images=True, tools=True,
                   price=Price(input=3.0, output=15.0, cached=0.3)),
        ),
        (  # OpenRouter: what it costs depends on where it goes
            {"id": "openrouter/auto", "context_length": 2_000_000,
             "architecture": {"input_modalities": ["text"]},
             "pricing": {"prompt": "-1", "completion": "-1"}, "supported_parameters": ["stop"]},
            Listed(name="openrouter/auto", context_window=2_000_000, images=False, tools=False),
        ),
        (  # OpenRouter: free
            {"id": "x/y:free", "pricing": {"prompt": "0", "completion": "0"}},
            Listed(name="x/y:free", price=Price(input=0.0, output=0.0)),
        ),
        (  # Groq
            {"id": "llama-3.3-70b-versatile", "active": True, "context_window": 131_072,
             "max_completion_tokens": 32_768},
            Listed(name="llama-3.3-70b-versatile", context_window=131_072,
                   max_output_tokens=32_768),
        ),
        (  # Mistral
            {"id": "mistral-medium-latest", "max_context_length": 131_072, "type": "base",
             "capabilities": {"completion_chat": True, "function_calling": True, "vision": True}},
            Listed(name="mistral-medium-latest", context_window=131_072, images=True, tools=True),
        ),
        (  # Together
            {"id": "meta-llama/Llama-3.3-70B-Instruct-Turbo", "type": "chat",
             "context_length": 131_072, "pricing": {"hourly": 0, "input": 0.88, "output": 0.88}},
            Listed(name="meta-llama/Llama-3.3-70B-Instruct-Turbo", context_window=131_072,
                   price=Price(input=0.88, output=0.88)),
        ),
        (  # Together: without a price
            {"id": "a/b", "type": "chat", "pricing": {"input": 0, "output": 0}}, Listed(name="a/b"),
        ),
        (  # Gemini's compatible listing
            {"id": "models/gemini-2.5-pro", "object": "model", "owned_by": "google"},
            Listed(name="gemini-2.5-pro"),
        ),
        (  # llama.cpp: what it runs with counts before what it was trained with
            {"id": "m.gguf", "meta": {"n_ctx": 4096, "n_ctx_train": 32_768}},
            Listed(name="m.gguf", context_window=4096),
        ),
        ({"id": "m", "meta": {"n_ctx_train": 8192}}, Listed(name="m", context_window=8192)),
        ({"id": "m", "max_model_len": 16_384}, Listed(name="m", context_window=16_384)),  # vLLM
        (  # LM Studio: what it has loaded counts before what the model could
            {"id": "qwen2-vl-7b", "type": "vlm", "loaded_context_length": 4096,
             "max_context_length": 32_768},
            Listed(name="qwen2-vl-7b", context_window=4096, images=True),
        ),
        ({"id": "m", "context_length": True, "max_tokens": -1}, Listed(name="m")),
    ],
)  # fmt: skip
def test_what_each_kind_of_server_says(row: Any, expected: Listed) -> None:
    assert read_listing({"object": "list", "data": [row]}) == [expected]
    assert read_listing([row]) == [expected]  # Together answers a bare array


@pytest.mark.parametrize(
    "row",
    [
        {"id": "text-embedding-3-small"},
        {"id": "nomic-embed-text-v1.5"},
        {"id": "whisper-large-v3"},
        {"id": "models/imagen-4", "owned_by": "google"},
        {"id": "a", "type": "embeddings"},
        {"id": "a", "type": "image"},
        {"id": "a", "active": False},
        {"id": "a", "capabilities": {"completion_chat": False}},
        {"id": "a", "architecture": {"output_modalities": ["image"]}},
        {"id": ""},
        {"id": "a\x1b[31m"},
        {"id": " a"},
        {"id": "x" * 300},
        {"id": 7},
    ],
)
def test_what_does_not_chat_or_is_no_name_is_left_out(row: Any) -> None:
    assert read_listing({"data": [row, {"id": "stays"}]}) == [Listed(name="stays")]


def test_openai_lists_much_that_does_not_chat() -> None:
    names = ["gpt-5", "gpt-4o-realtime-preview", "dall-e-3", "gpt-3.5-turbo-instruct", "o3"]
    listing = {"data": [{"id": name} for name in names]}
    assert [each.name for each in read_listing(listing, is_openai=True)] == ["gpt-5", "o3"]
    assert [each.name for each in read_listing(listing)] == names


def test_order_is_kept_and_names_come_once() -> None:
    rows = [{"id": "b"}, {"id": "a"}, {"id": "b", "context_length": 5}, "junk"]
    assert [each.name for each in read_listing({"data": rows})] == ["b", "a"]


def test_chatgpts_backend_names_its_models_in_another_way() -> None:
    page = {"models": [{"slug": "gpt-5-codex", "context_window": 272_000}]}
    assert read_listing(page) == [Listed(name="gpt-5-codex", context_window=272_000)]


def test_anthropic() -> None:
    page = {
        "data": [
            {"id": "claude-opus-4-6", "type": "model", "max_input_tokens": 200_000,
             "max_tokens": 64_000, "lifecycle": "active",
             "capabilities": {"image_input": {"supported": True}}},
            {"id": "claude-2.1", "lifecycle": "retired"},
            {"id": "claude-3-haiku-20240307", "display_name": "Claude Haiku 3"},
        ],
        "has_more": True,
        "last_id": "claude-3-haiku-20240307",
    }  # fmt: skip
    assert read_anthropic(page) == [
        Listed(name="claude-opus-4-6", context_window=200_000, max_output_tokens=64_000,
               images=True),
        Listed(name="claude-3-haiku-20240307"),
    ]  # fmt: skip
    assert read_next_page(page) == "claude-3-haiku-20240307"
    assert read_next_page({**page, "has_more": False}) is None


def copilot_row(**more: Any) -> Any:
    limits = {"max_context_window_tokens": 128_000, "max_output_tokens": 16_384,
              "max_prompt_tokens": 64_000}  # fmt: skip
    supports = {"vision": True, "tool_calls": True}
    return {
        "id": "gpt-4.1",
        "model_picker_enabled": True,
        "capabilities": {"type": "chat", "limits": limits, "supports": supports},
        **more,
    }


def test_copilot_takes_less_than_the_window() -> None:
    (found,) = read_copilot({"data": [copilot_row(policy={"state": "enabled"})]})
    assert found == Listed(
        name="gpt-4.1", context_window=80_384, max_output_tokens=16_384, images=True, tools=True
    )


@pytest.mark.parametrize(
    "more",
    [
        {"policy": {"state": "unconfigured"}},
        {"model_picker_enabled": False},
        {"capabilities": {"type": "embeddings"}},
        {"id": None},
    ],
)
def test_copilots_models_that_are_not_enabled_are_left_out(more: Any) -> None:
    assert read_copilot({"data": [copilot_row(**more)]}) == []


def test_copilot_without_a_limit_for_prompts() -> None:
    row = copilot_row(
        capabilities={"type": "chat", "limits": {"max_context_window_tokens": 128_000}}
    )
    assert read_copilot({"data": [row]}) == [Listed(name="gpt-4.1", context_window=128_000)]


def test_ollamas_names() -> None:
    tags = {"models": [{"name": "qwen3:8b", "model": "qwen3:8b"}, {"name": "old:latest"}, {}]}
    assert read_ollama_names(tags) == ["qwen3:8b", "old:latest"]


def show(**more: Any) -> Any:
    facts = {"general.architecture": "qwen3", "qwen3.context_length": 40_960}
    return {"capabilities": ["completion", "tools", "thinking"], "model_info": facts, **more}


def test_ollamas_model() -> None:
    assert read_ollama_model("qwen3:8b", show()) == Listed(
        name="qwen3:8b", context_window=40_960, images=False, tools=True
    )


@pytest.mark.parametrize(
    ("more", "check"),
    [
        ({"capabilities": ["embedding"]}, lambda found: found is None),
        ({"capabilities": None}, lambda found: (found.images, found.tools) == (None, None)),
        ({"capabilities": ["completion", "vision"]}, lambda found: found.images is True),
        ({"remote_host": "https://ollama.com"}, lambda found: found.is_remote),
        ({"parameters": "stop \"x\"\nnum_ctx                        16384\n"},
         lambda found: (found.context_window, found.is_fixed) == (16_384, True)),
        ({"parameters": "num_ctx 0"}, lambda found: not found.is_fixed),
        ({"model_info": {}}, lambda found: found.context_window is None),
    ],
)  # fmt: skip
def test_ollamas_models_differ(more: Any, check: Callable[[Any], bool]) -> None:
    assert check(read_ollama_model("m", show(**more)))
