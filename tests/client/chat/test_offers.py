"""What Tab offers: commands, what they take, files and servers behind an `@`."""

import shlex
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from ask.chat.offers import Offers, find_offers
from ask.exits import Failed

KNOWN = {
    "/model": [("openai/gpt-5", ""), ("fast", "openai/gpt-5-mini")],
    "/tools": [("read_file", "Read a text file.")],
    "@": [("time", "a server")],
    "@time:": [("time:clock://now", "the time"), ("time:two words", "")],
}


def names(what: str) -> list[tuple[str, str]]:
    return KNOWN.get(what, [])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/mod", ["/models", "/model"]),
        ("/model ", ["openai/gpt-5", "fast"]),
        ("/model f", ["fast"]),
        ("/tools read", ["read_file"]),
        ("/approve a", ["ask", "auto"]),
        ("/compact -", ["--undo"]),
        ("/nothing x", []),
        ("what /mod", []),
        ("look at @ti", ["@time:"]),
        ("look at @time:", ["@time:clock://now"]),
        ("", []),
    ],
)
def test_what_could_stand_there(text: str, expected: list[str]) -> None:
    assert [offer for _, offer, _ in find_offers(text, names)] == expected


def test_files_are_offered_where_they_can_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("")
    (tmp_path / "so far.txt").write_text("")
    for text, expected in (
        ("read @s", ['@"so far.txt"', "@src/"]),
        ("read\n@src/", ["@src/a.py"]),
        ("/attach s", ["'so far.txt'", "src/"]),
        ("/attach src/a.py 'so f", ["'so far.txt'"]),
        ("/save so", ["so far.txt"]),
        ("/save so f", ["so far.txt"]),
        ("see @so", ['@"so far.txt"']),
        ('see @"so f', ['@"so far.txt"']),
        ('see @"s', ['@"so far.txt"', '@"src/']),
        ('see @"so far.txt"', []),
        ('see @"so far.txt" and @sr', ["@src/"]),
        ("/save src/", ["src/a.py"]),
    ):
        assert [offer for _, offer, _ in find_offers(text, names)] == expected


def test_what_is_offered_can_be_attached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    awkward = ["it's.txt", "two words.txt", 'a"b.txt', "plain.txt"]
    for name in awkward:
        (tmp_path / name).write_text("")
    offered = [offer for _, offer, _ in find_offers("/attach ", names)]
    assert sorted(shlex.split(" ".join(offered))) == sorted(awkward)


def test_what_would_act_on_a_terminal_or_was_not_said_is_not_offered() -> None:
    def fail(what: str) -> list[tuple[str, str]]:
        if what == "/tools":
            raise Failed(69, "No daemon is running.")
        return [("a\x1b[2J", ""), ("plain", "about\x1b[2J it")]

    offers = Offers(fail)
    found = list(offers.get_completions(Document("/model "), CompleteEvent()))
    assert [each.text for each in found] == ["plain"]
    assert "\x1b" not in found[0].display_meta_text
    assert list(offers.get_completions(Document("/tools "), CompleteEvent())) == []
