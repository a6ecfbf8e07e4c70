"""What stands within a block: read, styled, and never obeyed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.style import Style

from ask.markdown.inline import ADDRESS, CODE, read_inline


def styles(source: str) -> list[tuple[str, Style]]:
    shown = read_inline(source)
    return [
        (shown.plain[each.start : each.end], Style.parse(str(each.style))) for each in shown.spans
    ]


@pytest.mark.parametrize(
    ("source", "plain"),
    [
        ("a **b** _c_ ~~d~~ `e*`", "a b c d e*"),
        ("a\nb", "a\nb"),
        ("[words](http://x.example/a?b=c)", "words (http://x.example/a?b=c)"),
        ("<http://x.example>", "http://x.example"),
        ("<me@x.example>", "me@x.example"),
        ("[http://good.example](http://bad.example)", "http://good.example (http://bad.example)"),
        ("![a cat](cat.png)", "[a cat] (cat.png)"),
        ("<b>x</b> <!-- y -->", "<b>x</b> <!-- y -->"),
        ("[a][b]", "[a][b]"),
        ("[a]: http://x.example", "[a]: http://x.example"),
        ("[js](javascript:alert)", "[js](javascript:alert)"),
        ("snake_case_name 2 * 3 * 4", "snake_case_name 2 * 3 * 4"),
        ("**open", "**open"),
        (r"\*a\* &lt;", "*a* <"),
        ("[red]x[/red] :smile:", "[red]x[/red] :smile:"),
    ],
)
def test_what_is_shown(source: str, plain: str) -> None:
    assert read_inline(source).plain == plain


def test_how_it_is_shown() -> None:
    assert styles("**b *i*** `c`") == [
        ("b ", Style(bold=True)),
        ("i", Style(bold=True, italic=True)),
        ("c", CODE),
    ]
    assert ("http://x.example", ADDRESS) in styles("<http://x.example>")
    assert ("a", Style(bold=True)) in styles("**a**")


@given(st.text(alphabet="&#x1b;9b202e[];\x1b\x9b\u202e*_`<>()!~\\ab\t", max_size=40))
def test_nothing_of_it_is_obeyed(source: str) -> None:
    plain = read_inline(source).plain
    assert not set(plain) & set("\x1b\x9b\u202e\r\x07")


def test_no_link_of_the_terminals_own() -> None:
    assert not any(style.link for _, style in styles("[a](http://x.example)"))
