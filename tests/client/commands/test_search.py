"""Hits as people see them: two lines each, the words in bold on a terminal, a code for scripts."""

import json
import subprocess
import sys
from typing import Any

import pytest

from ask.commands import search
from ask.commands.search import lay_out_hits
from tests.client.commands.conftest import Ask
from tests.client.commands.fake_daemon import NOW, FakeDaemon


def hit(snippet: str = "the red fox", **fields: Any) -> dict[str, Any]:
    return {
        "conversation_id": "1f2e3d4c-0000",
        "name": None,
        "title": "Foxes",
        "seq": 7,
        "at": NOW,
        "role": "assistant",
        "item_id": "t.1",
        "snippet": snippet,
        "marks": [[4, 7], [8, 11]],
        **fields,
    }


def test_a_hit_is_two_lines(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.hits = [hit(), hit("a fox", name="work", role="user", marks=[[2, 5]])]
    result = ask("history", "search", "red", "fox")
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines() == [
        f"1f2e3d4c  {'Foxes':28}  2026-01-01 00:00  assistant",
        "    the red fox",
        f"1f2e3d4c  {'work':28}  2026-01-01 00:00  user",
        "    a fox",
    ]
    (asked,) = daemon.called("conversation/search")
    assert (asked["text"], asked["limit"], asked["rank"]) == ("red fox", 20, False)
    assert "conversation_id" not in asked


def test_what_narrows_a_search(daemon: FakeDaemon, ask: Ask) -> None:
    conversation_id = daemon.create("work")
    daemon.hits = [hit()]
    days = ("--since", "2026-01-02", "--until", "2026-01-03")
    more = ("--role", "tool", "--rank", "-n", "5", "-s", "work")
    assert ask("history", "search", *days, *more, "fox").code == 0
    (asked,) = daemon.called("conversation/search")
    day = 86_400
    assert asked == {
        "text": "fox",
        "conversation_id": conversation_id,
        "role": "tool",
        "since_at": NOW + day,
        "until_at": NOW + 2 * day,
        "rank": True,
        "cursor": None,
        "limit": 5,
    }


def test_nothing_found_is_code_1_as_of_grep(daemon: FakeDaemon, ask: Ask) -> None:
    result = ask("history", "search", "fox")
    assert (result.code, result.out, result.err) == (1, "", "Nothing found.\n")
    result = ask("history", "search", "fox", "--json")
    assert (result.code, json.loads(result.out)) == (1, [])


def test_pages_are_read_until_there_are_enough(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.hits = [hit(seq=seq) for seq in range(250)]
    result = ask("history", "search", "fox", "--json", "-n", "240")
    assert [each["seq"] for each in json.loads(result.out)] == list(range(240))
    assert result.err == "There is more: -n 480 shows twice as much.\n"
    assert [each["limit"] for each in daemon.called("conversation/search")] == [100, 100, 40]
    daemon.calls.clear()
    result = ask("history", "search", "fox", "-n", "300")
    assert (len(result.out.splitlines()), result.err) == (500, "")


@pytest.mark.parametrize("words", [[], [""], [" ", "\t"]])
def test_without_a_word_nothing_is_asked(daemon: FakeDaemon, ask: Ask, words: list[str]) -> None:
    assert ask("history", "search", *words).code == 2
    assert daemon.calls == []


def test_a_conversation_that_is_not_there_or_not_stored(daemon: FakeDaemon, ask: Ask) -> None:
    assert ask("history", "search", "fox", "-s", "nobody").code == 3
    daemon.create("gone", live=True)
    daemon.ephemeral = True
    result = ask("history", "search", "fox", "-s", "gone")
    assert result.code == 2
    assert "in memory only" in result.err


def test_hits_are_bold_on_a_terminal_only(
    daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    (_, plain) = lay_out_hits([hit()], None, styled=False)
    (_, bold) = lay_out_hits([hit()], None, styled=True)
    assert plain == "    the red fox"
    assert bold == "    the \x1b[1mred\x1b[0m \x1b[1mfox\x1b[0m"
    daemon.hits = [hit()]
    assert "\x1b" not in ask("history", "search", "fox").out


def test_nothing_that_a_terminal_would_obey_comes_out_of_a_snippet() -> None:
    text = "an \x1b[31mred\x1b]0;title\x07 \x9b2Jfox \u202e"
    start, fox = text.index("red"), text.index("fox")
    wild = hit(text, title="\x1b[2Jt", marks=[[start, start + 3], [fox, fox + 3]])
    (head, said) = lay_out_hits([wild], None, styled=True)
    assert said == "    an \x1b[1mred\x1b[0m \x1b[1mfox\x1b[0m \\u202e"
    assert "\x1b" not in head
    # A sequence that begins before a hit and ends within it.
    (_, said) = lay_out_hits([hit("a \x1b[31mb", marks=[[4, 8]])], None, styled=True)
    assert said == "    a \x1b[1mb\x1b[0m"
    (_, said) = lay_out_hits([hit("a\x1b[31m", marks=[[1, 6]])], None, styled=True)
    assert said == "    a"


def test_a_long_name_makes_room() -> None:
    (head, _) = lay_out_hits([hit(title="long " * 20)], 60, styled=False)
    assert len(head) <= 60
    assert head.endswith("2026-01-01 00:00  assistant")
    (head, _) = lay_out_hits([hit(title="long " * 20)], None, styled=False)
    assert "long " * 19 in head, "in a pipe nothing is cut"


def test_the_daemons_limit_is_known() -> None:
    """More than a page at once would be answered with a page."""
    assert search.PAGE == 100


def test_a_search_loads_no_shapes_of_the_wire_and_no_command_but_its_own() -> None:
    code = (
        "import sys, click, ask.connection\n"
        "from ask.commands.root import root\n"
        "context = click.Context(root)\n"
        "root.get_command(context, 'history').get_command(context, 'search')\n"
        "print(*sys.modules)\n"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    ).stdout.split()
    assert "ask.commands.search" in loaded
    heavy = {"ask.protocol.messages", "ask.inputs", "ask.commands.transfers", "tempfile"}
    assert not heavy & set(loaded)
