"""The scripts for the shells, and what Tab answers."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click import Context

from ask.commands.api import complete_method
from ask.commands.calls import complete_conversation
from ask.commands.completion import completion_command
from tests.client.commands.conftest import Ask
from tests.client.commands.fake_daemon import FakeDaemon

PARAMETER = completion_command.params[0]
CONTEXT = Context(completion_command)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script_that_asks_ask(ask: Ask, shell: str) -> None:
    result = ask("completion", shell)
    assert result.code == 0
    assert f"_ASK_COMPLETE={shell}_complete" in result.out
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=result.out.encode(), check=True)


def test_another_shell_is_wrong_usage(ask: Ask) -> None:
    assert ask("completion", "tcsh").code == 2
    none = ask("completion")
    assert none.code == 2
    assert none.err.splitlines()[0] == "Name the shell: bash, zsh or fish."


TRICKY = 'two words, $(touch owned) `x` "it\'s" * \\ z,'


@pytest.mark.parametrize("typed", ["two", "'two", '"two', "two\\ w"])
def test_bash_runs_a_completed_name_as_one_word(
    daemon: FakeDaemon, ask: Ask, tmp_path: Path, typed: str
) -> None:
    daemon.create(TRICKY)
    tmp_path.joinpath("two words").touch()  # nothing that a pattern could become
    shim = tmp_path / "ask"
    shim.write_text(f'#!/bin/sh\nexec {sys.executable} -m ask "$@"\n')
    shim.chmod(0o755)
    quote = typed[0] if typed[0] in "'\"" else ""
    script = f"""
{ask("completion", "bash").out}
COMP_WORDS=(ask -s {shlex.quote(typed)}) COMP_CWORD=2
_ask_completion "$PWD/ask"
QUOTE={shlex.quote(quote)}
[ ${{#COMPREPLY[@]}} = 1 ] && eval "printf %s $QUOTE${{COMPREPLY[0]}}$QUOTE"
"""
    done = subprocess.run(
        ["bash", "--norc", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == (TRICKY, "")
    assert not tmp_path.joinpath("owned").exists()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_files_complete_by_the_shell_itself(home: Path, shell: str) -> None:
    for words in ("-f REA", "-o out"):
        done = subprocess.run(
            [sys.executable, "-m", "ask"],
            env={
                **os.environ,
                "_ASK_COMPLETE": f"{shell}_complete",
                "COMP_WORDS": f"ask {words}",
                "COMP_CWORD": words.split()[1] if shell == "fish" else "2",
            },
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.replace("\n", ",").startswith(f"file,{words.split()[1]},")


@pytest.mark.parametrize("name", ["wo\x1b]0;x\x07", "wo\u202ex", "wo\nx", "wo\u2066"])
def test_a_name_that_no_terminal_may_see_completes_by_its_id(daemon: FakeDaemon, name: str) -> None:
    conversation_id = daemon.create(name)
    assert complete_conversation(CONTEXT, PARAMETER, "wo") == []
    assert complete_conversation(CONTEXT, PARAMETER, "") == [conversation_id]


def test_a_name_of_letters_and_joined_emoji_completes(daemon: FakeDaemon) -> None:
    daemon.create("k\u00fcche \U0001f469\u200d\U0001f680")
    assert complete_conversation(CONTEXT, PARAMETER, "k") == [
        "k\u00fcche \U0001f469\u200d\U0001f680"
    ]


def test_names_and_ids_of_a_running_daemon_complete(daemon: FakeDaemon) -> None:
    named = daemon.create("work")
    bare = daemon.create()
    assert complete_conversation(CONTEXT, PARAMETER, "wo") == ["work"]
    assert complete_conversation(CONTEXT, PARAMETER, bare[:4]) == [bare]
    assert complete_conversation(CONTEXT, PARAMETER, named[:8]) == [named]
    assert set(complete_conversation(CONTEXT, PARAMETER, "")) == {"work", bare}


def test_nothing_completes_and_nothing_starts_without_a_daemon(home: os.PathLike[str]) -> None:
    assert complete_conversation(CONTEXT, PARAMETER, "wo") == []
    assert not os.path.exists(home)


def test_methods_complete() -> None:
    assert complete_method(CONTEXT, PARAMETER, "blob/") == ["blob/put", "blob/read"]


@pytest.mark.parametrize("words", ["resume wo", "-s wo", "history show wo", "chat -s wo"])
def test_tab_answers_through_the_real_entry(daemon: FakeDaemon, words: str) -> None:
    daemon.create("work")
    done = subprocess.run(
        [sys.executable, "-m", "ask"],
        env={
            **os.environ,
            "_ASK_COMPLETE": "bash_complete",
            "COMP_WORDS": f"ask {words}",
            "COMP_CWORD": str(len(words.split())),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "plain,work\n"
