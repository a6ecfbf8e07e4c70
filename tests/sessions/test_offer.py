"""How many tools a request holds: the house's own always, of servers' as many as there is room."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from askd.providers.base import Limits, Model
from askd.sessions.offer import MOST_TOOLS, explain_offer, limit_offer
from askd.tools.base import Result, Site, Tool, say
from askd.tools.registry import Registry
from tests.fakes.tools import Plain


@dataclass
class Named(Plain):
    """A tool whose description takes about `size` characters."""

    name: str
    size: int = 100
    effects: bool = True
    schema: dict[str, Any] = field(default_factory=dict)

    @property
    def description(self) -> str:
        return "x" * self.size

    async def run(self, arguments: object, site: Site) -> Result:
        return say("ran")


OWN = [Named(f"own_{k}", 10_000) for k in range(9)]


def make_model(budget: int = 1_000_000) -> Model:
    limits = Limits(context_window=budget + 1000, reserved_output=1000)
    return Model(name="test/small", provider="test", dialect="openai-chat", limits=limits)


def kept(
    tools: Sequence[Tool], words: Sequence[str] = ("all",), model: Model | None = None
) -> list[str]:
    return [each.name for each in limit_offer(Registry(tools), words, model)]


def of_server(count: int, server: str = "big", size: int = 100) -> list[Named]:
    return [Named(f"{server}__t{k}", size) for k in range(count)]


def test_the_houses_own_are_never_left_out() -> None:
    assert kept(OWN, model=make_model(8)) == [each.name for each in OWN]
    found = kept([*of_server(500), *OWN], model=make_model())
    assert found[-9:] == [each.name for each in OWN]
    assert len(found) == MOST_TOOLS == 127


def test_of_hundreds_the_first_stay_and_what_was_named_stays_first_of_all() -> None:
    tools = [*OWN, *of_server(500)]
    assert kept(tools)[9:] == [f"big__t{k}" for k in range(MOST_TOOLS - 9)]
    found = kept(tools, ["all", "big__t499"])
    assert "big__t499" in found
    assert len(found) == MOST_TOOLS
    assert found == sorted(found, key=[each.name for each in tools].index), "as they are listed"


def test_servers_tools_take_a_quarter_of_the_window_at_most() -> None:
    tools = [*OWN, Named("a__huge", 9_000), *of_server(100, "b", 960)]
    found = kept(tools, model=make_model(8_000))
    assert "a__huge" not in found, "one that is too large does not keep the others out"
    assert found[9:] == [f"b__t{k}" for k in range(8)]
    assert kept(tools, model=None)[9] == "a__huge"


@pytest.mark.parametrize(
    ("count", "budget", "said"),
    [
        (118, 1_000_000, None),
        (119, 1_000_000, "Of 128 tools 127 are offered: a request holds no more than 127."),
        (20, 8_000, "Of 29 tools 10 are offered: they would take more than a quarter"),
    ],
)
def test_what_is_left_out_is_said(count: int, budget: int, said: str | None) -> None:
    size = 100 if budget > 8_000 else 4_500
    meant, model = Registry([*OWN, *of_server(count, size=size)]), make_model(budget)
    sentence = explain_offer(meant, limit_offer(meant, ["all"], model), model)
    if said is None:
        assert sentence is None
    else:
        assert sentence is not None
        assert sentence.startswith(said)
        assert '-T "SERVER__*"' in sentence
