"""A secret is gone in whatever spelling, the rest stays, and twice is once."""

import json
from urllib.parse import quote

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from askd.core.scrubbing import MARK, Scrub, mask, spell

ODD = 'pä"s\\s\nwörd/\t€😀'
secrets = st.text(st.characters(exclude_categories=["Cs"]), min_size=4, max_size=12)


def holds(text: str, secret: str) -> bool:
    """Whether a person who looks finds it, marks set aside."""
    return any(each in text.replace(MARK, "\0") for each in spell(secret))


@pytest.mark.parametrize(
    "spelled",
    [
        ODD,
        json.dumps(ODD),
        json.dumps(ODD, ensure_ascii=False),
        json.dumps(json.dumps(ODD)),
        json.dumps(json.dumps(ODD, ensure_ascii=False)),
        json.dumps({"a": json.dumps({"b": json.dumps(ODD)})}),
        json.dumps(ODD).replace("/", "\\/"),
        quote(ODD, safe=""),
        "https://x/?key=" + quote(ODD),
    ],
)
def test_every_spelling_is_replaced(spelled: str) -> None:
    scrub = Scrub([ODD])
    assert scrub.may_stand_in(json.dumps(spelled))
    assert scrub.count(spelled) == 1
    changed = scrub.replace(f"before {spelled} after")
    assert changed.startswith("before ")
    assert changed.endswith(" after")
    assert MARK in changed
    assert "rd" not in changed


@given(secrets, st.text(max_size=20), st.text(max_size=20))
def test_nothing_is_left_and_a_second_run_changes_nothing(
    secret: str, before: str, after: str
) -> None:
    assume(MARK not in secret)
    scrub = Scrub([secret])
    once = scrub.replace(before + secret + after)
    assert scrub.count(once) == 0
    assert scrub.replace(once) == once


@given(secrets, st.text(max_size=30))
def test_a_text_without_it_stays_as_it_is(secret: str, text: str) -> None:
    assume(not holds(text, secret))
    scrub = Scrub([secret])
    assert (scrub.replace(text), scrub.replace_token(text), scrub.count(text)) == (text, text, 0)


@given(secrets, st.text(max_size=10))
def test_the_quick_look_never_says_no_wrongly(secret: str, around: str) -> None:
    inner = json.dumps({around: around + secret})
    for record in (inner, json.dumps([inner]), json.dumps([inner], ensure_ascii=False)):
        assert Scrub([secret]).may_stand_in(record)


def test_what_the_mark_makes_anew_goes_too() -> None:
    scrub = Scrub(["key["])
    assert scrub.count(scrub.replace("my keykey[[ is")) == 0
    assert Scrub(["]]]]"]).replace("]" * 9).count("]]]]") == 0


def test_several_texts_and_the_longest_of_two_that_begin_alike() -> None:
    assert Scrub(["abcd", "abcdef"]).replace("abcdef, abcd, abc") == f"{MARK}, {MARK}, abc"


def test_a_token_has_no_brackets() -> None:
    assert Scrub(["hunter2"]).replace_token("call_hunter2") == "call_scrubbed"
    assert Scrub(["scrub"]).replace_token("scrub_tool") == "removed_tool"


@given(st.binary(max_size=20), secrets, st.binary(max_size=20))
def test_bytes_are_masked_in_their_length(before: bytes, secret: str, after: bytes) -> None:
    assume("*" not in secret)
    scrub = Scrub([secret])
    data = before + secret.encode() + after
    masked = scrub.mask_bytes(data)
    assert len(masked) == len(data)
    assert scrub.stands_in_bytes(data)
    assert secret.encode() not in masked.replace(MARK.encode(), b"\0")


def test_content_is_text_if_it_can_be_read_as_one() -> None:
    scrub = Scrub(["hunter22"])
    assert scrub.replace_bytes("ä hunter22".encode()) == f"ä {MARK}".encode()
    assert scrub.replace_bytes(b"\xff hunter22!") == b"\xff ********!"
    assert scrub.replace_bytes(b"\xff none") == b"\xff none"
    assert (mask(3), mask(12)) == (b"***", b"[scrubbed]**")


def test_it_says_nothing_of_what_it_looks_for() -> None:
    assert "hunter22" not in repr(Scrub(["hunter22"]))
    for nothing in ([], [""]):
        with pytest.raises(ValueError, match="nothing to replace"):
            Scrub(nothing)


def test_pieces_of_a_file_overlap_by_the_longest_spelling() -> None:
    assert Scrub(["ab", 'a"b']).longest_bytes == max(len(each) for each in spell('a"b'))
    # Half a character is looked for as a `?`, and written as an escape.
    assert Scrub(["ab\ud800"]).longest_bytes >= len("ab\\ud800")


@given(secrets)
def test_urls_are_spelled_as_the_library_does(secret: str) -> None:
    assert {quote(secret), quote(secret, safe="")} <= spell(secret)
