"""`ask completion`: the scripts for the shells, as the shells read them."""

import shutil
import subprocess

import pytest

from ask.completion.answer import VARIABLE
from tests.client.commands.conftest import Ask


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script_that_asks_ask(ask: Ask, shell: str) -> None:
    result = ask("completion", shell)
    assert (result.code, result.err) == (0, "")
    assert f"{VARIABLE}={shell}_complete command ask" in result.out
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    subprocess.run([shell, "-n"], input=result.out.encode(), check=True)


def test_another_shell_is_wrong_usage(ask: Ask) -> None:
    assert ask("completion", "tcsh").code == 2
    none = ask("completion")
    assert none.code == 2
    assert none.err.splitlines()[0] == "Name the shell: bash, zsh or fish."
