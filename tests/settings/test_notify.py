"""What may be named as the command of notifications."""

import json

import pytest

from askd.config import parse_settings
from askd.errors import BadConfig
from askd.room_settings import read_notify
from askd.settings.notify import MOST_WORDS, WORD_LENGTH


def test_nothing_said_is_not_nothing_run() -> None:
    unset = parse_settings("", "c")
    assert read_notify(unset).command is None
    assert not unset.notify.detached
    assert read_notify(parse_settings("[notify]\ncommand = []\n", "c")).command == ()


@pytest.mark.parametrize("words", [["notify-send"], ["a b", "", "{title}"], ["/x/y", "-é"]])
def test_words_are_taken_as_they_are(words: list[str]) -> None:
    text = f"[notify]\ncommand = {json.dumps(words)}\ndetached = true\n"
    settings = parse_settings(text, "c")
    assert read_notify(settings).command == tuple(words)
    assert settings.notify.detached


@pytest.mark.parametrize(
    "value",
    [
        '"notify-send {title}"',
        '[""]',
        '["  ", "x"]',
        '["x", "a\\u0000b"]',
        f'["{"x" * (WORD_LENGTH + 1)}"]',
        json.dumps(["x"] * (MOST_WORDS + 1)),
        "[1]",
    ],
)
def test_what_can_be_no_command_is_refused(value: str) -> None:
    with pytest.raises(BadConfig, match=r"line 2: notify\.command"):
        parse_settings(f"[notify]\ncommand = {value}\n", "c")
