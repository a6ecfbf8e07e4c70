"""The page of variables and files has every one that the sources look for, and no other."""

from ask.paths import Paths
from ask.protocol.names import KEY_NAMES
from tests.house import environment_page, settings_page
from tests.house.environment_page import FILES, VARIABLES, split_names
from tests.house.environment_reads import find_files, find_names
from tests.house.test_settings_page import NOT_FOR_PEOPLE

THEIRS = {
    ".claude", ".claude.json", ".codex", ".config", ".credentials.json", ".git", ".mcp.json",
    "askd.socket", "auth.json", "claude_desktop_config.json", "github-copilot", "lfs",
    "sockets.target.wants", "systemd", "user",
}  # fmt: skip
"""Files that others write, and systemd's, which the last lines of the page are about."""

INNER = {"index", "objects", "new", "wanted", "wanted-index"}
"""Of a snapshot that is being made; gone with it."""


def test_page_is_current() -> None:
    written = environment_page.PATH.read_text(encoding="utf-8")
    assert written == environment_page.render(), "run: python -m tests.house.environment_page"


def test_every_variable_that_is_looked_for_has_a_row_and_no_other() -> None:
    said = {name for row in VARIABLES for name in split_names(row)}
    elsewhere = {*settings_page.VARIABLES, *KEY_NAMES, *NOT_FOR_PEOPLE}
    assert find_names() - elsewhere == said


def test_every_file_that_is_named_has_a_row_and_no_other() -> None:
    said = {name for files in FILES.values() for name in files}
    found = find_files() - THEIRS - INNER - {"ask", *FILES}
    assert said - {"reserve.bin"} == found


def test_files_are_in_the_directory_that_the_page_says() -> None:
    paths = Paths.of({"ASK_HOME": "/h"})
    named = [
        paths.database, paths.rollouts, paths.archive, paths.owner_file, paths.lock_file,
        paths.config_file, paths.log_file, paths.start_lock, paths.sockets[0],
    ]  # fmt: skip
    assert [each for each in named if each.name not in FILES[each.parent.name]] == []


def test_reads_are_found_however_they_are_written() -> None:
    found = find_names()
    assert {"NO_COLOR", "TZ"} <= found  # environ.get("…")
    assert "LISTEN_FDS" in found  # of a table that a loop goes through
    assert "LC_CTYPE" in found  # of a table that is given to a function
