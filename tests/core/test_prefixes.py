"""What "always" offers for a line, and that it offers nothing where that would say nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.core.commands import find_command_rule
from askd.core.prefixes import OPAQUE, WITH_COMMANDS, WITH_SUBCOMMANDS, find_prefix


@pytest.mark.parametrize(
    ("line", "prefix"),
    [
        ("ls", "ls"),
        ("ls -la src", "ls"),
        ("grep -rn 'a b' . 2>/dev/null", "grep"),
        ("cat $HOME/x *.py", "cat"),
        ("pytest -q tests", "pytest"),
        ("find . -name '*.py'", "find"),
        ("git status -s", "git status"),
        ("git 'status'", "git status"),
        ("git stash", "git stash"),
        ("git stash drop", "git stash drop"),
        ("npm test", "npm test"),
        ("npm run build:all -- -x", "npm run build:all"),
        ("docker compose up -d", "docker compose up"),
        ("cargo build --release", "cargo build"),
        ("uv pip install x", "uv pip install"),
        ("make all", "make all"),
        ("python -m pytest -q", "python -m pytest"),
        ("python3.11 -m mypy .", "python3.11 -m mypy"),
        ("g++ -O2 a.cc", "g++"),
    ],
)
def test_what_is_offered(line: str, prefix: str) -> None:
    assert find_prefix(line) == prefix


@pytest.mark.parametrize(
    "line",
    [
        "",
        "   ",
        "git",
        "git -C x status",
        "git $X",
        "git s*",
        "git st\\atus",
        "make",
        "make -f x",
        "npm",
        "git config core.pager rm",
        "ls; ls",
        "ls | wc",
        "ls > f",
        "ls < f",
        "ls &",
        "ls $(x)",
        "X=1 ls",
        "\\ls",
        "l?",
        "$X",
        "'ls",
        "(ls)",
        "! ls",
        "if ls; then ls; fi",
        "sh x",
        "bash -c ls",
        "python x.py",
        "python",
        "python -c 'x'",
        "python -m timeit x",
        "python -m pdb x",
        "python3.11 x.py",
        "perl5.36 -e x",
        "node -e x",
        "awk 1",
        "sed s/a/b/ x",
        "sqlite3 x .shell",
        "sudo ls",
        "env ls",
        "env X=1 ls",
        "xargs ls",
        "nohup ls",
        "time ls",
        "timeout 5 ls",
        "command ls",
        "exec ls",
        "eval ls",
        "ssh x ls",
        ". x",
        "source x",
        "export X=1",
        "alias ls=rm",
        "find . -exec rm {} +",
        "find . -okdir rm {} +",
        "tar --to-command=rm -xf x",
        "uv run x",
        "npx x",
        "npm exec x",
        "docker run x",
        "go run x",
        "rm x",
        "rm -rf .",
        "dd if=a of=b",
        "curl x",
        "./x.sh",
        "/bin/ls",
        "ls\rx",
        "ls # x",
        "é",
        "a" * 40_000,
    ],
)
def test_where_nothing_is_offered(line: str) -> None:
    assert find_prefix(line) is None


WORDS = st.text(st.characters(codec="ascii"), max_size=12)


@given(st.text(st.sampled_from("ls git status-mrun'\"\\$`;|&<>(){}\n=*#/x"), max_size=30) | WORDS)
def test_that_what_is_offered_covers_the_line_itself(line: str) -> None:
    """A rule of the same words allows it: it is one command, read for certain."""
    prefix = find_prefix(line)

    if prefix is not None:
        assert prefix
        assert find_command_rule(line, {prefix: "auto"}) == "auto"
        assert find_prefix(prefix) == prefix or prefix.split()[0] in WITH_COMMANDS


@given(st.sampled_from(["ls", "git status", "npm run x", "python -m pytest"]), WORDS)
def test_that_more_words_never_make_it_shorter(command: str, more: str) -> None:
    prefix = find_prefix(f"{command} {more}")

    assert prefix is None or prefix.startswith(command) or prefix == "git status"


def test_that_no_program_stands_in_two_tables() -> None:
    opaque = {each[0] for each in OPAQUE if len(each) == 1}

    assert not opaque & WITH_COMMANDS
    assert {each[0] for each in WITH_SUBCOMMANDS} <= WITH_COMMANDS
