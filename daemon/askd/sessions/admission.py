"""The door: decides whether a prompt is accepted, and stores it if it is.

Accepted means committed: whoever hears so will get exactly one turn. All that
can be refused is refused before, and nothing of it is stored. A key that is
known already is never refused: it is answered with the turn that it stands for.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import trio

from askd.core.events import Body, ConversationCreated, PromptAccepted, TurnOptions
from askd.core.images import IMAGE_TYPES, find_image_type
from askd.core.items import Blob, Part, UserMessage
from askd.core.outcome import NO_DAEMON
from askd.core.tokens import measure_request
from askd.errors import AskdError, Busy, RequestError, TooLarge
from askd.providers.base import Caller, Model
from askd.sessions.budget import count_request, describe_excess, is_near, size_request
from askd.sessions.contents import explain_blindness, has_images, resolve_blobs
from askd.sessions.live import LiveSession
from askd.sessions.offload import offload_bodies
from askd.sessions.registry import Sessions
from askd.sessions.requests import build_request, find_system
from askd.sessions.schemas import check_schema
from askd.sessions.targets import Target, ToCreate
from askd.store import refusals
from askd.store.digests import is_same_prompt
from askd.store.jobs.turns import make_turn_job
from askd.store.log import KnownKey, NewJob, PromptKey, Write

NAME_RACES = 3
"""A name can be taken, and freed again, between looking and writing; not forever."""

PROXY_NAMES = frozenset({"https_proxy", "http_proxy", "all_proxy", "no_proxy"})
"""Among a caller's secrets, in either case, and none: no provider is opened by them."""


class Draining(RequestError):
    """The daemon is about to stop and accepts nothing; its successor will."""

    code = NO_DAEMON
    reason = "draining"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt as it was asked for.

    Attributes:
        key: the caller's UUID: the same key is the same turn.
        digest: over target, parts and options, to notice a key that is used twice.
        parts: what was said and attached.
        blobs: the contents of all `Blob` parts, by their SHA-256 in hex.
        secrets: the caller's provider keys and proxies; kept in memory until the turn is over, and
            those of the last turn as long as its session: see `compactions.last_caller`.
        terminal: make the conversation the one that this terminal used last.
    """

    target: Target
    key: str
    digest: str
    parts: tuple[Part, ...]
    blobs: Mapping[str, bytes] = field(default_factory=dict)
    options: TurnOptions = field(default_factory=TurnOptions)
    busy: Literal["queue", "fail"] = "queue"
    ephemeral: bool = False
    cwd: str | None = None
    env: Mapping[str, str] | None = None
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    terminal: str | None = None

    @property
    def caller(self) -> Caller:
        """What the caller lends to the turn."""
        return Caller(env=self.env or {}, secrets=self.secrets)

    @property
    def has_keys(self) -> bool:
        """Whether a key is among the secrets."""
        return any(name.lower() not in PROXY_NAMES for name in self.secrets)


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """A prompt that is stored. `position`: how many turns are before it; `job_id`: if detached."""

    session: LiveSession
    turn_id: str
    seq: int
    position: int
    created: bool = False
    job_id: str | None = None


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
                cannot be used, an image for a model that cannot see.
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
        _check_parts(prompt)
        if prompt.options.detach and prompt.ephemeral:
            raise RequestError("A prompt cannot be ephemeral and detached: nobody could find it.")
        if prompt.options.answer_schema is not None:
            check_schema(prompt.options.answer_schema)
        if self._sessions.draining:
            raise Draining("The daemon is about to stop; ask again in a moment.")
        for _ in range(NAME_RACES):
            found = await self._sessions.resolve(prompt.target, ephemeral=prompt.ephemeral)
            if isinstance(found, str):
                session = await self._sessions.get(found)
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
            if prompt.busy == "fail" and (session.active_turn is not None or session.queue):
                raise Busy("The conversation is busy: a turn is running or waiting.")
            return await self._append(prompt, session, model, [])

    async def _append(
        self, prompt: Prompt, session: LiveSession, model: Model, before: Sequence[Body]
    ) -> Accepted:
        turn_id = self._new_id()
        accepted = PromptAccepted(
            turn_id=turn_id,
            key=prompt.key,
            items=(UserMessage(f"{turn_id}.0", prompt.parts),),
            options=prompt.options,
            cwd=prompt.cwd,
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
        )
        session.callers[turn_id] = prompt.caller  # the driver may begin before we are told
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
        accepted = session.conversation.turns[known.turn_id].prompt
        waits = accepted.caller_credentials
        if status.state != "finished" and (prompt.has_keys or not waits):
            session.callers.setdefault(known.turn_id, prompt.caller)
            session.mailbox.wake()
        return Accepted(
            session=session,
            turn_id=known.turn_id,
            seq=known.seq,
            position=session.position(known.turn_id),
            job_id=known.turn_id if accepted.options.detach else None,
        )

    # ---- the model -------------------------------------------------------------

    async def _check_model(self, prompt: Prompt, session: LiveSession | None) -> Model:
        """The model that would answer; raise if there is none, or if the prompt cannot fit it."""
        wanted = prompt.options.model
        if wanted is None and session is not None:
            wanted = session.conversation.settings.model
        model = await self._sessions.means.models.resolve(wanted, prompt.caller)
        if model.manners.images is False and has_images(prompt.parts):
            raise RequestError(explain_blindness(model))
        system = find_system(prompt.options.system, prompt.options, model)
        tokens = await self._count(prompt, system, model)
        if tokens > model.limits.budget:
            raise TooLarge(
                f"{describe_excess('The prompt', tokens, model)}. "
                "Send less of it, or choose a model with a larger window (-m).",
                data={"tokens": tokens, "context_window": model.limits.context_window},
            )
        return model

    async def _count(self, prompt: Prompt, system: str | None, model: Model) -> int:
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
            caller=prompt.caller,
            models=means.models,
            rates=means.rates,
        )


def _check_parts(prompt: Prompt) -> None:
    """Raise `RequestError` for a prompt that says nothing, or nothing that a model can read."""
    if not any(isinstance(part, Blob) or part.text.strip() for part in prompt.parts):
        raise RequestError("The prompt is empty.", reason="empty_prompt")
    for part in prompt.parts:
        if not isinstance(part, Blob):
            continue
        content, name = prompt.blobs.get(part.sha256, b""), part.name or "An attachment"
        if part.media_type in IMAGE_TYPES:
            # A provider refuses an image that is none, and would for as long as it is in the log.
            if find_image_type(content) != part.media_type:
                raise RequestError(f"{name} is no {part.media_type}.", reason="bad_blob")
            continue
        if not part.media_type.startswith("text/"):
            raise RequestError(f"Text and images can be attached, not {part.media_type}.")
        try:
            content.decode("utf-8")
        except UnicodeDecodeError:
            raise RequestError(f"{name} is not UTF-8 text.", reason="bad_blob") from None
