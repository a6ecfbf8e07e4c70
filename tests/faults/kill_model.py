"""The models that are asked while daemons are killed: one strict server for each dialect.

A server refuses what its vendor refuses, and every request is held beside that to the rules
that all dialects have in common, read by code that shares nothing with the codecs: no call
without its output, no output without its call, no prompt twice or out of order.
"""

import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import get_args

from askd.providers.base import Dialect
from tests.fakes.chat_answers import Answer, Pause, Status
from tests.fakes.scripted_server import ScriptedServer, open_server, read_words
from tests.fakes.vendor import Said, Vendor
from tests.fakes.vendor_copilot import Copilot
from tests.fakes.vendors import VENDORS
from tests.integrity.reading import Seen, find_breaks, read_request

DIALECTS: tuple[Dialect, ...] = tuple(each for each in get_args(Dialect) if each != "local")
"""All that go to a server; the embedded model is spoken to in openai-chat."""
MARK = re.compile(r"<<(\w+)\.(\d+)>>")
"""Begins every prompt: who wrote it, and its number, which only grows."""
AFTER = "after"
"""Who prompts once all kills are done."""
TITLED, SUMMARIZED = "You name conversations.", "Write a concise summary of this conversation"
"""How the daemon's own requests to the model begin."""
PIECE_S = 0.004
"""Between two pieces of an answer, so that kills come in the middle of some."""
KEY_NAME, KEY = "KILL_KEY", "k"

PROVIDERS = """\
[providers.at-{dialect}]
dialect = "{dialect}"
base_url = "{base_url}"
api_key_env = "{key_name}"
{headers}
[models."at-{dialect}/fake"]
context_window = 60000
[models."at-{dialect}/small"]
context_window = 3000
max_output_tokens = 500
"""
EDITOR = 'headers = { Editor-Version = "test/1", Copilot-Integration-Id = "test" }'
"""What Copilot wants to know beside a key."""


class Model(ScriptedServer):
    """Answers by what is asked, in one dialect, and keeps every fault of a request.

    Attributes:
        faults: a sentence for each request that broke a rule.
        count: how many requests came.
        seen: what the last request for each prompt of `AFTER` held: the marks of its prompts,
            its own the last.
    """

    def __init__(self, dialect: Dialect) -> None:
        super().__init__()
        self.dialect = dialect
        # What OpenAI says in its older dialect is what Copilot says.
        self._vendor: Vendor = VENDORS.get(dialect, Copilot)()
        self.prefix = self._vendor.prefix
        self.stream_type = self._vendor.stream_type
        self.faults: list[str] = []
        self.count = 0
        self.seen: dict[str, list[str]] = {}

    async def answer_request(
        self, method: str, path: str, headers: dict[str, str], body: bytes
    ) -> Answer:
        """A title, a summary, a command to run, or a few words."""
        if (method, path) != ("POST", self._vendor.completion_path):
            other = self._vendor.answer_other(method, path, body, ("fake", "small"))
            return other or Status(404, b'{"error":{"message":"not here"}}')
        self.count += 1
        refusal = self._vendor.find_violation(json.loads(body))
        if refusal is None and self.dialect in VENDORS:
            refusal = self._vendor.find_bad_headers(headers)
        if refusal is not None:
            self._blame(f"a request was refused: {read_words(refusal.body)}")
            return refusal
        seen = read_request(self.dialect, body)
        for each in find_faults(self.dialect, seen):
            self._blame(each)
        events = self._vendor.speak(self._choose(seen))
        if any(who == AFTER for who, _ in read_marks(seen)):
            return list(events)  # nobody is killed any more
        return [each for event in events for each in (event, Pause(PIECE_S))]

    def _choose(self, seen: Sequence[Seen]) -> Said:
        texts = [each.text for each in seen if each.role == "user"]
        marks = read_marks(seen)
        if seen[0].role == "system" and TITLED in seen[0].text:
            return Said(texts=("About ", "this"))
        if SUMMARIZED in texts[-1]:
            return Said(texts=("They ", "went ", "on."))
        who, number = marks[-1]
        if who == AFTER:
            self.seen[f"{who}.{number}"] = [f"{a}.{n}" for a, n in marks]
        # A prompt whose turn came to no answer stands in one message with the next.
        if "RUN" in MARK.split(texts[-1])[-1] and seen[-1].role != "tool":
            command = json.dumps({"command": f"echo {who}.{number} >> effects"})
            return Said(call=(f"call_{who}{number}", "run_command", command), stop="calls")
        return Said(texts=("So ", "it ", "is."))

    def _blame(self, fault: str) -> None:
        self.faults.append(f"{self.dialect}: {fault}")


def read_marks(seen: Sequence[Seen]) -> list[tuple[str, int]]:
    """Who wrote the prompts of a request, and their numbers."""
    texts = [each.text for each in seen if each.role == "user"]
    return [(who, int(number)) for text in texts for who, number in MARK.findall(text)]


def find_faults(dialect: Dialect, seen: Sequence[Seen]) -> list[str]:
    """A sentence for each rule that a request breaks, and if it has prompts twice or mixed up."""
    faults = list(find_breaks(seen))
    if dialect == "openai-responses":
        # Two answers, the later with reasoning ahead of it, are two messages there.
        faults = [each for each in faults if "neighbours that are both assist" not in each]
    marks = read_marks(seen)
    if marks != sorted(set(marks), key=lambda mark: (mark[0] == AFTER, *mark)):
        faults.append(f"a request has prompts doubled or out of order: {marks}")
    if len({who for who, _ in marks} - {AFTER}) > 1:
        faults.append(f"a request has prompts of two conversations: {marks}")
    return faults


@asynccontextmanager
async def open_models() -> AsyncIterator[list[Model]]:
    """A server for each dialect while the block runs."""
    models = [Model(dialect) for dialect in DIALECTS]
    async with AsyncExitStack() as stack:
        for model in models:
            await stack.enter_async_context(open_server(model))
        yield models


def configure(models: Sequence[Model]) -> str:
    """The providers' part of the settings; the daemon has `KEY` in its own environment."""
    return "".join(
        PROVIDERS.format(
            dialect=model.dialect,
            base_url=model.base_url,
            key_name=KEY_NAME,
            headers=EDITOR if model.dialect == "copilot" else "",
        )
        for model in models
    )


def count_requests(models: Sequence[Model]) -> Counter[str]:
    """How many requests came in each dialect."""
    return Counter({model.dialect: model.count for model in models})
