"""`@server:uri`: what is one, what is none, and where it ends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ask.references import URI_LIMIT, Reference, cut_loose, read_reference


def read(text: str) -> tuple[str, str, str] | None:
    """Server, URI, and what is left behind."""
    found = read_reference(text, text.index("@"))
    if found is None:
        return None
    reference, end = found
    return reference.server, reference.uri, text[end:]


@pytest.mark.parametrize(
    ("text", "uri", "rest"),
    [
        ("@s:demo://a/b.md", "demo://a/b.md", ""),
        ("see @s:demo://a/b.md. And", "demo://a/b.md", ". And"),
        ("(@s:demo://a)?", "demo://a", ")?"),
        ("@s:https://e.org/a_(b)", "https://e.org/a_(b)", ""),
        ("(@s:https://e.org/a_(b)).", "https://e.org/a_(b)", ")."),
        ("@s:https://e.org:80/?q=1&r=2#top, now", "https://e.org:80/?q=1&r=2#top", ", now"),
        ("@s:urn:isbn:0:", "urn:isbn:0", ":"),
        ('@s:"demo://a b, c." yes', "demo://a b, c.", " yes"),
        ('"@s:demo://a"', "demo://a", '"'),
        ("**@s:demo://a**", "demo://a", "**"),
        ("@s:demo://ü\nx", "demo://ü", "\nx"),
    ],
)
def test_where_an_address_ends(text: str, uri: str, rest: str) -> None:
    assert read(text) == ("s", uri, rest)


@pytest.mark.parametrize(
    "text",
    [
        *("@user:host", "@git:main", "@s: demo://a", "@s:", "@s:/x", "@s://x:1", "@a.b:c:d"),
        *("@s:demo:", "@s:demo:.", f"@{'s' * 33}:demo://a", '@s:"no scheme"', '@s:"demo:'),
    ],
)
def test_what_is_none(text: str) -> None:
    assert read(text) is None


def test_a_name_is_what_was_written() -> None:
    assert Reference("s", "demo://a b").name == "s:demo://a b"


def test_an_address_is_looked_at_so_far_and_no_further() -> None:
    found = read_reference("@s:demo://" + "x" * 9000, 0)
    assert found is not None
    assert found[1] == URI_LIMIT


@given(st.text(alphabet="@s:/.,)(a\"' ", max_size=30))
def test_what_is_found_stands_in_the_text(text: str) -> None:
    for place, letter in enumerate(text):
        found = read_reference(text, place) if letter == "@" else None
        if found is not None:
            reference, end = found
            assert text[place + 1 : end].replace('"', "") == reference.name
            assert not reference.uri.endswith(":")


@given(st.text(alphabet=":.,)(]a", max_size=20))
def test_only_an_end_is_cut_and_nothing_twice(uri: str) -> None:
    cut = cut_loose(uri)
    assert uri.startswith(cut)
    assert cut_loose(cut) == cut
