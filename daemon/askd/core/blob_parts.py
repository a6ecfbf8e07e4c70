"""Which blobs an event names, wherever in it they stand.

A blob stands in for content that is kept beside the log. What is in it is not
known here, nor whether it is there.
"""

from collections.abc import Container, Sequence
from dataclasses import replace

from askd.core.events import Body, HeadItem, ItemAdded, PromptAccepted, PromptSteered, ViewChanged
from askd.core.items import (
    AssistantMessage,
    Blob,
    Copy,
    Part,
    Snapshot,
    Text,
    ToolOutput,
    UserMessage,
)


def find_blobs(bodies: Sequence[Body]) -> list[str]:
    """The digests that these bodies name, each once, in order."""
    found: dict[str, None] = {}
    for body in bodies:
        for part in _parts(body):
            if isinstance(part, Blob):
                found[part.sha256] = None
    return list(found)


def name_missing(body: Body, known: Container[str]) -> Body:
    """The same event, in which a sentence stands for each blob that is not among the known."""
    if all(sha256 in known for sha256 in find_blobs([body])):
        return body
    match body:
        case PromptAccepted(items=items) | PromptSteered(items=items):
            named = tuple(replace(item, parts=_name(item.parts, known)) for item in items)
            return replace(body, items=named)
        case ItemAdded(item=UserMessage() | AssistantMessage() | ToolOutput() as item):
            return replace(body, item=replace(item, parts=_name(item.parts, known)))
        case ItemAdded(item=Snapshot() as snapshot):
            return replace(body, item=_leave_out(snapshot, known))
        case ViewChanged(kept=kept, shortened=shortened):
            return replace(
                body,
                kept=tuple(_name_head(item, known) for item in kept),
                shortened=tuple(
                    replace(output, parts=_name(output.parts, known)) for output in shortened
                ),
            )
        case _:
            return body


def _name_head(item: HeadItem, known: Container[str]) -> HeadItem:
    return replace(item, parts=_name(item.parts, known)) if isinstance(item, UserMessage) else item


def _leave_out(snapshot: Snapshot, known: Container[str]) -> Snapshot:
    """Without the copies whose content is not there: a sentence is no file's content."""

    def is_known(copy: Copy) -> bool:
        return not isinstance(copy.part, Blob) or copy.part.sha256 in known

    lost = tuple(copy.path for copy in snapshot.copies if not is_known(copy))
    kept = tuple(copy for copy in snapshot.copies if is_known(copy))
    return replace(snapshot, copies=kept, paths=(*snapshot.paths, *lost))


def _name(parts: tuple[Part, ...], known: Container[str]) -> tuple[Part, ...]:
    return tuple(
        Text(f"[{part.media_type}, {part.bytes} bytes, not in the file]", part.name)
        if isinstance(part, Blob) and part.sha256 not in known
        else part
        for part in parts
    )


def _parts(body: Body) -> Sequence[Part]:
    match body:
        case PromptAccepted(items=items) | PromptSteered(items=items):
            return [part for item in items for part in item.parts]
        case ItemAdded(item=UserMessage() | AssistantMessage() | ToolOutput() as item):
            return item.parts
        case ItemAdded(item=Snapshot(copies=copies)):
            return [copy.part for copy in copies if copy.part is not None]
        case ViewChanged(kept=kept, shortened=shortened):
            said = [part for item in kept if isinstance(item, UserMessage) for part in item.parts]
            return [*said, *(part for item in shortened for part in item.parts)]
        case _:
            return ()
