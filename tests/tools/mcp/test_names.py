"""The names of servers' tools: every provider takes them, and no two are the same."""

import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from askd.core.pairs import NAMES
from askd.settings.mcp import NAME
from askd.tools.mcp.names import may_mean, name_tool, names_outright

LETTERS = string.ascii_letters + string.digits + "-"
# Words joined, and not the pattern itself: that makes mostly names that are too long.
SERVERS = (
    st.lists(st.text(LETTERS, min_size=1, max_size=6), min_size=1, max_size=4)
    .map("_".join)
    .filter(lambda name: NAME.fullmatch(name) is not None)
)
TOOLS = st.text(max_size=90) | st.from_regex(r"[a-z_]{0,8}_[0-9a-f]{8}", fullmatch=True)


@given(SERVERS, TOOLS)
@example("a" * 32, "b" * 31)
@example("time", "")
def test_every_provider_takes_the_name_and_it_says_whose_it_is(server: str, tool: str) -> None:
    name = name_tool(server, tool)
    assert NAMES.fullmatch(name)
    assert name.startswith(f"{server}__")


@given(st.lists(st.tuples(SERVERS, TOOLS), unique=True, max_size=40))
@example([("a", "x y"), ("a", "x.y"), ("a", "x_y"), ("a", name_tool("a", "x y")[3:])])
@example([("a", "b" * 80), ("a", "b" * 81), ("a", name_tool("a", "b" * 80)[3:])])
@example([("a", "_b"), ("a", "b"), ("a", "")])
def test_no_two_tools_have_one_name(pairs: list[tuple[str, str]]) -> None:
    assert len({name_tool(*each) for each in pairs}) == len(pairs)


def test_what_fits_stays_as_it_is() -> None:
    assert name_tool("time", "get_current_time") == "time__get_current_time"
    assert name_tool("my-docs", "look-up") == "my-docs__look-up"


@given(SERVERS, TOOLS)
def test_the_words_for_a_server_mean_its_tools(server: str, tool: str) -> None:
    name = name_tool(server, tool)
    for word in ("all", name, f"{server}__*", f"{server[0]}*", "*__*"):
        assert may_mean(word, server), word
    assert names_outright(name, server)
    assert names_outright(f"{server}__*", server)
    for word in ("read", "none", "*now", "run_command", f"{server}", f"x{server}__now"):
        assert not may_mean(word, server), word
        assert not names_outright(word, server), word


@pytest.mark.parametrize("word", ["all", "*", "time*", "t*__*", "read"])
def test_only_its_whole_name_names_a_server_outright(word: str) -> None:
    assert not names_outright(word, "time")
