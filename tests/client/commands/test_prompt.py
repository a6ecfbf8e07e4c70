"""The prompt's options as typed: each reaches its wish, or is refused by name."""

from pathlib import Path
from typing import Any

import pytest

import ask.prompt
from ask.commands.root import main
from ask.fast.run import Carried
from ask.wish import Wish

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def wishes(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Wish, Carried | None]]:
    """What would be asked."""
    found: list[tuple[Wish, Carried | None]] = []

    def note(wish: Wish, environ: object, carried: Carried | None) -> int:
        found.append((wish, carried))
        return 9

    monkeypatch.setattr(ask.prompt, "ask_prompt", note)
    return found


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (["hi", "there"], {"words": ("hi", "there")}),
        (["-c", "hi"], {"again": True}),
        (["-s", "w", "-m", "a/b", "-S", "x"], {"session": "w", "model": "a/b", "system": "x"}),
        (["-f", "a", "--file", "b"], {"files": ("a", "b")}),
        (["--json", "--raw", "-q", "-x", "-v"], {"as_json": True, "raw": True, "quiet": True}),
        (["-x", "-v", "--usage"], {"extract": True, "verbose": True, "usage": True}),
        (["-o", "out", "--key", "k"], {"output": "out", "key": "k"}),
        (["--timeout", "1e1"], {"timeout_s": 10.0}),
        (["--ephemeral", "--fail-busy", "--no-stdin"], {"ephemeral": True, "busy": "fail"}),
        (["--queue"], {"busy": None}),
        (["--steer"], {"busy": "steer"}),
        (["-a", "x.png", "--attach", "-"], {"images": ("x.png", "-"), "words": ()}),
        (["--schema", "name, age int", "hi"], {"schema": "name, age int", "words": ("hi",)}),
        (["--temperature", "0", "--max-output-tokens", "5"], {"temperature": 0.0}),
        (["--max-output-tokens", "5", "hi"], {"max_output_tokens": 5, "words": ("hi",)}),
        (["--stop", "END", "--stop", "-"], {"stop": ("END", "-")}),
        (["--effort", "minimal"], {"effort": "minimal"}),
        (["--overflow", "reset"], {"overflow": "reset"}),
        (["-T", "read", "hi"], {"tools": ["read"], "words": ("hi",)}),
        (["-Ta,b", "--tools", "c", "--approve", "ask"], {"tools": ["a", "b", "c"]}),
        (["--approve", "auto", "hi"], {"approve": "auto", "tools": None}),
        (["--detach", "--timeout", "5", "hi"], {"detach": True, "timeout_s": 5.0}),
        (["--no-mentions", "@x"], {"no_mentions": True, "words": ("@x",)}),
        (["--notify", "hi"], {"notify": True, "words": ("hi",)}),
        (["--detach", "--no-notify", "hi"], {"detach": True, "notify": False}),
        (["hi"], {"notify": None}),
    ],
)
def test_options(
    wishes: list[tuple[Wish, Carried | None]], line: list[str], expected: dict[str, Any]
) -> None:
    carried = Carried("k")
    assert main(line, carried=carried) == 9
    ((wish, handed),) = wishes
    assert {name: getattr(wish, name) for name in expected} == expected
    assert handed is carried


def test_nothing_may_have_been_done_before(wishes: list[tuple[Wish, Carried | None]]) -> None:
    assert main(["hi"]) == 9
    assert wishes[0][1] is None


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (["-c", "-s", "w", "hi"], "-c and -s name two conversations"),
        (["--queue", "--fail-busy", "hi"], "--queue and --fail-busy exclude each other"),
        (["--queue", "--steer", "hi"], "--queue and --steer exclude each other"),
        (["--fail-busy", "--steer", "hi"], "--steer and --fail-busy exclude each other"),
        (["--steer", "--detach", "hi"], "--steer and --detach exclude each other"),
        (["-x", "--schema", "name", "hi"], "-x and --schema exclude each other"),
        (["--temperature", "warm", "hi"], "'warm' is not a number from zero on"),
        (["--temperature", "-1", "hi"], "'-1' is not a number from zero on"),
        (["--temperature", "nan", "hi"], "'nan' is not a number from zero on"),
        (["--max-output-tokens", "0", "hi"], "0 is less than 1"),
        (["--stop", "", "hi"], "--stop needs a text, and it is empty."),
        (["-T", "a,,b", "hi"], "a name is empty."),
        (["-T", "all", "-T", "none", "hi"], "none goes with no other word."),
        (["--approve", "maybe", "hi"], "'maybe' is not one of"),
        (["--effort", "colossal", "hi"], "'colossal' is not one of"),
        (["--timeout", "soon", "hi"], "'soon' is not a number of seconds above zero"),
        (["--timeout", "-1", "hi"], "'-1' is not a number"),
        (["--timeout", "inf", "hi"], "'inf' is not a number"),
        (["--timeout", "nan", "hi"], "'nan' is not a number"),
    ],
)
def test_options_that_make_no_sense(
    wishes: list[tuple[Wish, Carried | None]], capsys: Captured, line: list[str], text: str
) -> None:
    assert main(line) == 2
    assert text in capsys.readouterr().err
    assert wishes == []


def test_an_empty_prompt(lone_home: Path, capfd: Captured) -> None:
    assert main([]) == 2
    assert capfd.readouterr().err.startswith("The prompt is empty.\nTry: ")
