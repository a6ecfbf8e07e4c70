"""What a daemon is told of its caller: here, and from afar."""

import os
from pathlib import Path

import pytest

from ask import whereabouts
from ask.exits import Failed
from ask.fast import caller

NEAR = {
    "HOME": "/home/me",
    "PATH": "/bin",
    "OPENAI_API_KEY": "sk-1",
    "OPENAI_BASE_URL": "http://x",
    "HTTPS_PROXY": "http://user:pw@proxy",
    "OLLAMA_HOST": "127.0.0.1:1",
    "WORK_KEY": "w-1",
}
FAR = {**NEAR, "ASK_HOST": "ssh://me@far"}
SENDING = {**FAR, "ASK_SEND_KEYS": "1"}


def test_here_is_what_it_was() -> None:
    assert whereabouts.describe(NEAR) == caller.describe(NEAR)
    assert whereabouts.find_place(NEAR) == os.getcwd()
    assert whereabouts.find_place({"ASK_REMOTE_CWD": "/x"}) == os.getcwd()
    assert whereabouts.lend(NEAR)["secrets"]["OPENAI_API_KEY"] == "sk-1"
    assert whereabouts.take_keys(NEAR, ("WORK_KEY",)) == {"WORK_KEY": "w-1"}
    assert whereabouts.limit_tools({"tools": ["all"]}, NEAR) == {"tools": ["all"]}
    assert whereabouts.explain_keys(NEAR) is None


def test_from_afar_nothing_of_here_is_told() -> None:
    assert whereabouts.describe(FAR) == {"far": True}
    assert whereabouts.lend(FAR) == {}
    assert whereabouts.lend(FAR, ("WORK_KEY",)) == {}
    assert whereabouts.take_keys(FAR, ("WORK_KEY", "OPENAI_API_KEY")) == {}
    placed = {**FAR, "ASK_REMOTE_CWD": "/srv/project"}
    assert whereabouts.describe(placed) == {"cwd": "/srv/project", "far": True}


def test_keys_go_when_it_is_said_and_proxies_never() -> None:
    assert whereabouts.describe(SENDING) == {
        "far": True,
        "env": {"OPENAI_BASE_URL": "http://x"},
        "secrets": {"OPENAI_API_KEY": "sk-1"},
    }
    lent = whereabouts.lend(SENDING, ("OPENAI_API_KEY", "WORK_KEY", "HTTPS_PROXY"))
    assert lent["secrets"] == {"OPENAI_API_KEY": "sk-1", "WORK_KEY": "w-1"}
    assert whereabouts.take_keys(SENDING, ("WORK_KEY",)) == {"WORK_KEY": "w-1"}


@pytest.mark.parametrize(("said", "meant"), [("1", True), ("YES", True), ("0", False), ("", False)])
def test_whether_keys_go(said: str, meant: bool) -> None:
    assert whereabouts.sends_keys({**FAR, "ASK_SEND_KEYS": said}) is meant


def test_neither_yes_nor_no_is_refused() -> None:
    with pytest.raises(Failed, match="ASK_SEND_KEYS"):
        whereabouts.describe({**FAR, "ASK_SEND_KEYS": "perhaps"})


@pytest.mark.parametrize("path", ["src", "~/src", "/a\0b", "/\udcff"])
def test_a_directory_over_there_is_a_whole_path(path: str) -> None:
    with pytest.raises(Failed, match="me@far must be an absolute path") as refused:
        whereabouts.find_place({**FAR, "ASK_REMOTE_CWD": path})
    assert refused.value.code == 2


def test_tools_need_a_directory() -> None:
    assert whereabouts.limit_tools({"model": "m"}, FAR) == {"model": "m", "toolless": True}
    assert whereabouts.limit_tools({"tools": ["none"]}, FAR)["toolless"]
    with pytest.raises(Failed, match="no directory") as refused:
        whereabouts.limit_tools({"tools": ["read"]}, FAR)
    assert "--remote-cwd" in str(refused.value.hint)
    placed = {**FAR, "ASK_REMOTE_CWD": "/p"}
    assert whereabouts.limit_tools({"tools": ["read"]}, placed) == {"tools": ["read"]}


def test_what_to_do_about_keys_that_stayed() -> None:
    assert "OPENAI_API_KEY was not sent to me@far" in str(whereabouts.explain_keys(FAR))
    assert "set one there" in str(whereabouts.explain_keys({"ASK_HOST": "ssh://far"}))
    assert whereabouts.explain_keys(SENDING) is None


def test_a_terminal_is_one_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pane = {"TMUX": "/tmp/t,1,0", "TMUX_PANE": "%1"}
    assert whereabouts.find_terminal(pane) == "tmux:/tmp/t,1:%1"
    node = os.uname().nodename
    assert whereabouts.find_terminal({**FAR, **pane}) == f"at:{node}:tmux:/tmp/t,1:%1"
    assert whereabouts.find_terminal({**FAR, "ASK_TERMINAL": "x"}) == "name:x"
    monkeypatch.setattr(os, "ttyname", refuse)
    assert whereabouts.find_terminal(FAR) is None


def refuse(descriptor: int) -> str:
    raise OSError
