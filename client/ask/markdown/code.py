"""Lines of code in the terminal's own colours.

Only colours of the sixteen that every theme of a terminal sets so that they can be read on
its background; no background of our own. Nothing is guessed: a language that the fence
does not name, or names wrongly, is shown without colours.
"""

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Generic, Keyword, Name, Number, Operator, String, _TokenType
from pygments.util import ClassNotFound
from rich.style import Style
from rich.text import Text

CONTEXT_LINES = 60
"""Lines before that tell what a line is: within a long text of a program, say."""
STYLES: dict[_TokenType, Style] = {
    Comment: Style(color="bright_black", italic=True),
    Keyword: Style(color="magenta"),
    Keyword.Type: Style(color="cyan"),
    Operator.Word: Style(color="magenta"),
    Name.Builtin: Style(color="cyan"),
    Name.Function: Style(color="blue"),
    Name.Class: Style(color="blue", bold=True),
    Name.Decorator: Style(color="blue"),
    Name.Tag: Style(color="blue"),
    Name.Attribute: Style(color="cyan"),
    String: Style(color="green"),
    Number: Style(color="yellow"),
    Generic.Heading: Style(bold=True),
    Generic.Deleted: Style(color="red"),
    Generic.Inserted: Style(color="green"),
    Generic.Error: Style(color="red"),
}


def find_lexer(info: str) -> Lexer | None:
    """Who reads the language that a fence names; None: it names none that is known."""
    for mark in "{},":
        info = info.replace(mark, " ")
    words = info.split()
    if not words:
        return None
    try:
        return get_lexer_by_name(words[0].lstrip("."), stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def color_code(lexer: Lexer, before: str, code: str) -> Text:
    """`code` with its colours, read as what follows `before`."""
    shown = Text()
    place, start = 0, len(before)
    for kind, piece in lexer.get_tokens(before + code):
        end = place + len(piece)
        if end > start:
            shown.append(piece[max(start - place, 0) :], style=_find_style(kind))
        place = end
    # A lexer that has changed the text shows something else than what was said.
    return shown if shown.plain == code else Text(code)


def _find_style(kind: _TokenType) -> Style:
    known: _TokenType | None = kind
    while known is not None:
        if known in STYLES:
            return STYLES[known]
        known = known.parent
    return Style.null()
