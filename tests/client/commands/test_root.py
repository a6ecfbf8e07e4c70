"""Which command is meant, and how everything ends: one sentence, the right code."""

import json
import sys
from pathlib import Path

import click
import pytest

from ask.commands import COMMANDS
from ask.commands.help import HELP_COLUMNS
from ask.commands.root import DEFAULT_REASONS, main, root, split_options, walk_options
from ask.commands.root import load_prompt as prompt
from ask.exits import Failed
from ask.protocol.errors import REASONS
from tests.fakes.daemon import FakeDaemon, Refusal, Stage, answer

Captured = pytest.CaptureFixture[str]


def test_every_command_of_this_version_is_there() -> None:
    context = click.Context(root)
    for name in root.list_commands(context):
        command = root.get_command(context, name)
        assert command is not None
        assert command.name == name
    assert set(root.list_commands(context)) == set(COMMANDS)


def test_a_reserved_name_is_no_command_yet(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(COMMANDS, "plan", None)
    assert root.get_command(click.Context(root), "plan") is None
    assert "plan" not in root.list_commands(click.Context(root))
    assert main(["plan", "it"]) == 2
    assert capsys.readouterr().err == (
        "This version of ask has no command 'plan'.\nAs a prompt: ask -- plan it\n"
    )


def test_help_shows_options_and_commands_in_80_columns(capsys: Captured) -> None:
    for line in (["--help"], ["-h"], ["-s", "x", "--help"], ["hi", "--help"], ["--help", "list"]):
        assert main(line) == 0
        out = capsys.readouterr().out
        assert "--no-stdin" in out
        assert "  attach " in out
        assert "Exit codes:" in out
        assert max(map(len, out.splitlines())) <= HELP_COLUMNS


def test_version(capsys: Captured) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == "ask 0.1.0\n"


@pytest.mark.parametrize(
    ("line", "text", "hint"),
    [
        (
            ["list", "all", "primes"],
            "Got unexpected extra arguments (all primes)",
            "As a prompt: ask -- list all primes",
        ),
        (
            ["new", "york's", "weather"],
            "Got unexpected extra argument (weather)",
            "As a prompt: ask -- new 'york'\"'\"'s' weather",
        ),
        (
            ["history", "lsit"],  # a slip, and no prompt
            "No such command 'lsit'. Did you mean 'list'?",
            "Try: ask history --help",
        ),
        (
            ["mcp", "tset", "time"],  # a slip for one that stands in a file of its own
            "No such command 'tset'. Did you mean 'test'?",
            "Try: ask mcp --help",
        ),
        (
            ["--timeout", "soon", "hi"],
            "Invalid value for '--timeout': 'soon' is not a number of seconds above zero.",
            "Try: ask --help",
        ),
        (
            ["-s", "work", "list"],
            "'list' is a command, and -s belongs to a prompt.",
            "As a prompt: ask -s work -- list",
        ),
        (["--colour", "hi"], "No such option '--colour'.", "Try: ask --help"),
        (["list", "--colour"], "No such option '--colour'.", "Try: ask list --help"),
        (["-s"], "Option '-s' requires an argument.", "Try: ask --help"),
    ],
)
def test_wrong_words(capsys: Captured, line: list[str], text: str, hint: str) -> None:
    assert main(line) == 2
    out, err = capsys.readouterr()
    assert out == ""
    first, second = err.splitlines()
    assert first.startswith(text)
    assert second == hint


def test_what_is_no_command_is_a_prompt(lone_home: Path, capfd: Captured) -> None:
    with FakeDaemon(lone_home, always=answer("x")) as daemon:
        for line in (["lists"], ["--", "list", "-x"], ["-q", "tell", "list"], ["-qs", "w", "hi"]):
            assert main(line) == 0
    texts = [params["parts"][0]["text"] for params in daemon.asked("turn/start")]
    assert texts == ["lists", "list -x", "tell list", "hi"]


# ---- how it ends -------------------------------------------------------------------


def test_an_error_of_the_daemon(lone_home: Path, capfd: Captured) -> None:
    refusal = Refusal(
        3, "conversation_not_found", "Conversation not found: id=x", hint="List them: ask list"
    )
    refusals = {"turn/start": [refusal, refusal]}
    with FakeDaemon(lone_home, refuse=refusals):
        assert main(["-s", "x", "hi"]) == 3
        assert capfd.readouterr() == ("", "Conversation not found: id=x\nList them: ask list\n")
        assert main(["-s", "x", "hi", "--json"]) == 3
    out, err = capfd.readouterr()
    assert json.loads(out) == {
        "type": "error",
        "code": 3,
        "message": "Conversation not found: id=x",
        "data": {"reason": "conversation_not_found", "hint": "List them: ask list"},
    }
    assert err.startswith("Conversation not found")


def test_a_prompt_that_says_json_wants_none(lone_home: Path, capfd: Captured) -> None:
    refusal = Refusal(8, "busy", "Busy.")
    with FakeDaemon(lone_home, refuse={"turn/start": [refusal]}):
        assert main(["-q", "--", "what is --json?", "--json"]) == 8
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize(
    ("raised", "code", "err"),
    [
        (Failed(7, "Too long.", hint="Try: ask clear"), 7, "Too long.\nTry: ask clear\n"),
        (Failed(7, "Too long: ask clear", hint="ask clear"), 7, "Too long: ask clear\n"),
        (Failed(1, "It said \x1b[31mno\x9b0m", hint="\x07Hm"), 1, "It said no\nHm\n"),
        (click.ClickException("Odd."), 2, "Odd.\n"),
        (click.Abort(), 130, ""),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_whatever_a_command_raises(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch, raised: BaseException, code: int, err: str
) -> None:
    def fail(*words: object, **options: object) -> None:
        raise raised

    monkeypatch.setattr(root, "main", fail)
    assert main(["list"]) == code
    assert capsys.readouterr().err == err


def test_the_process_arguments_are_the_default(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr(sys, "argv", ["ask", "--version"])
    assert main() == 0


# ---- reading options ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "options", "word"),
    [
        (["-s", "work", "hi"], ["-s"], "hi"),
        (["-swork", "hi"], ["-s"], "hi"),
        (["--session=work", "hi"], ["--session"], "hi"),
        (["-qs", "work", "hi"], ["-q", "-s"], "hi"),
        (["-qc", "hi"], ["-q", "-c"], "hi"),
        (["-q", "--", "hi"], ["-q"], None),
        (["-", "-q"], [], "-"),
        (["-s"], ["-s"], None),
        (["--timeout", "5"], ["--timeout"], None),
        ([], [], None),
    ],
)
def test_options_before_the_first_word(
    line: list[str], options: list[str], word: str | None
) -> None:
    assert split_options(line, prompt()) == (options, word)


def test_all_options_of_a_line() -> None:
    found, word = walk_options(["hi", "-s", "-x", "there", "-q"], {"-s"}, stop_at_word=False)
    assert (found, word) == (["-s", "-q"], "hi")


# ---- completion --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "incomplete", "expected"),
    [([], "li", "list"), ([], "--no", "--no-stdin"), (["history"], "sh", "show")],
)
def test_completion(words: list[str], incomplete: str, expected: str) -> None:
    from click.shell_completion import ShellComplete

    completer = ShellComplete(root, {}, "ask", "_ASK_COMPLETE")
    found = [item.value for item in completer.get_completions(words, incomplete)]
    assert expected in found


def test_a_turn_that_failed_ends_its_json_with_its_end(lone_home: Path, capfd: Captured) -> None:
    def play(stage: Stage) -> None:
        stage.finish("failed", 5, message="Slow down.")

    with FakeDaemon(lone_home, play):
        assert main(["hi", "--json"]) == 5
    lines = capfd.readouterr().out.splitlines()
    assert json.loads(lines[-1])["type"] == "turn_finished"


def test_wrong_words_have_a_reason_for_programs(lone_home: Path, capfd: Captured) -> None:
    assert main(["--json", "--colour", "hi"]) == 2
    assert json.loads(capfd.readouterr().out)["data"] == {"reason": "usage"}


def test_the_reason_of_an_error_without_one_has_its_code() -> None:
    assert {code: REASONS[word] for code, word in DEFAULT_REASONS.items()} == {
        code: code for code in DEFAULT_REASONS
    }
