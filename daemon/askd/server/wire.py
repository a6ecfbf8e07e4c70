"""Core values as the protocol says them, and back: the only file that knows both.

What leaves here fits a message and can be read by any client; `fitting` sees to that.
`encode_published` never raises, since it runs while events are handed on.
"""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ask.protocol.errors import FAILED, REASONS
from ask.protocol.frames import encode_notification
from ask.protocol.messages import (
    AttachedNotification,
    ConversationSummary,
    JobFailure,
    JobRecord,
    Map,
    ModelRecord,
    PromptPart,
    TurnState,
)
from ask.protocol.messages import Target as WireTarget
from ask.protocol.messages import TurnOptions as WireOptions
from askd.core.events import Event, TurnOptions
from askd.core.items import Blob, Part, Text
from askd.errors import AskdError
from askd.providers.base import Model, Price
from askd.providers.models.catalog import find_aliases
from askd.server.attached import describe_clients
from askd.server.fitting import KEPT_FIELD_LENGTH, fit_event
from askd.sessions.hub import (
    Attached,
    CompactionNews,
    Delta,
    Progress,
    Published,
    TurnUnsaved,
)
from askd.sessions.live import LiveSession
from askd.sessions.streaming import LiveText
from askd.sessions.targets import Target
from askd.sessions.turn_status import TurnStatus
from askd.store.jobs.queries import JobRow
from askd.store.projection import ConversationRow

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

DELTA_LENGTH = 128 * 1024
"""Code points in one delta: at four bytes each, half a message."""
Record = TypeVar("Record", bound="DataclassInstance")
"""One of the contract's dataclasses."""


class Refusal(AskdError):
    """A request that the server itself refuses; the code is the one of its reason."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message, reason=reason)
        self.code = REASONS[reason]


def encode_error(error: AskdError) -> Map:
    """`{code, message, data}`; the code is the one that the contract has for the reason."""
    code = REASONS.get(error.reason, error.code or FAILED)
    return {"code": code, "message": error.message, "data": {**error.data, "reason": error.reason}}


def encode_result(value: Any) -> Map:
    """A contract dataclass as a map, with every field."""
    result: Map = _encode(value)
    return result


def _encode(value: Any) -> Any:
    if isinstance(value, list):
        return [_encode(each) for each in value]
    names = _names_of(value.__class__)
    return value if names is None else {name: _encode(getattr(value, name)) for name in names}


@functools.cache
def _names_of(kind: type) -> tuple[str, ...] | None:
    """The fields of a dataclass; None: it is none."""
    if not dataclasses.is_dataclass(kind):
        return None
    return tuple(field.name for field in dataclasses.fields(kind))


# ---- events and what else is published ------------------------------------------


def encode_published(value: Published) -> bytes:
    """The notification that tells subscribers; never raises for a value of these types."""
    match value:
        case Event():
            return encode_notification("event", fit_event(value).value)
        case Delta():
            return encode_delta(value)
        case TurnUnsaved():
            return encode_notification("turn_unsaved", encode_result(value))
        case Progress():
            shown = dataclasses.replace(value, text=value.text[:KEPT_FIELD_LENGTH])
            return encode_notification("progress", encode_result(shown))
        case CompactionNews():
            return encode_notification("compaction", encode_result(value))
        case Attached(conversation_id=id, clients=clients):
            told = AttachedNotification(
                conversation_id=id, attached=len(clients), clients=describe_clients(clients)
            )
            return encode_notification("attached", encode_result(told))


def encode_delta(delta: Delta) -> bytes:
    """One notification, or several in a row for a text that does not fit one."""
    params = {
        "conversation_id": delta.conversation_id,
        "turn_id": delta.turn_id,
        "item_id": delta.item_id,
        "kind": delta.kind,
        "offset": delta.offset,
        "text": delta.text,
    }
    if len(delta.text) <= DELTA_LENGTH:
        return encode_notification("delta", params)
    pieces = []
    for start in range(0, len(delta.text), DELTA_LENGTH):
        text = delta.text[start : start + DELTA_LENGTH]
        pieces.append(params | {"offset": delta.offset + start, "text": text})
    return b"".join(encode_notification("delta", piece) for piece in pieces)


def encode_live(live: Sequence[LiveText]) -> list[Map]:
    """The text so far of running items, as `conversation/subscribe` answers it."""
    return [encode_result(text) for text in live]


def to_delta(conversation_id: str, text: LiveText) -> Delta:
    """The text so far as one delta from its beginning, for those who are told by notification."""
    return Delta(
        conversation_id=conversation_id,
        turn_id=text.turn_id,
        item_id=text.item_id,
        kind=text.kind,
        offset=0,
        text=text.text,
    )


# ---- records ----------------------------------------------------------------------


def summarize(row: ConversationRow, session: LiveSession | None) -> ConversationSummary:
    """A conversation for a listing; its session, if it is live, knows its state."""
    return ConversationSummary(
        id=row.id,
        name=row.name,
        title=row.title,
        model=row.model,
        state="stored" if session is None else session.state,
        message_count=row.message_count,
        last_seq=row.last_seq,
        created_at=row.created_at,
        updated_at=row.updated_at,
        pinned=row.pinned,
        queued=0 if session is None else len(session.queue),
        ephemeral=session is not None and session.ephemeral,
        attached=0 if session is None else len(session.hub.clients),
        clients=[] if session is None else describe_clients(session.hub.clients),
    )


def describe_turn(conversation_id: str, status: TurnStatus) -> TurnState:
    """Where a turn is."""
    return TurnState(
        conversation_id=conversation_id,
        turn_id=status.turn_id,
        state=status.state,
        outcome=status.outcome,
        code=status.code,
    )


def describe(record: type[Record], value: object, **said: Any) -> Record:
    """A value whose fields have the names of the contract's record; `said` are other fields."""
    names = {field.name for field in dataclasses.fields(record)} - set(said)
    return record(**{name: getattr(value, name) for name in names}, **said)


def describe_job(
    row: JobRow,
    *,
    errors: list[JobFailure] | None = None,
    seq: int | None = None,
    question: Map | None = None,
    needs_you: bool = False,
) -> JobRecord:
    """A background job; `errors`, `seq`, `question`: what only a single one is told with."""
    said = {"errors": errors, "seq": seq, "question": question, "needs_you": needs_you}
    return describe(JobRecord, row, **said)


def describe_model(
    model: Model, *, default: str | None, aliases: Mapping[str, str] | None = None
) -> ModelRecord:
    """A model for a listing; a window that was guessed is not shown."""
    return ModelRecord(
        name=model.name,
        provider=model.provider,
        context_window=model.limits.context_window if model.limits.known else None,
        max_output_tokens=model.limits.reserved_output if model.limits.known else None,
        images=model.manners.images,
        price=None if model.price is None else _describe_price(model.price),
        aliases=find_aliases(model.name, aliases or {}) or None,
        default=model.name == default,
    )


def _describe_price(price: Price) -> Map:
    return {name: cost for name, cost in encode_result(price).items() if cost is not None}


# ---- what comes in ----------------------------------------------------------------


def read_options(options: WireOptions) -> TurnOptions:
    """A prompt's options, as the core has them: the fields have the same names."""
    said = {field.name: getattr(options, field.name) for field in dataclasses.fields(TurnOptions)}
    said |= {name: tuple(said[name]) for name in ("stop", "tools") if said[name] is not None}
    return TurnOptions(**said)


def read_target(target: WireTarget) -> Target:
    """Which conversation is meant."""
    return Target(target.kind, target.value, target.create)


def read_part(part: PromptPart) -> Part:
    """A piece of a prompt; raise `Refusal` when a field of its kind is missing."""
    if part.type == "text":
        if part.text is None:
            raise Refusal("bad_params", "turn/start: a text part needs its text.")
        return Text(part.text, part.name)
    if part.sha256 is None or part.bytes is None or part.media_type is None:
        raise Refusal("bad_params", "turn/start: a blob part needs sha256, bytes and media_type.")
    return Blob(part.sha256, part.bytes, part.media_type, part.name)
