"""The page of commands says what the commands say."""

from ask.commands.help import walk
from ask.commands.root import root
from tests.house import cli_page


def test_page_is_current() -> None:
    stored = cli_page.PATH.read_text(encoding="utf-8")
    assert stored == cli_page.render(), "run: python -m tests.house.cli_page"


def test_page_has_every_command_and_its_examples() -> None:
    page = cli_page.render()
    for path, command in walk(root, ("ask",)):
        assert f"\n## {' '.join(path)}\n" in page
        for example in command.examples:
            assert f"\n{example.line}\n" in page


def test_page_has_the_options_of_a_prompt() -> None:
    assert "| `-s, --session NAME\\|ID` |" in cli_page.render()
