"""Servers as text: a table, a test, doctor's lines; all of it words of others."""

from typing import Any

from ask.commands.findings import Finding
from ask.commands.server_layout import find_servers, lay_out_servers, lay_out_test
from ask.graphemes import find_width

READY = {
    "name": "time",
    "kind": "stdio",
    "state": "ready",
    "tools": 2,
    "offered": 1,
    "version": "1.2\x1b[31m",
    "resources": True,
    "prompts": False,
    "error": None,
}


def server(**more: Any) -> dict[str, Any]:
    return {**READY, **more}


def test_a_server_a_line_and_what_is_wrong_with_it() -> None:
    lines = lay_out_servers(
        [
            READY,
            server(name="documents", kind="http", state="idle", tools=0, offered=0),
            server(
                name="git", state="failed", tools=0, offered=0, error="It\nsaid \x1b]0;x\x07no."
            ),
            server(name="known", state="idle"),
        ],
        None,
    )
    assert lines == [
        "Server     Kind   State   Tools  Offered",
        "time       stdio  ready   2      1",
        "documents  http   idle    -      -",
        "git        stdio  failed  -      -        It said no.",
        "known      stdio  idle    2      1",
    ]


def test_on_a_terminal_what_is_wrong_is_cut() -> None:
    rows = [server(state="failed", error="It is not there. " * 20)]
    for columns in (20, 50, 60, 100):
        lines = lay_out_servers(rows, columns)
        assert all(find_width(line) <= max(columns, 40) for line in lines)


def test_a_test_shows_the_tools_with_their_first_sentences() -> None:
    tested = {
        "server": server(tools=12),
        "data": [
            {"name": "time__now", "description": "Says it. At length.", "offered": True},
            {"name": "time__set", "description": "Sets\nit\x1b[2J", "offered": False},
        ],
    }
    assert lay_out_test(tested, None) == [
        "time: ready, version 1.2; 12 tools, has resources, no prompts",
        "  time__now  Says it.",
        "  time__set  (not offered) Sets it",
        "  and 10 more",
    ]


def test_a_server_without_tools() -> None:
    tested = {"server": server(tools=0, version=None, prompts=True), "data": []}
    assert lay_out_test(tested, None) == ["time: ready; 0 tools, has resources, has prompts"]


def test_doctor_has_a_line_for_each() -> None:
    rows = [
        READY,
        server(name="a", state="off"),
        server(name="b", state="idle"),
        server(name="c", state="starting"),
        server(name="d", state="failed", error="No such program."),
        server(name="e", state="failed"),
    ]
    assert list(find_servers(rows)) == [
        Finding("mcp", "ok", "time: runs, 1 tool offered"),
        Finding("mcp", "ok", "a: not enabled"),
        Finding("mcp", "ok", "b: not needed yet"),
        Finding("mcp", "ok", "c: starting"),
        Finding("mcp", "warn", "d: No such program.", "Try it: ask mcp test d"),
        Finding("mcp", "warn", "e: it could not be started", "Try it: ask mcp test e"),
    ]
