"""The strict grammar: what it takes, what it declines; that click agrees is in test_caller."""

import pytest

from ask.commands import COMMANDS
from ask.fast.argv import RESERVED, is_plain_number, may_mention, read_prompt, read_status


def test_the_reserved_names_are_those_of_the_commands() -> None:
    assert frozenset(COMMANDS) == RESERVED


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (["hi"], {"text": "hi"}),
        (["why", "is", "it"], {"text": "why is it"}),
        ([], {"text": ""}),
        (["-c", "and", "why?"], {"text": "and why?", "again": True}),
        (["hi", "-s", "work", "there"], {"text": "hi there", "session": "work"}),
        (["-m", "a/b", "-S", "be brief", "x"], {"model": "a/b", "system": "be brief"}),
        (["--", "list", "-x"], {"text": "list -x"}),
        (["-q", "--", "--help"], {"text": "--help", "quiet": True}),
        (["tell", "list"], {"text": "tell list"}),
        (["--timeout", "1.5", "x"], {"timeout": "1.5"}),
        (["--key", "k", "--fail-busy", "x"], {"key": "k", "fail_busy": True, "busy": "fail"}),
        (["--steer", "no"], {"steer": True, "busy": "steer"}),
        (["--queue", "x"], {"queue": True, "busy": None}),
        (["--raw", "--no-stdin", "--ephemeral", "--queue"], {"raw": True, "ephemeral": True}),
        (["mail", "a@b.c"], {"text": "mail a@b.c"}),
        (["at", "@", "5"], {"text": "at @ 5"}),
        (["--no-mentions", "see", "@x.py"], {"text": "see @x.py", "no_mentions": True}),
        (["-s", "list", "x"], {"session": "list", "text": "x"}),
    ],
)
def test_what_it_understands(line: list[str], expected: dict[str, object]) -> None:
    words = read_prompt(line)
    assert words is not None
    assert {name: getattr(words, name) for name in expected} == expected


@pytest.mark.parametrize(
    "line",
    [
        ["list"],
        ["list", "all", "primes"],
        ["-q", "daemon", "status"],
        ["--help"],
        ["-h"],
        ["--version"],
        ["-H", "ssh://x", "hi"],
        ["-sq", "x"],
        ["-swork", "x"],
        ["--session=work", "x"],
        ["-f", "x.txt", "hi"],
        ["-x", "hi"],
        ["-o", "f", "hi"],
        ["-v", "hi"],
        ["--json", "hi"],
        ["--usage", "hi"],
        ["--detach", "hi"],
        ["-", "hi"],
        ["-5"],
        ["look", "at", "@src/x.py"],
        ["(@x)"],
        ["a", "\\@x.py"],
        ["看@x.py"],
        ["-s"],
        ["-s", ""],
        ["-s", "-q", "x"],
        ["-c", "-s", "x"],
        ["--queue", "--fail-busy", "x"],
        ["--steer", "--queue", "x"],
        ["--fail-busy", "--steer", "x"],
        ["--key", "", "x"],
        ["--key", " ", "x"],
        ["--key", "a\nb", "x"],
        ["--key", "k" * 129, "x"],
        ["--timeout", "soon", "x"],
        ["--timeout", "0", "x"],
    ],
)
def test_what_it_declines(line: list[str]) -> None:
    assert read_prompt(line) is None


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (["daemon", "status"], False),
        (["daemon", "status", "--json"], True),
        (["daemon", "--json", "status"], None),
        (["daemon", "start"], None),
        (["status"], None),
        ([], None),
    ],
)
def test_daemon_status(line: list[str], expected: bool | None) -> None:
    assert read_status(line) is expected


@pytest.mark.parametrize(
    "text", ["", "hi", "@", "a@b", "@@", "é@b.fr", "x/@y", "=@y", "`@y`", "a @"]
)
def test_what_is_no_mention_to_begin_with(text: str) -> None:
    assert not may_mention(text)


@pytest.mark.parametrize("text", ["@y", "a@b @y", " @y", "\n@y", '"@y"', "，@y", "@@ @y", "\\@y"])
def test_what_may_be_one(text: str) -> None:
    assert may_mention(text)


@pytest.mark.parametrize("text", ["1", "10", "0.5", "007", "123456789"])
def test_plain_numbers(text: str) -> None:
    assert is_plain_number(text)


@pytest.mark.parametrize(
    "text", ["", "0", "0.0", ".5", "5.", "1e3", "-1", "+1", "inf", "nan", "1_0", "٣", "1234567890"]
)
def test_other_numbers(text: str) -> None:
    assert not is_plain_number(text)
