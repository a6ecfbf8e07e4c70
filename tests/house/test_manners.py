"""Every file is short, says what it is, and knows nothing of one machine."""

import pytest

from tests.house import manners


def test_no_module_is_too_long() -> None:
    found = [
        each for name, text in manners.read_modules() for each in manners.find_long(name, text)
    ]
    assert not found, "\n".join(found)


def test_every_exception_is_still_needed() -> None:
    lengths = {name: text.count("\n") for name, text in manners.read_modules()}
    stale = [n for n in manners.LONG_FOR_A_REASON if lengths.get(n, 0) <= manners.LINES_MAX]
    assert stale == []


def test_every_module_opens_with_a_sentence() -> None:
    found = [
        each for name, text in manners.read_modules() for each in manners.find_unopened(name, text)
    ]
    assert not found, "\n".join(found)


def test_no_file_names_a_machine() -> None:
    found = [
        each
        for name, text in manners.read_files()
        for each in manners.find_machine_names(name, text)
    ]
    assert not found, "\n".join(found)


def test_planted_long_module_is_found() -> None:
    assert manners.find_long("daemon/askd/x.py", "x = 1\n" * (manners.LINES_MAX + 1))
    assert not manners.find_long("daemon/askd/x.py", "x = 1\n" * manners.LINES_MAX)


@pytest.mark.parametrize("text", ["", "x = 1\n", '"""no sentence"""\n', "# A comment.\n"])
def test_planted_module_without_a_sentence_is_found(text: str) -> None:
    assert manners.find_unopened("daemon/askd/x.py", text)


@pytest.mark.parametrize("name", manners.MACHINE_NAMES)
def test_planted_machine_name_is_found(name: str) -> None:
    assert manners.find_machine_names("docs/x.md", f"see {name}\n")
    assert not manners.find_machine_names(
        "docs/x.md", "see tests" + "/" + "work/ of this project\n"
    )
