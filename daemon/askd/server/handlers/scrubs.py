"""A secret is taken out of everything that is stored; what is answered does not hold it."""

from ask.protocol.messages import ConversationScrub, ScrubRecord, ScrubResult
from askd.server import wire
from askd.server.house import House
from askd.server.peer import Peer
from askd.sessions.scrubs import Order, Report

SHOWN = 500
"""Conversations, and files, that are named one by one; of the rest the number is enough."""


async def scrub(house: House, peer: Peer, params: ConversationScrub) -> ScrubResult:
    """Replace a text everywhere, or with `dry_run` say where it stands."""
    order = Order(
        pattern=params.pattern,
        regex=params.regex,
        allow_short=params.short,
        backups=params.backups,
    )
    if params.dry_run:
        return _answer(await house.scrubs.find(order))
    return _answer(await house.scrubs.run(order))


def _answer(report: Report) -> ScrubResult:
    found, cleaned = report.found, report.cleaned
    files = found.files if cleaned is None else cleaned.files
    left = [] if cleaned is None else cleaned.left
    return ScrubResult(
        data=[wire.describe(ScrubRecord, each) for each in found.conversations[:SHOWN]],
        total=len(found.conversations),
        occurrences=sum(each.occurrences for each in found.conversations),
        rows=found.rows,
        files=[str(each) for each in files[:SHOWN]],
        files_total=len(files),
        backups=[] if cleaned is None else [str(each) for each in cleaned.backups],
        left=[str(each) for each in left[:SHOWN]],
        left_total=len(left),
        erased=cleaned is None or cleaned.is_erased,
    )
