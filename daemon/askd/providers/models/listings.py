"""What providers say of their models, read as leniently as can be.

Pure. No JSON makes it raise: what is not understood is left out. Sizes are in
tokens, prices in US dollars for a million of them. The fields are those that
each vendor or server documents for its listing; a field that only one of them
has is named beside it. It does not decide which of them is used.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from askd.providers.base import Calling, Price
from askd.providers.codecs.lenient import Json, read_object, read_objects

NAME_LIMIT = 256
"""Characters; the rest of a longer name is no name."""

MOST_TOKENS = 1_000_000_000

_NOT_FOR_CHAT = (
    "audio", "babbage", "dall-e", "davinci", "embedding", "image", "instruct", "moderation",
    "realtime", "search", "sora", "transcribe", "tts", "whisper",
)  # fmt: skip
"""Parts of the names that OpenAI lists and that do not chat."""

_NEVER_CHAT = frozenset(
    ("embed", "embedding", "embeddings", "imagen", "moderation", "rerank", "reranker", "tts",
     "veo", "whisper")
)  # fmt: skip
"""Words that say the same in the name of anybody's model."""

_OTHER_TYPES = frozenset(
    ("audio", "embedding", "embeddings", "image", "moderation", "rerank", "transcribe", "video")
)
"""`type` of a row that is not a model for text: Together, LM Studio."""

_WINDOW_FIELDS = (
    "loaded_context_length",  # LM Studio: what it was loaded with, which may be less than it can
    "max_model_len",  # vLLM
    "context_window",  # Groq
    "context_length",  # OpenRouter, Together
    "max_context_length",  # Mistral, LM Studio
    "max_input_tokens",  # Anthropic
)

_OUTPUT_FIELDS = (
    "max_completion_tokens",  # Groq
    "max_tokens",  # Anthropic
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One model as its provider lists it; None: it does not say.

    Attributes:
        images, tools: whether it can see, and whether and how it calls tools.
        is_remote: a server on this machine passes its prompts on to another one.
        is_fixed: its window was set where it is served, on purpose.
    """

    name: str
    context_window: int | None = None
    max_output_tokens: int | None = None
    images: bool | None = None
    tools: Calling | None = None
    price: Price | None = None
    is_remote: bool = False
    is_fixed: bool = False


def read_listing(listing: Any, *, is_openai: bool = False) -> list[Listed]:
    """`{"data": [{"id": ...}]}` (or Together's bare array) of OpenAI and everybody like it.

    In their order; of those that are known not to chat, none.
    """
    found = []
    for row in _find_rows(listing, "data") or _find_rows(listing, "models"):
        name = _read_name(row.get("id") or row.get("slug"))  # the latter: ChatGPT's backend
        if name is not None and row.get("owned_by") == "google":
            name = name.removeprefix("models/")  # Gemini takes both, and people type the short one
        if name is None or not _may_chat(row, name, is_openai=is_openai):
            continue
        found.append(
            Listed(
                name=name,
                context_window=_read_window(row),
                max_output_tokens=_first_tokens(row, _OUTPUT_FIELDS)
                or _tokens(read_object(row.get("top_provider")).get("max_completion_tokens")),
                images=_read_images(row),
                tools=_read_tools(row),
                price=_read_price(read_object(row.get("pricing"))),
            )
        )
    return _unite(found)


def read_anthropic(listing: Any) -> list[Listed]:
    """One page of `GET /v1/models`; those that are retired are left out."""
    found = []
    for row in _find_rows(listing, "data"):
        name = _read_name(row.get("id"))
        if name is None or row.get("lifecycle") == "retired":
            continue
        sight = read_object(read_object(row.get("capabilities")).get("image_input"))
        found.append(
            Listed(
                name=name,
                context_window=_first_tokens(row, _WINDOW_FIELDS),
                max_output_tokens=_first_tokens(row, _OUTPUT_FIELDS),
                images=_flag(sight.get("supported")),
            )
        )
    return _unite(found)


def read_next_page(listing: Any) -> str | None:
    """Anthropic's cursor to what comes after this page."""
    page = read_object(listing)
    return _read_name(page.get("last_id")) if page.get("has_more") is True else None


def read_copilot(listing: Any) -> list[Listed]:
    """`GET /models` of GitHub Copilot: those that chat and that the user's plan has enabled."""
    found = []
    for row in _find_rows(listing, "data"):
        name = _read_name(row.get("id"))
        capabilities = read_object(row.get("capabilities"))
        state = read_object(row.get("policy")).get("state", "enabled")
        is_hidden = row.get("model_picker_enabled") is False
        if name is None or is_hidden or capabilities.get("type", "chat") != "chat":
            continue
        if state != "enabled":
            continue
        limits, supports = (
            read_object(capabilities.get("limits")),
            read_object(capabilities.get("supports")),
        )
        window = _tokens(limits.get("max_context_window_tokens"))
        output = _tokens(limits.get("max_output_tokens"))
        prompt = _tokens(limits.get("max_prompt_tokens"))
        if prompt is not None:
            # This is what a request may hold, often less than the window leaves for it.
            output = min(output or prompt // 4, prompt)
            window = prompt + output
        found.append(
            Listed(
                name=name,
                context_window=window,
                max_output_tokens=output,
                images=_flag(supports.get("vision")),
                tools=_flag(supports.get("tool_calls")),
            )
        )
    return _unite(found)


def read_ollama_names(tags: Any) -> list[str]:
    """`GET /api/tags`: the models that are there, those used last first."""
    rows = _find_rows(tags, "models")
    names = [_read_name(row.get("model") or row.get("name")) for row in rows]
    return list(dict.fromkeys(name for name in names if name is not None))


def read_ollama_model(name: str, shown: Any) -> Listed | None:
    """`POST /api/show` of one model; None: it does not chat."""
    page = read_object(shown)
    capabilities = page.get("capabilities")
    can = capabilities if isinstance(capabilities, list) and capabilities else None
    if can is not None and "completion" not in can:
        return None
    # The key is "ARCHITECTURE.context_length".
    facts = read_object(page.get("model_info")).items()
    lengths = [value for key, value in facts if str(key).endswith(".context_length")]
    window = next((size for size in map(_tokens, lengths) if size is not None), None)
    fixed = _read_num_ctx(page.get("parameters"))
    return Listed(
        name=name,
        context_window=fixed or window,
        images=None if can is None else "vision" in can,
        tools=None if can is None else "tools" in can,
        is_remote=bool(page.get("remote_host") or page.get("remote_model")),
        is_fixed=fixed is not None,
    )


def _read_num_ctx(parameters: Any) -> int | None:
    """`num_ctx` among the lines of a Modelfile's parameters."""
    found = re.search(r"^num_ctx\s+(\d{1,9})\s*$", str(parameters), re.ASCII | re.MULTILINE)
    return _tokens(int(found[1])) if found else None


# ---- rows of OpenAI's kind --------------------------------------------------------


def _may_chat(row: Json, name: str, *, is_openai: bool) -> bool:
    """Whether nothing says that this is no model for chat."""
    outputs = read_object(row.get("architecture")).get("output_modalities")  # OpenRouter
    if isinstance(outputs, list) and outputs and "text" not in outputs:
        return False
    if str(row.get("type")) in _OTHER_TYPES:
        return False
    if read_object(row.get("capabilities")).get("completion_chat") is False:  # Mistral
        return False
    if row.get("active") is False:  # Groq
        return False
    if is_openai and any(word in name for word in _NOT_FOR_CHAT):
        return False
    return _NEVER_CHAT.isdisjoint(re.split(r"[^a-z0-9]+", name.lower()))


def _read_window(row: Json) -> int | None:
    meta = read_object(row.get("meta"))  # llama.cpp
    size = _tokens(meta.get("n_ctx")) or _first_tokens(row, _WINDOW_FIELDS)
    # OpenRouter: who serves it first may have a smaller window than the model.
    served = _tokens(read_object(row.get("top_provider")).get("context_length"))
    if size is not None and served is not None:
        return min(size, served)
    return size or served or _tokens(meta.get("n_ctx_train"))


def _read_images(row: Json) -> bool | None:
    inputs = read_object(row.get("architecture")).get("input_modalities")  # OpenRouter
    if isinstance(inputs, list) and inputs:
        return "image" in inputs
    if row.get("type") == "vlm":  # LM Studio
        return True
    return _flag(read_object(row.get("capabilities")).get("vision"))  # Mistral


def _read_tools(row: Json) -> bool | None:
    parameters = row.get("supported_parameters")  # OpenRouter
    if isinstance(parameters, list) and parameters:
        return "tools" in parameters
    return _flag(read_object(row.get("capabilities")).get("function_calling"))  # Mistral


def _read_price(pricing: Json) -> Price | None:
    if "prompt" in pricing:  # OpenRouter: text, for one token; -1: it depends
        return _price(pricing, ("prompt", "completion", "input_cache_read"), factor=1e6)
    price = _price(pricing, ("input", "output", "cached_input"), factor=1.0)  # Together
    # What Together has no price for it lists with nothing, not as free.
    return price if price is not None and (price.input or price.output) else None


def _price(pricing: Json, names: tuple[str, str, str], *, factor: float) -> Price | None:
    asked, said, cached = (_dollars(pricing.get(name), factor) for name in names)
    if asked is None or said is None:
        return None
    return Price(input=asked, output=said, cached=cached)


# ---- single values ----------------------------------------------------------------


def _find_rows(listing: Any, key: str) -> list[Json]:
    return read_objects(listing if isinstance(listing, list) else read_object(listing).get(key))


def _unite(found: Iterable[Listed]) -> list[Listed]:
    """Each name once."""
    once: dict[str, Listed] = {}
    for each in found:
        once.setdefault(each.name, each)
    return list(once.values())


def _read_name(value: Any) -> str | None:
    is_name = isinstance(value, str) and 0 < len(value) <= NAME_LIMIT
    return value if is_name and value.isprintable() and value.strip() == value else None


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _first_tokens(row: Json, names: Iterable[str]) -> int | None:
    sizes = (_tokens(row.get(name)) for name in names)
    return next((size for size in sizes if size is not None), None)


def _tokens(value: Any) -> int | None:
    """A size that can be one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 1 <= value <= MOST_TOKENS else None


def _dollars(value: Any, factor: float) -> float | None:
    """Dollars for a million tokens, from a number or its text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        price = float(value) * factor
    except (ValueError, OverflowError):
        return None
    return round(price, 9) if math.isfinite(price) and 0 <= price < MOST_TOKENS else None
