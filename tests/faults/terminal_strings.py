"""Texts that a model might send to a terminal's harm, where they are cut, and what may be seen.

Three kinds. From the corpus: every introducer with every body and every end. Made: whole
sequences, all of ASCII, between letters that are none, so that any ASCII that is seen came out
of a sequence. Noise: characters of sequences in any order.
"""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tests.system.test_tool_text_at_a_terminal import CORPUS

PLAIN, PAINTED, THOUGHT = "plain", "painted", "thought"

Showing = tuple[str, list[str]]
"""How, and the pieces."""

LETTERS = "αβγδεζηθ日本語é\n"
"""What is seen of a made text: nothing of it is ASCII but the line's end."""
NOISE = "ab \n\t\r\x1b\x07\x00\x7f\x80\x90\x9b\x9c\x9d\x98\x9e\x9f[]()PX^_\\;0m@~é\u202e\u2066"
INTRODUCERS = {
    "csi": ("\x1b[", "\x9b"),
    "string": ("\x1b]", "\x9d", "\x1bP", "\x90", "\x1bX", "\x98", "\x1b^", "\x9e", "\x1b_", "\x9f"),
    "short": ("\x1b(", "\x1b)", "\x1b#", "\x1b%", "\x1b ", "\x1b"),
}
PARAMETERS = "0123456789;:<=>?"
FINALS = "ABCDHJKPfhilmnpqrsu@`~"
STRING_ENDS = ("\x07", "\x1b\\", "\x9c")

TEMPLATES = (
    "{}", "# {}\n", "**{}** and *{}*\n", "`{}`\n", "```python\n{}\n```\n", "> {}\n", "- {}\n",
    "| a | b |\n|---|---|\n| {} | x |\n", "[{}](http://127.0.0.1/{})\n", "    {}\n", "1. {}\n\n{}",
)  # fmt: skip
"""What a text stands in where answers are painted."""

SHORT = 40
"""A text of so many characters is cut at every place; a longer one at so many of them."""
PAINTED_CUTS, THOUGHT_CUTS = 2, 2

OWN_PAINT = re.compile(
    r"\x1b\[(?:0|[12349]|3[0-7]|9[0-7])(?:;(?:[12349]|3[0-7]|9[0-7]))*m"
    r"|\r\x1b\[\d+A\x1b\[K\n\x1b\[J\x1b\[A|\r\x1b\[K"
)
"""All that the painter and the live region write: attributes, 16 colours, and rows erased."""
OWN_THOUGHT = re.compile(r"\x1b\[2m|\x1b\[0m")
BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@dataclass(frozen=True, slots=True)
class Text:
    """One string. `made`: any ASCII of it, but for a line's end, stands within a sequence."""

    text: str
    made: bool = False


def make_texts(size: int, seed: int) -> Iterator[Text]:
    """So many, a third of each kind; the corpus comes round when there are enough."""
    dice = random.Random(seed)
    corpus = dice.sample(CORPUS, len(CORPUS))
    for number in range(size):
        match number % 3:
            case 0:
                yield Text(f"ab{corpus[number // 3 % len(corpus)]}cd")
            case 1:
                yield Text(_make(dice), made=True)
            case _:
                yield Text("".join(dice.choices(NOISE, k=dice.randint(1, 60))))


def _make(dice: random.Random) -> str:
    """Sequences with letters between them."""
    pieces = []
    for _ in range(dice.randint(1, 4)):
        pieces += ["".join(dice.choices(LETTERS, k=dice.randint(0, 5))), _make_sequence(dice)]
    pieces.append("".join(dice.choices(LETTERS, k=dice.randint(0, 5))))
    return "".join(pieces)


def _make_sequence(dice: random.Random) -> str:
    kind = dice.choice([*INTRODUCERS])
    start = dice.choice(INTRODUCERS[kind])
    inside = "".join(dice.choices(PARAMETERS, k=dice.randint(0, 6)))
    match kind:
        case "csi":
            return start + inside + dice.choice(("", "", " ", "$")) + dice.choice(FINALS)
        case "string":
            return start + inside + "rm -rf ~" + dice.choice(STRING_ENDS)
        case _:
            return start + dice.choice("78c=>B0" if start == "\x1b" else "80AB")


def cut(text: str, dice: random.Random) -> list[list[str]]:
    """The text whole, letter by letter, and in two at every place, or at many of them."""
    places: list[int] = list(range(1, len(text)))
    if len(places) > SHORT:
        places = sorted(dice.sample(places, SHORT))
    return [[text], [*text], *([text[:at], text[at:]] for at in places)]


def plan(text: Text, dice: random.Random) -> list[Showing]:
    """Every showing of one text; the first is the plain one of the whole."""
    plain: list[Showing] = [(PLAIN, pieces) for pieces in cut(text.text, dice)]
    template = dice.choice(TEMPLATES)
    painted = cut(template.replace("{}", text.text), dice)
    thought = cut(text.text, dice)
    plain += [(PAINTED, each) for each in dice.sample(painted, min(PAINTED_CUTS, len(painted)))]
    plain += [(THOUGHT, each) for each in dice.sample(thought, min(THOUGHT_CUTS, len(thought)))]
    return plain


def judge(text: Text, showing: Showing, shown: str, whole: str) -> str | None:
    """What is wrong with what reached the terminal; `whole`: what it got of the uncut text."""
    how, pieces = showing
    bare = shown
    if how == PAINTED:
        bare = OWN_PAINT.sub("", shown.replace("\r\n", "\n"))
    elif how == THOUGHT:
        bare = OWN_THOUGHT.sub("", shown)
    bare = bare.replace("\r\n", "\n")
    obeyed = [
        char
        for char in bare
        if (char not in "\n\t" and (char < " " or "\x7f" <= char <= "\x9f")) or char in BIDI
    ]
    if obeyed:
        return f"{how}, {pieces!r}: {obeyed!r} in {shown!r}"
    if how == PLAIN and shown != whole:
        return f"{how}, {pieces!r}: cut it shows {shown!r}, whole {whole!r}"
    if text.made and how != PAINTED:
        seen = [char for char in bare if char.isascii() and char != "\n"]
        if seen:
            return f"{how}, {pieces!r}: {''.join(seen)!r} of a sequence in {shown!r}"
    return None
