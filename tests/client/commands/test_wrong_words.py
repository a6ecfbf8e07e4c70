"""What is said of a line that cannot be read, in words that help."""

import pytest

from ask.commands.root import main

Captured = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            ["history", "of", "rome"],
            "No such command 'of'.\n"
            "There are: delete, export, import, list, restore, scrub, search, show.\n"
            "As a prompt: ask -- history of rome\n",
        ),
        (
            ["-s", "a b", "schedule", "rm"],
            "'schedule' is a command, and -s belongs to a prompt.\n"
            "As a prompt: ask -s 'a b' -- schedule rm\n",
        ),
        (
            ["schedule", "shwo", "news"],
            "No such command 'shwo'. Did you mean 'show'?\nTry: ask schedule --help\n",
        ),
        (
            ["list", "--jsno"],
            "No such option '--jsno'. Did you mean '--json'?\nTry: ask list --help\n",
        ),
        (
            ["--no-stdn", "hi"],
            "No such option '--no-stdn'. Did you mean '--no-stdin'?\nTry: ask --help\n",
        ),
        (["--save", "x", "hi"], "No such option '--save'.\nTry: ask --help\n"),
        (
            ["list", "-H", "ssh://box"],
            "No such option '-H'.\nIt stands before the command: ask -H ... list\n",
        ),
        (
            ["schedule", "run", "--host=ssh://box", "x"],
            "No such option '--host'.\nIt stands before the command: ask --host ... schedule run\n",
        ),
        (
            ["daemon", "logs", "-n", "x"],
            "Invalid value for '-n' / '--lines': 'x' is not a whole number.\n"
            "Try: ask daemon logs --help\n",
        ),
        (
            ["daemon", "logs", "-n", "-1"],
            "Invalid value for '-n' / '--lines': -1 is less than 0.\nTry: ask daemon logs --help\n",
        ),
        (
            ["daemon", "stop", "--wait", "soon"],
            "Invalid value for '--wait': 'soon' is not a number.\nTry: ask daemon stop --help\n",
        ),
        (
            ["schedule", "add", "hi"],
            "Missing option '--cron'.\nTry: ask schedule add --help\n",
        ),
    ],
)
def test_what_is_wrong_and_what_to_type(capsys: Captured, line: list[str], said: str) -> None:
    assert main(line) == 2
    assert capsys.readouterr() == ("", said)
