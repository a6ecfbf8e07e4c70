"""The person's editor: which one it is, and how its end is told."""

import os
import signal
from pathlib import Path

import pytest

from ask.editor import edit_file, find_editor
from ask.exits import Failed


def make_environ(command: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "EDITOR": command}


def test_what_is_set_goes_before_what_is_usual(monkeypatch: pytest.MonkeyPatch) -> None:
    both = {"VISUAL": "code --wait", "EDITOR": "ed"}
    assert find_editor(both, has_terminal=False) == "code --wait"
    assert find_editor({"VISUAL": "", "EDITOR": "ed"}, has_terminal=False) == "ed"
    monkeypatch.setattr("shutil.which", lambda name: name if name == "vi" else None)
    assert find_editor({}, has_terminal=True) == "vi"
    with pytest.raises(Failed, match="There is no editor") as caught:
        find_editor({}, has_terminal=False)
    assert caught.value.code == 2


def test_the_command_has_options_and_the_path_may_have_blanks(tmp_path: Path) -> None:
    path = tmp_path / "a b's.md"
    path.write_text("one\n")
    edit_file(path, make_environ("sed -i s/one/two/"))
    assert path.read_text() == "two\n"


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("false", 1, "'false' ended with code 1"),
        ("no-such-editor", 2, "'no-such-editor' is not there"),
        ("kill -9 $$ #", 1, "ended with code -9"),
    ],
)
def test_an_editor_that_fails(tmp_path: Path, command: str, code: int, said: str) -> None:
    with pytest.raises(Failed, match=said) as caught:
        edit_file(tmp_path / "x", make_environ(command))
    assert caught.value.code == code


def test_ctrl_c_is_the_editors(tmp_path: Path) -> None:
    """The parent lives on, and the child may be ended by it as any program."""
    before = signal.getsignal(signal.SIGINT)
    edit_file(tmp_path / "x", make_environ("kill -INT $PPID && echo kept >"))
    assert (tmp_path / "x").read_text() == "kept\n"
    with pytest.raises(Failed, match="code -2"):
        edit_file(tmp_path / "x", make_environ("kill -INT $$ #"))
    assert signal.getsignal(signal.SIGINT) is before
