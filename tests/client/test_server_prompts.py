"""Prompts of servers: found by name, checked before they are asked for, listed without waiting."""

import time
from typing import Any

import pytest

from ask.connection import Client, RpcError, Silent
from ask.exits import Failed
from ask.server_prompts import check_values, fetch_prompt, find_prompt, join_messages, list_ready
from ask.signals import TimeIsUp

Map = dict[str, Any]
FILE = {"name": "file", "description": "", "required": True}
HOW = {"name": "how", "description": "", "required": False}
REVIEW = {"name": "review", "description": "Look.", "arguments": [FILE, HOW]}


class Daemon(Client):
    """A daemon that answers from a table; None as an answer: it never comes.

    It enforces what the real one does: an answer is waited for once, and only one that
    was asked for.
    """

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.sent: dict[int, tuple[str, Map]] = {}
        self.asked: list[tuple[str, Map]] = []
        self.waited = 0.0

    def send(self, method: str, params: Map | None = None) -> int:
        self.asked.append((method, params or {}))
        self.sent[len(self.asked)] = self.asked[-1]
        return len(self.asked)

    def wait(self, request: int, *, limit_s: float = 30.0) -> Map:
        method, params = self.sent[request]
        found = self.answers[method.replace("mcp/", "")]
        found = found(params) if callable(found) else found
        if found is None:
            self.waited += limit_s
            time.sleep(min(limit_s, 0.02))
            raise Silent
        del self.sent[request]
        if isinstance(found, Failed):
            raise found
        return dict(found)

    def call(self, method: str, params: Map | None = None, *, limit_s: float = 30.0) -> Map:
        return self.wait(self.send(method, params), limit_s=limit_s)


def page(*rows: Map, left_out: int = 0) -> Map:
    return {"data": list(rows), "left_out": left_out}


def test_a_prompt_is_checked_and_then_asked_for() -> None:
    messages = [{"role": "user", "text": "x"}]
    daemon = Daemon(prompts=page(REVIEW), prompt={"messages": messages})
    assert fetch_prompt(daemon, "docs", "review", {"file": "a"}) == messages
    assert daemon.asked == [
        ("mcp/prompts", {"server": "docs"}),
        ("mcp/prompt", {"server": "docs", "name": "review", "arguments": {"file": "a"}}),
    ]
    with pytest.raises(Failed, match="needs file"):
        fetch_prompt(daemon, "docs", "review", {})
    assert len(daemon.asked) == 3, "it was not asked for"


def test_the_nearest_server_is_named() -> None:
    error = RpcError(3, "No.", {"reason": "server_not_found", "candidates": ["docs", "time"]})
    with pytest.raises(RpcError) as caught:
        fetch_prompt(Daemon(prompts=error), "dosc", "x", {})
    assert caught.value.hint == "Did you mean 'docs'?"


def test_a_server_that_takes_too_long_ends_with_the_prompts_time() -> None:
    with pytest.raises(TimeIsUp, match="while docs:x was read"):
        fetch_prompt(Daemon(prompts=None), "docs", "x", {}, deadline=time.monotonic())


def test_only_servers_that_run_are_asked_and_none_is_waited_for_twice() -> None:
    def describe(name: str, state: str, prompts: bool = True) -> Map:
        return {"name": name, "state": state, "prompts": prompts}

    states = [
        describe("a", "ready"),
        describe("dead", "ready"),
        describe("stuck", "ready"),
        describe("idle", "idle"),
        describe("broken", "failed"),
        describe("off", "off"),
        describe("plain", "ready", prompts=False),
    ]

    def answer(params: Map) -> Any:
        refusal = RpcError(1, "It ended.", {"reason": "server_failed"})
        return {"a": page(REVIEW), "dead": refusal, "stuck": None}[params["server"]]

    daemon = Daemon(list={"data": states}, prompts=answer)
    rows, left = list_ready(daemon, limit_s=0.05)
    assert rows == [{**REVIEW, "server": "a"}]
    assert sorted(left) == ["broken", "dead", "idle", "stuck"]
    assert [method for method, _ in daemon.asked] == ["mcp/list", *["mcp/prompts"] * 3]
    assert daemon.waited <= 0.05


def test_a_prompt_that_is_not_there_is_refused_with_those_that_are() -> None:
    assert find_prompt(page(REVIEW), "docs", "review") == REVIEW
    assert find_prompt(page(REVIEW, left_out=1), "docs", "more") is None
    with pytest.raises(Failed) as caught:
        find_prompt(page(REVIEW), "docs", "more")
    assert (caught.value.code, caught.value.hint) == (3, "It has: review.")
    with pytest.raises(Failed) as caught:
        find_prompt(page(), "docs", "more")
    assert caught.value.hint == "It offers no prompts."


def test_values_are_checked_by_name() -> None:
    check_values(REVIEW, {"file": "", "how": ""})
    with pytest.raises(Failed) as caught:
        check_values(REVIEW, {"how": "x"}, option="-p ")
    assert caught.value.hint == "Say it: -p file=..."
    with pytest.raises(Failed, match="has no argument who") as caught:
        check_values(REVIEW, {"file": "x", "who": "y"})
    assert caught.value.hint == "It has: file, how."


def test_who_says_what_is_told_where_it_is_not_the_user_alone() -> None:
    user, model = {"role": "user", "text": "a"}, {"role": "assistant", "text": "b"}
    assert join_messages([user, user]) == "a\n\na"
    assert join_messages([user, model]) == "User:\na\n\nAssistant:\nb"
