"""The scripts for the shells, and what Tab answers."""

import os
import subprocess
import sys

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
