"""Names of models: listings read, bare names matched, near ones suggested."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.providers.catalog import explain_unknown, find_matches, read_listing

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["data", "id", "x"]), inner, max_size=3)
    ),
)


@given(JSON)
def test_any_listing_is_read(listing: object) -> None:
    assert all(isinstance(name, str) for name in read_listing(listing, is_openai=False))


def test_listing_keeps_the_servers_order() -> None:
    listing = {"data": [{"id": "b"}, {"id": "a"}, "junk", {"no": 1}]}
    assert read_listing(listing, is_openai=False) == ["b", "a"]


def test_openai_lists_much_that_does_not_chat() -> None:
    names = ["gpt-5", "gpt-4o-realtime-preview", "whisper-1", "text-embedding-3-small", "o3"]
    listing = {"data": [{"id": name} for name in names]}
    assert read_listing(listing, is_openai=True) == ["gpt-5", "o3"]
    assert read_listing(listing, is_openai=False) == names


def test_match_is_on_the_whole_name_behind_the_provider() -> None:
    names = ["a/m", "b/m", "c/x/m", "d/mm"]
    assert find_matches("m", names) == ["a/m", "b/m"]
    assert find_matches("x/m", names) == ["c/x/m"]


@pytest.mark.parametrize("typed", ["opnai/gpt-5", "openai/gpt5", "gpt5", "gpt_5"])
def test_near_names_are_suggested(typed: str) -> None:
    error = explain_unknown(typed, ["openai/gpt-5", "local/smollm2-135m"])
    assert error.message.startswith(f"Unknown model: {typed}. Did you mean openai/gpt-5")
    assert error.data["candidates"][0] == "openai/gpt-5"


def test_without_a_near_name_the_list_is_pointed_to() -> None:
    error = explain_unknown("zzz", ["openai/gpt-5"], warnings=["work cannot be reached"])
    assert error.message == (
        "Unknown model: zzz. List them: ask models list (work cannot be reached)"
    )
    assert error.code == 2
