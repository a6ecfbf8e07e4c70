"""The calls of one answer of a model, from the first look at them to their last output.

First all of them are looked at and decided on; only when nothing is left to be
asked do those run that may, all at the same time. So no tool of an answer has begun
as long as a question about one of its calls is open. Each call gets exactly one
output, however it ends. What runs is what the log says, and so what people saw.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import trio

from askd.core.conversation import Conversation
from askd.core.denials import Denial, deny_call, refuse_call
from askd.core.items import AssistantMessage, Text, ToolCall, ToolOutput
from askd.core.outcome import APPROVAL_NEEDED, Failure
from askd.core.pairs import interrupt_call
from askd.core.repetition import refuse_repetition
from askd.core.turn import Input, Interrupted, RunTool, ToolReturned
from askd.errors import StorageFailed
from askd.providers.base import Model
from askd.sessions.approvals import ApprovalNeeded, Look, find_denials
from askd.sessions.contents import ReadBlob
from askd.sessions.elicitations import Elicitations, LentPlace
from askd.sessions.live import LiveSession
from askd.sessions.needs import Means, Report
from askd.sessions.outputs import is_reading, run_tool
from askd.sessions.parking import Parked
from askd.sessions.snapshots import record_workspace
from askd.sessions.toolbox import find_toolbox
from askd.tools.base import Preview, Site

LOOK_S = 10.0
"""How long a tool may take to say what a call would do: it reads a file or two for that."""
AT_ONCE = 16
"""Calls that run at the same time; a model that makes more of them waits for places."""
SLOW = "{name!r} took longer than {limit:g} s to say what this call would do; it was not run."


class Calls:
    """Answers every one of the calls by `post`. `run` once; `stop` from anywhere, at any time.

    `shadow` is the conversation as it goes on where nothing can be stored, else None.
    `keep` takes what the blobs of outputs hold.
    `lose_storage` hears of an append that failed, and answers with such a one.
    """

    def __init__(
        self,
        commands: Sequence[RunTool],
        *,
        session: LiveSession,
        turn_id: str,
        shadow: Conversation | None,
        model: Model | Failure,
        means: Means,
        read_blob: ReadBlob,
        keep: Callable[[Mapping[str, bytes]], None],
        report: Report,
        post: Callable[[Input], None],
        lose_storage: Callable[[StorageFailed], Conversation],
    ) -> None:
        self._session = session
        self._turn_id = turn_id
        self._shadow = shadow
        self._model = model
        self._means = means
        self._read_blob = read_blob
        self._keep = keep
        self._report = report
        self._post = post
        self._lose_storage = lose_storage
        conversation = self._conversation
        self._prompt = conversation.turns[turn_id].prompt
        known = model if isinstance(model, Model) else None
        self._tools = find_toolbox(conversation, self._prompt.options, means, model=known)
        logged = _find_logged(conversation, turn_id)
        self._open = {
            each.item_id: replace(each, call=logged.get(each.call.call_id, each.call))
            for each in commands
        }
        self._places = trio.CapacityLimiter(AT_ONCE)
        self._lent = LentPlace(means.turns)
        self._scope = trio.CancelScope()

    def stop(self) -> None:
        """Stop; `run` answers what has no output yet as interrupted."""
        self._scope.cancel()

    def abandon(self) -> None:
        """Answer for every call that has no output: nothing runs any more that could."""
        for each in list(self._open.values()):
            self._give(interrupt_call(each.call, each.item_id))

    async def run(self) -> None:
        """Answer all calls; raise `Parked` while people are to decide, with no tool begun."""
        try:
            with self._scope:
                await self._answer()
        except Parked:
            if not self._scope.cancel_called:
                raise
        self.abandon()

    async def _answer(self) -> None:
        looks = await self._look_at_all()
        try:
            denials = await self._decide(looks)
        except ApprovalNeeded as need:
            end = Interrupted(APPROVAL_NEEDED, "approval_needed", str(need), outcome="failed")
            self._post(end)
            for item_id in need.unasked:
                self._deny(item_id, Denial("nobody"))
            return
        for item_id, denial in denials.items():
            self._deny(item_id, denial)
        await self._record([each for each in looks if each.item_id in self._open])
        # In it: the tools of this answer, gone when each has its output.
        async with trio.open_nursery() as nursery:
            for each in list(self._open.values()):
                nursery.start_soon(self._run, each)

    # ---- before anything runs --------------------------------------------------

    async def _look_at_all(self) -> list[Look]:
        """What each call would do; those that cannot be carried out have their outputs then."""
        seen: dict[str, Preview] = {}
        # In it: one look each, bounded in time.
        async with trio.open_nursery() as nursery:
            for each in list(self._open.values()):
                if not is_reading(self._conversation, each.call, self._tools):
                    nursery.start_soon(self._look, each, seen)
        return [
            Look(
                call=each.call,
                item_id=item_id,
                site=self._describe_site(each.call),
                preview=seen[item_id],
            )
            for item_id, each in self._open.items()
            if item_id in seen
        ]

    async def _look(self, command: RunTool, seen: dict[str, Preview]) -> None:
        call, item_id = command.call, command.item_id
        record = self._conversation.turns[self._turn_id]
        refusal = refuse_repetition(record, call, self._means.toolbox().max_repeats)
        if refusal is not None:
            self._give(refuse_call(call, item_id, refusal))
            return
        async with self._places:
            with trio.move_on_after(LOOK_S) as limit:
                site = self._describe_site(call)
                found = await self._tools.look(call, item_id=item_id, site=site)
        if limit.cancelled_caught:
            self._give(refuse_call(call, item_id, SLOW.format(name=call.name, limit=LOOK_S)))
        elif isinstance(found, Preview):
            seen[item_id] = found
        else:
            self._give(found)

    async def _decide(self, looks: Sequence[Look]) -> Mapping[str, Denial]:
        decide = partial(
            find_denials,
            self._session,
            self._turn_id,
            looks,
            options=self._prompt.options,
            means=self._means,
            report=self._report,
        )
        try:
            return await decide(is_stored=self._shadow is None)
        except StorageFailed as error:
            self._shadow = self._lose_storage(error)
            return await decide(is_stored=False)

    async def _record(self, looks: Sequence[Look]) -> None:
        """See that the files are recorded that are about to be written; else they are not."""
        writing = [each for each in looks if each.preview.writes is not None]
        if not writing:
            return
        try:
            await record_workspace(
                self._session,
                self._turn_id,
                site=writing[0].site,
                writes=[each.preview.writes or () for each in writing],
                means=self._means,
                report=self._report,
            )
        except StorageFailed as error:
            self._shadow = self._lose_storage(error)
            for each in writing:
                self._deny(each.item_id, Denial("storage"))

    @property
    def _conversation(self) -> Conversation:
        return self._shadow or self._session.conversation

    # ---- running ---------------------------------------------------------------

    async def _run(self, command: RunTool) -> None:
        wishes = self._hear_wishes(command)
        try:
            async with self._places:
                output = await run_tool(
                    self._conversation,
                    command,
                    tools=self._tools,
                    model=self._model,
                    means=self._means,
                    read_blob=self._read_blob,
                    site=replace(self._describe_site(command.call), ask=wishes.ask),
                )
        finally:
            await wishes.close()  # before the output: nothing of a call is open after it
        if wishes.unasked is not None:
            output = replace(output, parts=(*output.parts, Text(f"\n[{wishes.unasked}]")))
        self._give(output)

    def _hear_wishes(self, command: RunTool) -> Elicitations:
        return Elicitations(
            self._session,
            self._turn_id,
            command.call,
            command.item_id,
            means=self._means,
            report=self._report,
            is_stored=lambda: self._shadow is None,
            place=self._lent,
        )

    def _describe_site(self, call: ToolCall) -> Site:
        prompt = self._prompt
        return Site(
            conversation_id=self._session.id,
            turn_id=self._turn_id,
            call_id=call.call_id,
            cwd=prompt.cwd,
            cwd_id=prompt.cwd_id,
            env=prompt.env or {},
            report=lambda sentence: self._report("tool", sentence),
            keep=self._keep,
        )

    def _deny(self, item_id: str, denial: Denial) -> None:
        self._give(deny_call(self._open[item_id].call, item_id, denial))

    def _give(self, output: ToolOutput) -> None:
        """The one output of a call."""
        del self._open[output.id]
        self._post(ToolReturned(output))


def _find_logged(conversation: Conversation, turn_id: str) -> dict[str, ToolCall]:
    """The turn's calls as the log has them: without what is kept out of it."""
    return {
        call.call_id: call
        for added in conversation.turns[turn_id].items
        if isinstance(added.item, AssistantMessage) and added.status != "superseded"
        for call in added.item.calls
    }
