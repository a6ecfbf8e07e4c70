"""Titles are one short visible line, whatever a person pasted or a model proposed."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.core.conversation import Conversation, fold
from askd.core.events import Body, Event, ItemAdded, PromptAccepted, PromptWithdrawn, Titled
from askd.core.items import AssistantMessage, Blob, Part, Text, UserMessage
from askd.core.titling import (
    SCANNED_CHARACTERS,
    TITLE_CHARACTERS,
    UNTITLED,
    clean_title,
    find_opening,
    find_title,
    find_words,
    title_from,
)
from tests.core.turn_world import accept, record
from tests.core.values import logs

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
FLAG = "\U0001f1e8\U0001f1ed"
LOG, PAGE = Text("ERROR: the disk is full", "stdin"), Blob("d", 300_000, "text/plain", "page.txt")
TYPED = Blob("e", 300_000, "text/plain")
WAVE = "\U0001f44b\U0001f3fd"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Why is the sky blue?", "Why is the sky blue?"),
        ("  two\n\tlines \r\n", "two lines"),
        ("", UNTITLED),
        (" \n\x00\x1b ", UNTITLED),
        ("\x1b[31mred\x07", "red"),
        ("a\u202eb\u200bc", "abc"),  # neither a reversed title nor an invisible character
        ("x" * 60, "x" * 50),
        ("x" * 50, "x" * 50),
        ("y" * 45 + " and more words", "y" * 45 + " and"),
        ("z" * 46 + ", then more words", "z" * 46),
        ("word " * 20, "word word word word word word word word word word"),
        ("字" * 60, "字" * 50),
        ("\n" * 10_000 + "late", "late"),
    ],
)
def test_first_words(text: str, title: str) -> None:
    assert title_from(text) == title


@pytest.mark.parametrize("grapheme", ["e\u0301", FAMILY, FLAG, WAVE, "\u2764\ufe0f"])
def test_a_grapheme_is_never_cut(grapheme: str) -> None:
    for before in range(TITLE_CHARACTERS + 1):
        title = title_from("x" * before + grapheme * 60)
        rest = title[before:]
        assert rest == grapheme * (len(rest) // len(grapheme))
        assert TITLE_CHARACTERS - len(grapheme) < len(title) <= TITLE_CHARACTERS


def test_a_grapheme_without_end_is_cut_all_the_same() -> None:
    assert len(title_from("e" + "\u0301" * 100)) == TITLE_CHARACTERS


@given(st.text())
def test_any_text_makes_a_title(text: str) -> None:
    for title in (title_from(text), clean_title(text) or UNTITLED):
        assert 0 < len(title) <= TITLE_CHARACTERS
        assert title == title.strip()
        assert "  " not in title
        assert not any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in title)
        title.encode()


@pytest.mark.parametrize(
    ("proposal", "title"),
    [
        ("Blue skies", "Blue skies"),
        ('"Blue skies."', "Blue skies"),
        ("\n\nTitle: **Blue skies**\nBecause of scattering.", "Blue skies"),
        ("# Blue skies", "Blue skies"),
        ("«Blauer Himmel»", "Blauer Himmel"),
        ("TITLE:", ""),
        ("TITLE:\nBlue skies", "Blue skies"),
        ("<think>A title about\nskies?</think>\nBlue skies", "Blue skies"),
        ("And so on...", "And so on..."),
        ("", ""),
        ('""', ""),
        ("\x1b]0;evil\x07", ""),
        ("word " * 20, "word word word word word word word word word word"),
    ],
)
def test_proposals_are_cleaned(proposal: str, title: str) -> None:
    assert clean_title(proposal) == title


# ---- the words of a conversation -----------------------------------------------------


def begin(*bodies: Body) -> Conversation:
    return fold("c", record(bodies))


def say(turn_id: str, *messages: tuple[Part, ...]) -> PromptAccepted:
    items = tuple(UserMessage(f"{turn_id}.{n}", parts) for n, parts in enumerate(messages))
    return PromptAccepted(turn_id, "k", items)


@pytest.mark.parametrize(
    ("withdrawn", "opening"), [("", "t"), ("t", "u"), ("tu", "v"), ("tuv", "t"), ("v", "t")]
)
def test_the_first_turn_that_was_not_taken_back_opens_it(withdrawn: str, opening: str) -> None:
    prompts = [accept(turn_id) for turn_id in "tuv"]
    found = find_opening(begin(*prompts, *(PromptWithdrawn(turn_id) for turn_id in withdrawn)))
    assert found is not None
    assert found.prompt.turn_id == opening


def test_where_nobody_spoke_there_is_no_opening() -> None:
    nothing = begin(Titled("By hand"), ItemAdded(None, AssistantMessage("m", (Text("hi"),))))
    assert find_opening(nothing) is None


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([(Text("a"), LOG), (Text("b"),)], [Text("a"), Text("b")]),
        ([(LOG, PAGE)], [LOG, PAGE]),
        ([(LOG,), (TYPED,)], [TYPED]),
        ([], []),
    ],
)
def test_attachments_are_no_words_unless_there_is_nothing_else(
    messages: list[tuple[Part, ...]], words: list[Part]
) -> None:
    assert find_words(say("t", *messages).items) == words


@pytest.mark.parametrize(
    ("parts", "title"),
    [
        ((Text("what "), LOG, PAGE, Text("failed?")), "what failed?"),
        ((LOG,), "ERROR: the disk is full"),
        ((Text(""),), UNTITLED),
        ((Text(" " * SCANNED_CHARACTERS + "far away"), Text("near")), "near"),
        ((TYPED,), None),
        ((Text("see: "), TYPED), None),
        ((LOG, PAGE), None),
    ],
)
def test_a_title_is_found_unless_its_words_must_be_read(
    parts: tuple[Part, ...], title: str | None
) -> None:
    assert find_title(begin(say("t", parts), accept("u", text="later"))) == title


@given(logs())
def test_any_log_has_a_title_or_words_that_must_be_read(log: list[Event]) -> None:
    conversation = fold("c", log)
    opening = find_opening(conversation)
    assert (opening is None) == (not conversation.turns)
    words = [] if opening is None else find_words(opening.prompt.items)
    must_read = any(isinstance(part, Blob) for part in words)
    assert (find_title(conversation) is None) == must_read
