"""Scripted servers of every vendor on loopback, each with that vendor's rules and words.

In a test: `async with open_vendor("anthropic") as server:`; for real processes:
`python -m tests.fakes.vendors anthropic`, which prints its base URL as one line.
They never repair a request: one that breaks a rule is refused in the vendor's
words and kept in `violations`; Ollama, which has no such rules, cuts what is too
long without a word and says so only in its counts. What is answered is chosen by
words in the prompt (see `vendor`) or by `script`.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import trio

from tests.fakes.chat_answers import Answer, Json, Status
from tests.fakes.scripted_server import ScriptedServer, open_server
from tests.fakes.vendor import BYTES_PER_TOKEN, Said, Vendor, choose_answer
from tests.fakes.vendor_anthropic import Anthropic
from tests.fakes.vendor_copilot import TOKEN, Copilot
from tests.fakes.vendor_ollama import Ollama
from tests.fakes.vendor_openai import OpenAIResponses

VENDORS: dict[str, type[Vendor]] = {
    each.dialect: each for each in (OpenAIResponses, Anthropic, Ollama, Copilot)
}
MODELS = ("fake", "fake-large")
DEFAULT_INTERVAL_S = 0.05


class VendorServer(ScriptedServer):
    """One vendor's server. `exchanges` counts the tokens that Copilot gave."""

    def __init__(
        self,
        vendor: Vendor,
        *,
        api_key: str | None = None,
        models: Sequence[str] = MODELS,
        context_tokens: int | None = None,
        interval_s: float = DEFAULT_INTERVAL_S,
    ) -> None:
        super().__init__()
        self.prefix = vendor.prefix
        self.stream_type = vendor.stream_type
        self.exchanges = 0
        self.vendor = vendor
        self._api_key = api_key
        self._models = tuple(models)
        self._context_tokens = context_tokens
        self._interval_s = interval_s

    def say(self, *said: Said) -> None:
        """Answer the next requests with these."""
        self.script(*(list(self.vendor.speak(each)) for each in said))

    def revoke(self, api_key: str) -> None:
        """From now on only this key is let in."""
        self._api_key = api_key

    async def answer_request(
        self, method: str, path: str, headers: dict[str, str], body: bytes
    ) -> Answer:
        """A completion, a list of models, a token, or a refusal."""
        vendor = self.vendor
        if isinstance(vendor, Copilot) and path == "/copilot_internal/v2/token":
            self.exchanges += 1
            return vendor.exchange(headers, base_url=self.base_url, now=time.time())
        key = vendor.read_key(headers)
        if self._api_key is not None and key != self._api_key:
            return self.refuse(vendor.refuse_key(key))
        refusal = vendor.find_bad_headers(headers)
        if refusal is not None:
            return self.refuse(refusal)
        if (method, path) == ("POST", vendor.completion_path):
            return self._complete(headers, body)
        other = vendor.answer_other(method, path, body, self._models)
        return other or Status(404, b"404 page not found")

    def _complete(self, headers: dict[str, str], body: bytes) -> Answer:
        try:
            parsed: Json = json.loads(body)
        except ValueError:
            return self.refuse(self.vendor.fail(400))
        if parsed.get("model") not in self._models:
            return self.refuse(self.vendor.refuse_model(str(parsed.get("model"))))
        refusal = self.vendor.find_violation(parsed)
        if refusal is not None:
            return self.refuse(refusal)
        tokens = len(body) // BYTES_PER_TOKEN
        limit = self._context_tokens
        if limit is not None and tokens > limit:
            refusal = self.vendor.refuse_size(tokens, limit)
            if refusal is not None:
                return self.refuse(refusal)
        if isinstance(self.vendor, Ollama):
            tokens = self.vendor.count_tokens(parsed, len(body))
        self.let_in(headers, parsed)
        scripted = self.take_scripted()
        if scripted is not None:
            return scripted
        return choose_answer(self.vendor, parsed, tokens=tokens, interval_s=self._interval_s)


@asynccontextmanager
async def open_vendor(
    dialect: str,
    *,
    api_key: str | None = None,
    models: Sequence[str] = MODELS,
    context_tokens: int | None = None,
    interval_s: float = DEFAULT_INTERVAL_S,
    port: int = 0,
) -> AsyncIterator[VendorServer]:
    """Run a vendor's server while the block runs.

    Args:
        api_key: refuse every other one; None: take anybody, but for Copilot, which takes
            the token that it gave.
        context_tokens: refuse requests of more, in the vendor's words; None: never.
        interval_s: the pace of SLOW.
    """
    vendor = VENDORS[dialect]()
    if api_key is None and isinstance(vendor, Copilot):
        api_key = TOKEN
    server = VendorServer(
        vendor,
        api_key=api_key,
        models=models,
        context_tokens=context_tokens,
        interval_s=interval_s,
    )
    async with open_server(server, port=port):
        yield server


async def _run(options: argparse.Namespace) -> None:
    async with open_vendor(
        options.dialect,
        api_key=options.api_key,
        models=options.model or MODELS,
        context_tokens=options.context_tokens,
        interval_s=options.interval,
        port=options.port,
    ) as server:
        print(server.base_url, flush=True)
        if options.watch_stdin:
            await trio.lowlevel.wait_readable(sys.stdin)
        else:
            await trio.sleep_forever()


def main() -> None:
    """Serve until killed, or until standard input closes with `--watch-stdin`."""
    parser = argparse.ArgumentParser(description="A scripted vendor's server on loopback.")
    parser.add_argument("dialect", choices=sorted(VENDORS))
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--api-key", default=os.environ.get("FAKE_API_KEY"))
    parser.add_argument("--model", action="append", help="offer this model; may be repeated")
    parser.add_argument("--context-tokens", type=int)
    parser.add_argument("--interval", type=float, default=DEFAULT_INTERVAL_S)
    parser.add_argument("--watch-stdin", action="store_true", help="end when stdin closes")
    trio.run(_run, parser.parse_args())


if __name__ == "__main__":
    main()
