"""Where a conversation can be shown in windows."""

import io
import sys

import pytest

from ask.chat import means
from ask.chat.means import can_draw


class AtTerminal(io.StringIO):
    """What a person types, or reads."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("term", "at_terminal", "expected"),
    [
        ("xterm", True, True), ("dumb", True, False), ("", True, False), (None, True, False),
        ("xterm", False, False),
    ],
)  # fmt: skip
def test_where_more_than_lines_can_be_shown(
    monkeypatch: pytest.MonkeyPatch, term: str | None, at_terminal: bool, expected: bool
) -> None:
    for stream in ("stdin", "stdout"):
        monkeypatch.setattr(sys, stream, AtTerminal() if at_terminal else io.StringIO())
    assert can_draw({} if term is None else {"TERM": term}) is expected


def test_the_extra_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert means.is_installed()
    monkeypatch.setattr(means, "NEEDED", ("no_such_module",))
    assert not means.is_installed()
