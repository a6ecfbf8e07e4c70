"""What the next request will hold, without asking anybody: for a person who wants to see it.

It goes the way that a completion goes, by the same functions, and stops before
anything is sent or any content beside the log is read.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from askd.core.calibration import UNKNOWN, Rates, estimate
from askd.core.context import Context
from askd.core.events import TurnOptions
from askd.core.items import Item
from askd.core.tokens import measure, measure_system
from askd.errors import ProviderError
from askd.providers.base import Caller, Model
from askd.sessions.contents import hide_images
from askd.sessions.live import LiveSession
from askd.sessions.needs import Means
from askd.sessions.outputs import list_tools
from askd.sessions.requests import find_context


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
        rates: what the model makes of a text, as far as was known then.
    """

    context: Context
    shown: Sequence[Item]
    tokens: int
    rates: Rates
    system_tokens: int
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


async def preview(session: LiveSession, caller: Caller, means: Means) -> Preview:
    """What the session's next request will hold, as far as it is known now."""
    options = _find_options(session)[1]
    model, note = None, None
    try:
        model = await means.models.resolve(
            options.model or session.conversation.settings.model, caller
        )
    except ProviderError as error:
        note = error.message
    # Looked up again: the model may have taken its time.
    turn_id, options = _find_options(session)
    conversation = session.conversation
    system = options.system or conversation.settings.system
    context = find_context(conversation, turn_id, system=system, options=options, model=model)
    shown = hide_images(context.items, model)
    # What was learned of a model holds also when it cannot be asked just now.
    name = (options.model or conversation.settings.model) if model is None else model.name
    rates = UNKNOWN if name is None else means.rates.find(name)
    takes_tools = model is not None and model.manners.tools
    tools = list_tools(conversation, means.tools) if takes_tools else ()
    return Preview(
        context=context,
        shown=shown,
        tokens=estimate(context.measure(tools), rates),
        rates=rates,
        system_tokens=estimate(measure_system(context.system), rates),
        model=model,
        note=note,
    )


def _find_options(session: LiveSession) -> tuple[str | None, TurnOptions]:
    """The turn whose request is the next, and what it asks for."""
    turn_id = session.active_turn or next(iter(session.queue), None)
    record = session.conversation.turn_record(turn_id) if turn_id is not None else None
    return (None, TurnOptions()) if record is None else (turn_id, record.prompt.options)
