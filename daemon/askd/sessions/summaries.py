"""Summaries: a model is asked to sum up a part of a conversation, patiently.

What does not fit its window goes in pieces, each with the summary of those before it;
what the server refuses as too long loses its oldest exchange; what may work a moment
later is tried again. It plans nothing, and changes no view.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

import trio

from askd.core.calibration import estimate
from askd.core.compaction import PROMPT, Count, clean_summary, split_source
from askd.core.cutting import cut_middle
from askd.core.events import TurnOptions
from askd.core.exchanges import drop_oldest
from askd.core.items import Item, Summary, Text, UserMessage
from askd.core.outcome import OVERFLOW, Usage
from askd.core.overflow import HOPELESS
from askd.core.pairs import heal
from askd.core.tokens import BYTES_PER_TOKEN, encode_size, measure
from askd.errors import (
    AskdError,
    BadAnswer,
    Overflowed,
    RateLimited,
    TooLarge,
    Unavailable,
    find_known,
)
from askd.providers.assemble import Assembler
from askd.providers.base import Caller, Model, ModelRequest
from askd.sessions.budget import size_request
from askd.sessions.contents import Contents, ReadBlob, resolve_blobs
from askd.sessions.needs import Means, Report
from askd.sessions.requests import add_cost, build_request

log = logging.getLogger(__name__)

DELAYS_S = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Before the second try, the third, ...; after the last one it is given up."""
LONGEST_WAIT_S = 60.0
"""For a server that says when to come back; one that says later than this is not waited for."""
THINKING_TOKENS = 4000
"""For a model that thinks: most dialects count that as output."""
TEXT_SHARE = 0.25
"""Of the window, what is shown of one text beside the log: such a text may be 32 MiB."""
TRIMMED = "Trimmed {count} older item(s) before compacting to fit context window"


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A summary, and what it took.

    Attributes:
        text: as it is kept; one with nothing in it says so.
        usage: of all requests; None: nothing was said of it.
        trimmed: items that were left out, the oldest first.
    """

    text: str
    usage: Usage | None
    trimmed: int


class Summarizer:
    """Asks one model for one summary. `report` hears what takes its time."""

    def __init__(
        self,
        *,
        model: Model,
        caller: Caller,
        means: Means,
        read_blob: ReadBlob,
        system: str | None,
        summary_tokens: int,
        report: Report,
    ) -> None:
        self._model = model
        self._caller = caller
        self._means = means
        self._read_blob = read_blob
        self._system = system
        self._summary_tokens = summary_tokens
        self._report = report
        self._usage: Usage | None = None
        self._trimmed = 0

    async def summarize(self, source: Sequence[Item]) -> Written:
        """The summary of these items, which are healed.

        Raises:
            TooLarge: not even the last exchange fits the model's window.
            ProviderError: the model cannot be asked, or gives no answer.
        """
        pieces = self._split(await self._show(source))
        text = ""
        for number, piece in enumerate(pieces, start=1):
            before: list[Item] = []
            if number > 1:
                before = [Summary("so-far", clean_summary(text))]
            if len(pieces) > 1:
                name = self._model.name
                log.info("Summarizing piece %d of %d: model=%s", number, len(pieces), name)
            text = await self._ask(before, piece)
        if self._trimmed:
            log.info("%s", TRIMMED.format(count=self._trimmed))
        return Written(text=clean_summary(text), usage=self._usage, trimmed=self._trimmed)

    def _split(self, items: Sequence[Item]) -> list[list[Item]]:
        """The source in pieces that fit a request, beside all else that is in it."""
        count, budget = make_count(self._means, self._model), self._model.limits.budget
        room = budget - count([UserMessage("", (Text(f"{self._system or ''}{PROMPT}"),))])
        if count(items) <= room:
            return [list(items)]
        # Room for the answer is kept free already; the summary of earlier pieces takes as much.
        limit = max(room - self._summary_tokens, budget // 4)
        return split_source(items, limit=limit, count=count)

    async def _show(self, source: Sequence[Item]) -> list[Item]:
        """The source as it is sent: texts beside the log are read and cut, images named."""
        most = int(self._model.limits.context_window * TEXT_SHARE) * BYTES_PER_TOKEN

        async def read(sha256: str) -> bytes:
            text = (await self._read_blob(sha256)).decode("utf-8")
            return cut_middle(text, most).encode("utf-8")

        blind = replace(self._model, manners=replace(self._model.manners, images=False))
        contents = await resolve_blobs(source, read, model=blind, asked=frozenset())
        return contents.items

    # ---- one piece -------------------------------------------------------------

    async def _ask(self, before: Sequence[Item], piece: Sequence[Item]) -> str:
        """What the model makes of a piece, asked as often as makes sense."""
        items, tried = list(piece), 0
        while True:
            try:
                return await self._complete([*before, *items])
            except Exception as error:
                fault = find_known(error)
                if fault is None:
                    raise
            if fault.code == OVERFLOW:
                items, gone = drop_oldest(items)
                if not items:
                    raise TooLarge(HOPELESS) from fault
                self._trimmed += gone
                tried = 0
                continue
            wait_s = self._plan_wait(fault, tried)
            if wait_s is None:
                raise fault
            log.info("A summary is asked for again in %g s: %s", wait_s, fault.message)
            await trio.sleep(wait_s)
            tried += 1

    def _plan_wait(self, fault: AskdError, tried: int) -> float | None:
        """Seconds until it makes sense to ask again; None: it makes none."""
        if tried == len(DELAYS_S) or not isinstance(fault, Unavailable | RateLimited | BadAnswer):
            return None
        retry_at = fault.data.get("retry_at")
        if not isinstance(retry_at, int | float):
            return DELAYS_S[tried]
        wait_s = max(DELAYS_S[tried], retry_at - self._means.now())
        return wait_s if wait_s <= LONGEST_WAIT_S else None

    async def _complete(self, items: Sequence[Item]) -> str:
        """One request, and the text of its answer."""
        model, request = self._model, self._make_request(items)
        assembler = Assembler("summary", model.provider, model.name)
        async with self._means.models.stream(
            model, request, self._caller, progress=self._report
        ) as events:
            async for event in events:
                assembler.feed(event)
        usage = add_cost(assembler.usage, model)
        if usage is not None:
            self._usage = usage if self._usage is None else self._usage + usage
        failure = assembler.failure
        if failure is not None:
            kind = Overflowed if failure.code == OVERFLOW else BadAnswer
            raise kind(failure.message, reason=failure.reason, data=dict(failure.data))
        measured = encode_size(size_request(request))
        self._means.rates.learn(model.name, measured, assembler.usage)
        return assembler.text

    def _make_request(self, items: Sequence[Item]) -> ModelRequest:
        model = self._model
        asked = [*heal(items)[0], UserMessage("compaction", (Text(PROMPT),))]
        thinks = model.manners.effort not in (None, "none") or model.dialect == "openai-responses"
        most = self._summary_tokens + (THINKING_TOKENS if thinks else 0)
        return build_request(
            asked,
            contents=Contents(asked),
            system=self._system,
            model=model,
            options=TurnOptions(max_output_tokens=min(most, model.limits.reserved_output)),
            tools=(),
        )


def make_count(means: Means, model: Model) -> Count:
    """How items are counted for a model, as far as its answers have taught."""
    rates = means.rates.find(model.name)

    def count(items: Sequence[Item]) -> int:
        return estimate(measure(items), rates)

    return count
