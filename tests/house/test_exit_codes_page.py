"""The page of exit codes says what the contract says."""

from ask.protocol.errors import EXIT_CODES, REASONS
from tests.house import exit_codes_page


def test_page_is_current() -> None:
    written = exit_codes_page.PATH.read_text(encoding="utf-8")
    assert written == exit_codes_page.render(), "run: python -m tests.house.exit_codes_page"


def test_page_names_every_code_and_reason() -> None:
    page = exit_codes_page.render()
    assert [c for c in EXIT_CODES if f"\n| {c} | " not in page] == []
    assert [r for r in REASONS if f"`{r}`" not in page] == []


def test_every_reason_comes_with_a_code_that_is_explained() -> None:
    assert set(REASONS.values()) <= set(EXIT_CODES)
