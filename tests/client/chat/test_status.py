"""The line at the bottom: what is known, and what fits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ask.chat.status import (
    Attached,
    Facts,
    fetch_facts,
    lay_out_status,
    read_attached,
    word_attached,
)
from ask.graphemes import find_width
from ask.reveal import reveal
from tests.client.chat.conftest import Seat
from tests.client.commands.fake_daemon import FakeDaemon
from tests.client.commands.fake_log import Refusal

FULL = Facts("openai/gpt-5", 3_100, 128_000, 0.25, partial=True)


def word(facts: Facts = FULL, columns: int = 100, **fields: object) -> str:
    said = {"name": "work", "queued": 0, "lost": False, "keys": "", **fields}
    return lay_out_status(facts, columns=columns, **said)  # type: ignore[arg-type]  # by name


def test_all_that_is_known() -> None:
    assert word(queued=2, keys="Ctrl-C stops") == (
        "openai/gpt-5 | 3k of 128k (2 %) | $0.2500+ | 2 queued | Ctrl-C stops | work"
    )
    assert word(Facts(), name="") == ""
    assert word(Facts("m", 8), name="") == "m | 8 tokens"
    assert word(Facts("m", cost_usd=0.0), name="") == "m | free"
    assert word(Facts("m", cost_usd=0.0, partial=True), name="") == "m"
    assert word(Facts("m"), lost=True).startswith("connection lost, looking for it ... | m")


LONG = Facts("openrouter/anthropic/claude-3.5-sonnet-20241022", 3_100, 128_000, 0.25)


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        (300, "3k of 128k (2 %) | $0.2500 | 2 queued | also pts/3 | Ctrl-C stops | work"),
        (115, "3k of 128k (2 %) | $0.2500 | 2 queued | also pts/3 | Ctrl-C stops"),
        (80, "3k of 128k (2 %) | $0.2500 | 2 queued | also pts/3"),
        (64, "3k of 128k (2 %) | 2 queued | also pts/3"),
        (50, "3k of 128k (2 %) | 2 queued"),
        (40, "3k of 128k (2 %)"),
        (20, ""),
    ],
)
def test_the_least_important_is_left_out_first(columns: int, shown: str) -> None:
    line = word(LONG, columns, queued=2, keys="Ctrl-C stops", others=Attached(1, ("pts/3",)))
    model, _, rest = line.partition(" | ")
    assert rest == shown
    whole = "openrouter/anthropic/claude-3.5-sonnet-20241022"
    assert model == (whole if columns > 80 else "claude-3.5-sonnet...")


def test_what_is_lost_is_said_before_all_else() -> None:
    line = word(columns=40, lost=True, keys="Ctrl-C stops", others=Attached(1, ("pts/3",)))
    assert line == "connection lost, looking for it ..."
    assert "pts/3" not in word(columns=300, lost=True, others=Attached(1, ("pts/3",)))


NAMES = st.text(max_size=60)


@given(st.integers(10, 300), NAMES, NAMES, NAMES, st.booleans(), st.integers(0, 4))
def test_it_fits_and_does_nothing_to_a_terminal(
    columns: int, name: str, model: str, other: str, lost: bool, count: int
) -> None:
    shown = word(
        Facts(model, 5, 10, 0.5),
        columns,
        name=name,
        queued=1,
        lost=lost,
        others=Attached(count, (other,) * count),
    )
    assert find_width(shown) <= columns
    assert all(reveal(each) == each for each in shown)


def tell(*clients: tuple[int, str | None, str], more: int = 0) -> dict[str, object]:
    rows = [{"pid": pid, "tty": tty, "client": program} for pid, tty, program in clients]
    return {"attached": len(rows) + more, "clients": rows}


@pytest.mark.parametrize(
    ("told", "worded"),
    [
        ({}, ""),
        (tell((1, "pts/1", "ask chat")), ""),
        (tell((1, "pts/1", "ask chat"), (2, "pts/2", "ask attach")), "also pts/2"),
        (tell((2, "pts/2", "ask"), (1, None, "ask chat"), (3, None, "cron")), "also pts/2, cron"),
        (tell((1, "a", ""), (2, "b", ""), (3, "c", ""), (4, "d", "")), "4 here"),
        (tell((7, None, "ask chat")), ""),  # of another machine: that is us
        (tell((7, None, "ask chat"), (8, "pts/8", "ask")), "2 here"),
        (tell((1, "a", ""), (2, "b", ""), more=30), "32 here"),
    ],
)
def test_who_else_is_here(told: dict[str, object], worded: str) -> None:
    assert word_attached(read_attached(told, 1)) == worded


def test_a_chat_that_has_not_begun_says_who_would_answer(
    daemon: FakeDaemon, seat: Seat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ASK_MODEL", raising=False)
    assert fetch_facts(seat.desk, seat.desk.caller) == Facts()
    daemon.settings["default_model"] = "fake/set"
    assert fetch_facts(seat.desk, seat.desk.caller) == Facts(model="fake/set")
    monkeypatch.setenv("ASK_MODEL", "fake/env")
    assert fetch_facts(seat.desk, seat.desk.caller) == Facts(model="fake/env")
    monkeypatch.delenv("ASK_MODEL")
    daemon.refusals["config/read"] = Refusal("internal", "No.")
    assert fetch_facts(seat.desk, seat.desk.caller) == Facts()


def test_the_daemon_is_asked_for_what_no_event_says(daemon: FakeDaemon, seat: Seat) -> None:
    seat.desk.options["model"] = "fake/mine"
    assert fetch_facts(seat.desk, seat.desk.caller) == Facts(model="fake/mine")
    assert daemon.calls[1:] == []  # there is no conversation yet
    seat.desk.begin()
    daemon.context = [{"type": "user_message", "id": "i", "tokens": 40}]
    assert fetch_facts(seat.desk, seat.desk.caller) == Facts("fake/mine", 40, 8192)
    del seat.desk.options["model"]
    assert fetch_facts(seat.desk, seat.desk.caller).model == "fake/echo"
    daemon.refusals["conversation/context"] = Refusal("internal", "No.")
    assert fetch_facts(seat.desk, seat.desk.caller) == Facts()
