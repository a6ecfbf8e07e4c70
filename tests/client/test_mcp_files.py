"""Other programs' files: found where they are, read for what they are, refused for what not."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ask.mcp_files import Unreadable, find_files, parse_json, read_listings

DATA = Path(__file__).parents[1] / "data" / "mcp"
HOME = Path("/home/me")


def test_each_program_has_its_place() -> None:
    assert find_files({}, HOME) == {
        "claude": HOME / ".claude.json",
        "claude-desktop": HOME / ".config/Claude/claude_desktop_config.json",
        "codex": HOME / ".codex/config.toml",
    }
    moved = {"CLAUDE_CONFIG_DIR": "/c", "CODEX_HOME": "/x", "XDG_CONFIG_HOME": "/d"}
    assert [str(each) for each in find_files(moved, HOME).values()] == [
        "/c/.claude.json",
        "/d/Claude/claude_desktop_config.json",
        "/x/config.toml",
    ]


def test_claudes_file_has_servers_for_all_and_for_each_project() -> None:
    everywhere, app = read_listings(DATA / "claude.json", home=HOME, is_own=True)
    assert list(everywhere.servers) == ["time", "linear", "github"]
    assert (everywhere.root, everywhere.is_shared, everywhere.expands) == (None, False, True)
    assert list(app.servers) == ["db", "time"]
    assert (app.root, app.is_shared) == ("/home/me/app", False)
    assert app.source.endswith("claude.json (project /home/me/app)")


@pytest.mark.parametrize(
    ("name", "servers"),
    [
        ("claude_desktop_config.json", ["filesystem", "My Notes (v2)"]),
        ("codex.toml", ["docs", "figma", "slow"]),
        ("cursor.mcp.json", ["search", "remote"]),
        ("vscode.mcp.json", ["perplexity", "fetch", "old"]),
    ],
)
def test_each_programs_file_is_read(name: str, servers: list[str]) -> None:
    (listing,) = read_listings(DATA / name, home=HOME, is_own=True)
    assert list(listing.servers) == servers
    assert listing.expands is (name != "codex.toml"), "Codex takes ${NAME} as it is"


def test_comments_and_last_commas_are_no_part_of_a_text() -> None:
    (listing,) = read_listings(DATA / "vscode.mcp.json", home=HOME)
    assert listing.servers["fetch"]["args"] == ["mcp-server-fetch", "--ua", "a // b,]"]


@pytest.mark.parametrize(
    ("place", "root"),
    [
        (".mcp.json", "."),
        (".cursor/mcp.json", "."),
        (".vscode/mcp.json", "."),
        (".codex/config.toml", "."),
        ("servers.json", None),
    ],
)
def test_a_file_that_comes_with_a_project_is_known_by_its_place(
    tmp_path: Path, place: str, root: str | None
) -> None:
    path = tmp_path / place
    path.parent.mkdir(exist_ok=True)
    path.write_text("mcp_servers = {}" if place.endswith("toml") else '{"mcpServers": {}}')
    (listing,) = read_listings(path, home=HOME)
    assert listing.root == (None if root is None else str(tmp_path))
    assert listing.is_shared == (root is not None)
    # In the caller's home it is the caller's, and so is one that is known for it.
    assert not read_listings(path, home=tmp_path)[0].is_shared
    assert not read_listings(path, home=HOME, is_own=True)[0].is_shared


def test_vs_codes_own_settings_have_them_one_deeper(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"editor.fontSize": 12, "mcp": {"servers": {"a": {"command": "x"}}}}')
    (listing,) = read_listings(path, home=HOME)
    assert listing.servers == {"a": {"command": "x"}}


def test_a_file_without_servers_has_none(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('\ufeff{"mcpServers": {}, "projects": {"/p": 3, "/q": {}}}', "utf-8")
    (listing,) = read_listings(path, home=HOME)
    assert not listing.servers
    path.write_text("{}")
    assert read_listings(path, home=HOME) == []


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("x.json", b'{"a": "sk-canary\n"}', "line 1: is no JSON"),
        ("x.json", b"{\n/* c\n*/ nope", "line 3: is no JSON"),
        ("x.json", b"[" * 100_000, "is no JSON"),
        ("x.json", b"[]", "holds no object"),
        ("x.json", b'{"mcpServers": []}', "is no object"),
        ("x.json", b'{"projects": {"/p": {"mcpServers": [1]}}}', "is no object"),
        ("x.json", b"\xff\xfe\x00", "is no text"),
        ("x.toml", b"a = \n", "is no TOML"),
    ],
)
def test_what_is_no_such_file_is_said_and_not_repeated(
    tmp_path: Path, name: str, content: bytes, words: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(Unreadable, match=words) as caught:
        read_listings(path, home=HOME)
    assert str(path) in str(caught.value)
    assert "canary" not in str(caught.value)


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    for name in ("pipe.json", "nothing.json", "."):
        with pytest.raises(Unreadable):
            read_listings(tmp_path / name, home=HOME)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES, st.booleans())
def test_what_is_json_is_read_as_json(value: object, spaced: bool) -> None:
    text = json.dumps(value, indent=2 if spaced else None, ensure_ascii=False)
    assert parse_json(text) == value
    # With a comment it is no JSON any more, and means the same.
    assert parse_json(f'// one "\n{text} /* "two", ] */') == value
