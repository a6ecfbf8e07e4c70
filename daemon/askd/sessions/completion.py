"""One completion: what the model will see, its answer as it comes, and its one end.

It answers with an input for the turn's machine and appends nothing. Whatever
goes wrong, short of the daemon's own end, becomes a failure with a sentence.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

import trio

from askd.core import answers, pairs
from askd.core.arguments import warn_of_size
from askd.core.conversation import Conversation
from askd.core.events import TurnOptions
from askd.core.items import AssistantMessage
from askd.core.outcome import FAILED, OVERFLOW, Failure
from askd.core.outputs import find_latest
from askd.core.tokens import encode_size, measure_request
from askd.core.turn import (
    CallModel,
    CompletionCancelled,
    CompletionEnded,
    CompletionFailed,
    Input,
)
from askd.errors import AskdError, find_leaves
from askd.providers.assemble import Assembler
from askd.providers.base import Caller, Model, ModelRequest
from askd.sessions.budget import WAYS_OUT, count_request, size_request
from askd.sessions.contents import ReadBlob, resolve_blobs
from askd.sessions.findings import report_request
from askd.sessions.hub import TextKind
from askd.sessions.live import LiveSession
from askd.sessions.needs import Means, Report
from askd.sessions.outputs import DESCRIPTION, Reading, fit_outputs, list_tools
from askd.sessions.parking import Parked
from askd.sessions.requests import add_cost, build_request, find_context, find_system
from askd.sessions.room import Asking, Prepared, make_room
from askd.sessions.saving import save_much
from askd.sessions.schemas import find_objection
from askd.sessions.toolbox import find_toolbox, prepare_toolbox
from askd.tools.registry import Registry

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What the completions of one turn have in common.

    Attributes:
        system: the system prompt that holds for the turn.
        asked: the ids of the prompt's own messages.
        say: tells of a fragment: the item that it is of, its kind, its text.
        root: the caller's directory.
        has_tools: set when the servers of its tools have been seen to.
    """

    turn_id: str
    model: Model
    caller: Caller
    options: TurnOptions
    system: str | None
    asked: frozenset[str]
    read_blob: ReadBlob
    report: Report
    say: Callable[[str, TextKind, str], None]
    root: str | None
    has_tools: trio.Event


class Completion:
    """One request and its answer. `run` once; `cancel` from anywhere, at any time."""

    def __init__(
        self,
        command: CallModel,
        *,
        session: LiveSession,
        conversation: Conversation,
        setting: Setting,
        means: Means,
        started: trio.Event,
    ) -> None:
        self._started = started
        self._session = session
        self._conversation = conversation
        self._setting = setting
        self._means = means
        self._item_id = command.item_id
        self._assembler = Assembler(command.item_id, setting.model.provider, setting.model.name)
        self._scope = trio.CancelScope()

    def cancel(self) -> None:
        """Stop; `run` answers with `CompletionCancelled` unless the answer is whole already."""
        self._scope.cancel()

    async def run(self) -> Input:
        """Ask, and answer with what the turn's machine is to be fed; raise `Parked`."""
        try:
            # What fails in the moment of a cancellation comes out of here without it.
            with self._scope:
                return await self._ask()
        except Exception as error:
            if not any(isinstance(each, Parked) for each in find_leaves(error)):
                return CompletionFailed(_describe(error), self._partial())
            if not self._scope.cancel_called:
                raise Parked from None
        except BaseExceptionGroup as group:
            # The daemon ends: that counts, and not what failed in the same moment.
            raise group.subgroup(trio.Cancelled) or group from None
        return CompletionCancelled(self._partial())

    async def _ask(self) -> Input:
        model, rates = self._setting.model, self._means.rates
        await self._prepare_toolbox()
        await self._fit_outputs()
        prepared = await make_room(
            self._session, self._describe_asking(), self._prepare, self._means
        )
        await self._stream(prepared.request)
        answer = self._assembler
        if answer.failure is not None:
            return CompletionFailed(answer.failure, self._partial())
        for name, size in answer.left_out():
            self._setting.report("warning", warn_of_size(name, size))
        measured = encode_size(prepared.size)
        rates.learn(model.name, measured, answer.usage)
        return CompletionEnded(
            answer.message(),
            answer.stop,
            add_cost(answer.usage, model),
            objection=self._find_objection(),
            measured=measured if answer.usage is not None else None,
        )

    def _describe_asking(self) -> Asking:
        """What this completion is, for whoever makes room for it."""
        setting = self._setting
        record = self._conversation.turns[setting.turn_id]
        return Asking(
            turn_id=setting.turn_id,
            # As the log counts, which knows nothing of a request that was cut before it said
            # anything: what was asked for that one is the question of this one.
            subject=f"{setting.turn_id}.{record.completions + 1}",
            model=setting.model,
            options=setting.options,
            read_blob=setting.read_blob,
            report=setting.report,
            started=self._started,
            is_stored=self._conversation is self._session.conversation,
        )

    async def _prepare(self) -> Prepared:
        """The request as the view is now, and how large it is."""
        setting, model = self._setting, self._setting.model
        context = find_context(
            self._conversation,
            setting.turn_id,
            system=setting.system,
            options=setting.options,
            model=model,
        )
        contents = await resolve_blobs(
            context.items, setting.read_blob, model=model, asked=setting.asked
        )
        # The last check: nothing unpaired leaves the house.
        items, faults = pairs.heal(contents.items)
        report_request(self._session, [*context.faults, *faults], items)
        request = build_request(
            items,
            contents=contents,
            system=context.system,
            model=model,
            options=setting.options,
            tools=list_tools(self._conversation, self._find_tools()),
        )
        size = size_request(request)
        tokens = await count_request(
            request,
            size,
            model=model,
            caller=setting.caller,
            models=self._means.models,
            rates=self._means.rates,
        )
        return Prepared(request=request, size=size, tokens=tokens)

    def _find_tools(self) -> Registry:
        setting = self._setting
        return find_toolbox(self._conversation, setting.options, self._means, model=setting.model)

    def _find_objection(self) -> str | None:
        """Why the answer will not do, if it is a last one and has something to fit."""
        schema, answer = self._setting.options.answer_schema, self._assembler
        if schema is None or not answers.can_object(answer.message(), answer.stop):
            return None
        return find_objection(answer.text, schema)

    async def _prepare_toolbox(self) -> None:
        """See that the tools are there that the turn may want, once before its first request."""
        setting = self._setting
        if setting.has_tools.is_set():
            return
        await prepare_toolbox(
            self._conversation,
            setting.options,
            self._means,
            model=setting.model,
            root=setting.root,
            report=setting.report,
        )
        setting.has_tools.set()

    async def _fit_outputs(self) -> None:
        """See that no tool output of the last calls is larger than it may be."""
        session, setting = self._session, self._setting
        if self._conversation is not session.conversation:
            return  # storage fails: what cannot be recorded is not decided
        if not find_latest(self._conversation.turns[setting.turn_id]):
            return
        # As if something had been cut already: what is offered then must fit, too.
        tools = [*self._find_tools().describe(), DESCRIPTION]
        system = find_system(setting.system, setting.options, setting.model)
        frame = measure_request((), system=system, tools=tools)
        reading = Reading(
            model=setting.model,
            means=self._means,
            read_blob=setting.read_blob,
            overhead=self._means.rates.estimate(setting.model.name, frame),
        )
        await fit_outputs(
            session,
            setting.turn_id,
            reading,
            options=setting.options,
            report=setting.report,
            started=self._started,
        )

    async def _stream(self, request: ModelRequest) -> None:
        setting = self._setting
        async with self._means.models.stream(
            setting.model, request, setting.caller, progress=setting.report
        ) as events:
            async for event in events:
                for piece in self._assembler.feed(event):
                    setting.say(self._item_id, piece.kind, piece.text)
                save_much(self._session)

    def _partial(self) -> AssistantMessage | None:
        message = self._assembler.message()
        return message if message.parts or message.reasoning or message.calls else None


def _describe(error: Exception) -> Failure:
    """A failure that a person can act on; what nobody foresaw is logged and called internal.

    What a provider refused has been logged where its answer was read.
    """
    for each in find_leaves(error):
        if isinstance(each, AskdError):
            failure = each.failure
            if failure.code == OVERFLOW and WAYS_OUT not in failure.message:
                failure = replace(failure, message=f"{failure.message} {WAYS_OUT}")
            return failure
    log.error("Completion failed unexpectedly", exc_info=error)
    # Its words may hold anything, a key too: they are for the log, which hides what is secret.
    names = ", ".join(sorted({type(each).__name__ for each in find_leaves(error)}))
    return Failure(
        FAILED, "internal", f"Something went wrong inside askd ({names}); its log says more."
    )
