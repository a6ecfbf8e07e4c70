"""Code in the terminal's own colours."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.color import ColorType

from ask.markdown.code import STYLES, color_code, find_lexer


@pytest.mark.parametrize(
    ("info", "name"),
    [
        ("python", "Python"),
        ("py title=x", "Python"),
        ("{.bash}", "Bash"),
        ("rust,ignore", "Rust"),
        ("", None),
        ("no-such-language", None),
        ("{", None),
    ],
)
def test_the_fence_names_the_language(info: str, name: str | None) -> None:
    lexer = find_lexer(info)
    assert (lexer and lexer.name) == name


TEXTS = st.text(st.characters(blacklist_categories=("Cc", "Cs")) | st.just("\n"), max_size=80)


@given(TEXTS, TEXTS, st.sampled_from(["python", "json", "html"]))
def test_the_text_stays_as_it_is(before: str, code: str, language: str) -> None:
    lexer = find_lexer(language)
    assert lexer is not None
    assert color_code(lexer, before, code).plain == code


def test_what_came_before_tells_what_a_line_is() -> None:
    lexer = find_lexer("python")
    assert lexer is not None
    alone = color_code(lexer, "", "if x\n")
    within = color_code(lexer, 'text = """\n', "if x\n")
    assert alone.spans != within.spans


def test_only_colors_that_every_theme_sets() -> None:
    for style in STYLES.values():
        assert style.bgcolor is None
        if style.color is not None:
            assert style.color.type is ColorType.STANDARD
            assert style.color.name not in ("white", "black", "bright_white")
