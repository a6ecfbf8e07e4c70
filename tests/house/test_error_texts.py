"""Sentences of errors are found however an error is made, with the reason that it has."""

import pytest

from ask.protocol.errors import REASONS
from tests.house.error_texts import TOOL, Sentence, find_kinds, find_sentences


def find(text: str) -> list[Sentence]:
    return [each for each in find_sentences() if each.text == text]


@pytest.mark.parametrize(
    ("text", "reason", "code"),
    [
        ("The conversation is busy: a turn is running or waiting.", "busy", 8),  # by its class
        ("There is no method ….", "unknown_method", 2),  # by a reason that is given
        ("The answer has no code block.", "no_code_block", 1),  # by data that were made before
        ("No daemon is running.", "no_daemon", 69),  # by a class that descends from another
        ("The connection to the daemon was lost.", "no_daemon", 69),  # by a default
        ("-f needs a file, and its name is empty.", "bad_input", 2),  # by a function that is told
        ("This daemon serves its own user only.", "not_permitted", 69),  # as it goes on the wire
        ("-x and --schema exclude each other.", "usage", 2),  # click's
        ("This client is closed.", "usage", 2),  # the library's
        ("`old` and `new` are the same, so nothing would change.", TOOL, 1),
    ],
)
def test_sentence_is_found_with_its_reason(text: str, reason: str, code: int) -> None:
    assert [(each.reason, each.code) for each in find(text)] == [(reason, code)]


def test_what_is_advised_is_found() -> None:
    (sentence,) = find("No daemon is running.")
    assert sentence.hint == "Start it: ask daemon start"


def test_every_reason_of_an_error_is_in_the_contract() -> None:
    strange = [each for each in find_sentences() if each.reason not in (*REASONS, TOOL, "")]
    assert strange == []


def test_classes_of_the_same_name_on_both_sides_are_told_apart() -> None:
    kinds = find_kinds()
    assert kinds["askd", "Unreadable"].reason == "bad_import"
    assert kinds["ask", "Unreadable"].reason == "bad_input"
