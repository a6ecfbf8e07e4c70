"""Words are the same on both sides of a search, whatever is typed and whatever was said."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from askd.core.events import ItemAdded, PromptAccepted, Renamed, ViewChanged
from askd.core.items import (
    AssistantMessage,
    Blob,
    Notice,
    Reasoning,
    Summary,
    Text,
    ToolCall,
    ToolOutput,
    UserMessage,
)
from askd.core.search import (
    ELLIPSIS,
    SNIPPET_LENGTH,
    WORD_LENGTH,
    Snippet,
    Term,
    cut_snippet,
    find_item_id,
    find_said,
    find_words,
    read_terms,
)

BLOB = Blob("00", 9, "text/plain")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The quick, brown FOX.", ["the", "quick", "brown", "fox"]),
        ("snake_case and kebab-case v1.2", ["snake", "case", "and", "kebab", "case", "v1", "2"]),
        ("naïve cafe\u0301 STRASSE Straße", ["naive", "cafe", "strasse", "strasse"]),
        ("ﬁne Ａ１ ½", ["fine", "a1", "1", "2"]),
        ("你好 world", ["你", "好", "world"]),
        ("שָׁלוֹם", ["שלום"]),
        ("हिन्दी", ["ह\u093fनद\u0940"]),  # signs that are marks go, those that are vowels stay
        ("İstanbul", ["istanbul"]),
        ("a\0b \ud800 \x1b[31mred", ["a", "b", "red"]),
        ("... --- !!", []),
        ("x" * 1000, ["x" * WORD_LENGTH]),
        ("é" * 1000, ["e" * WORD_LENGTH]),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert list(find_words(text)) == words


@given(st.text())
def test_words_are_words_to_the_index_too(text: str) -> None:
    """Its tokenizer splits at every ASCII character that is no letter or digit."""
    for word in find_words(text):
        assert word
        assert len(word) <= WORD_LENGTH
        assert all(char.isalnum() for char in word if char.isascii()), word
        word.encode()


@example("\u00d9\U0002ebe1")  # assigned after the Unicode of Python 3.11
@given(st.text())
def test_a_text_finds_itself_in_any_case(text: str) -> None:
    words = list(find_words(text))
    again = list(find_words(" ".join(words)))
    assert again == words, "a word is folded once"
    if text.isascii():
        assert list(find_words(text.upper())) == words


@pytest.mark.parametrize(
    ("asked", "terms"),
    [
        ("red fox", [("red",), ("fox",)]),
        ('"red fox" den', [("red", "fox"), ("den",)]),
        ("foo_bar.baz", [("foo", "bar", "baz")]),
        ('an "open quote', [("an",), ("open",), ("quote",)]),
        ("red red RED", [("red",)]),
        ('NOT (a OR "b c") NEAR/2', [("not",), ("a",), ("or",), ("b", "c"), ("near", "2")]),
        ("col: -x ^y", [("col",), ("x",), ("y",)]),
        ('* " "" ()', []),
    ],
)
def test_terms(asked: str, terms: list[tuple[str, ...]]) -> None:
    assert [term.words for term in read_terms(asked)] == terms


def test_a_star_at_the_end_is_a_beginning() -> None:
    assert read_terms('hel* "good mor"* a*b') == (
        Term(("hel",), is_start=True),
        Term(("good", "mor"), is_start=True),
        Term(("a", "b")),
    )


def test_a_snippet_is_around_the_first_hit() -> None:
    text = "filler " * 100 + "the red\n\n  fox sleeps " + "more " * 100
    snippet = cut_snippet(text, read_terms('"red fox"'))
    assert snippet.text.startswith(ELLIPSIS)
    assert snippet.text.endswith(ELLIPSIS)
    ((start, end),) = snippet.marks
    assert snippet.text[start:end] == "red fox"
    assert "the red fox sleeps more" in snippet.text
    assert snippet.text.startswith("...filler"), "it begins with a whole word"


def test_every_hit_in_sight_is_marked_and_the_longest_wins() -> None:
    snippet = cut_snippet("Red fox, red, foxes", read_terms('red "red fox" fox*'))
    assert [snippet.text[a:b] for a, b in snippet.marks] == ["Red fox", "red", "foxes"]


def test_a_text_without_a_hit_shows_its_beginning() -> None:
    assert cut_snippet("  Nothing\nhere ", read_terms("else")) == Snippet("Nothing here ")
    assert cut_snippet("", read_terms("else")) == Snippet("")
    assert cut_snippet("words", ()) == Snippet("words")


@given(st.text(alphabet='ab é你\n\t._*"', max_size=400), st.text(alphabet='ab é你"* ', max_size=12))
def test_a_snippet_is_one_short_line_whose_marks_are_in_it(text: str, asked: str) -> None:
    terms = read_terms(asked)
    snippet = cut_snippet(text, terms)
    assert len(snippet.text) <= SNIPPET_LENGTH + 2 * len(ELLIPSIS)
    assert not set("\n\t") & set(snippet.text)
    before = 0
    for start, end in snippet.marks:
        assert before <= start < end <= len(snippet.text)
        before = end
    if snippet.marks:
        start, end = snippet.marks[0]
        assert any(
            word == term.words[0] or (term.is_start and word.startswith(term.words[0]))
            for term in terms
            for word in list(find_words(snippet.text[start:end]))[:1]
        )


@given(st.lists(st.sampled_from(["red", "Fox", "naïve", "你好", "x_y"]), min_size=1, max_size=60))
def test_what_is_there_is_marked(words: list[str]) -> None:
    text = " ".join(words)
    for word in set(words):
        snippet = cut_snippet(text, read_terms(word))
        assert snippet.marks, (word, text)


def test_what_is_said_and_by_whom() -> None:
    parts = (Text("words"), BLOB)
    message = AssistantMessage(
        "a", parts, (Reasoning("hm"),), (ToolCall("c", "run", '{"x": "secret"}'),)
    )
    prompt = PromptAccepted("t", "k", (UserMessage("u", parts), UserMessage("v", (Text("2"),))))
    assert find_said(prompt) == ("user", (*parts, Text("2")))
    assert find_said(ItemAdded("t", UserMessage("u", parts))) == ("user", parts)
    assert find_said(ItemAdded("t", message, 1)) == ("assistant", parts)
    assert find_said(ItemAdded("t", message, 1, "interrupted")) == ("assistant", parts)
    assert find_said(ItemAdded("t", message, 1, "superseded")) is None
    assert find_said(ItemAdded("t", ToolOutput("o", "c", "run", parts))) == ("tool", parts)
    assert find_said(ItemAdded("t", Summary("s", "so far"))) == ("summary", (Text("so far"),))
    assert find_said(ItemAdded(None, Notice("n", "/help"))) is None
    summary = Summary("s", "so far")
    assert find_said(ViewChanged("v", "compact", summary=summary)) == (
        "summary",
        (Text("so far"),),
    )
    assert find_said(ViewChanged("v", "clear")) is None
    assert find_said(Renamed("words")) is None


def test_which_item_it_was() -> None:
    prompt = PromptAccepted("t", "k", (UserMessage("u", ()), UserMessage("v", ())))
    assert find_item_id(prompt) == "u"
    assert find_item_id(PromptAccepted("t", "k", ())) is None
    assert find_item_id(ItemAdded("t", AssistantMessage("a"))) == "a"
    assert find_item_id(ViewChanged("v", "compact", summary=Summary("s", "x"))) == "s"
    assert find_item_id(Renamed("x")) is None


@given(
    st.lists(
        st.sampled_from(
            [
                "red",
                "fox",
                "REDfox",
                "x" * 63,
                "x" * 64,
                "x" * 65,
                ". ",
                "\n",
                "_",
                "—",
                "\u037e",
                "Ⓐ",
            ]
        )
    ),
    st.sampled_from(
        [
            "red",
            "red fox",
            '"red fox"',
            "re*",
            '"red fo"* fox',
            "x" * 64,
            "x" * 63,
            f'"fox {"x" * 70}"',
        ]
    ),
)
def test_a_plain_text_is_searched_as_any_other(pieces: list[str], asked: str) -> None:
    """There are two ways to find words: a fast one for ASCII, and one for everything."""
    text = " ".join(pieces)
    terms = read_terms(asked)
    plain = cut_snippet(text, terms)
    # A letter that is not ASCII, after all that matters, takes the other way.
    other = cut_snippet(f"{text} é", terms)
    assert list(find_words(f"{text} é")) == [*find_words(text), "e"]
    assert other.marks == plain.marks
