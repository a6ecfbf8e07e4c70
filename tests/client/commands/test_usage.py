"""What was spent: a table that adds up, and how to let costs be known."""

import json
import time
from datetime import datetime
from typing import Any

import pytest

from ask.commands.usage import lay_out_usage, read_since
from tests.client.commands.conftest import Ask
from tests.client.commands.fake_daemon import FakeDaemon


def row(group: str | None, answers: int = 1, cost: float | None = None, **more: Any) -> Any:
    return {
        "group": group,
        "label": None,
        "answers": answers,
        "input_tokens": 1234 * answers,
        "cached_tokens": 10,
        "output_tokens": 56,
        "reasoning_tokens": 0,
        "cost_usd": cost,
        "unpriced": 0 if cost is not None else answers,
        **more,
    }


def test_a_table_with_totals_and_what_is_missing_in_them(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.usage += [row("2026-11-22", 2, 0.01234), row("2026-11-21", 1000)]
    result = ask("usage")
    assert result.code == 0
    assert result.out.splitlines() == [
        "Day         Answers      Input  Cached  Output  Reasoning     Cost",
        "2026-11-22        2      2,468      10      56          0  $0.0123",
        "2026-11-21    1,000  1,234,000      10      56          0        -",
        "Total         1,002  1,236,468      20     112          0  $0.0123",
        "",
        "1,000 answers have no known price and no part in the cost. For those to come, set",
        'input_price and output_price under [models."provider/model"], in dollars for a',
        "million tokens; the file is at: ask config path",
    ]


def test_one_answer_without_a_price_and_none(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.usage += [row("a/b", 1)]
    assert "1 answer has no known price" in ask("usage", "--by", "model").out
    daemon.usage[:] = [row("a/b", 1, 12345.5)]
    result = ask("usage", "--by", "model")
    assert result.out.splitlines()[-1].split() == ["Total", "1", "1,234", "10", "56", "0", COST]
    assert result.out.splitlines()[0].split()[0] == "Model"


COST = "$12,345.5000"


def test_nothing_was_counted(daemon: FakeDaemon, ask: Ask) -> None:
    assert ask("usage").out == "No answers have been counted.\n"
    assert ask("usage", "--json").out == "[]\n"


def test_conversations_have_names_and_the_deleted_stay_counted(
    daemon: FakeDaemon, ask: Ask
) -> None:
    hostile = "work\x1b[31m\nin two lines"
    daemon.usage += [row("0123456789ab", 1, 0.5, label=hostile), row(None, 3, 0.00001)]
    lines = ask("usage", "--by", "conversation").out.splitlines()
    assert lines[1].startswith("01234567 work in two lines  ")
    assert lines[2].startswith("(deleted)  ")
    assert lines[2].endswith("  <$0.0001")
    assert len({len(line) for line in lines[:4]}) == 1, "the columns are aligned"


def test_rows_come_in_pages_and_can_be_limited(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.usage += [row(f"m/{number}", 1, 0.5) for number in range(450)]
    assert len(json.loads(ask("usage", "--by", "model", "--json").out)) == 450
    sizes = [(params["cursor"], params["limit"]) for params in daemon.called("usage/read")]
    assert sizes == [(None, 200), ("200", 200), ("400", 200)]
    lines = ask("usage", "-n", "3").out.splitlines()
    assert lines[-2].split()[:2] == ["Total", "450"]
    assert lines[-1] == "Shown are the first 3 rows; the total is of all."
    assert ask("usage", "-n", "0").code == 2


def test_what_is_asked_of_the_daemon(
    daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Etc/GMT-2")
    time.tzset()
    try:
        assert ask("usage", "--by", "model", "--since", "2026-11-01").code == 0
    finally:
        monkeypatch.undo()
        time.tzset()
    (params,) = daemon.called("usage/read")
    midnight = datetime.fromisoformat("2026-11-01T00:00:00+02:00").timestamp()
    assert (params["by"], params["since_at"], params["utc_offset_s"]) == ("model", midnight, 7200)


@pytest.mark.parametrize(
    ("text", "since"),
    [
        ("7d", 1e9 - 7 * 86400),
        ("9999999d", 0.0),
        ("9" * 18 + "w", 0.0),
        ("12h", 1e9 - 12 * 3600),
        ("2w", 1e9 - 14 * 86400),
        ("0d", 1e9),
    ],
)
def test_spans_go_back_from_now(text: str, since: float) -> None:
    assert read_since(text, now=1e9) == since


@pytest.mark.parametrize(
    "text", ["", "7", "d", "-7d", "7m", "2026-13-01", "2026-1-1", "0000-01-01"]
)
def test_what_is_no_time_is_refused(ask: Ask, text: str) -> None:
    assert read_since(text, now=1e9) is None
    result = ask("usage", "--since", text)
    assert result.code == 2
    assert "7d or 12h" in result.err


def test_a_narrow_terminal_shortens_names_and_no_number() -> None:
    rows = [row("0123456789ab", 1, 0.5, label="a name that is rather long")]
    wide = lay_out_usage(rows, row(None, 1, 0.5), "conversation", None)
    assert "01234567 a name that is rather long" in wide[1]
    narrow = lay_out_usage(rows, row(None, 1, 0.5), "conversation", 70)
    assert {len(line) for line in narrow} == {70}
    assert "..." in narrow[1]
    assert narrow[1].split()[-6:] == wide[1].split()[-6:]
