"""Turns: accepted, stopped, taken back, waited for; and the questions that they wait on."""

import hashlib
import json
from collections.abc import Mapping

import trio

from ask.protocol.messages import (
    Done,
    PromptPart,
    QuestionAnswer,
    TurnOptions,
    TurnRef,
    TurnStart,
    TurnStartResult,
    TurnState,
    TurnWait,
)
from ask.protocol.names import CALLER_ENVIRONMENT
from askd.core.elicitations import check_answer
from askd.core.events import QuestionAnswered, QuestionAsked
from askd.core.grants import ALWAYS, find_covered
from askd.core.items import PART_LIMIT_BYTES
from askd.core.questions import find_choices
from askd.errors import NotConfigured, NotFound, RequestError, UnknownModel
from askd.server import wire
from askd.server.handlers.blobs import read_stored
from askd.server.handlers.subscriptions import follow
from askd.server.house import House
from askd.server.peer import Answer, Peer
from askd.server.places import check_place
from askd.sessions.admission import Draining
from askd.sessions.hub import Progress
from askd.sessions.prompts import Accepted, Prompt

KEY_LENGTH = 128
"""A UUID has 36 characters; a script may have longer names for what it does once."""
TEMPERATURE_LIMIT = 10.0
"""Providers take 1 or 2 at the most; local samplers take more."""
STOPS_LIMIT = 16
STOP_LENGTH = 1024
"""Providers take four or so short ones; beyond this it is a mistake."""
REASON_LENGTH = 1000
"""Of an answer to a question; a model is told of it, and whoever writes more writes a prompt."""
REFUSAL_LENGTH = 2000
"""Of the sentences about a form that was filled in; its fields have theirs beside it."""
UNANSWERED = "A turn before this one waits for an answer: ask attach {id}"
"""Told to whoever has to wait for that, since it may take a day."""
UNANSWERED_HERE = "The turn that this joined waits for an answer: ask attach {id}"
WAIT_LIMIT_S = 300.0
"""The longest that one `turn/wait` takes; it may be asked again."""


async def start(house: House, peer: Peer, params: TurnStart) -> Answer:
    """Accept a prompt; with `follow`, everything from its own event on comes after the answer."""
    if house.host.draining:
        raise wire.Refusal("draining", "The daemon is about to stop; ask again in a moment.")
    if params.follow:
        peer.check_room(None)
    blobs = await _collect_blobs(house, peer, params.parts)
    prompt = _read_prompt(params, blobs=blobs, own_env=house.own_env)
    if params.far and params.cwd is not None and not await house.admission.knows(params.key):
        await check_place(params.cwd)
    try:
        accepted = await house.admission.accept(prompt)
    except (NotConfigured, UnknownModel) as error:
        if house.host.warning is not None:  # what is missed may stand in the file that is bad
            error.data.setdefault("hint", house.host.warning)
        raise
    for part in params.parts:
        if part.sha256 is not None:
            peer.uploads.drop(part.sha256)
    session = accepted.session
    road = house.notifier.find_road() if params.options.notify else None
    deaf = None if road is None or road.state == "ready" or accepted.steers else road.text
    result = TurnStartResult(
        turn_id=accepted.turn_id,
        conversation_id=session.id,
        seq=accepted.seq,
        position=accepted.position,
        created=accepted.created,
        job_id=accepted.job_id,
        steers=accepted.steers,
        name=session.conversation.name,
        warning=None if params.follow else accepted.warning or deaf,
    )
    if not params.follow:
        return Answer(result)

    def begin() -> None:
        said = (house.host.warning, deaf, accepted.warning, _find_unanswered(accepted))
        warnings = [each for each in said if each is not None]
        for warning in warnings:  # first, for a client may leave at the turn's end
            told = Progress(
                conversation_id=session.id,
                turn_id=accepted.turn_id,
                kind="warning",
                text=warning,
            )
            peer.outbox.post(wire.encode_published(told))
        follow(peer, session, from_seq=accepted.seq, interactive=params.interactive)

    return Answer(result, begin)


def _find_unanswered(accepted: Accepted) -> str | None:
    """That an answer is waited for before this prompt is looked at; None: none is."""
    session = accepted.session
    asked = session.conversation.open_questions.values()
    if accepted.steers is not None and any(each.turn_id == accepted.turn_id for each in asked):
        return UNANSWERED_HERE.format(id=session.id[:8])
    return UNANSWERED.format(id=session.id[:8]) if accepted.position and asked else None


def _read_prompt(
    params: TurnStart, *, blobs: Mapping[str, bytes], own_env: Mapping[str, str]
) -> Prompt:
    if not 1 <= len(params.key) <= KEY_LENGTH:
        raise RequestError(f"turn/start: a key has 1 to {KEY_LENGTH} characters.")
    check_options(params.options)
    env = params.env or {}
    if params.far or params.env is None:
        env = {**own_env, **env}
    for part in params.parts:
        if part.text is not None and len(part.text.encode()) > PART_LIMIT_BYTES:
            raise RequestError(
                f"turn/start: a text has {PART_LIMIT_BYTES} bytes at the most; "
                "send a longer one with blob/put first."
            )
    return Prompt(
        target=wire.read_target(params.target),
        key=params.key,
        digest=digest_of(params),
        parts=tuple(wire.read_part(part) for part in params.parts),
        blobs=blobs,
        options=wire.read_options(params.options),
        busy=params.busy,
        ephemeral=params.ephemeral,
        cwd=params.cwd,
        cwd_id=params.cwd_id,
        env=pick_stored(env),
        secrets=params.secrets or {},
        terminal=params.terminal,
    )


def pick_stored(env: Mapping[str, str] | None) -> dict[str, str]:
    """What is stored with a prompt; what else a client may send stays out of the log."""
    return {name: value for name, value in (env or {}).items() if name in CALLER_ENVIRONMENT}


def check_options(options: TurnOptions) -> None:
    """Refuse numbers and texts that no provider could take; the rest is theirs to judge."""
    if options.timeout_s is not None and options.timeout_s <= 0:
        raise RequestError("turn/start: options.timeout_s is more than 0.")
    if options.max_output_tokens is not None and options.max_output_tokens < 1:
        raise RequestError("turn/start: options.max_output_tokens is 1 or more.")
    if options.temperature is not None and not 0 <= options.temperature <= TEMPERATURE_LIMIT:
        raise RequestError(f"turn/start: options.temperature is 0 to {TEMPERATURE_LIMIT:g}.")
    stop = options.stop or []
    if len(stop) > STOPS_LIMIT or not all(1 <= len(each) <= STOP_LENGTH for each in stop):
        raise RequestError(
            f"turn/start: options.stop has up to {STOPS_LIMIT} texts of 1 to {STOP_LENGTH} "
            "characters."
        )


def digest_of(params: TurnStart) -> str:
    """What makes two requests with one key the same prompt: target, parts, options."""
    # Options that are not said leave no trace, or each new one would make other prompts of old.
    options = wire.encode_result(params.options)
    said = {
        "target": wire.encode_result(params.target),
        "parts": [wire.encode_result(part) for part in params.parts],
        "options": {name: value for name, value in options.items() if value is not None},
        "ephemeral": params.ephemeral,
    }
    canonical = json.dumps(said, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


async def _collect_blobs(house: House, peer: Peer, parts: list[PromptPart]) -> dict[str, bytes]:
    """The contents that the prompt names, sent on this connection or stored already.

    Stored ones are read too: their size counts against the model's window, and whoever names
    a size must not be believed.
    """
    found: dict[str, bytes] = {}
    for part in parts:
        if part.type != "blob" or part.sha256 is None or part.sha256 in found:
            continue
        if peer.uploads.has(part.sha256):
            content = found[part.sha256] = peer.uploads.read(part.sha256)
        elif not (part.media_type or "").startswith(("text/", "image/")):
            continue  # refused for what it is, whatever it holds
        else:
            content = await read_stored(house, part.sha256)
        if len(content) != part.bytes:
            raise wire.Refusal("bad_blob", "turn/start: a blob's size is not what was named.")
    return found


async def interrupt(house: House, peer: Peer, params: TurnRef) -> TurnState:
    """Stop a running turn, or take back one that waits; what it said so far is kept."""
    session = await house.sessions.get(params.conversation_id)
    status = await session.interrupt(params.turn_id, by=peer.client)
    return wire.describe_turn(session.id, status)


async def withdraw(house: House, peer: Peer, params: TurnRef) -> TurnState:
    """Take a queued prompt back; one that has started goes on, and the answer says so."""
    session = await house.sessions.get(params.conversation_id)
    return wire.describe_turn(session.id, await session.withdraw(params.turn_id))


async def wait(house: House, peer: Peer, params: TurnWait) -> TurnState:
    """Answer when the turn is over, or with how it is when the time is."""
    session = await house.sessions.get(params.conversation_id)
    status = session.status(params.turn_id)
    with trio.move_on_after(min(max(params.timeout_s, 0.0), WAIT_LIMIT_S)) as limit:
        status = await session.wait_finished(params.turn_id)
    if limit.cancelled_caught:
        status = session.status(params.turn_id)
    return wire.describe_turn(session.id, status)


def _check_content(question: QuestionAsked, params: QuestionAnswer) -> None:
    """Refuse content that is not what was asked for; the question stays open."""
    amiss = check_answer(question, params.decision, params.content)
    if amiss:
        said = " ".join(f"{name!r}: {each}" if name else each for name, each in amiss.items())
        line = " ".join(said.split())[:REFUSAL_LENGTH]
        raise RequestError(f"question/answer: {line}", data={"fields": amiss})


async def answer_question(house: House, peer: Peer, params: QuestionAnswer) -> Done:
    """Answer an open question with one of its choices, by its digest; the first answer wins."""
    reason = (params.reason or "").strip() or None
    if reason is not None and len(reason) > REASON_LENGTH:
        raise RequestError(f"question/answer: a reason has {REASON_LENGTH:,} characters at most.")
    session = await house.sessions.get(params.conversation_id)
    async with session.admission:
        question = session.conversation.open_questions.get(params.question_id)
        if question is None:
            raise NotFound(
                f"No open question: id={params.question_id}. Somebody may have answered it.",
                reason="question_not_found",
            )
        if question.digest != params.digest:
            raise RequestError("question/answer: the digest is that of another question.")
        choices = find_choices(question)
        if choices and params.decision not in choices:
            raise RequestError(f"question/answer: the decision is one of {', '.join(choices)}.")
        _check_content(question, params)
        if question.kind == "approval" and house.sessions.draining:
            # Nothing is begun any more, and the next daemon could not tell that nothing was.
            raise Draining("The daemon is about to stop; answer again in a moment.")
        by = params.terminal or peer.client
        answered = [question]
        if params.decision == ALWAYS:
            answered += find_covered(session.conversation, question)
        decision, content = params.decision, params.content
        await session.append(
            [
                QuestionAnswered(each.turn_id, each.question_id, by, decision, reason, content)
                for each in answered
            ]
        )
    return Done(conversation_id=session.id)
