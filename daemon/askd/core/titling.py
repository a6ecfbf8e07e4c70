"""Titles: a short line that tells a conversation from the others in a list.

Made from a person's first words, or from a model's proposal; both are untrusted
text that will be shown on a terminal, so that nothing but visible characters
and single spaces is left of them. What stands in a blob is read by others.
"""

import re
import unicodedata
from collections.abc import Sequence

from askd.core.conversation import Conversation, TurnRecord
from askd.core.items import Part, Text, UserMessage

TITLE_CHARACTERS = 50
"""Fits a list's column beside id, model and time in 80 columns, wrapped at worst once."""
UNTITLED = "Untitled"
SCANNED_CHARACTERS = 2000
"""How much of a text is looked at: a prompt may be 32 MiB, a title is 50 characters."""

ZERO_WIDTH_JOINER = "\u200d"
SKIN_TONES = range(0x1F3FB, 0x1F400)
REGIONAL_INDICATORS = range(0x1F1E6, 0x1F200)
QUOTES = "\"'`“”„‘’‚«»‹›*_#"
"""What models put around a title though nobody asked."""


def find_opening(conversation: Conversation) -> TurnRecord | None:
    """The turn that a conversation is called after: the first that was not taken back, if any."""
    records = conversation.turns.values()
    return next((each for each in records if not each.withdrawn), next(iter(records), None))


def find_words(messages: Sequence[UserMessage]) -> list[Part]:
    """What was said in them; what was attached counts only if nothing else is there."""
    parts = [part for message in messages for part in message.parts]
    return [part for part in parts if part.name is None] or parts


def find_title(conversation: Conversation) -> str | None:
    """A conversation's first words as its title; None: one would have to read a blob for them."""
    opening = find_opening(conversation)
    words = [] if opening is None else find_words(opening.prompt.items)
    texts = [part.text[:SCANNED_CHARACTERS] for part in words if isinstance(part, Text)]
    return title_from("".join(texts)) if len(texts) == len(words) else None


def title_from(text: str) -> str:
    """The first words of `text`, at most 50 characters, cut between words if it can be."""
    return _shorten(flatten(text.lstrip()[:SCANNED_CHARACTERS])) or UNTITLED


def clean_title(proposal: str) -> str:
    """A model's proposal as a title; empty if there is none in it.

    Its first line with anything on it, without thinking aloud, a `Title:` in
    front, quotes and emphasis around it, or a full stop behind it.
    """
    answer = proposal.rpartition("</think>")[2].lstrip()[:SCANNED_CHARACTERS]
    for line in answer.splitlines():
        title = flatten(line).strip(QUOTES + " ")
        if title[:6].casefold() == "title:":
            title = title[6:].strip(QUOTES + " ")
        if not title.endswith("..."):
            title = title.removesuffix(".")
        title = title.strip(QUOTES + " ")
        if title:
            return _shorten(title)
    return ""


SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|(?:\x1b[\]P_^X]|[\x9d\x90\x9f\x9e\x98]).*?(?:\x07|\x1b\\|\x9c|$)"  # OSC, DCS, APC, PM, SOS
    r"|\x9b[0-?]*[ -/]*[@-~]"  # CSI in one character
    r"|\x1b[ -/]*[0-~]",
    re.DOTALL,
)
"""What a terminal would obey, whole (ECMA-48): without its escape the rest would be words."""


def flatten(text: str) -> str:
    """A text as one line: white space is one space, what is invisible or obeyed is gone."""
    return " ".join("".join(_visible(character) for character in SEQUENCE.sub("", text)).split())


def _visible(character: str) -> str:
    if character == ZERO_WIDTH_JOINER:
        return character  # holds emoji together
    category = unicodedata.category(character)
    if category[0] == "Z" or character.isspace():
        return " "
    return "" if category[0] == "C" else character


def _shorten(text: str) -> str:
    if len(text) <= TITLE_CHARACTERS:
        return text.strip(ZERO_WIDTH_JOINER)
    end = text.rfind(" ", 0, TITLE_CHARACTERS + 1)
    if end > 0:
        return text[:end].rstrip(" ,;:-–—(")
    end = TITLE_CHARACTERS
    while end > 0 and _continues(text, end):
        end -= 1
    # One grapheme longer than a title is no text that anybody wrote.
    return text[: end or TITLE_CHARACTERS].rstrip(ZERO_WIDTH_JOINER)


def _continues(text: str, index: int) -> bool:
    """Whether the character there belongs to the grapheme that began before it; a rough rule."""
    character, before = text[index], text[index - 1]
    if ZERO_WIDTH_JOINER in (character, before):
        return True
    if unicodedata.category(character)[0] == "M" or ord(character) in SKIN_TONES:
        return True
    if ord(character) not in REGIONAL_INDICATORS:
        return False
    # Flags are pairs: inside one if an odd number of their letters stands before.
    run = 0
    while run < index and ord(text[index - 1 - run]) in REGIONAL_INDICATORS:
        run += 1
    return run % 2 == 1
