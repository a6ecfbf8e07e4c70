"""The workspace is the directory that was meant, and knows what in it is not to be changed."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from askd.tools import gitdirs
from askd.tools.base import CannotRun, Site
from askd.tools.workspace import (
    find_protected,
    is_protected,
    is_wide,
    open_workspace,
    pick_environment,
)
from tests.fakes.workspaces import HOME, opened, stand_in


def refusal(site: Site) -> str:
    with pytest.raises(CannotRun) as caught, open_workspace(site):
        pass
    return str(caught.value)


def test_it_is_open_while_the_block_lasts(tmp_path: Path) -> None:
    with opened(tmp_path) as workspace:
        assert os.path.samestat(os.fstat(workspace.fd), tmp_path.stat())
        assert workspace.path == str(tmp_path.resolve())
        assert not os.get_inheritable(workspace.fd)
        assert not workspace.is_wide
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(workspace.fd)


def test_a_link_to_it_is_told_from_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with opened(tmp_path / "link") as workspace:
        assert workspace.path == str(tmp_path.resolve() / "real")
        assert workspace.given == str(tmp_path / "link")


def test_a_directory_that_is_gone_or_another_one_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "ws"
    place.mkdir()
    site = stand_in(place)
    place.rename(tmp_path / "old")
    assert refusal(site) == f"The directory you stood in ({place}) is gone."
    place.mkdir()
    assert refusal(site) == f"The directory you stood in ({place}) is another one now."
    with open_workspace(replace(site, cwd_id=None)) as workspace:
        assert workspace.path == str(place)
    place.rmdir()
    place.write_text("a file")
    assert refusal(site) == f"The directory you stood in ({place}) is gone."


@pytest.mark.parametrize("cwd", [None, "", "relative", "/a\0b"])
def test_a_directory_that_is_not_known_is_refused(cwd: str | None) -> None:
    site = Site(conversation_id="c", turn_id="t", call_id="x", cwd=cwd)
    assert "not known" in refusal(site)


def test_a_name_that_no_event_can_hold_is_refused(tmp_path: Path) -> None:
    strange = os.fsencode(tmp_path) + b"/\xff"
    os.mkdir(strange)
    (tmp_path / "link").symlink_to(os.fsdecode(strange))
    assert "UTF-8" in refusal(stand_in(tmp_path / "link"))


def test_the_root_and_what_holds_a_home_are_wide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "people" / "me"
    (home / "project").mkdir(parents=True)
    (tmp_path / "link").symlink_to("people/me")
    for env in ({"HOME": str(home)}, {"HOME": str(tmp_path / "link")}):
        assert is_wide(str(home), env)
        assert is_wide(str(tmp_path / "people"), env)
        assert is_wide("/", env)
        assert not is_wide(str(home / "project"), env)
        assert not is_wide(str(tmp_path / "people" / "me-too"), env)
    account = os.path.expanduser(f"~{os.environ.get('USER', 'root')}")
    if account.startswith("/"):
        assert is_wide(account, {"HOME": str(home)}), "what the caller says is not all there is"
    assert not is_wide(str(tmp_path), {"HOME": ""})
    assert not is_wide(str(tmp_path), {"HOME": "relative"})


def test_what_is_hidden_in_a_home_is_private(tmp_path: Path) -> None:
    with open_workspace(stand_in(tmp_path, home=str(tmp_path))) as workspace:
        assert workspace.is_private(".ssh/id")
        assert workspace.is_private("a/.env")
        assert not workspace.is_private("notes.md")
        assert not workspace.is_private(".")
    with open_workspace(stand_in(tmp_path)) as workspace:
        assert not workspace.is_private(".env")
    with open_workspace(stand_in(Path("/"))) as workspace:
        assert workspace.is_private("etc/hosts")


@pytest.mark.parametrize("path", [".git", ".git/config", "a/.GIT/x", "a/b/.git", "git~1/x"])
def test_what_git_keeps_is_protected_by_name(path: str) -> None:
    assert is_protected(path)


@pytest.mark.parametrize("path", [".", "a", ".gitignore", ".github/x", "git/x", "a.git"])
def test_what_it_does_not_keep_is_not(path: str) -> None:
    assert not is_protected(path)


def test_our_own_directories_are_protected_wherever_they_are(tmp_path: Path) -> None:
    ours = tmp_path / "a" / "ours"
    ours.mkdir(parents=True)
    (tmp_path / "link").symlink_to("a/ours")
    with opened(tmp_path, own=(str(tmp_path / "link"), "/none")) as workspace:
        assert workspace.is_own("a/ours")
        assert workspace.is_own("a/ours/keys")
        assert workspace.is_protected("a/ours/x")
        assert not workspace.is_own("a/ours-too")
        assert find_protected(workspace) == [str(ours)]
    with opened(ours, own=(str(tmp_path / "a"),)) as workspace:
        assert workspace.is_own("x")
        assert find_protected(workspace) == [str(ours)]


def test_standing_in_what_git_keeps_changes_nothing(tmp_path: Path) -> None:
    for place in (tmp_path / ".git" / "hooks", tmp_path / "bare"):
        for name in ("objects", "refs"):
            (place / name).mkdir(parents=True)
        (place / "HEAD").write_text("x")
        with opened(place) as workspace:
            assert workspace.is_protected("config")
            assert workspace.is_protected("new/x")
            assert find_protected(workspace) == [str(place)]


def test_what_a_sandbox_has_to_protect_is_found_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    (tmp_path / ".git").mkdir()
    (tmp_path / "sub" / ".git" / "modules").mkdir(parents=True)
    ours = tmp_path / ".git" / "ours"
    ours.mkdir()
    with opened(tmp_path, own=(str(ours),)) as workspace:
        assert find_protected(workspace, said.append) == [
            str(tmp_path / ".git"),
            str(tmp_path / "sub" / ".git"),
        ]
        assert said == []
        monkeypatch.setattr(gitdirs, "SCAN_DIRECTORIES", 1)
        assert find_protected(workspace, said.append) == [str(tmp_path / ".git")]
        assert said == ["This directory is large: not every repository in it was looked for."]


def test_only_plain_variables_reach_a_tool() -> None:
    plain = {"PATH": "/bin", "HOME": HOME, "LC_ALL": "C", "LANG": "C", "TZ": "UTC"}
    keys = {"OPENAI_API_KEY": "x", "SSH_AUTH_SOCK": "/x", "ASK_HOME": "/x", "LD_PRELOAD": "x"}
    assert pick_environment({**plain, **keys}) == plain
