"""What ends a turn is written at once, what belongs to one waits for that."""

import pytest

from askd.core.events import (
    Body,
    Event,
    PromptWithdrawn,
    Renamed,
    TurnFinished,
    TurnStarted,
    ViewChanged,
)
from askd.store.rollouts.moments import is_end, is_within_turn
from tests.store.builders import answer, finish, note, prompt


def tell(body: Body) -> Event:
    return Event("c", 1, 0.0, body)


@pytest.mark.parametrize("body", [finish("t"), PromptWithdrawn("t")], ids=lambda body: body.TYPE)
def test_a_turn_ends(body: TurnFinished | PromptWithdrawn) -> None:
    assert is_end(tell(body))
    assert not is_within_turn(tell(body))


@pytest.mark.parametrize("body", [prompt("t"), TurnStarted("t", 1), answer("t")])
def test_a_turn_goes_on(body: Body) -> None:
    assert is_within_turn(tell(body))
    assert not is_end(tell(body))


@pytest.mark.parametrize("body", [note(), Renamed("x"), ViewChanged("v", "clear")])
def test_what_belongs_to_no_turn_is_neither(body: Body) -> None:
    assert not is_end(tell(body))
    assert not is_within_turn(tell(body))
