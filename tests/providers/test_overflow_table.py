"""Every overflow that vendors are known to report, and what only looks like one.

The texts are the vendors' own, from their documents, sources and public reports.
"""

import json

import pytest

from askd.errors import Overflowed, RateLimited, Refused
from askd.providers.refusals import read_refusal

BAD = "invalid_request_error"

# words, code, type
OVERFLOWS = [
    # OpenAI, both dialects
    ("Your input exceeds the context window of this model. Please adjust your input and try again.",
     "context_length_exceeded", BAD),
    ("Your input exceeds the context window of this model. Please adjust your input and try again.",
     None, BAD),
    ("This model's maximum context length is 8192 tokens. However, your messages resulted in 8545 "
     "tokens. Please reduce the length of the messages.", "context_length_exceeded", BAD),
    ("This model's maximum context length is 8191 tokens, however you requested 10346 tokens "
     "(10346 in your prompt; 5 for the completion). Please reduce your prompt; or completion "
     "length.", None, BAD),
    ("Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 "
     "tokens. Please reduce the length of the messages.", None, BAD),
    # Anthropic
    ("prompt is too long: 208310 tokens > 200000 maximum", None, BAD),
    ("input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input "
     "length or `max_tokens` and try again", None, BAD),
    ("input length and max_tokens exceed context limit: 178959 + 64000 > 200000", None, BAD),
    # Copilot
    ("prompt token count of 138898 exceeds the limit of 64000",
     "model_max_prompt_tokens_exceeded", None),
    ("prompt token count of 138898 exceeds the limit of 64000", "", None),
    # llama.cpp
    ("request (9123 tokens) exceeds the available context size (8192 tokens), try increasing it",
     "400", "exceed_context_size_error"),
    ("the request exceeds the available context size. try increasing the context size or enable "
     "context shift", None, BAD),
    # vLLM, SGLang, TGI
    ("This model's maximum context length is 4096 tokens. However, you requested 5000 output "
     "tokens and your prompt contains at least 100 input tokens, for a total of at least 5100 "
     "tokens. Please reduce the length of the input prompt or the number of requested output "
     "tokens.", None, "BadRequestError"),
    ("'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's maximum context "
     "length is 4096 tokens and your request has 100 input tokens (5000 > 4096 - 100).",
     None, "BadRequestError"),
    ("The decoder prompt (length 9000) is longer than the maximum model length of 8192. Make sure "
     "that `max_model_len` is no smaller than the number of text tokens.", None, None),
    ("The input (900 tokens) is longer than the model's context length (819 tokens).", None, None),
    ("Input length (265330) exceeds model's maximum context length (262144).", None, None),
    ("Input length 300000 exceeds the maximum allowed input length of 262139 tokens.", None, None),
    ("Input validation error: `inputs` must have less than 4095 tokens. Given: 5000",
     None, "validation"),
    ("Requested token count exceeds the model's maximum context length of 32768 tokens. You "
     "requested a total of 40000 tokens", None, None),
    # LM Studio, Ollama
    ("The number of tokens to keep from the initial prompt is greater than the context length. Try "
     "to load the model with a larger context length, or provide a shorter input", None, None),
    ("Trying to keep the first 9000 tokens when context the overflows. However, the model is "
     "loaded with context length of only 4096 tokens, which is not enough.", None, None),
    ("the input length exceeds the context length", None, None),
    ("prompt too long; exceeded max context length by 120 tokens", None, None),
    # Gemini, OpenRouter, xAI, Groq, Mistral, DeepSeek, Together, others
    ("The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
     None, "INVALID_ARGUMENT"),
    ("The input token count exceeds the maximum number of tokens allowed 1048576.", None, None),
    ("This endpoint's maximum context length is 1048576 tokens. However, you requested about "
     "1293741 tokens (1227853 of text input, 353 of tool input, 65535 in the output).", None, None),
    ("This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
     None, None),
    ("Please reduce the length of the messages or completion.", "context_length_exceeded", BAD),
    ("Please reduce the length of the messages or completion. Current length is 9000 while limit "
     "is 8192", None, BAD),
    ("Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum "
     "context length", "3051", BAD),
    ("This model's maximum context length is 65536 tokens. However, you requested 70000 tokens "
     "(66000 in the messages, 4000 in the completion).", BAD, BAD),
    ("Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 "
     "`inputs` tokens and 512 `max_new_tokens`", None, BAD),
    ("The prompt is too long: 9000, model maximum context length: 8191", None, BAD),
    ("Input is too long for requested model.", None, None),
    ("Your request exceeded model token limit: 262144 (requested: 300000)", None, BAD),
    ("invalid params, context window exceeds limit (2013)", None, None),
    ("Range of input length should be [1, 129024]", None, BAD),
    # the substrings that litellm looks for, as far as they are not above
    ("The model's maximum context limit was reached.", None, None),
    ("18000 is longer than the model's context length of 16384", None, None),
]  # fmt: skip

NEAR_MISSES = [
    ("Invalid 'messages[0].content': string too long. Expected a string with maximum length "
     "1048576, but got a string with length 2000000 instead.", "string_above_max_length", BAD, 400),
    ("Invalid 'tools[3].function.description': string too long. Expected a string with maximum "
     "length 1024, but the prompt is too long with length 2400 instead.",
     "string_above_max_length", BAD, 400),
    ("tools.0.custom.description: String should have at most 10000 characters; prompt is too long",
     None, BAD, 400),
    ("Invalid 'tools[0].function.name': string too long. Expected maximum length 64.",
     None, BAD, 400),
    ("Invalid 'messages': array too long. Expected an array with maximum length 2048, but got an "
     "array with length 3000 instead.", "array_above_max_length", BAD, 400),
    ("Request too large for gpt-4 in organization org-1 on tokens per min (TPM): Limit 10000, "
     "Requested 12000. The input or output tokens must be reduced in order to run successfully.",
     "rate_limit_exceeded", "tokens", 429),
    ("Request too large for model `llama-3` in organization `o` on tokens per minute (TPM): Limit "
     "6000, Requested 7000, please reduce your message size and try again.",
     "rate_limit_exceeded", "tokens", 413),
    ("Rate limit reached for gpt-4 in organization org-1 on tokens per min (TPM): Limit 10000, "
     "Used 9000, Requested 2000. Please try again in 6s.", "rate_limit_exceeded", "tokens", 429),
    ("This request would exceed your organization's rate limit of 30,000 input tokens per minute. "
     "Please reduce the prompt length or the maximum tokens requested.",
     None, "rate_limit_error", 429),
    ("Number of input tokens has exceeded your daily rate limit: prompt is too long",
     None, "rate_limit_error", 429),
    ("max_tokens is too large: 100000. This model supports at most 16384 completion tokens, "
     "whereas you provided 100000.", "invalid_value", BAD, 400),
    ("max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for "
     "claude-sonnet-4", None, BAD, 400),
    ("Could not finish the message because max_tokens or model output limit was reached. Please "
     "try again with higher max_tokens.", None, BAD, 400),
    ("`max_tokens` must be greater than `thinking.budget_tokens`.", None, BAD, 400),
    ("Unable to submit request because it has a maxOutputTokens value of 100000 but the supported "
     "range is from 1 (inclusive) to 65537 (exclusive).", None, "INVALID_ARGUMENT", 400),
    ("messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6000000 bytes > "
     "5242880 bytes", None, BAD, 400),
    ("At least one of the image dimensions exceed max allowed size: 8000 pixels", None, BAD, 400),
    ("Too much media: 0 document pages + 101 images > 100", None, BAD, 400),
    ("File too large. Maximum size is 512MB.", "file_too_large", BAD, 400),
    ("A maximum of 4 blocks with cache_control may be provided. Found 5.", None, BAD, 400),
    ("Invalid 'stop': array too long. Expected an array with maximum length 4.", None, BAD, 400),
    ("Invalid 'metadata': too many properties. Expected at most 16.", None, BAD, 400),
    ("You exceeded your current quota, please check your plan and billing details.",
     "insufficient_quota", "insufficient_quota", 429),
    ("This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens, "
     "but can only afford 2000.", "402", None, 402),
    ("The number of tokens in the completion exceeds the limit of the answer.", None, BAD, 400),
    ("Invalid length for parameter toolConfig.tools: exceeds the limit of 128", None, BAD, 400),
    ("temperature: range: 0..1", None, BAD, 400),
    ("The context window was not given.", None, BAD, 400),
    ("Batch size exceeds the maximum of 2048 tokens; increase n_batch", None, BAD, 400),
]  # fmt: skip


def body_of(words: str, code: str | None, kind: str | None) -> bytes:
    """The body that OpenAI and most others send."""
    return json.dumps({"error": {"message": words, "code": code, "type": kind}}).encode()


@pytest.mark.parametrize(("words", "code", "kind"), OVERFLOWS)
@pytest.mark.parametrize("status", [400, 413, 500])
def test_overflow(words: str, code: str | None, kind: str | None, status: int) -> None:
    error = read_refusal("work", status, {}, body_of(words, code, kind))
    assert type(error) is Overflowed
    assert words[:40] in error.message


@pytest.mark.parametrize(("words", "code", "kind", "status"), NEAR_MISSES)
def test_near_miss(words: str, code: str | None, kind: str | None, status: int) -> None:
    error = read_refusal("work", status, {}, body_of(words, code, kind))
    expected = Refused if status == 400 else RateLimited
    assert type(error) is expected
    assert words[:40] in error.message


def test_there_are_enough_near_misses() -> None:
    assert len({words for words, *_ in NEAR_MISSES}) >= 20


@pytest.mark.parametrize(
    "body",
    [
        b'{"error": "the input length exceeds the context length"}',  # Ollama
        b'{"type":"error","error":{"type":"invalid_request_error","message":'
        b'"prompt is too long: 9 tokens > 8 maximum"}}',  # Anthropic
        b'{"object":"error","message":"This model\'s maximum context length is 8 tokens.",'
        b'"type":"BadRequestError","code":400}',  # vLLM
        b'{"code":"Client specified an invalid argument","error":"This model\'s maximum prompt '
        b'length is 8 but the request contains 9 tokens."}',  # xAI
        b'[{"error":{"code":400,"message":"The input token count (9) exceeds the maximum number of '
        b'tokens allowed (8).","status":"INVALID_ARGUMENT"}}]',  # Gemini
        b'{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":'
        b'"{\\"error\\":\\"prompt is too long: 9 tokens > 8 maximum\\"}"}}}',  # OpenRouter
        b'{"detail":"Your input exceeds the context window of this model."}',  # ChatGPT's backend
        b'{"detail":[{"msg":"Input length (9) exceeds model\'s maximum context length (8)."}]}',
    ],
)
def test_overflow_in_every_shape(body: bytes) -> None:
    assert type(read_refusal("work", 400, {}, body)) is Overflowed


@pytest.mark.parametrize(
    "body",
    [b"", b'{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the '
     b'maximum size"}}', b"<html><h1>413 Request Entity Too Large</h1></html>"],
)  # fmt: skip
def test_too_many_bytes_are_mended_by_a_smaller_conversation(body: bytes) -> None:
    assert type(read_refusal("work", 413, {}, body)) is Overflowed
