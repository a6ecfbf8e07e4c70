"""A turn as a face watches it: how far it is, what it asks, and what came of it.

The state is read from the session whenever something has happened there; nothing is
collected, so a watcher can be as slow as it likes. It changes nothing.
"""

from contextlib import suppress

import trio

from askd.core.blob_parts import find_blobs
from askd.core.conversation import TurnRecord
from askd.core.events import QuestionAsked
from askd.core.items import AssistantMessage, ToolOutput, join_text
from askd.core.rollout_items import render_text
from askd.errors import NotFound
from askd.server.handlers.blobs import read_stored
from askd.server.house import House
from askd.sessions.live import LiveSession

TAIL_CHARACTERS = 200
"""Of the text so far, for a line that says how far it is."""


class Watch:
    """Is woken by whatever happens in a turn's conversation: `sessions.hub.Subscriber`.

    A context manager. A person counts as present while this turn runs and not before: the
    turns before it ask nothing of whoever waits behind them.
    """

    def __init__(self, session: LiveSession, turn_id: str, *, can_be_asked: bool) -> None:
        self.moved = trio.Event()
        self._session = session
        self._turn_id = turn_id
        self._can_be_asked = can_be_asked
        self._is_present = False

    def __enter__(self) -> "Watch":
        self._session.subscribe(self, interactive=False)
        self._attend()
        return self

    def __exit__(self, *raised: object) -> None:
        self._session.unsubscribe(self)

    def offer(self, frame: bytes, *, droppable: bool) -> None:
        """Something happened; what, the session knows."""
        if not droppable:
            self._attend()
        self._wake()

    def break_off(self) -> None:
        """The conversation is gone, or was written anew: look again."""
        self._wake()

    def _attend(self) -> None:
        is_ours = self._session.active_turn == self._turn_id
        if self._can_be_asked and is_ours and not self._is_present:
            self._is_present = True
            self._session.subscribe(self, interactive=True)

    def _wake(self) -> None:
        # Whoever looks takes the event first: what happens after that is not missed.
        self.moved, moved = trio.Event(), self.moved
        moved.set()


def find_record(session: LiveSession, turn_id: str) -> TurnRecord:
    """What is known of the turn; raise `NotFound` where the conversation was deleted meanwhile."""
    record = session.conversation.turns.get(turn_id)
    if record is None or session.deleted:
        raise NotFound("The conversation was deleted meanwhile.")
    return record


def find_question(session: LiveSession, turn_id: str, passed: set[str]) -> QuestionAsked | None:
    """The first open question of the turn that was not passed over."""
    for question in session.conversation.open_questions.values():
        if question.turn_id == turn_id and question.question_id not in passed:
            return question
    return None


def describe_progress(session: LiveSession, turn_id: str) -> tuple[int, str]:
    """How many characters were said, and the end of them on one line."""
    record = session.conversation.turns.get(turn_id)
    if record is None or not record.attempt:
        return 0, "Waiting for its turn."
    texts = [join_text(each.parts) for each in _find_said(record)]
    texts += [
        live.text
        for live in session.texts.snapshot()
        if live.turn_id == turn_id and live.kind == "text"
    ]
    count = sum(map(len, texts))
    last = next((each for each in reversed(texts) if each.strip()), "")
    line = " ".join(last[-4 * TAIL_CHARACTERS :].split())[-TAIL_CHARACTERS:]
    return count, line or "At work."


async def read_answer(house: House, record: TurnRecord) -> str:
    """All that the model said in the turn."""
    added = [each for each in record.items if each.status != "superseded"]
    contents: dict[str, bytes] = {}
    for sha256 in find_blobs([each for each in added if isinstance(each.item, AssistantMessage)]):
        with suppress(NotFound):  # its size is in the item
            contents[sha256] = await read_stored(house, sha256)
    texts = [render_text(each.parts, contents).strip() for each in _find_said(record)]
    return "\n\n".join(each for each in texts if each)


def find_denied(record: TurnRecord) -> list[str]:
    """A sentence for each call that was not run because nobody allowed it."""
    return [
        f"{each.item.name}: {join_text(each.item.parts)}"
        for each in record.items
        if isinstance(each.item, ToolOutput) and each.item.synthetic == "denied"
    ]


def _find_said(record: TurnRecord) -> list[AssistantMessage]:
    return [
        each.item
        for each in record.items
        if each.status != "superseded" and isinstance(each.item, AssistantMessage)
    ]
