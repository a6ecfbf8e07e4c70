"""Pages as text, whatever they are made of, and in time."""

import html
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.tools.html_text import read_html
from tests.fakes.growth import LINEAR, find_growth

PAGE = """<!DOCTYPE html>
<html><head><title>The &amp; Sea</title>
<style>p { color: red }</style><script>if (a < b) { alert("</p>") }</script></head>
<body>
<!-- a comment with <b>tags</b> -->
<h1>Waves</h1>
<p>They   come &mdash; and
go. <a href="/more?x=1&amp;y=2">More</a> <a href="#top">top</a> <a href='javascript:x()'>no</a></p>
<ul><li>one<li>two <b>bold</b></ul>
<pre>  keep
    this</pre>
<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>
<img src=x alt="a boat"><br>1 < 2 &#x41; &nbsp;
</body></html>"""


def test_a_page_as_text() -> None:
    assert read_html(PAGE, "https://example.com/sea") == (
        "# The & Sea\n\n# Waves\n\n"
        "They come — and go. More (https://example.com/more?x=1&y=2) top no\n\n"
        "- one\n- two bold\n\n  keep\n    this\n\n"
        "a | b\n1 | 2\n\n[image: a boat]\n1 < 2 A"
    )


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("", ""),
        ("plain", "plain"),
        ("a<b", "a"),
        ("a < b", "a < b"),
        ("<", "<"),
        ("<p", ""),
        ("a<!--b", "a"),
        ("a<!-- <p> -->b", "ab"),
        ("<script>x", ""),
        ("<SCRIPT>x</Script >y", "y"),
        ("<p title='a>b'>c</p>", "c"),
        ('<p title="a>b>c', "b>c"),
        ("<b it's>x</b> it's", "x it's"),
        ("<p a = 'b>' c=d>x", "x"),
        ("<p a='1<b>x</b>y", "xy"),
        ("<a href=''>x</a></a></a>", "x"),
        ("<a href='https://a.b/ c'>x</a>", "x"),
        ("<a href='http://[::1'>x</a>", "x"),
        ("&#99999999999999999999;&#xfffffffffff;&#0;&amp", "\ufffd\ufffd\ufffd&"),
        ("<h1>T</h1><title>T</title>", "# T"),
        ("<title>T</title>x", "# T\n\nx"),
        ("a<template>b</template>c<svg><text>d</text></svg>e", "ace"),
        ("a</p></div></pre>b", "a\n\nb"),
        ("<?php echo 1 ?>x", "x"),
    ],
)
def test_what_is_not_made_as_it_should_be(source: str, text: str) -> None:
    assert read_html(source, "https://example.com/") == text


@given(st.text(alphabet="<>/!-&;#xp a\"'=\n", max_size=200))
def test_no_page_is_too_odd(source: str) -> None:
    assert "<script" not in read_html(source)


@given(st.text(alphabet=st.characters(exclude_categories=["Cc", "Cs", "Z"])))
def test_escaped_text_comes_out_as_it_was(text: str) -> None:
    assert read_html(f"<div>{html.escape(text)}</div>") == text.strip()


HOSTILE = [
    "<", "<a ", "<a b='", '<a b="', "<!--", "<!", "</", "<p>", "</p>", "<a href=x>", "<script>",
    "<title>", "&", "&#", "&#9", "<a '\"", "<pre>", "<td>", "<li>", "a='b' ", " ", "\n", "<p/>",
    "<p a=b c", "<script></scrip", "<!-->",
]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_the_time_grows_no_faster_than_the_page(piece: str) -> None:
    def prepare(size: int) -> Callable[[], object]:
        source = piece * (size // len(piece))
        return lambda: read_html(source, "https://example.com/")

    assert find_growth(prepare, 20_000) < LINEAR
