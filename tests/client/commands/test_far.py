"""Options about another machine: where they may stand, and what they stand for."""

import os
from pathlib import Path

import click
import pytest

from ask.commands.far import apply_options, need_here, take_options
from ask.commands.help import Command, walk
from ask.commands.root import root
from ask.exits import Failed
from tests.client.commands.conftest import Ask
from tests.fakes.daemon import FakeDaemon, answer
from tests.fakes.ssh import FakeSsh

NAMES = ("ASK_HOST", "ASK_REMOTE_CWD", "ASK_SEND_KEYS")


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a command line sets is taken back."""
    for name in NAMES:
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lone_home: Path) -> FakeSsh:
    fake = FakeSsh(tmp_path / "bin")
    monkeypatch.setenv("PATH", fake.path)
    fake.leads_to(tmp_path / "far.sock")
    return fake


@pytest.mark.parametrize(
    "words",
    [
        ["-H", "ssh://far", "list"],
        ["-Hssh://far", "list"],
        ["--host=ssh://far", "list"],
        ["--host", "ssh://far", "--send-keys", "--remote-cwd", "/p", "list"],
    ],
)
def test_they_stand_before_a_command(
    words: list[str], ask: Ask, ssh: FakeSsh, tmp_path: Path
) -> None:
    found = {"conversation/list": {"data": [], "total": 0, "next_cursor": None}}
    with FakeDaemon(tmp_path / "far.sock", results=found) as daemon:
        result = ask(*words)
    assert result.code == 0, result
    assert {method for method, _ in daemon.requests} == {"hello", "conversation/list"}


@pytest.mark.parametrize("words", [["-H", "ssh://far", "hi"], ["hi", "--host", "ssh://far"]])
def test_they_stand_among_a_prompts_words(
    words: list[str], ask: Ask, ssh: FakeSsh, tmp_path: Path
) -> None:
    with FakeDaemon(tmp_path / "far.sock", answer("yes")) as daemon:
        result = ask("--no-stdin", "--remote-cwd", "/p", *words)
    assert result.code == 0, result
    (asked,) = daemon.asked("turn/start")
    assert (asked["cwd"], asked["far"]) == ("/p", True)
    assert "toolless" not in asked.get("options", {})


@pytest.mark.parametrize(
    "words", [["-H", "far", "list"], ["-H", "ssh://-x", "hi"], ["hi", "-H", "ssh://a/b"]]
)
def test_an_address_that_is_none_is_refused_first(words: list[str], ask: Ask) -> None:
    result = ask(*words)
    assert result.code == 2
    assert "is no address of a machine" in result.err


def test_other_options_still_belong_to_prompts(ask: Ask) -> None:
    result = ask("-H", "ssh://far", "-m", "x", "list")
    assert result.code == 2
    assert "'list' is a command" in result.err
    assert "ASK_HOST" not in os.environ


def test_an_empty_address_is_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASK_HOST", "ssh://far")
    context = click.Context(root)
    assert take_options(context, ["-H", "", "list", "-H", "x"]) == ["list", "-H", "x"]
    assert os.environ["ASK_HOST"] == "ssh://far"  # it has been read, and is not run
    apply_options(context)
    assert os.environ["ASK_HOST"] == ""


@pytest.mark.parametrize(
    "words",
    [
        ["--remote-cwd", "/p", "-T", "read", "hi"],
        ["hi", "--send-keys"],
        ["--send-keys", "list"],
        ["-H", "", "--remote-cwd", "/p", "hi"],
    ],
)
def test_what_is_about_another_machine_needs_one(words: list[str], ask: Ask) -> None:
    result = ask(*words)
    assert result.code == 2
    assert "is about another machine, and none is named.\nName it: -H ssh://" in result.err


def test_keys_can_be_kept_for_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASK_SEND_KEYS", "1")
    context = click.Context(root)
    take_options(context, ["--no-send-keys", "list"])
    apply_options(context)
    assert os.environ["ASK_SEND_KEYS"] == "0"


def test_what_is_about_a_machine_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    need_here("ask doctor")
    monkeypatch.setenv("ASK_HOST", "ssh://me@far:22")
    with pytest.raises(Failed, match="ask doctor is about the machine") as refused:
        need_here("ask doctor")
    assert refused.value.code == 2
    assert "ssh -p 22 me@far ask doctor" in str(refused.value.hint)


def find_here() -> list[str]:
    return [
        " ".join(path)
        for path, command in walk(root, ("ask",))
        if isinstance(command, Command) and command.here
    ]


@pytest.mark.parametrize("command", find_here())
def test_each_of_them_is_refused_before_it_does_anything(
    command: str, ask: Ask, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    monkeypatch.setenv("ASK_HOST", "ssh://far")
    result = ask(*command.split()[1:])
    assert result.code == 2, result
    assert f"{command} is about the machine" in result.err
    assert not list(home.iterdir()) if home.exists() else True


def test_there_are_some() -> None:
    assert {"ask daemon stop", "ask doctor", "ask config path"} <= set(find_here())
    assert isinstance(root, click.Group)
