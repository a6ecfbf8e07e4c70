"""The wire: every core value fits a message and says what it said before."""

import dataclasses
from typing import Any

import msgpack
import pytest

from ask.protocol import errors as contract
from ask.protocol.frames import FrameReader, Notification, encode_response
from ask.protocol.messages import NOTIFICATIONS, ConversationSummary, JobRecord, PromptPart
from ask.protocol.messages import Target as WireTarget
from ask.protocol.messages import TurnOptions as WireOptions
from askd import errors
from askd.core import events
from askd.core.events import (
    CompletionFinished,
    Event,
    ItemAdded,
    PromptAccepted,
    QuestionAsked,
    TurnFinished,
    TurnOptions,
    UnknownBody,
    encode_body,
)
from askd.core.items import AssistantMessage, Blob, Reasoning, Text, UserMessage
from askd.core.outcome import Usage
from askd.errors import AskdError, NotFound, RequestError
from askd.providers.base import Limits, Model
from askd.server import fitting, wire
from askd.sessions.admission import Draining
from askd.sessions.hub import Delta, Progress, Published, TurnUnsaved
from askd.sessions.targets import Target
from askd.sessions.turn_status import TurnStatus
from askd.store.jobs.queries import JobRow
from askd.store.projection import ConversationRow

ENVELOPE = {"conversation_id", "seq", "at", "type", "version"}


def read(frame: bytes) -> list[Notification]:
    """What a client's reader makes of it, every limit checked."""
    messages = FrameReader().feed(frame)
    assert all(isinstance(message, Notification) for message in messages)
    return [message for message in messages if isinstance(message, Notification)]


def publish(value: Published) -> dict[str, Any]:
    (message,) = read(wire.encode_published(value))
    shape: Any = NOTIFICATIONS[message.method].params
    names = {field.name for field in dataclasses.fields(shape)}
    assert names - {"left_out"} <= set(message.params)
    return message.params


def event(body: events.Body) -> Event:
    return Event("c", 7, 12.5, body)


def all_errors(kind: type[AskdError] = AskdError) -> list[type[AskdError]]:
    return [kind, *(each for sub in kind.__subclasses__() for each in all_errors(sub))]


# ---- errors -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", all_errors(), ids=lambda kind: kind.__name__)
def test_every_error_has_a_reason_of_the_contract_with_its_code(kind: type[AskdError]) -> None:
    if kind is wire.Refusal:
        return
    assert contract.REASONS[kind.reason] == kind.code
    encoded = wire.encode_error(kind("A sentence."))
    assert encoded == {
        "code": kind.code,
        "message": "A sentence.",
        "data": {"reason": kind.reason},
    }


def test_the_errors_of_every_floor_were_looked_at() -> None:
    assert {errors.StaleFence, Draining, wire.Refusal} <= set(all_errors())


def test_an_errors_code_is_the_one_of_its_reason() -> None:
    assert wire.encode_error(RequestError("x", reason="storage_failed"))["code"] == 74
    assert wire.encode_error(wire.Refusal("wrong_protocol", "x"))["code"] == 69
    assert wire.encode_error(NotFound("x", reason="not in the table"))["code"] == 3


def test_an_errors_data_travels_and_cannot_hide_the_reason() -> None:
    error = NotFound("x", data={"candidates": ["a"], "reason": "other"})
    assert wire.encode_error(error)["data"] == {
        "candidates": ["a"],
        "reason": "conversation_not_found",
    }
    FrameReader().feed(encode_response(1, wire.encode_error(error)))


# ---- events -----------------------------------------------------------------------


def test_an_event_is_one_flat_map() -> None:
    body = TurnFinished("t", "completed", 0, usage=Usage(1, 2))
    params = publish(event(body))
    assert params == {
        "conversation_id": "c",
        "seq": 7,
        "at": 12.5,
        "type": "turn_finished",
        "version": 1,
        "turn_id": "t",
        "outcome": "completed",
        "code": 0,
        "usage": {"input_tokens": 1, "output_tokens": 2},
    }
    assert list(params)[:5] == ["conversation_id", "seq", "at", "type", "version"]


def test_every_body_becomes_its_envelope_and_its_fields() -> None:
    bodies: list[events.Body] = [
        PromptAccepted("t", "k", (UserMessage("t.0", (Text("hi"), Blob("ab", 2, "text/x"))),)),
        ItemAdded(
            "t",
            AssistantMessage("t.1", (Text("é\u2028"),), (Reasoning("hm", {"a": [1, {"b": 2}]}),)),
            1,
        ),
        QuestionAsked("t", "q", "approval", "d", {"argv": ["ls"]}, 9.0),
        UnknownBody({"type": "from_the_future", "seq": 99, "x": [1]}),
    ]
    for body in bodies:
        params = publish(event(body))
        assert {name: params[name] for name in set(params) - ENVELOPE} == {
            name: value
            for name, value in msgpack.unpackb(msgpack.packb(encode_body(body))).items()
            if name not in ENVELOPE
        }
        assert params["seq"] == 7
    assert publish(event(bodies[-1]))["type"] == "from_the_future"


def test_half_a_surrogate_pair_is_no_obstacle() -> None:
    body = ItemAdded("t", AssistantMessage("t.1", (Text("a\ud800"),)), 1)
    assert publish(event(body))["item"]["parts"][0]["text"] == "a?"


# ---- what else is published -------------------------------------------------------


def test_a_delta_says_all_of_itself() -> None:
    delta = Delta(
        conversation_id="c", turn_id="t", item_id="t.1", kind="text", offset=3, text="héllo"
    )
    assert publish(delta) == {
        "conversation_id": "c",
        "turn_id": "t",
        "item_id": "t.1",
        "kind": "text",
        "offset": 3,
        "text": "héllo",
    }


def test_a_delta_that_is_too_large_comes_in_pieces() -> None:
    text = "\U0001f600" * (wire.DELTA_LENGTH * 2 + 5)
    delta = Delta(
        conversation_id="c", turn_id="t", item_id="t.1", kind="text", offset=10, text=text
    )
    pieces = [message.params for message in read(wire.encode_published(delta))]
    assert len(pieces) == 3
    assert "".join(piece["text"] for piece in pieces) == text
    offset = 10
    for piece in pieces:
        assert piece["offset"] == offset
        offset += len(piece["text"])


def test_an_unsaved_turn_and_progress_are_said() -> None:
    unsaved = TurnUnsaved(
        conversation_id="c", turn_id="t", outcome="completed", code=74, reason="disk full"
    )
    assert publish(unsaved)["reason"] == "disk full"
    progress = Progress(conversation_id="c", turn_id="t", kind="retrying", text="x" * 5000)
    assert len(publish(progress)["text"]) == fitting.KEPT_FIELD_LENGTH


# ---- records ----------------------------------------------------------------------


def test_a_stored_conversation_is_summarized() -> None:
    row = ConversationRow(
        id="c",
        name="work",
        title="Title",
        model="test/m",
        message_count=3,
        last_seq=9,
        created_at=1.0,
        updated_at=2.0,
    )
    assert wire.summarize(row, None) == ConversationSummary(
        id="c",
        name="work",
        title="Title",
        model="test/m",
        state="stored",
        message_count=3,
        last_seq=9,
        created_at=1.0,
        updated_at=2.0,
    )


def test_a_turn_a_job_and_a_model_are_described() -> None:
    state = wire.describe_turn("c", TurnStatus("t", "finished", "failed", 7))
    assert (state.conversation_id, state.turn_id, state.code) == ("c", "t", 7)
    row = JobRow(
        id="j",
        kind="title",
        state="available",
        conversation_id="c",
        attempt=1,
        max_attempts=3,
        run_at=1.0,
        created_at=1.0,
        started_at=None,
        finished_at=None,
        error=None,
    )
    job = wire.describe_job(row)
    assert isinstance(job, JobRecord)
    assert (job.id, job.max_attempts) == ("j", 3)
    model = Model(
        name="p/m",
        provider="p",
        dialect="openai-chat",
        limits=Limits(context_window=9, reserved_output=1, known=False),
    )
    assert wire.describe_model(model, default="p/m").default
    assert wire.describe_model(model, default=None).context_window is None


# ---- what comes in ----------------------------------------------------------------


def test_options_and_targets_are_the_cores_own() -> None:
    options = WireOptions(model="m", detach=True, timeout_s=2.0, max_output_tokens=5)
    assert wire.read_options(options) == TurnOptions(
        model="m", detach=True, timeout_s=2.0, max_output_tokens=5
    )
    assert wire.read_target(WireTarget(kind="session", value="w", create=True)) == Target(
        "session", "w", True
    )


def test_parts_are_text_or_blobs() -> None:
    assert wire.read_part(PromptPart(type="text", text="x", name="f")) == Text("x", "f")
    blob = PromptPart(type="blob", sha256="ab", bytes=2, media_type="text/plain", name="f")
    assert wire.read_part(blob) == Blob("ab", 2, "text/plain", "f")
    for part in (PromptPart(type="text"), dataclasses.replace(blob, media_type=None)):
        with pytest.raises(wire.Refusal) as caught:
            wire.read_part(part)
        assert caught.value.reason == "bad_params"


def test_completions_without_usage_are_published() -> None:
    assert publish(event(CompletionFinished("t", 1, "end")))["stop"] == "end"
