"""What stands within a block: emphasis, code, links, as styled text of rich.

markdown-it reads it; HTML is text, and so are references that stand elsewhere. A link is
shown with its address, since what it says of itself is a model's word; it is never made a
link of the terminal's own. Every piece is stripped again: `&#x202e;` is no control before
it has been read.
"""

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.style import Style
from rich.text import Text

from ask.terminal import strip_controls

CODE = Style(color="cyan")
ADDRESS = Style(color="blue", underline=True)
_MARKS = {
    "strong": Style(bold=True),
    "em": Style(italic=True),
    "s": Style(strike=True),
}
_PARSER = MarkdownIt("commonmark", {"html": False}).enable("strikethrough")


def read_inline(source: str, style: Style | None = None) -> Text:
    """The lines of a block's content, ends of lines kept."""
    (block,) = _PARSER.parseInline(source)
    shown = Text()
    open_marks: list[Style] = [Style.null()]
    links: list[tuple[int, str]] = []
    for token in block.children or ():
        match token.type:
            case "link_open":
                links.append((len(shown), strip_controls(str(token.attrs.get("href", "")))))
            case "link_close":
                start, address = links.pop()
                _end_link(shown, start, address)
            case "image":
                _add_image(shown, token)
            case "code_inline":
                shown.append(
                    strip_controls(token.content), style=Style.combine([*open_marks, CODE])
                )
            case "softbreak" | "hardbreak":
                shown.append("\n")
            case kind if kind.endswith("_open"):
                open_marks.append(_MARKS.get(kind.removesuffix("_open"), Style.null()))
            case kind if kind.endswith("_close"):
                open_marks.pop()
            case _:
                shown.append(strip_controls(token.content), style=Style.combine(open_marks))
    if style is not None:
        shown.stylize_before(style)
    return shown


def _end_link(shown: Text, start: int, address: str) -> None:
    words = shown.plain[start:]
    if address.removeprefix("mailto:") == words:
        shown.stylize(ADDRESS, start)
        return
    shown.append(" (")
    shown.append(address, style=ADDRESS)
    shown.append(")")


def _add_image(shown: Text, token: Token) -> None:
    """What it would show, in words, and where it is."""
    shown.append(f"[{strip_controls(token.content) or 'image'}] (")
    shown.append(strip_controls(str(token.attrs.get("src", ""))), style=ADDRESS)
    shown.append(")")
