"""Known secrets never come out, however a text is cut, and nothing else is touched."""

import base64
import json
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.providers.redact import MASK, MOST_VALUES, KnownSecrets, StreamRedactor

KEY = "sk-canary-12345"


def has_digit(text: str) -> bool:
    """Whether it is no word, which would not be hidden."""
    return "1" in text


# Few characters, so that secrets overlap, begin inside each other and are cut in every way.
_SECRETS = st.lists(st.text("a1", min_size=8, max_size=14).filter(has_digit), max_size=5)
_PIECES = st.lists(st.text("a1c", max_size=12), max_size=12)


@given(_SECRETS, _PIECES)
def test_cut_in_any_way_it_is_the_same(secrets: list[str], pieces: list[str]) -> None:
    known = KnownSecrets(secrets)
    redactor = StreamRedactor(known)
    shown = "".join(redactor.feed(piece) for piece in pieces) + redactor.flush()
    assert shown == known.hide("".join(pieces))
    for secret in secrets:
        assert secret not in shown


@given(_SECRETS, st.data())
def test_whole_secrets_among_words(secrets: list[str], data: st.DataObject) -> None:
    words = st.sampled_from([*secrets, "a1", "a1c", "a"])
    text = "".join(data.draw(st.lists(words, max_size=6)))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=5)))
    known = KnownSecrets(secrets)
    redactor = StreamRedactor(known)
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    shown = "".join(redactor.feed(piece) for piece in pieces) + redactor.flush()
    assert shown == known.hide(text)
    for secret in secrets:
        assert secret not in shown


def test_every_cut_of_an_echo() -> None:
    text = f"Your key is {KEY}, again {KEY}{KEY}."
    for size in range(1, len(text)):
        redactor = StreamRedactor(KnownSecrets([KEY]))
        pieces = [text[start : start + size] for start in range(0, len(text), size)]
        shown = "".join(redactor.feed(piece) for piece in pieces) + redactor.flush()
        assert shown == "Your key is ***, again ******."


def test_only_a_possible_beginning_is_held_back() -> None:
    redactor = StreamRedactor(KnownSecrets([KEY]))
    assert redactor.feed("one token") == "one token"
    assert redactor.feed(" of skies") == " of skie"  # the s may begin it
    assert redactor.feed("k") == ""
    assert redactor.feed("y") == "sky"
    assert redactor.feed("sk-canary") == ""
    assert redactor.flush() == "sk-canary"
    assert redactor.flush() == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("abcdefgh-ijklmnop", "***"),  # the outer one, though the inner one is whole before it
        ("abcdefgh-ijklmno!", "abcd***lmno!"),
        ("abcdefgh-ijk", "abcd***"),
        ("efgh-ijklm", "***lm"),
        ("12345678", "***"),
        ("1234567890", "***"),  # the longer one of those that begin alike
        ("123456789!", "***9!"),
        ("1234567812345678", "******"),
    ],
)
def test_secrets_inside_each_other(text: str, expected: str) -> None:
    known = KnownSecrets(["abcdefgh-ijklmnop", "efgh-ijk", "12345678", "1234567890"])
    assert known.hide(text) == expected
    for cut in range(len(text) + 1):
        redactor = StreamRedactor(known)
        shown = redactor.feed(text[:cut]) + redactor.feed(text[cut:]) + redactor.flush()
        assert shown == expected


def test_secret_that_becomes_known_in_mid_stream() -> None:
    known = KnownSecrets()
    redactor = StreamRedactor(known)
    assert redactor.feed("sk-") == "sk-"
    known.add(KEY)
    assert redactor.feed(KEY) + redactor.flush() == MASK


@pytest.mark.parametrize(
    "value",
    [None, "", "short", "  sk-1  ", "password", "Not-Needed", "anything", "Whatever", "SOMETHING"],
)
def test_words_are_no_secrets(value: str | None) -> None:
    known = KnownSecrets()
    known.add(value)
    assert known.hide(f"a password is not-needed, {value}") == f"a password is not-needed, {value}"


@pytest.mark.parametrize("value", ["anyThing", "anything1", "any-thing", "qzwxecrvtbynumio"])
def test_what_a_key_may_look_like_is_hidden(value: str) -> None:
    assert KnownSecrets([value]).hide(f"it is {value}") == "it is ***"


def test_other_spellings_of_a_secret() -> None:
    value = 'k+y/"quoted"\\and=more'
    known = KnownSecrets([f" {value}\n"])
    assert known.hide(f"[{value}]") == "[***]"
    assert known.hide("?key=k%2By%2F%22quoted%22%5Cand%3Dmore&x") == "?key=***&x"
    assert known.hide(json.dumps({"key": value})) == '{"key": "***"}'


def test_secret_that_is_no_unicode() -> None:
    assert KnownSecrets(["\ud800-of-a-file"]).hide("it is \ud800-of-a-file") == "it is ***"


def test_password_of_a_proxy() -> None:
    known = KnownSecrets()
    known.add_url("http://me:p%40ssw0rd!@proxy:3128")
    pair = base64.b64encode(b"me:p@ssw0rd!").decode()
    said = f"Proxy-Authorization: Basic {pair}, http://me:p%40ssw0rd!@proxy (p@ssw0rd!)"
    assert known.hide(said) == "Proxy-Authorization: Basic ***, http://me:***@proxy (***)"


def test_key_in_a_query() -> None:
    known = KnownSecrets()
    known.add_url("https://host/v1?api-version=2026-01-01&key=q-secret%2B1")
    assert known.hide("key=q-secret%2B1 or q-secret+1") == "key=*** or ***"
    assert known.hide("2026-01-01") == "2026-01-01"


@pytest.mark.parametrize("value", ["h-secret-1", "Bearer h-secret-1", "token h-secret-1"])
def test_value_of_a_header_with_or_without_its_scheme(value: str) -> None:
    known = KnownSecrets()
    known.add_named("Authorization", value)
    known.add_named("User-Agent", "my-editor-1.0")
    assert known.hide("h-secret-1 my-editor-1.0") == "*** my-editor-1.0"


@pytest.mark.parametrize("url", [None, "", "http://proxy:1", "http://me@proxy", "http://[bad"])
def test_address_without_a_password(url: str | None) -> None:
    known = KnownSecrets()
    known.add_url(url)
    assert known.index.heads is None


def test_only_the_latest_are_kept() -> None:
    known = KnownSecrets(f"secret-number-{n:04d}" for n in range(MOST_VALUES))
    known.add("secret-number-0000")  # used again: the latest now
    known.add("another-secret")
    said = "secret-number-0000 secret-number-0001 secret-number-0002 another-secret"
    assert known.hide(said) == "*** secret-number-0001 *** ***"


def test_threads_may_add_and_hide_at_once() -> None:
    known = KnownSecrets([KEY])
    wrong: list[str] = []

    def work(number: int) -> None:
        for count in range(50):
            known.add(f"secret-{number}-{count:05d}")
            said = known.hide(f"{KEY} secret-{number}-{count:05d}")
            if said != "*** ***":
                wrong.append(said)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
