"""What servers offer besides tools, as people see it: listed, printed, asked."""

import json
import os
import threading
from typing import Any

import pytest

from ask import resources
from ask.commands.mcp_contents import lay_out_prompts, lay_out_resources
from tests.client.commands.conftest import Ask
from tests.client.commands.fake_daemon import FakeDaemon
from tests.client.commands.fake_log import Refusal

REVIEW = {
    "name": "review",
    "description": "Look at\x1b[31m a file.",
    "arguments": [
        {"name": "file", "description": "Which one.", "required": True},
        {"name": "how", "description": "", "required": False},
    ],
}
ROWS: list[dict[str, Any]] = [
    {"uri": "demo://a", "name": "a", "description": "The first.\nIt is.", "media_type": "text/x"},
    {"uri": "demo://{id}", "name": "by id", "description": "", "media_type": None},
]


@pytest.fixture(autouse=True)
def docs(daemon: FakeDaemon) -> None:
    """One server."""
    daemon.settings["mcpServers"] = {"docs": {}}
    daemon.resources, daemon.prompts = ROWS, [REVIEW]
    daemon.messages["review"] = [{"role": "user", "text": "Look at @x.py.\x1b[2J\n"}]


def test_resources_are_listed_with_the_words_to_mention_them(daemon: FakeDaemon, ask: Ask) -> None:
    result = ask("mcp", "resources", "docs")
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines() == [
        "demo://a  The first. It is. (text/x)",
        "demo://{id}  by id",
    ]
    assert json.loads(ask("mcp", "resources", "docs", "--json").out) == ROWS
    assert daemon.called("mcp/resources")[0]["cwd"]


def test_what_was_not_listed_is_counted(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.unlisted = 3
    assert ask("mcp", "resources", "docs").err == "3 resources more, not listed.\n"
    daemon.resources, daemon.unlisted = [], 0
    result = ask("mcp", "resources", "docs")
    assert (result.out, result.err) == ("", "It offers nothing to read.\n")
    assert ask("mcp", "resources", "docs", "--json").out == "[]\n"


@pytest.mark.parametrize(
    "words", [("resources", "dosc"), ("prompt", "dosc"), ("prompt", "dosc", "x")]
)
def test_a_server_that_is_not_configured(ask: Ask, words: tuple[str, ...]) -> None:
    result = ask("mcp", *words)
    assert result.code == 3
    assert result.err == "There is no server of tools named 'dosc'.\nDid you mean 'docs'?\n"


def test_who_waits_for_a_server_is_told(
    daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = threading.Event()

    def look(descriptor: int) -> bool:
        told.set()
        return descriptor == 2

    monkeypatch.setattr(resources, "QUIET_S", 0.01)
    monkeypatch.setattr(os, "isatty", look)
    daemon.reading = lambda: told.wait(10)
    result = ask("mcp", "resources", "docs")
    assert (result.code, result.err) == (0, "Reading docs ...\n")
    assert result.out.startswith("demo://a  The first.")


def test_a_server_that_fails_is_a_sentence_and_code_1(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.refusals["mcp/prompts"] = Refusal("server_failed", "docs \x1b[31mdid not start.")
    result = ask("mcp", "prompt", "docs")
    assert (result.code, result.out, result.err) == (1, "", "docs did not start.\n")


def test_prompts_are_listed_with_their_arguments(ask: Ask) -> None:
    assert ask("mcp", "prompt", "docs").out.splitlines() == [
        "review  Look at a file.",
        "  file=...  Which one.",
        "  [how=...]",
    ]
    assert json.loads(ask("mcp", "prompt", "docs", "--json").out) == [REVIEW]


def test_a_prompt_is_printed_as_text_that_can_be_piped_on(daemon: FakeDaemon, ask: Ask) -> None:
    result = ask("mcp", "prompt", "docs", "review", "file=a=b")
    assert (result.code, result.out, result.err) == (0, "Look at @x.py.\n", "")
    assert daemon.called("mcp/prompt") == [
        {"server": "docs", "name": "review", "arguments": {"file": "a=b"}}
    ]
    messages = json.loads(ask("mcp", "prompt", "docs", "review", "file=x", "--json").out)
    assert messages == daemon.messages["review"]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["review"], 2, "The prompt 'review' needs file.\nSay it: file=...\n"),
        (["review", "file=x", "who=y"], 2, "has no argument who.\nIt has: file, how.\n"),
        (["review", "file"], 2, "'file' is no KEY=VALUE.\n"),
        (["review", "file=1", "file=2"], 2, "'file' has two values.\n"),
        (["other"], 3, "docs has no prompt 'other'.\nIt has: review.\n"),
        (["--send"], 2, "Say which prompt to send: a NAME.\n"),
        (["review", "file=x", "--send", "--json"], 2, "--send and --json exclude each other."),
    ],
)
def test_what_is_wrong_is_named_before_the_prompt_is_asked_for(
    daemon: FakeDaemon, ask: Ask, words: list[str], code: int, said: str
) -> None:
    result = ask("mcp", "prompt", "docs", *words)
    assert result.code == code
    assert said in result.err
    assert daemon.called("mcp/prompt") == []


def test_one_that_may_be_beyond_the_listing_is_asked_for(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.unlisted = 1
    daemon.messages["more"] = [{"role": "user", "text": "x"}]
    assert ask("mcp", "prompt", "docs", "more").out == "x\n"


def test_a_prompt_is_asked_as_it_stands_and_mentions_nothing(daemon: FakeDaemon, ask: Ask) -> None:
    result = ask("mcp", "prompt", "docs", "review", "file=x", "--send")
    assert result.code == 0
    (sent,) = daemon.called("turn/start")
    assert sent["target"] == {"kind": "new"}
    assert [part["text"] for part in sent["parts"]] == ["Look at @x.py.\x1b[2J\n"]
    assert result.out


def test_on_a_narrow_terminal_descriptions_are_cut_and_addresses_never() -> None:
    assert lay_out_resources(ROWS, 35)[0] == "demo://a  The first. It is. (t..."
    assert lay_out_resources(ROWS, 20)[0] == "demo://a"
    assert lay_out_prompts([REVIEW], 20) == ["review", "  file=...", "  [how=...]"]
