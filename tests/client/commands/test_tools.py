"""Which tools there are, and the rules: shown, changed one at a time, taken back."""

import json
from typing import Any

import click
import pytest

from ask.commands.tools import Order, lay_out_rules, lay_out_tools, read_order
from tests.client.commands.conftest import Ask
from tests.client.commands.fake_daemon import FakeDaemon


def written(daemon: FakeDaemon) -> list[tuple[str, Any]]:
    return [(each["key"], each.get("value")) for each in daemon.called("config/write")]


def test_list_is_a_table_of_tools_and_what_they_need(daemon: FakeDaemon, ask: Ask) -> None:
    result = ask("tools", "list")
    assert result.out.splitlines() == [
        "Tool        Offered  Policy",
        "read_file   yes      auto    Read a text file.",
        "write_file  no       ask     Write a text file.",
    ]
    assert result.err == "Commands are confined by: bubblewrap\n"
    rows = json.loads(ask("tools", "list", "--json").out)
    assert [(row["name"], row["enabled"]) for row in rows] == [
        ("read_file", True),
        ("write_file", False),
    ]


def test_where_none_is_offered_it_is_said_how(daemon: FakeDaemon, ask: Ask) -> None:
    for row in daemon.tools:
        row["enabled"] = False
    assert "ask -T all" in ask("tools", "list").err


def test_a_server_of_which_nothing_is_known_is_named(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.tool_servers = ["time", "docs"]
    daemon.tools.append({**daemon.tools[0], "name": "docs__find"})
    result = ask("tools", "list")
    assert "What the server time offers is not known yet: ask mcp test time\n" in result.err
    assert "docs" not in result.err
    assert "time" not in result.out


def test_a_conversation_has_tools_of_its_own(daemon: FakeDaemon, ask: Ask) -> None:
    id = daemon.create("work")
    assert ask("tools", "list", "-s", "work").code == 0
    assert daemon.called("tool/list") == [{"conversation_id": id}]
    assert ask("tools", "list", "-s", "nobody").code == 3


def test_policy_shows_everything_and_who_says_it(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.settings |= {
        'approval.tools."write_file"': "auto",
        'approval.tools."time__now"': "deny",
        'approval.commands."git status"': "auto",
        "approval.policy": "ask",
    }
    result = ask("tools", "policy")
    assert result.out.splitlines() == [
        "Needs your word: ask  (settings)",
        "",
        "Tools",
        "  read_file   auto  its own",
        "  write_file  auto  settings",
        "  time__now   deny  settings",
        "",
        "Commands that begin with",
        "  git status  auto  settings",
    ]
    assert json.loads(ask("tools", "policy", "--json").out) == {
        "policy": {"name": None, "approval": "ask", "source": "settings"},
        "tools": [
            {"name": "read_file", "approval": "auto", "source": "tool"},
            {"name": "write_file", "approval": "auto", "source": "settings"},
            {"name": "time__now", "approval": "deny", "source": "settings"},
        ],
        "commands": [{"name": "git status", "approval": "auto", "source": "settings"}],
    }
    assert written(daemon) == []


def test_nothing_said_is_said_to_be_the_default(daemon: FakeDaemon, ask: Ask) -> None:
    first = ask("tools", "policy").out.splitlines()[0]
    assert first == "Needs your word: ask on a terminal, deny without one  (default)"
    assert ask("tools", "policy", "--default").out == "ask on a terminal, deny without one\n"


@pytest.mark.parametrize(
    ("words", "key", "value"),
    [
        (["write_file", "auto"], 'approval.tools."write_file"', "auto"),
        (["write_file", "--unset"], 'approval.tools."write_file"', None),
        (["--command", "git status", "auto"], 'approval.commands."git status"', "auto"),
        (["deny", "--command", " git  push "], 'approval.commands."git push"', "deny"),
        (["--command", "./a.sh", "--unset"], 'approval.commands."./a.sh"', None),
        (["--default", "ask"], "approval.policy", "ask"),
        (["--default", "--unset"], "approval.policy", None),
    ],
)
def test_one_rule_is_changed_at_a_time(
    daemon: FakeDaemon, ask: Ask, words: list[str], key: str, value: str | None
) -> None:
    if value is None:
        daemon.settings[key] = "deny"
    result = ask("tools", "policy", *words)
    assert (result.code, result.out, result.err) == (0, "", "Written: /home/me/config.toml\n")
    assert written(daemon) == [(key, value)]


@pytest.mark.parametrize("words", [["write_file"], ["--command", "make"], ["--default"]])
def test_where_no_rule_is_nothing_is_written(
    daemon: FakeDaemon, ask: Ask, words: list[str]
) -> None:
    result = ask("tools", "policy", *words, "--unset")
    assert (result.code, result.out, result.err) == (0, "", "There was no such rule.\n")
    shown = ask("tools", "policy", *words, "--unset", "--json")
    assert json.loads(shown.out)["source"] != "settings"
    assert written(daemon) == []


def test_a_change_can_be_read_by_a_program(daemon: FakeDaemon, ask: Ask) -> None:
    assert json.loads(ask("tools", "policy", "write_file", "auto", "--json").out) == {
        "name": "write_file",
        "approval": "auto",
        "source": "settings",
    }
    assert json.loads(ask("tools", "policy", "write_file", "--unset", "--json").out) == {
        "name": "write_file",
        "approval": "ask",
        "source": "tool",
    }


@pytest.mark.parametrize(
    ("words", "out", "err"),
    [
        (["read_file"], "auto", "Said by: its own\n"),
        (["--command", "git"], "no rule", ""),
        (["--command", "make"], "deny", "Said by: settings\n"),
    ],
)
def test_one_rule_alone_is_shown(
    daemon: FakeDaemon, ask: Ask, words: list[str], out: str, err: str
) -> None:
    daemon.settings['approval.commands."make"'] = "deny"
    result = ask("tools", "policy", *words)
    assert (result.out, result.err) == (f"{out}\n", err)
    assert written(daemon) == []


def test_a_tool_that_is_not_there_is_not_written_and_the_nearest_is_named(
    daemon: FakeDaemon, ask: Ask
) -> None:
    result = ask("tools", "policy", "wrte_file", "auto")
    assert result.code == 2
    assert "There is no tool 'wrte_file'." in result.err
    assert "Did you mean 'write_file'?" in result.err
    assert "There are: read_file, write_file." in ask("tools", "policy", "x", "deny").err
    assert ask("tools", "policy", "rad_file").code == 2
    assert written(daemon) == []


def test_a_rule_can_be_made_for_a_server_that_never_ran(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.tool_servers = ["time"]
    assert ask("tools", "policy", "time__*", "auto").code == 0
    assert ask("tools", "policy", "time__now", "deny").code == 0
    assert written(daemon) == [
        ('approval.tools."time__*"', "auto"),
        ('approval.tools."time__now"', "deny"),
    ]
    assert ask("tools", "policy", "clock__*", "auto").code == 2
    assert ask("tools", "policy", "time*", "auto").code == 2


def test_of_hundreds_of_tools_some_are_named(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.tools = [{**daemon.tools[0], "name": f"big__t{k}"} for k in range(500)]
    assert "big__t49, and 450 more." in ask("tools", "policy", "zzz", "auto").err


def test_a_rule_for_a_tool_that_was_there_once_can_be_removed(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.settings['approval.tools."time__now"'] = "auto"
    assert ask("tools", "policy", "time__now").out == "auto\n"
    assert ask("tools", "policy", "time__now", "deny").code == 2
    result = ask("tools", "policy", "time__now", "--unset", "--json")
    assert json.loads(result.out) == {"name": "time__now", "approval": None, "source": None}
    assert written(daemon) == [('approval.tools."time__now"', None)]


def test_what_nothing_confines_asks_all_the_same_and_that_is_said(
    daemon: FakeDaemon, ask: Ask
) -> None:
    daemon.confinement = {"kind": "none", "text": "Not confined."}
    assert "they still ask" in ask("tools", "policy", "--default", "auto").err
    assert "they still ask" not in ask("tools", "policy", "--default", "ask").err


@pytest.mark.parametrize(
    "words",
    [
        ["write_file", "maybe"],
        ["write_file", "auto", "deny"],
        ["auto"],
        ["--unset"],
        ["write_file", "auto", "--unset"],
        ["--command", "git", "--default"],
        ["--command", "git", "write_file", "auto"],
        ["--default", "auto", "ask"],
    ],
)
def test_what_cannot_be_meant_is_refused(daemon: FakeDaemon, ask: Ask, words: list[str]) -> None:
    assert ask("tools", "policy", *words).code == 2
    assert daemon.called("tool/list") == []


def test_a_name_is_one_step_of_a_key() -> None:
    assert Order(table="commands", name='a "b".c').key == 'approval.commands."a \\"b\\".c"'
    assert read_order([], command=None, is_default=False, unset=False) is None
    with pytest.raises(click.UsageError, match="Say for what 'deny' is"):
        read_order(["deny"], command=None, is_default=False, unset=False)


def test_a_tools_words_cannot_drive_the_terminal() -> None:
    row = {
        "name": "a\x1b[31m",
        "description": "b\n\x07c. More.",
        "needs": "ask",
        "policy": None,
        "enabled": True,
    }
    lines = [
        *lay_out_tools([row]),
        *lay_out_rules([{"name": "x\x1b]0;y\x07", "approval": "ask", "source": "settings"}]),
    ]
    assert len(lines) == 3
    assert not {"\x1b", "\x07", "\n"} & set("".join(lines))


def test_a_narrow_terminal_shortens_what_is_long() -> None:
    row = {
        "name": "n" * 60,
        "description": "d" * 60,
        "needs": "auto",
        "policy": "deny",
        "enabled": False,
    }
    rule = {"name": "n" * 60, "approval": "deny", "source": "settings"}
    assert all(len(line) <= 50 for line in lay_out_rules([rule], 50))
    assert all(len(line) <= 100 for line in lay_out_tools([row], 100))
