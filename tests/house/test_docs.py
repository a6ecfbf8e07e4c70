"""The documentation cannot rot: its links, paths, words and command lines are real."""

from pathlib import Path

import click
import pytest

from ask.commands.root import root
from tests.house import prose
from tests.house.pages import ROOT

PAGES = prose.pages()

# What the design calls things, each explained once in the glossary.
WORDS = (
    "conversation", "session", "event", "item", "notice", "turn", "completion", "delta",
    "tool call", "tool output", "exchange", "orphan", "unanswered", "view", "context",
    "context window", "budget", "pruning", "compaction", "overflow", "question", "rollout", "job",
    "kind", "attempt", "fence", "provider", "endpoint", "model", "dialect", "codec", "client",
    "connection", "subscriber", "snapshot",
)  # fmt: skip


def parse(arguments: list[str]) -> None:
    """Read a command line with the real click tree and run nothing; raise what click raises."""
    context = root.make_context("ask", list(arguments))
    command: click.Command = root
    while isinstance(command, click.Group):
        # The words that a group has read but not given to its command: click has no public name.
        name, found, rest = command.resolve_command(
            context, [*context._protected_args, *context.args]
        )
        assert found is not None
        command = found
        context = command.make_context(name, rest, parent=context)


def find_refusal(arguments: list[str], *, whole: bool = True) -> list[str]:
    """Why click refuses a command line, if it does; not `whole`: it may lack arguments."""
    try:
        parse(arguments)
    except click.exceptions.Exit:
        return []  # --help and --version end at once
    except click.MissingParameter as error:
        return [error.format_message()] if whole else []
    except click.UsageError as error:
        return [error.format_message()]
    return []


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    assert prose.find_broken_links(page) == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_paths_exist(page: Path) -> None:
    assert prose.find_missing_paths(page.name, prose.read_prose(page)) == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_are_understood(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    refused = []
    for arguments in prose.read_examples(text):
        refused += [f"ask {' '.join(arguments)}: {why}" for why in find_refusal(arguments)]
    for arguments in prose.read_mentions(text):
        refused += [
            f"ask {' '.join(arguments)}: {why}" for why in find_refusal(arguments, whole=False)
        ]
    assert not refused, "\n".join(refused)


def test_glossary_explains_every_word_once() -> None:
    glossary = (prose.DOCS / "reference" / "glossary.md").read_text(encoding="utf-8")
    wrong = [word for word in WORDS if glossary.count(f"\n- **{word}**") != 1]
    assert wrong == []


def test_index_names_every_page() -> None:
    listed = set()
    for index in (prose.DOCS / "README.md", prose.DOCS / "decisions" / "README.md"):
        links = prose.LINK.findall(index.read_text(encoding="utf-8"))
        listed |= {(index.parent / each).resolve() for each in links} | {index}
    assert {name_of(p) for p in prose.DOCS.rglob("*.md") if p not in listed} == set()


def test_decisions_are_numbered_without_a_gap() -> None:
    numbers = [int(p.name[:4]) for p in sorted((prose.DOCS / "decisions").glob("0*.md"))]
    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize(
    "text",
    [
        "`client/ask/nothing.py`",
        "`store/nothing.py`",
        "`docs/nowhere/`",
        "`askd.store.nothing.x.y`",
    ],
)
def test_planted_missing_path_is_found(text: str) -> None:
    assert prose.find_missing_paths("page", text)


@pytest.mark.parametrize(
    "text", ["`client/ask/paths.py`", "`store/log.py`", "`askd.settings.Settings`", "`turn/start`"]
)
def test_real_path_is_not_refused(text: str) -> None:
    assert not prose.find_missing_paths("page", text)


def test_planted_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One\n\n[a](nowhere.md) [b](#one) [c](#two) [d](https://example.com)\n")
    assert len(prose.find_broken_links(page)) == 2


def test_command_lines_are_read_as_a_shell_reads_them() -> None:
    page = (
        "Say `ask list` or `ask`.\n"
        "```sh\n"
        'git diff | .venv/bin/ask "a | b" -s work 2>/dev/null && echo done  # ask not\n'
        "env -i ~/bin/ask -q \\\n  --raw hello > out.txt\n"
        "```\n"
        "```toml\nask = 1\n```\n"
    )
    assert list(prose.read_examples(page)) == [
        ["a | b", "-s", "work"],
        ["-q", "--raw", "hello"],
    ]
    assert list(prose.read_mentions(page)) == [["list"]]


@pytest.mark.parametrize(
    "line", ["ask list all primes", "ask -c list", "ask -s", "ask schedule lst", "ask attach"]
)
def test_planted_wrong_command_is_found(line: str) -> None:
    (arguments,) = prose.split_line(line)
    assert find_refusal(arguments)


def test_mention_may_lack_what_an_example_needs() -> None:
    assert find_refusal(["attach"], whole=False) == []
    assert find_refusal(["attach", "a", "b"], whole=False) != []
