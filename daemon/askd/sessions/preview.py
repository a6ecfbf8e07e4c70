"""What the next request will hold, without asking anybody: for a person who wants to see it.

It goes the way that a completion goes, by the same functions, and stops before
anything is sent or any content beside the log is read.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from askd.core.calibration import UNKNOWN, Rates, estimate
from askd.core.context import Context
from askd.core.events import TurnOptions
from askd.core.instructions import InstructionFile
from askd.core.items import Item
from askd.core.tokens import measure, measure_system
from askd.errors import ProviderError
from askd.providers.base import Caller, Model
from askd.sessions.contents import hide_images
from askd.sessions.instructions import find_given, find_told
from askd.sessions.live import LiveSession
from askd.sessions.needs import Means
from askd.sessions.outputs import list_tools
from askd.sessions.requests import find_context
from askd.sessions.toolbox import find_toolbox


@dataclass(frozen=True, slots=True)
class SeenItem:
    """An item as the model will get it, and about how many tokens it counts for."""

    item: Item
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """The next request. `model` None: no model can be asked, and `note` says why.

    Attributes:
        context: of the turn that runs, else of the next in the queue, else of one to come.
        shown: its items as the model will get them; blobs are still blobs.
        tokens: of the whole request, as far as the model's answers have taught; a little more
            than its items', for a request has a frame and tools.
        instructions: what of the system prompt is the project's; those of the last turn, if no
            turn has begun since.
        rates: what the model makes of a text, as far as was known then.
    """

    context: Context
    shown: Sequence[Item]
    tokens: int
    rates: Rates
    system_tokens: int
    instructions: Sequence[InstructionFile] = ()
    model: Model | None
    note: str | None = None

    @property
    def count(self) -> int:
        """How many items there are."""
        return len(self.shown)

    def look(self, start: int = 0, end: int | None = None) -> Iterator[SeenItem]:
        """The items from one place to before another; each is measured when it is taken."""
        pairs = zip(self.shown[start:end], self.context.items[start:end], strict=True)
        for shown, item in pairs:
            yield SeenItem(shown, estimate(measure(item), self.rates))


async def preview(
    session: LiveSession, caller: Caller, means: Means, *, model: str | None = None
) -> Preview:
    """What the session's next request will hold, as far as it is known now.

    `model`: what a prompt to come asks for; one that runs or waits has said its own.
    """
    options = _find_options(session, model)[1]
    found, note = None, None
    try:
        found = await means.models.resolve(
            options.model or session.conversation.settings.model, caller
        )
    except ProviderError as error:
        note = error.message
    # Looked up again: the model may have taken its time.
    turn_id, options = _find_options(session, model)
    conversation = session.conversation
    context = find_context(
        conversation,
        turn_id,
        system=find_told(conversation, options),
        options=options,
        model=found,
    )
    shown = hide_images(context.items, found)
    # What was learned of a model holds also when it cannot be asked just now.
    name = (options.model or conversation.settings.model) if found is None else found.name
    rates = UNKNOWN if name is None else means.rates.find(name)
    takes_tools = found is not None and found.manners.tools
    toolbox = find_toolbox(conversation, options, means, model=found)
    tools = list_tools(conversation, toolbox) if takes_tools else ()
    return Preview(
        context=context,
        shown=shown,
        tokens=estimate(context.measure(tools), rates),
        rates=rates,
        instructions=find_given(conversation, options),
        system_tokens=estimate(measure_system(context.system), rates),
        model=found,
        note=note,
    )


def _find_options(session: LiveSession, model: str | None) -> tuple[str | None, TurnOptions]:
    """The turn whose request is the next, and what it asks for; `model`: of one to come."""
    turn_id = session.active_turn or next(iter(session.queue), None)
    record = session.conversation.turn_record(turn_id) if turn_id is not None else None
    if record is None:
        return None, TurnOptions(model=model)
    return turn_id, record.prompt.options
