"""Bodies: which are text, and which letters they hold."""

import pytest

from askd.tools.base import CannotRun
from askd.tools.readable import find_kind, read_body

URL = "https://example.com/"


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        ("text/plain", b"a\r\nb\rc", "a\nb\nc"),
        ("text/plain; charset=utf-8", "ä".encode(), "ä"),
        ("text/plain; charset=iso-8859-1", b"\xe4", "ä"),
        ("text/plain; CHARSET='windows-1252'", b"\x80", "€"),
        ("text/plain; charset=shift_jis", "海".encode("shift_jis"), "海"),
        ("text/plain", b"\xef\xbb\xbfx", "x"),
        ("text/plain; charset=latin1", b"\xef\xbb\xbf\xc3\xa4", "ä"),
        ("text/plain", "x".encode("utf-16"), "x"),
        ("text/plain; charset=utf-16le", "xy".encode("utf-16-le"), "xy"),
        ("text/plain", b"\xff", "\ufffd"),
        # no codecs but those of pages
        ("text/plain; charset=zlib_codec", b"x", "x"),
        ("text/plain; charset=idna", b"xn--a", "xn--a"),
        ("text/plain; charset=unicode_escape", b"\\x41", "\\x41"),
        ("text/plain; charset=iso-8859-99", b"x", "x"),
        ("text/plain; charset=../../x", b"x", "x"),
        ("application/json", b'{"a": 1}', '{"a": 1}'),
        ("application/ld+json; charset=utf-8", b"[]", "[]"),
        ("application/xml", b"<a>1</a>", "<a>1</a>"),
        ("text/markdown", b"# a", "# a"),
        ("application/yaml", b"a: 1", "a: 1"),
        ("text/html", b"<p>a</p><p>b</p>", "a\n\nb"),
        ("TEXT/HTML ; charset=utf-8", b"<b>a</b>", "a"),
        ("text/html", b'<meta charset="iso-8859-1"><p>\xe4</p>', "ä"),
        ("application/xhtml+xml", b"<p>a</p>", "a"),
        ("", b"  <!DOCTYPE html><p>a</p>", "a"),
        ("", b"just text", "just text"),
        # nothing that moves a terminal
        (
            "text/plain",
            b"\x1b[31mred\x1b]52;c;eA==\x07\x7f\xc2\x9b\tend",
            "[31mred]52;c;eA==\tend",
        ),
        ("text/html", b"<p>&#27;[2J</p>", "[2J"),
    ],
)
def test_text_is_read(kind: str, body: bytes, text: str) -> None:
    assert read_body(body, kind, url=URL) == text


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/pdf", b"%PDF"),
        ("image/png", b"\x89PNG"),
        ("application/octet-stream", b"text"),
        ("application/zip", b"PK"),
        ("video/mp4", b""),
        ("text", b"x"),
        ("text/", b"x"),
        ("text/plain", b"a\x00b"),
        ("", b"\x7fELF\x00"),
        ("multipart/form-data", b"x"),
    ],
)
def test_what_is_no_text_is_refused(kind: str, body: bytes) -> None:
    with pytest.raises(CannotRun):
        read_body(body, kind, url=URL)


def test_a_kind_that_a_server_made_up_is_shown_safely_and_short() -> None:
    with pytest.raises(CannotRun) as refused:
        find_kind(b"", "application/\x1b[31m" + "x" * 1000)
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 150
