"""What `ask doctor` says of painted answers."""

import pytest

from ask.commands.rendering import INSTALL_HINT, check_rendering
from ask.markdown import wanted


def test_painted_or_why_not() -> None:
    painted = check_rendering({"TERM": "xterm"})
    assert (painted.state, painted.text) == ("ok", "answers are painted on a terminal")
    plain = check_rendering({"TERM": "xterm", "NO_COLOR": "1"})
    assert plain.text == "answers are shown plainly, for NO_COLOR is set"
    assert plain.state == "ok"


def test_a_missing_extra_is_said_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wanted, "NEEDED", ("no_such_module_anywhere",))
    found = check_rendering({"TERM": "xterm"})
    assert (found.state, found.hint) == ("ok", INSTALL_HINT)
    assert "`chat` is not installed" in found.text
