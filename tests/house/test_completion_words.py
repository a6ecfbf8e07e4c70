"""The table of words that Tab offers says what the commands say."""

from ask.commands import COMMANDS
from ask.completion.tree import load_tree, read_tree
from tests.house import completion_words


def test_table_is_current() -> None:
    stored = completion_words.PATH.read_text(encoding="utf-8")
    assert stored == completion_words.render(), "run: python -m tests.house.completion_words"


def test_every_command_of_this_version_has_its_words() -> None:
    there = {name for name, module in COMMANDS.items() if module is not None}
    assert set(load_tree()["ask"].children) == there


def test_every_option_says_what_it_is_for() -> None:
    for command in read_tree(completion_words.render()).values():
        assert command.about
        for option in command.options:
            assert option.about, (command.path, option.names)
