"""The door: decides whether a prompt is accepted, and stores it if it is.

Accepted means committed: whoever hears so will get exactly one turn, or the end of the
one that the prompt has joined. All that can be refused is refused before, and nothing of
it is stored. A key that is known already is never refused: it is answered with the turn
that it stands for.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import trio

from askd.core.conversation import TurnRecord
from askd.core.events import Body, ConversationCreated, PromptAccepted, TurnOptions
from askd.core.items import UserMessage
from askd.core.outcome import NO_DAEMON
from askd.core.tokens import measure_request
from askd.errors import AskdError, Busy, RequestError, TooLarge
from askd.providers.base import Caller, Model
from askd.sessions.budget import count_request, describe_excess, is_near, size_request
from askd.sessions.contents import explain_blindness, has_images, resolve_blobs
from askd.sessions.live import LiveSession
from askd.sessions.offload import offload_bodies
from askd.sessions.prompts import PROXY_NAMES, Accepted, Prompt, check_parts
from askd.sessions.registry import Sessions
from askd.sessions.requests import build_request, find_system
from askd.sessions.schemas import check_schema
from askd.sessions.steering import (
    DETACHED,
    check_promise,
    explain_kept,
    find_joinable,
    find_kept,
    join_turn,
)
from askd.sessions.targets import ToCreate
from askd.sessions.toolbox import check_words
from askd.store import refusals
from askd.store.digests import is_same_prompt
from askd.store.jobs.turns import make_turn_job
from askd.store.log import KnownKey, NewJob, PromptKey, Write

NAME_RACES = 3
"""A name can be taken, and freed again, between looking and writing; not forever."""


def is_busy(session: LiveSession) -> bool:
    """Whether a turn runs or waits."""
    return bool(session.queue) or session.active_turn is not None


class Draining(RequestError):
    """The daemon is about to stop and accepts nothing; its successor will."""

    code = NO_DAEMON
    reason = "draining"


class Admission:
    """Accepts prompts for the sessions of a daemon.

    `new_id` makes UUIDs; `learn` hears of every key that a caller lends, before it is used.
    """

    def __init__(
        self,
        sessions: Sessions,
        *,
        new_id: Callable[[], str],
        learn: Callable[[str], None] = lambda key: None,
    ) -> None:
        self._sessions = sessions
        self._new_id = new_id
        self._learn = learn

    async def accept(self, prompt: Prompt) -> Accepted:
        """Store a prompt, and return once it is.

        Raises:
            Draining: the daemon is about to stop.
            NotFound: the target is not there, or ambiguous.
            RequestError: an empty prompt, a bad name, a key of another prompt, a schema that
                cannot be used or is not that of the turn which is steered, a tool that is not
                there, an image for a model that cannot see.
            ProviderError: no such model, or no credentials for it.
            TooLarge: it alone exceeds the model's window.
            Busy: `busy` is `fail` and a turn runs or waits.
            StorageFailed: it could not be stored; nothing was accepted.
        """
        try:
            return await self._accept(prompt)
        except AskdError:
            known = await self._find_key(prompt.key)
            if known is None or not is_same_prompt(known.digest, prompt.digest):
                raise
            return await self._repeat(prompt, known)

    def learn_keys(self, secrets: Mapping[str, str]) -> None:
        """Hear of the keys that a caller lends, before any is used."""
        for name, key in secrets.items():
            if name.lower() not in PROXY_NAMES:
                self._learn(key)

    async def _accept(self, prompt: Prompt) -> Accepted:
        self.learn_keys(prompt.secrets)
        check_parts(prompt)
        if prompt.options.detach and prompt.busy == "steer":
            raise RequestError(DETACHED)
        if prompt.options.detach and prompt.ephemeral:
            raise RequestError("A prompt cannot be ephemeral and detached: nobody could find it.")
        if prompt.options.answer_schema is not None:
            check_schema(prompt.options.answer_schema)
        check_words(prompt.options, self._sessions.means.tools)
        if self._sessions.draining:
            raise Draining("The daemon is about to stop; ask again in a moment.")
        for _ in range(NAME_RACES):
            found = await self._sessions.resolve(prompt.target, ephemeral=prompt.ephemeral)
            if isinstance(found, str):
                session = await self._sessions.get(found)
                if prompt.busy == "steer" and (joined := await self._steer(prompt, session)):
                    return joined
                return await self._admit(prompt, session, await self._check_model(prompt, session))
            try:
                return await self._create(prompt, found)
            except RequestError as error:
                if error.reason != "name_taken" or prompt.target.kind == "new":
                    raise
        raise Busy(f"The name {prompt.target.value!r} is being taken; try again.")

    async def _create(self, prompt: Prompt, wanted: ToCreate) -> Accepted:
        model = await self._check_model(prompt, None)
        conversation_id = self._new_id()
        session = await self._sessions.open(conversation_id, ephemeral=prompt.ephemeral)
        created = ConversationCreated(conversation_id, wanted.name)
        accepted: Accepted | None = None
        try:
            accepted = await self._append(prompt, session, model, [created])
            return accepted
        finally:
            if accepted is None or accepted.session is not session:
                self._sessions.discard(session)

    async def _admit(self, prompt: Prompt, session: LiveSession, model: Model) -> Accepted:
        async with session.admission:
            if prompt.busy == "fail" and is_busy(session):
                raise Busy("The conversation is busy: a turn is running or waiting.")
            return await self._append(prompt, session, model, [])

    async def _steer(self, prompt: Prompt, session: LiveSession) -> Accepted | None:
        """Accept the prompt into the turn that runs; None: none does, or does any more."""
        record = find_joinable(session)
        if record is None:
            return None
        check_promise(prompt, record)
        warning = explain_kept(await self._find_kept(prompt, session, record))
        turn_id, own = record.prompt.turn_id, record.prompt.options
        caller = session.callers.get(turn_id, prompt.caller)
        model = await self._sessions.means.models.resolve(record.model, caller)
        await self._check_size(replace(prompt, options=own), model, caller)
        item_id = f"{self._new_id()}.0"
        committed = await join_turn(session, turn_id, prompt, item_id=item_id)
        if committed is None:
            return None
        if committed.repeated is not None:
            return await self._repeat(prompt, committed.repeated)
        self._sessions.bind(prompt.terminal, session)
        return Accepted(
            session=session,
            turn_id=turn_id,
            seq=committed.events[0].seq,
            position=0,
            steers=item_id,
            warning=warning,
        )

    async def _find_kept(
        self, prompt: Prompt, session: LiveSession, record: TurnRecord
    ) -> list[str]:
        """What the turn has otherwise than the prompt that steers it asked for."""
        wanted = prompt.options.model
        if wanted is not None:
            with suppress(AskdError):  # it is not asked, so it need not be there
                wanted = (await self._sessions.means.models.resolve(wanted, prompt.caller)).name
        settings = session.conversation.settings
        return find_kept(prompt.options, record, settings, model=wanted)

    async def _append(
        self, prompt: Prompt, session: LiveSession, model: Model, before: Sequence[Body]
    ) -> Accepted:
        if (prompt.options.notify or prompt.firing is not None) and session.ephemeral:
            what = "prompt cannot notify" if prompt.firing is None else "conversation is no place"
            raise RequestError(f"An ephemeral {what}: that would be kept on the disk.")
        turn_id = self._new_id()
        accepted = PromptAccepted(
            turn_id=turn_id,
            key=prompt.key,
            items=(UserMessage(f"{turn_id}.0", prompt.parts),),
            options=prompt.options,
            cwd=prompt.cwd,
            cwd_id=prompt.cwd_id,
            env=prompt.env,
            # The embedded model needs no key: whatever the caller sent was not for it.
            caller_credentials=prompt.has_keys and model.dialect != "local",
        )
        bodies, blobs = offload_bodies([*before, accepted])
        write = Write(
            conversation_id=session.id,
            bodies=bodies,
            create=bool(before),
            key=PromptKey(key=prompt.key, digest=prompt.digest, turn_id=turn_id),
            terminal=prompt.terminal,
            jobs=self._make_jobs(session.id, turn_id, prompt.options),
            blobs=list({**prompt.blobs, **blobs}.items()),
            firing=prompt.firing,
        )
        session.callers[turn_id] = prompt.caller  # the driver may begin before we are told
        if not is_busy(session):
            session.ahead.announce(accepted, model)
            session.mailbox.wake()
        try:
            # A caller who hangs up now is not told, but what is committed has a session. The log
            # always answers: this shield cannot hold for longer than the disk takes.
            with trio.CancelScope(shield=True):
                committed = await session.log.append(write)
        except AskdError:
            session.callers.pop(turn_id, None)
            raise
        if committed.repeated is not None:
            session.callers.pop(turn_id, None)
            return await self._repeat(prompt, committed.repeated)
        await session.wait_known(turn_id)
        self._sessions.bind(prompt.terminal, session)
        return Accepted(
            session=session,
            turn_id=turn_id,
            seq=committed.events[-1].seq,
            position=session.position(turn_id),
            created=bool(before),
            job_id=turn_id if prompt.options.detach else None,
        )

    def _make_jobs(
        self, conversation_id: str, turn_id: str, options: TurnOptions
    ) -> Sequence[NewJob]:
        """What a detached turn is found and waited for by, committed with its prompt."""
        now = self._sessions.means.now()
        return [make_turn_job(conversation_id, turn_id, now=now)] if options.detach else []

    # ---- a key that is known ---------------------------------------------------

    async def knows(self, key: str) -> bool:
        """Whether a prompt of this key was accepted before: what is asked is its repetition."""
        return await self._find_key(key) is not None

    async def _find_key(self, key: str) -> KnownKey | None:
        try:
            known = await self._sessions.memory.find_key(key)
            return known or await self._sessions.reader.find_key(key)
        except AskdError:
            return None  # it cannot be looked up; why the prompt was refused is the better answer

    async def _repeat(self, prompt: Prompt, known: KnownKey) -> Accepted:
        """Answer with the turn that the key stands for, and lend it its caller's keys again."""
        if known.seq == 0:
            raise refusals.conversation_not_found(known.conversation_id)
        session = await self._sessions.get(known.conversation_id)
        status = session.status(known.turn_id)
        record = session.conversation.turns[known.turn_id]
        accepted = record.prompt
        waits = accepted.caller_credentials
        steered = [each.items[0].id for each in record.steered if each.key == known.key]
        if not steered and status.state != "finished" and (prompt.has_keys or not waits):
            session.callers.setdefault(known.turn_id, prompt.caller)
            session.mailbox.wake()
        return Accepted(
            session=session,
            turn_id=known.turn_id,
            seq=known.seq,
            position=session.position(known.turn_id),
            job_id=known.turn_id if accepted.options.detach and not steered else None,
            steers=next(iter(steered), None),
        )

    # ---- the model -------------------------------------------------------------

    async def _check_model(self, prompt: Prompt, session: LiveSession | None) -> Model:
        """The model that would answer; raise if there is none, or if the prompt cannot fit it."""
        wanted = prompt.options.model
        if wanted is None and session is not None:
            wanted = session.conversation.settings.model
        model = await self._sessions.means.models.resolve(wanted, prompt.caller)
        await self._check_size(prompt, model, prompt.caller)
        return model

    async def _check_size(self, prompt: Prompt, model: Model, caller: Caller) -> None:
        """Raise if the prompt can never be answered by the model, whatever is before it."""
        if model.manners.images is False and has_images(prompt.parts):
            raise RequestError(explain_blindness(model))
        system = find_system(prompt.options.system, prompt.options, model)
        tokens = await self._count(prompt, system, model, caller)
        if tokens > model.limits.budget:
            raise TooLarge(
                f"{describe_excess('The prompt', tokens, model)}. "
                "Send less of it, or choose a model with a larger window (-m).",
                data={"tokens": tokens, "context_window": model.limits.context_window},
            )

    async def _count(self, prompt: Prompt, system: str | None, model: Model, caller: Caller) -> int:
        """The prompt's tokens, with nothing before it; asked of the provider near the limit."""
        means = self._sessions.means
        said = UserMessage("", prompt.parts)
        size = measure_request([said], system=system)
        estimated = means.rates.estimate(model.name, size)
        if not is_near(estimated, model):
            return estimated

        async def read_blob(sha256: str) -> bytes:
            return prompt.blobs.get(sha256, b"")

        contents = await resolve_blobs([said], read_blob, model=model, asked=frozenset())
        request = build_request(
            contents.items,
            contents=contents,
            system=system,
            model=model,
            options=prompt.options,
            tools=(),
        )
        return await count_request(
            request,
            size_request(request),
            model=model,
            caller=caller,
            models=means.models,
            rates=means.rates,
        )
