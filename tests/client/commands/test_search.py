"""Hits as people see them: two lines each, the words in bold on a terminal, a code for scripts."""

import json
import subprocess
import sys

import pytest

from ask import hits
from tests.client.commands.conftest import Ask
from tests.client.commands.fake_daemon import FakeDaemon
from tests.client.commands.fake_log import NOW
from tests.fakes.hits import make_hit as hit


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


def test_nothing_is_bold_where_there_is_no_terminal(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.hits = [hit()]
    assert "\x1b" not in ask("history", "search", "fox").out


def test_the_daemons_limit_is_known() -> None:
    """More than a page at once would be answered with a page."""
    assert hits.PAGE == 100


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


def test_more_words_than_the_daemon_takes_are_refused_in_plain_words(
    daemon: FakeDaemon, ask: Ask
) -> None:
    result = ask("history", "search", "x" * 1001)
    assert result.code == 2
    assert "What to search for has 1001 characters; 1000 is the most." in result.err
    assert daemon.called("conversation/search") == []
    assert ask("history", "search", "x" * 1000).code == 1
