"""The question before something goes for good."""

import sys

import pytest

from ask.commands.consent import ask_consent
from tests.client.commands.conftest import Typed


@pytest.mark.parametrize(
    ("typed", "is_meant"),
    [
        ("y\n", True),
        (" YES \n", True),
        ("yes", True),
        ("n\n", False),
        ("\n", False),
        ("yet\n", False),
        ("", False),
    ],
)
def test_only_a_yes_is_one(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    typed: str,
    is_meant: bool,
) -> None:
    monkeypatch.setattr(sys, "stdin", Typed(typed))
    assert ask_consent("Replace it?") is is_meant
    out, err = capsys.readouterr()
    # A line that a person ends is ended on the terminal too; an input that ends is not.
    assert (out, err) == ("", "Replace it? [y/N] " + ("" if typed.endswith("\n") else "\n"))
