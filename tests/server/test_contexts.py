"""Cutting a preview into pages: its system prompt first, each item once, none for nothing."""

import pytest

from askd.core.calibration import UNKNOWN
from askd.core.context import Context
from askd.core.conversation import Conversation
from askd.core.events import ConversationCreated, Event
from askd.core.items import Item, Text, UserMessage
from askd.providers.base import Caller
from askd.server import fitting
from askd.server.contexts import ReadContext
from askd.sessions.preview import Preview

CALLER = Caller(env={}, secrets={})


def read_of(count: int, *, system: str | None) -> ReadContext:
    items = tuple(UserMessage(f"i{n}", (Text(f"item {n}"),)) for n in range(count))
    preview = Preview(
        context=Context(items=items, system=system),
        shown=items,
        tokens=9,
        rates=UNKNOWN,
        system_tokens=7,
        model=None,
    )
    return ReadContext(conversation=Conversation("c"), last_seq=0, caller=CALLER, preview=preview)


def name(page: list[fitting.Fitted]) -> list[str]:
    return [str(each.value.get("id", each.value["type"])) for each in page]


@pytest.mark.parametrize("system", [None, "Be brief."])
@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 100])
def test_pages_hold_everything_once(system: str | None, limit: int) -> None:
    read = read_of(4, system=system)
    everything = [*(["system"] if system else []), "i0", "i1", "i2", "i3"]
    assert read.total == len(everything)
    for start in range(read.total + 2):
        assert name(read.cut(start, limit)) == everything[start : start + limit]


def test_a_system_prompt_alone_and_nothing_at_all() -> None:
    (page,) = read_of(0, system="Be brief.").cut(0, 5)
    assert page.value == {"type": "system", "text": "Be brief.", "tokens": 7}
    assert read_of(0, system=None).cut(0, 5) == []


def test_only_what_fits_a_page_is_encoded(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[str] = []
    fit = fitting.fit_item

    def note(item: Item, tokens: int) -> fitting.Fitted:
        encoded.append(item.id)
        return fit(item, tokens)

    monkeypatch.setattr(fitting, "fit_item", note)
    assert name(read_of(1000, system="Be brief.").cut(400, 3)) == ["i399", "i400", "i401"]
    assert encoded == ["i399", "i400", "i401"]


def test_it_is_of_one_moment_and_one_caller() -> None:
    read = read_of(2, system=None)
    assert read.is_of(read.conversation, CALLER)
    assert not read.is_of(read.conversation, Caller(env={}, secrets={"KEY": "k"}))
    assert not read.is_of(Conversation("c"), CALLER)
    read.conversation.apply(Event("c", 1, 1.0, ConversationCreated("c")))
    assert not read.is_of(read.conversation, CALLER)
