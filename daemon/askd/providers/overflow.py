"""Whether a server's words mean that the conversation exceeds the model's window.

One table over all vendors, from their own messages as they stand in public
documents, sources and reports. What it must not take for an overflow is as
important: shrinking the conversation helps against none of the limits on rates,
on the length of an answer, of one field, one file or one image.

A body that is too large in bytes (HTTP 413, Anthropic's `request_too_large`)
counts as an overflow for `refusals`, though no window is exceeded: it is the
conversation with its images that is too large, and a smaller one is the remedy.
"""

import re

CODES = frozenset(
    {
        "context_length_exceeded",  # OpenAI in both dialects, Groq, Cerebras
        "model_max_prompt_tokens_exceeded",  # Copilot
        "exceed_context_size_error",  # llama.cpp, as its type
        "context_window_exceeded",
        "model_context_window_exceeded",  # Anthropic, where it is no stop reason
    }
)
"""Values of `code` or `type`."""

NEVER = frozenset(
    {
        "string_above_max_length",  # one field is too long; its text reads like an overflow's
        "array_above_max_length",
        "rate_limit_exceeded",  # "Request too large ... on tokens per min (TPM)"
        "rate_limit_error",
        "insufficient_quota",
    }
)
"""Codes and types that say by themselves that it is something else."""

_N = r"\d[\d,._]*"

WORDS: tuple[tuple[str, str], ...] = (
    ("Anthropic", r"prompt is too long"),
    ("Anthropic", r"exceeds? context limit"),
    ("OpenAI Responses", r"(?:input|prompt|request) exceeds the (?:model's )?context window"),
    ("OpenAI, configured", r"input tokens exceed the configured limit"),
    ("OpenAI, vLLM, DeepSeek, OpenRouter", r"maximum context length (?:is|of)\b"),
    ("litellm's list", r"model's maximum context limit"),
    ("SGLang, vLLM", r"exceeds? (?:the )?(?:model's |model )?maximum context length"),
    ("SGLang", r"is longer than the model's context length"),
    ("vLLM", r"prompt \(.{0,60}\) is (?:too long and exceeds|longer than) the (?:maximum )?model"),
    ("vLLM", rf"exceeds (?:the )?maximum allowed input length of {_N} tokens"),
    ("llama.cpp", r"exceeds? the available context size"),
    ("LM Studio", r"tokens to keep from the initial prompt is greater than the context length"),
    ("LM Studio", rf"loaded with (?:a )?context length of only {_N}"),
    ("LM Studio", rf"input length {_N} exceeds context length"),
    ("Ollama", r"input length exceeds the context length"),
    ("Ollama", r"prompt too long; exceeded max context length"),
    ("Gemini", r"exceeds the maximum number of tokens allowed"),
    ("Copilot", rf"prompt token count of {_N} exceeds the limit of {_N}"),
    ("xAI", rf"maximum prompt length is {_N} but the request contains"),
    ("Groq, Cerebras", r"reduce the length of the (?:messages|prompt) or (?:the )?completion"),
    ("Mistral", rf"prompt contains {_N} tokens.{{0,60}}too large for model"),
    ("Together, TGI", rf"`?inputs`? (?:tokens \+|must have less than).{{0,40}} {_N}"),
    ("Fireworks", r"prompt is too long.{0,40}model maximum context length"),
    ("Bedrock", r"input is too long for (?:the )?requested model"),
    ("Moonshot", r"exceeded model token limit"),
    ("MiniMax", r"context window exceeds limit"),
    ("Zhipu", r"prompt exceeds max(?:imum)? length"),
    ("DashScope", r"range of input length should be"),
)
"""Who says it, and the words, in lower case; kept narrow: a number or a subject belongs to each."""

_ANY_WORDS = re.compile("|".join(f"(?:{pattern})" for _, pattern in WORDS), re.IGNORECASE)

_OTHER_LIMITS = re.compile(
    r"tokens per (?:min|day|hour)|\b[TR]P[MD]\b|rate limit|quota"
    r"|tool(?:s|'s)? .{0,40}(?:description|name)|\btools\.\d|\.description\b",
    re.IGNORECASE,
)
"""A sentence with one of these is about another limit, whatever else stands in it."""


def is_overflow(words: str, *, code: str = "", kind: str = "") -> bool:
    """Whether these words, or the code or type beside them, mean an overflow."""
    if {code, kind} & NEVER:
        return False
    if {code, kind} & CODES:
        return True
    return _ANY_WORDS.search(words) is not None and _OTHER_LIMITS.search(words) is None
