"""Names of models: aliases followed, bare names matched, near ones suggested."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.errors import UnknownModel
from askd.providers.models.catalog import (
    SUGGESTIONS,
    explain_missing,
    explain_unknown,
    find_aliases,
    find_matches,
    find_near,
    follow_alias,
    spell_out,
)

ALIASES = {"fast": "openai/gpt-5-mini", "quick": "openai/gpt-5-mini", "twice": "fast", "me": "me"}


def test_alias_stands_for_its_name() -> None:
    assert follow_alias("fast", ALIASES) == "openai/gpt-5-mini"
    assert follow_alias("openai/gpt-5", ALIASES) == "openai/gpt-5"
    assert follow_alias("me", ALIASES) == "me"


def test_alias_of_an_alias_is_refused() -> None:
    with pytest.raises(UnknownModel, match="'twice' leads to another alias, 'fast'") as caught:
        follow_alias("twice", ALIASES)
    assert caught.value.code == 2


def test_aliases_of_a_model() -> None:
    assert find_aliases("openai/gpt-5-mini", ALIASES) == ["fast", "quick"]
    assert find_aliases("openai/gpt-5", ALIASES) == []


def test_an_alias_of_a_bare_name_is_that_of_the_one_model_that_has_it() -> None:
    names = ["a/one", "a/two", "b/two", "b/a/one"]
    aliases = {"x": "one", "y": "two", "z": "a/two", "w": "nobody", "v": "a/one"}
    assert spell_out(aliases, names) == {
        **aliases,
        "x": "a/one",  # the last part of `b/a/one` is no model's name
    }


def test_match_is_on_the_whole_name_behind_the_provider() -> None:
    names = ["a/m", "b/m", "c/x/m", "d/mm"]
    assert find_matches("m", names) == ["a/m", "b/m"]
    assert find_matches("x/m", names) == ["c/x/m"]


@pytest.mark.parametrize("typed", ["opnai/gpt-5", "openai/gpt5", "gpt5", "gpt_5", "zz/gpt-5"])
def test_near_names_are_suggested(typed: str) -> None:
    error = explain_unknown(typed, ["openai/gpt-5", "local/smollm2-135m"])
    assert error.message.startswith(f"Unknown model: {typed}. Did you mean openai/gpt-5")
    assert error.data["candidates"][0] == "openai/gpt-5"


def test_nothing_near_says_how_to_list_them() -> None:
    error = explain_unknown("zzz", ["openai/gpt-5"], warnings=["work does not answer"])
    assert error.message == "Unknown model: zzz. List them: ask models list (work does not answer)"
    assert error.data["candidates"] == []


def test_a_servers_refusal_is_kept_and_the_refused_name_is_not_suggested() -> None:
    said = UnknownModel("work has no such model: gone.")
    error = explain_missing(said, "work/gpt-5", ["work/gpt-5", "work/gpt-5-mini"])
    assert error.message == "work has no such model: gone. Did you mean work/gpt-5-mini?"
    assert "ask models list" in explain_missing(said, "work/x", []).message


@given(st.text(max_size=20), st.lists(st.text(max_size=12), max_size=8))
def test_suggestions_are_candidates_and_few(name: str, candidates: list[str]) -> None:
    near = find_near(name, candidates)
    assert set(near) <= set(candidates)
    assert len(near) == len(set(near)) <= SUGGESTIONS
