"""`-t` and `-p` as they are typed and completed."""

from pathlib import Path

import click
import pytest

from ask.commands.root import root
from ask.commands.template_options import complete_template, complete_value, read_values
from tests.client.commands.conftest import Ask


@pytest.fixture
def templates(home: Path) -> Path:
    """A directory with two templates, one of them broken."""
    directory = home / "config" / "templates"
    directory.mkdir(parents=True)
    (directory / "review.md").write_text("Look at $file in $language: $input")
    (directory / "rest.md").write_text("+++\nx = 1\n+++\n")
    return directory


def complete(name: str, incomplete: str, **params: object) -> list[str]:
    context = click.Context(click.Command("x"))
    context.params.update(params)
    option = click.Option(["-t"])
    kind = {"template": complete_template, "value": complete_value}[name]
    return kind(context, option, incomplete)


def test_a_value_may_hold_anything_and_a_word_without_one_is_refused() -> None:
    assert read_values(["a=", "b=c=d", "e=ü x"]) == {"a": "", "b": "c=d", "e": "ü x"}
    for said in (["=x"], ["x"], ["a=1", "a=2"]):
        with pytest.raises(click.UsageError):
            read_values(said)


def test_names_are_completed_from_files(templates: Path) -> None:
    assert complete("template", "") == ["rest", "review"]
    assert complete("template", "rev") == ["review"]


def test_parameters_are_completed_for_the_template_that_was_named(templates: Path) -> None:
    assert complete("value", "", template="review") == ["file=", "language="]
    assert complete("value", "l", template="review") == ["language="]
    for name in ("rest", "none", "../x", None):
        assert complete("value", "", template=name) == []


def test_no_directory_completes_to_nothing(home: Path) -> None:
    assert complete("template", "") == []
    (home / "config").mkdir(parents=True)
    (home / "config" / "templates").write_text("")
    assert complete("template", "") == []


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["-t"], ["rest", "review"]),
        (["-t", "review", "-p"], ["file=", "language="]),
        (["templates", "show"], ["rest", "review"]),
    ],
)
def test_the_shell_is_told(templates: Path, words: list[str], found: list[str]) -> None:
    from click.shell_completion import ShellComplete

    completion = ShellComplete(root, {}, "ask", "_ASK_COMPLETE")
    assert [each.value for each in completion.get_completions(words, "")] == found


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-p", "a=1", "hi"], "-p is for a template; say which: -t NAME."),
        (["-t", "review", "-p", "a", "hi"], "'a' is no KEY=VALUE."),
        (["-t", "review", "-p", "a=1", "-p", "a=2", "hi"], "'a' has two values."),
    ],
)
def test_what_is_typed_wrong_is_named(
    templates: Path, ask: Ask, words: list[str], said: str
) -> None:
    result = ask(*words)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(said)
