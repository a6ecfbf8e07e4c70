"""Every defence that the page of trust claims has a test that is there; what has none is found."""

from pathlib import Path

import pytest

from tests.house import security_page
from tests.house.pages import ROOT

PARTIES = (
    "Your own programs", "Other users of the machine", "Root, and the machine",
    "The disk, backups and rollouts", "The provider", "What a model says", "Tools of the house",
    "Servers of tools", "Files that are read", "Another machine, over ssh",
)  # fmt: skip

HERE = "tests/house/test_security_page.py"
THIS = "test_every_claim_has_a_test_that_is_there"
GOOD = f"""\
# Trust

## Somebody

### Defended

- They are kept
  out. Test: `{HERE}`,
  `{THIS}`.

### Not defended

- The rest. And more.
"""


def test_every_claim_has_a_test_that_is_there() -> None:
    text = security_page.PATH.read_text(encoding="utf-8")
    found = security_page.find_faults(text, ROOT)
    assert found == [], "\n".join(found)


def test_nobody_is_left_out() -> None:
    text = security_page.PATH.read_text(encoding="utf-8")
    parties = security_page.read_parties(text)
    assert tuple(each.name for each in parties) == PARTIES
    assert sum(len(each.parts[security_page.DEFENDED]) for each in parties) >= 50


def test_a_claim_is_read_over_its_lines() -> None:
    (party,) = security_page.read_parties(GOOD)
    assert party.parts[security_page.DEFENDED] == [f"They are kept out. Test: `{HERE}`, `{THIS}`."]
    assert party.parts[security_page.OPEN] == ["The rest. And more."]
    assert security_page.find_faults(GOOD, ROOT) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (f" Test: `{HERE}`,\n  `{THIS}`.", ""),
        (f" `{HERE}`,\n  `{THIS}`.", " by hand."),
        (HERE, "tests/house/test_nowhere.py"),
        (HERE, "docs/explanation/security.md"),
        (THIS, "test_that_nobody_wrote"),
        (f"`{HERE}`,\n", "\n"),
        (f"`{HERE}`,\n  `{THIS}`", f"`{HERE}`, `tests/conftest.py`,\n  `{THIS}`"),
        ("kept\n  out.", "kept out. They are kept in, too."),
        ("### Not defended\n\n- The rest. And more.\n", ""),
        ("- The rest. And more.\n", ""),
        ("- They are kept", "They are kept in, too.\n\n- They are kept"),
        ("### Defended", "### Perhaps"),
    ],
)
def test_planted_claim_without_a_test_is_found(old: str, new: str) -> None:
    assert GOOD.count(old) == 1
    assert security_page.find_faults(GOOD.replace(old, new), ROOT)


def test_what_is_taken_for_a_test(tmp_path: Path) -> None:
    file = tmp_path / "test_x.py"
    file.write_text("def test_a(): ...\n\nasync def test_b(): ...\n")
    assert security_page.read_functions(file) == {"test_a", "test_b"}
    assert security_page.read_functions(tmp_path / "test_y.py") == frozenset()
