"""Findings: what is said in the log of calls and outputs, kept, left out or put right.

A log that is not whole would warn at every request; so each fault is a warning once
per load of a conversation, and on the load itself the same lines are for those who
look closely. It heals nothing and changes nothing.
"""

import logging
from collections.abc import Sequence

from askd.core import pairs
from askd.core.context import build_context
from askd.core.items import AssistantMessage, Item
from askd.sessions.live import LiveSession

log = logging.getLogger(__name__)


def report_load(session: LiveSession) -> None:
    """What the next request would have to put right, at DEBUG; nothing counts as said yet."""
    if not log.isEnabledFor(logging.DEBUG):
        return
    context = build_context(session.conversation, None, system=None)
    for fault in context.faults:
        log.debug("%s", pairs.describe_fault(fault))
    _report_healing(context.faults, context.items)


def report_request(
    session: LiveSession, faults: Sequence[pairs.Fault], items: Sequence[Item]
) -> None:
    """What was put right in a request, each fault once; `items` are what is left to send."""
    for fault in faults:
        if fault not in session.known_faults:
            session.known_faults.add(fault)
            log.warning("%s", pairs.describe_fault(fault))
    if log.isEnabledFor(logging.DEBUG):
        _report_healing(faults, items)


def _report_healing(faults: Sequence[pairs.Fault], items: Sequence[Item]) -> None:
    if faults:
        log.debug("%s", pairs.describe_healing(faults, len(items)))
    for item in items:
        for call in item.calls if isinstance(item, AssistantMessage) else ():
            log.debug("%s", pairs.describe_pair(call))
