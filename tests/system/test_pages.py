"""Every block of the README, the tutorial and the how-tos does what its page says."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.prose import DOCS, split_line
from tests.house.test_docs import find_refusal
from tests.system.pages_run import RUN, Block, Desk, Way, find_missing, open_desk, read_blocks
from tests.system.pages_table import ELSEWHERE, PREPARE, SHOWN, WAYS
from tests.system.world import ROOT

PAGES = [ROOT / "README.md", DOCS / "tutorial.md", *sorted((DOCS / "how-to").glob("*.md"))]
TYPED = re.compile(r"^(\$ )?(ask|systemctl|loginctl|pip|git|export|llm|codex) ", re.MULTILINE)
"""How a line begins that people type; where it stands among what is only shown, nobody runs it."""
TALK = "ask -q -s work 'Let us plan the release.'\n"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_of_a_page_works(page: Path, tmp_path: Path) -> None:
    ways = dict(WAYS.get(page.name, {}))
    wrong = []
    with open_desk(tmp_path) as desk:
        prepared = desk.run(TALK + PREPARE.get(page.name, ""))
        assert prepared.code == 0, prepared.said
        for block in read_blocks(page):
            named = [head for head in ways if block.text.startswith(head)]
            way = ways.pop(max(named, key=len)) if named else Way()
            wrong.append(try_block(desk, page.name, block, way))
    assert not any(wrong), "\n\n".join(filter(None, wrong))
    assert not ways, f"no block begins like this any more: {list(ways)}"


def try_block(desk: Desk, page: str, block: Block, way: Way) -> str:
    """Run a block, or read it, by its language; what is wrong with it, or nothing."""
    called = "\n".join((block.language, block.text, way.before, *way.swap.values()))
    if way.unless or find_missing(called):
        return ""
    match block.language:
        case "json":
            json.loads(block.text)
            return ""
        case "toml":
            tomllib.loads(block.text)
            return desk.check_settings(block.text)
        case "cron":
            return desk.run_crontab(block.text)
        case language if language in RUN:
            return "" if page in ELSEWHERE else desk.run_block(block, way)
        case "console":
            return "\n".join(refuse_transcript(block.text))
        case language if language in SHOWN:
            return f"{block.text!r}: it can be run" if TYPED.search(block.text) else ""
        case language:
            return f"{block.text!r}: nobody knows how to try {language!r}"


def refuse_transcript(text: str) -> list[str]:
    """Why the command lines of a transcript are not understood."""
    typed = re.findall(r"^\$ (.*)$", text, re.MULTILINE)
    return [why for line in typed for words in split_line(line) for why in find_refusal(words)]


@pytest.mark.parametrize(("page", "test"), ELSEWHERE.items())
def test_a_page_that_is_run_elsewhere_is_named_there(page: str, test: str) -> None:
    assert f'"{page}"' in (Path(__file__).parent / test).read_text()
    assert page not in WAYS


def test_what_is_not_run_says_why() -> None:
    assert set(WAYS) | set(PREPARE) | set(ELSEWHERE) <= {page.name for page in PAGES}
    for ways in WAYS.values():
        for way in ways.values():
            assert not way.unless or way == Way(unless=way.unless)
            assert way != Way()


@pytest.mark.parametrize("page", [page.name for page in PAGES if page.name != "README.md"])
def test_what_is_not_run_here_is_run_by_a_test_that_names_its_page(page: str) -> None:
    for way in WAYS.get(page, {}).values():
        for reason in (*([way.unless] if way.unless else []), *way.without.values()):
            (test,) = re.findall(r"\btest_\w+\.py\b", reason)
            assert f'"{page}"' in (Path(__file__).parent / test).read_text()


@pytest.mark.parametrize(
    "block",
    [
        Block("sh", "ask history show nobody\n"),
        Block("sh", "false\nask list\n"),
        Block("bash", "ask --no-such-option\n"),
        Block("python", "raise SystemExit(1)\n"),
        Block("toml", "default_mode = 'x'\n"),
        Block("cron", "0 8 * * *  /home/you/.venv/bin/ask -q list > /home/you/$(date +%F)\n"),
        Block("cron", "0 8 * * *  ask -q --no-stdin Hello\n"),
        Block("console", "$ ask -s\n"),
        Block("", "ask list\n"),
        Block("text", "ask list\n"),
        Block("perl", "print 1\n"),
    ],
    ids=lambda block: block.language or "none",
)
def test_a_block_that_does_not_work_is_found(block: Block, desk: Desk) -> None:
    assert try_block(desk, "page.md", block, Way())


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with open_desk(tmp_path_factory.mktemp("desk")) as opened:
        yield opened
