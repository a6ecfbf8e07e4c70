"""The page of errors has every sentence, and says of each reason what it means."""

from ask.protocol.errors import REASONS
from tests.house import errors_page
from tests.house.error_texts import TOOL, find_sentences

RUN = "run: python -m tests.house.errors_page; then say in the page what a new reason means"


def read_page() -> str:
    return errors_page.PATH.read_text(encoding="utf-8")


def test_page_is_current() -> None:
    page = read_page()
    assert page == errors_page.render(errors_page.find_meanings(page)), RUN


def test_every_reason_has_a_meaning() -> None:
    meanings = errors_page.find_meanings(read_page())
    named = {reason for reasons in errors_page.find_groups().values() for reason in reasons}
    assert set(REASONS) <= named
    assert sorted(each for each in named | {TOOL} if not meanings.get(each)) == [], RUN


def test_every_sentence_is_a_line_of_its_own() -> None:
    lines = set(read_page().splitlines())
    assert [each.text for each in find_sentences() if each.text not in lines] == [], RUN


def test_what_a_page_says_is_kept() -> None:
    meanings = dict.fromkeys(errors_page.find_meanings(read_page()), "One line.\nAnother.")
    assert errors_page.find_meanings(errors_page.render(meanings)) == meanings


def test_a_reason_that_nothing_is_said_of_is_missed() -> None:
    assert errors_page.find_meanings(errors_page.render({}))["busy"] == ""
