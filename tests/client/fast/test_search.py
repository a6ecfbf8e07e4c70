"""`history search` the short way: what the long way asks and prints, or nothing at all."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ask import hits
from ask.commands.root import main
from ask.commands.search import search_command
from ask.fast import argv
from ask.fast.search import run_search
from tests.fakes.daemon import FakeDaemon, Refusal
from tests.fakes.hits import make_hit

FOX = argv.Search("red fox", 20, False)
METHOD = "conversation/search"


def answer(*found: dict[str, Any], more: bool = False) -> dict[str, Any]:
    return {METHOD: {"data": list(found), "next_cursor": "next" if more else None}}


def test_the_numbers_are_those_of_the_long_way() -> None:
    assert (argv.HITS, argv.SEARCH_LIMIT) == (hits.HITS, hits.PAGE)


TOKENS = (
    *("fox", "red", "", " ", "fox*", '"red fox"', "\u00e9", "5", "0", "101", "1.5", "-3"),
    *("-n", "-n5", "--limit", "--limit=3", "--rank", "--", "--json", "-", "--help", "-s", "--role"),
)
words = st.lists(st.sampled_from(TOKENS), max_size=6)


@given(words)
def test_what_it_takes_means_the_same_to_click(line: list[str]) -> None:
    asked = argv.read_search(["history", "search", *line])
    if asked is None:
        return
    params = search_command.make_context("search", list(line)).params
    assert " ".join(params["text"]) == asked.text
    assert (params["limit"], params["rank"]) == (asked.limit, asked.rank)
    others = {
        name: value for name, value in params.items() if name not in ("text", "limit", "rank")
    }
    assert not any(others.values()), "nothing else was said"


@pytest.mark.parametrize(
    "line",
    [
        ["history", "list"],
        ["search", "fox"],
        ["history", "search"],
        ["history", "search", " "],
        ["history", "search", "fox", "--json"],
        ["history", "search", "-s", "work", "fox"],
        ["history", "search", "fox", "-n"],
        ["history", "search", "fox", "-n", "101"],
        ["history", "search", "fox", "-n", "1.5"],
        ["history", "--help", "search", "fox"],
    ],
)
def test_what_it_declines(line: list[str]) -> None:
    assert argv.read_search(line) is None


@pytest.mark.parametrize(
    ("line", "results", "code"),
    [
        (["red", "fox"], answer(make_hit(), make_hit("a f\u00f6x", marks=[[2, 5]])), 0),
        (["fox"], answer(), 1),
        (["fox", "-n", "1", "--rank"], answer(make_hit(name="work"), more=True), 0),
        (["fox"], answer(make_hit("a\x1b[31m red \U0001f98a", title="\x1b[2Jt", marks=[])), 0),
    ],
)
def test_it_asks_and_prints_what_the_long_way_does(
    lone_home: Path,
    capfd: pytest.CaptureFixture[str],
    line: list[str],
    results: dict[str, Any],
    code: int,
) -> None:
    asked = argv.read_search(["history", "search", *line])
    assert asked is not None
    with FakeDaemon(lone_home, results=results) as daemon:
        assert run_search(asked, os.environ) == code
        short = capfd.readouterr()
        assert main(["history", "search", *line]) == code
        first, second = daemon.asked(METHOD)
    assert capfd.readouterr() == short
    assert first == {name: value for name, value in second.items() if value not in (None, False)}


def test_no_daemon(lone_home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_search(FOX, os.environ) is None
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "make",
    [
        lambda path: FakeDaemon(path, protocol=2),
        lambda path: FakeDaemon(path, refuse={METHOD: [Refusal(74, "search_damaged", "x")]}),
        lambda path: FakeDaemon(path, results=answer(make_hit(), more=True)),
        lambda path: FakeDaemon(path, results=answer({"name": "half"})),
        lambda path: FakeDaemon(path, results={METHOD: {}}),
        lambda path: FakeDaemon(path, results=answer(make_hit(at=1e300))),
    ],
)
def test_whatever_is_unusual_is_left_to_the_long_way(
    lone_home: Path, capfd: pytest.CaptureFixture[str], make: Callable[[Path], FakeDaemon]
) -> None:
    with make(lone_home):
        assert run_search(FOX, os.environ) is None
    assert capfd.readouterr().out == ""


def test_what_is_no_text_is_left_to_the_long_way(lone_home: Path) -> None:
    with FakeDaemon(lone_home) as daemon:
        assert run_search(argv.Search("\udcff", 20, False), os.environ) is None
        assert daemon.asked(METHOD) == []


def test_a_closed_pipe(lone_home: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    before = os.dup(1)
    os.dup2(writer, 1)
    try:
        with FakeDaemon(lone_home, results=answer(make_hit())):
            assert run_search(FOX, os.environ) == 141
    finally:
        os.dup2(before, 1)
        os.close(before)
        os.close(writer)
