"""Which models there are, and which one answers."""

import json
import os
from typing import Any, cast

import pytest

from ask.commands.models import (
    LIST_LIMIT_S,
    PATIENCE_S,
    fetch_models,
    lay_out_models,
    show_price,
    show_tokens,
)
from ask.connection import Client, Silent
from tests.client.commands.conftest import Ask
from tests.client.commands.fake_daemon import FakeDaemon


def test_list_is_a_table_of_what_is_known(daemon: FakeDaemon, ask: Ask) -> None:
    price = {"input": 1.25, "output": 10.0, "cached": 0.125}
    daemon.models += [
        {
            "name": "work/a-long-name",
            "provider": "work",
            "context_window": 1_047_576,
            "images": True,
            "price": price,
            "aliases": ["big", "w"],
        },
        {"name": "work/b", "provider": "work", "images": False, "context_window": 500},
    ]
    result = ask("models", "list")
    assert result.out.splitlines() == [
        "Model             Window  Images  Input  Output",
        "fake/echo             8k                         default",
        "work/a-long-name    1.0M     yes  $1.25  $10.00  alias big, w",
        "work/b               500      no",
    ]
    rows = json.loads(ask("models", "list", "--json").out)
    assert [row["name"] for row in rows] == ["fake/echo", "work/a-long-name", "work/b"]
    assert rows[1]["price"] == price


@pytest.mark.parametrize(
    ("count", "shown"),
    [(None, ""), (999, "999"), (8192, "8k"), (131_072, "131k"), (999_999, "1.0M")],
)
def test_tokens_are_shown_in_a_few_characters(count: int | None, shown: str) -> None:
    assert show_tokens(count) == shown


@pytest.mark.parametrize(
    ("dollars", "shown"),
    [(None, ""), (0.0, "free"), (0.005, "$0.005"), (0.075, "$0.07"), (1.25, "$1.25")],
)
def test_prices_are_shown_in_dollars(dollars: float | None, shown: str) -> None:
    assert show_price(dollars) == shown


def test_a_narrow_terminal_shortens_names_and_keeps_numbers(daemon: FakeDaemon) -> None:
    row = {"name": "provider/" + "long-" * 10, "context_window": 8192, "default": True}
    lines = lay_out_models([row], columns=50)
    assert all(len(line) <= 50 for line in lines)
    assert lines[0].split() == ["Model", "Window"]
    assert lines[1].startswith("provider/lo")
    assert lines[1].endswith("...      8k  default")
    assert lay_out_models([row], columns=10)[1] == "provi..."


@pytest.mark.parametrize(
    ("columns", "head"),
    [
        (36, "Model"),
        (46, "Model               Window"),
        (60, "Model               Window  Input  Output"),
        (300, "Model               Window  Images  Input  Output"),
    ],
)
def test_where_it_is_narrow_numbers_leave_and_names_can_be_told_apart(
    columns: int, head: str
) -> None:
    about = {"context_window": 30_000, "images": False, "price": {"input": 1.0, "output": 2.0}}
    names = ["here/fake", "here/fake-large", "local/smollm2-135m"]
    rows = [{"name": name, **about, "aliases": ["quick"]} for name in names]
    lines = lay_out_models(rows, columns)
    assert lines[0] == head
    assert [line.split()[0] for line in lines[1:]] == names
    assert all(line.endswith("alias quick") and len(line) <= columns for line in lines[1:])


def test_a_providers_words_cannot_drive_the_terminal() -> None:
    lines = lay_out_models([{"name": "a/\x1b[31mb\nc", "aliases": ["x\x07"]}])
    assert len(lines) == 2
    assert not {"\x1b", "\x07", "\n"} & set("".join(lines))


def test_refresh_asks_anew(daemon: FakeDaemon, ask: Ask) -> None:
    assert "fake/echo" in ask("models", "refresh").out
    assert json.loads(ask("models", "refresh", "--json").out)[0]["name"] == "fake/echo"
    assert len(daemon.called("model/refresh")) == 2
    assert daemon.called("model/list") == []


def test_list_sends_the_callers_keys_and_says_who_did_not_answer(
    daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    daemon.models.clear()
    daemon.warnings.append("work: connection refused\x1b[31m")
    result = ask("models", "list")
    assert result.code == 0
    assert result.out == "No models. Looked for a key: set KEY.\n"
    assert "work: connection refused" in result.err
    assert "\x1b" not in result.err
    (params,) = daemon.called("model/list")
    assert params["secrets"] == {"OPENAI_API_KEY": "sk-secret"}
    assert "OPENAI_API_KEY" not in params["env"]


def test_the_default_is_found_or_set(daemon: FakeDaemon, ask: Ask) -> None:
    result = ask("models", "default")
    assert result.out == "fake/echo\n"
    assert "because it is the only one; set one: ask models default NAME" in result.err
    assert ask("models", "default", "work/x").code == 0
    (written,) = daemon.called("config/write")
    assert (written["key"], written["value"]) == ("default_model", "work/x")
    assert set(written) == {"key", "value", "env", "secrets"}
    result = ask("models", "default")
    assert (result.out, result.err) == ("work/x\n", "")
    assert json.loads(ask("models", "default", "--json").out) == {
        "name": "work/x",
        "source": "config",
    }
    assert ask("models", "default", "--unset", "--json").code == 0
    assert daemon.settings["default_model"] is None
    assert ask("models", "default", "x", "--unset").code == 2


def test_no_model_at_all_is_code_4_with_the_ways_to_go_on(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.models.clear()
    result = ask("models", "default")
    assert result.code == 4
    assert "Looked for a key: set KEY." in result.err


class SlowHouse:
    """A client whose daemon has not answered when patience is over."""

    def __init__(self) -> None:
        self.waited: list[float] = []

    def call(self, method: str, params: Any = None) -> dict[str, Any]:
        return {"settings": {}}

    def send(self, method: str, params: Any) -> int:
        return 1

    def wait(self, request: int, *, limit_s: float) -> dict[str, Any]:
        self.waited.append(limit_s)
        if limit_s == PATIENCE_S:
            raise Silent
        return {"data": [], "warnings": []}


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_person_is_told_what_takes_long(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], is_terminal: bool
) -> None:
    monkeypatch.setattr(os, "isatty", lambda descriptor: is_terminal)
    house = SlowHouse()
    assert fetch_models(cast("Client", house))["data"] == []
    assert ("Asking the providers" in capfd.readouterr().err) is is_terminal
    assert house.waited[-1] == LIST_LIMIT_S


def test_aliases_are_listed_set_and_taken_out(daemon: FakeDaemon, ask: Ask) -> None:
    assert ask("models", "alias").out == "No aliases.\nSet one: ask models alias NAME MODEL\n"
    result = ask("models", "alias", "my fast.one", "work/x")
    assert (result.code, result.out) == (0, "my fast.one = work/x\n")
    (written,) = daemon.called("config/write")
    assert (written["key"], written["value"]) == ('aliases."my fast.one"', "work/x")
    assert "secrets" in written
    assert ask("models", "alias", "ö", "--unset", "--json").out == "[]\n"
    assert daemon.called("config/write")[1] == {"key": 'aliases."ö"', "value": None}
    daemon.settings["aliases"] = {"b": "x", "a": "y"}
    assert ask("models", "alias").out == "a = y\nb = x\n"
    assert json.loads(ask("models", "alias", "--json").out)[0] == {"name": "b", "model": "x"}


@pytest.mark.parametrize("words", [("a",), ("a", "b", "--unset"), ("--unset",)])
def test_half_an_alias_is_refused(daemon: FakeDaemon, ask: Ask, words: tuple[str, ...]) -> None:
    result = ask("models", "alias", *words)
    assert (result.code, "Give a NAME and a MODEL" in result.err) == (2, True)
    assert daemon.calls == []


def test_an_alias_that_is_no_text_is_refused(daemon: FakeDaemon, ask: Ask) -> None:
    result = ask("models", "alias", "\udcff", "work/x")
    assert (result.code, "The alias is not valid UTF-8." in result.err) == (2, True)
    assert daemon.called("config/write") == []
