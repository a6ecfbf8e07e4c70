"""The job that finds a title for a conversation: its first words, or what its model proposes.

A model is asked with a short request of its own that leaves no trace in the
conversation. Whatever goes wrong with that, the first words are good enough. A
conversation that is gone, or has a title, is left alone. First words that nothing has
to be read for need no job: `sessions.triggers` adds them to the write that ends the turn.
"""

import logging
from collections.abc import Callable

import trio

from askd.core.conversation import Conversation, TurnRecord, fold
from askd.core.events import Titled
from askd.core.items import AssistantMessage, Blob, Part, Text, UserMessage, join_text
from askd.core.titling import clean_title, find_opening, find_words, title_from
from askd.errors import AskdError
from askd.jobs.base import Effect, NothingToDo, Outcome
from askd.providers.assemble import Assembler
from askd.providers.base import Caller, ModelRequest
from askd.sessions.needs import ModelSource, SessionStore, TitleMode
from askd.store.log import ClaimedJob

log = logging.getLogger(__name__)

MODEL_WAIT_S = 20.0
"""Less than the job's own limit, so that there is time left for the first words."""
EXCERPT_CHARACTERS = 2000
"""What a model is shown of prompt and answer each: a title needs no more."""
TITLE_TOKENS = 200
"""A title takes ten; a model that thinks first needs some room for that."""

SYSTEM = (
    "You name conversations. Answer with a title of at most six words for the conversation "
    "that you are shown, in its language: no quotes, no full stop, nothing else."
)


class TitleJob:
    """Finds a title. `find_live` answers with a conversation that is in memory already."""

    def __init__(
        self,
        *,
        find_live: Callable[[str], Conversation | None],
        store: SessionStore,
        models: ModelSource,
        mode: Callable[[], TitleMode],
    ) -> None:
        self._find_live = find_live
        self._store = store
        self._models = models
        self._mode = mode

    async def run(self, job: ClaimedJob) -> Outcome:
        """One try: the title as an event, or nothing to do."""
        mode = self._mode()
        if mode == "off" or job.conversation_id is None:
            return NothingToDo()
        conversation = await self._find(job.conversation_id)
        opening = find_opening(conversation)
        if opening is None or conversation.title is not None:
            return NothingToDo()
        prompt, answer = await self._read_exchange(opening)
        title = await self._propose(conversation, prompt, answer) if mode == "model" else ""
        return Effect([Titled(title or title_from(prompt))])

    async def _find(self, conversation_id: str) -> Conversation:
        live = self._find_live(conversation_id)
        return live or fold(conversation_id, await self._store.load(conversation_id))

    async def _read_exchange(self, opening: TurnRecord) -> tuple[str, str]:
        """The words of its prompt, and the first answer to it."""
        prompt = "".join([await self._read(part) for part in find_words(opening.prompt.items)])
        answers = (each.item for each in opening.items if each.status != "superseded")
        answer = next((each for each in answers if isinstance(each, AssistantMessage)), None)
        return prompt, join_text(answer.parts) if answer is not None else ""

    async def _read(self, part: Part) -> str:
        match part:
            case Text(text=text):
                return text[:EXCERPT_CHARACTERS]
            case Blob(sha256=sha256):
                content = await self._store.read_blob(sha256)
                return content[: EXCERPT_CHARACTERS * 4].decode("utf-8", "ignore")

    async def _propose(self, conversation: Conversation, prompt: str, answer: str) -> str:
        """What the conversation's model calls it; empty if it cannot or does not say."""
        try:
            with trio.fail_after(MODEL_WAIT_S):
                return await self._ask(conversation.settings.model, prompt, answer)
        except (AskdError, ExceptionGroup, trio.TooSlowError) as error:
            log.info("No title from the model: id=%s: %s", conversation.id, error)
            return ""

    async def _ask(self, name: str | None, prompt: str, answer: str) -> str:
        caller = Caller()
        model = await self._models.resolve(name, caller)
        if model.dialect == "local":
            return ""  # it echoes: the first words are the better title
        shown = (
            f"<user>\n{prompt[:EXCERPT_CHARACTERS]}\n</user>\n"
            f"<assistant>\n{answer[:EXCERPT_CHARACTERS]}\n</assistant>"
        )
        request = ModelRequest(
            model=model.bare_name,
            items=[UserMessage("title", (Text(shown),))],
            system=SYSTEM,
            max_output_tokens=TITLE_TOKENS,
        )
        assembler = Assembler("title", model.provider, model.name)
        async with self._models.stream(
            model, request, caller, progress=lambda kind, text: None
        ) as events:
            async for event in events:
                assembler.feed(event)
        return clean_title(join_text(assembler.message().parts))
