"""What people order of turns that are jobs: an end, or the same prompt once more.

The worker runs none of them: a turn is its conversation's, and its job follows it.
To try one again is another turn in the same conversation, with a job of its own.
"""

from collections.abc import Callable, Mapping

import trio

from askd.core.blob_parts import find_blobs
from askd.core.events import PromptAccepted
from askd.errors import NotFound
from askd.jobs.desk import Steering
from askd.providers.base import Caller
from askd.sessions.admission import Admission
from askd.sessions.prompts import Prompt
from askd.sessions.registry import Sessions
from askd.sessions.targets import Target
from askd.store.jobs.queries import JobRow
from askd.store.log import TURN_KIND
from askd.store.refusals import job_not_found, wrong_job_state

CANCEL_WAIT_S = 10.0
"""How long a cancelled turn may take to write down its end before the order is answered."""


def steer_turns(
    sessions: Sessions, admission: Admission, *, new_id: Callable[[], str]
) -> Mapping[str, Steering]:
    """How jobs of the kind `turn` are cancelled and tried again, by the kind's name."""
    turns = TurnOrders(sessions, admission, new_id=new_id)
    return {TURN_KIND: Steering(cancel=turns.cancel, retry=turns.retry)}


class TurnOrders:
    """Orders for turns, by the rows of their jobs."""

    def __init__(
        self, sessions: Sessions, admission: Admission, *, new_id: Callable[[], str]
    ) -> None:
        self._sessions = sessions
        self._admission = admission
        self._new_id = new_id

    async def cancel(self, job: JobRow) -> None:
        """Interrupt the turn, or take its prompt back; one that is over stays as it is."""
        conversation_id, turn_id = _find_turn(job)
        session = await self._sessions.get(conversation_id)
        status = await session.interrupt(turn_id, by="ask jobs cancel")
        if status.state != "finished":
            with trio.move_on_after(CANCEL_WAIT_S):
                await session.wait_finished(turn_id)

    async def retry(self, job: JobRow, caller: Caller) -> str:
        """Accept the same prompt as another turn; answers with the id of its job.

        Raises:
            NotFound: its conversation is gone.
            RequestError: it is not over, or went well.
            AskdError: whatever keeps a prompt from being accepted.
        """
        if job.state not in ("cancelled", "discarded"):
            raise wrong_job_state(job.id, job.state)
        conversation_id, turn_id = _find_turn(job)
        session = await self._sessions.get(conversation_id)
        record = session.conversation.turns.get(turn_id)
        if record is None:
            raise NotFound(f"Turn not found: id={turn_id}", reason="turn_not_found")
        accepted = await self._admission.accept(
            Prompt(
                target=Target("id", conversation_id),
                key=self._new_id(),
                digest=f"retry of {turn_id}",
                parts=tuple(part for item in record.prompt.items for part in item.parts),
                blobs=await self._read_blobs(record.prompt),
                options=record.prompt.options,
                cwd=record.prompt.cwd,
                cwd_id=record.prompt.cwd_id,
                env={**(record.prompt.env or {}), **caller.env},
                secrets=caller.secrets,
            )
        )
        return accepted.turn_id

    async def _read_blobs(self, prompt: PromptAccepted) -> Mapping[str, bytes]:
        read = self._sessions.reader.read_blob
        return {sha256: await read(sha256) for sha256 in find_blobs([prompt])}


def _find_turn(job: JobRow) -> tuple[str, str]:
    if job.conversation_id is None or job.turn_id is None:
        raise job_not_found(job.id)
    return job.conversation_id, job.turn_id
