"""The units as text: one source, filled in, and quoted as systemd reads it."""

import sys
from pathlib import Path

import pytest

from ask import units
from ask.exits import Failed
from ask.units import MARK, SERVICE, SOCKET, UNITS, escape, quote, render_units
from tests.house.floors import ROOT

BARE = {"HOME": "/home/me", "PATH": "/usr/bin", "XDG_RUNTIME_DIR": "/run/user/7"}


def lines(text: str, name: str) -> list[str]:
    return [line.partition("=")[2] for line in text.splitlines() if line.startswith(f"{name}=")]


def test_what_is_installed_is_what_the_project_shows() -> None:
    texts = render_units(BARE)
    for name in UNITS:
        source = (ROOT / "systemd" / name).read_text(encoding="utf-8").splitlines()
        there = texts[name].splitlines()
        changed = {line for line in {*source, *there} if (line in source) != (line in there)}
        filled = ("#", "ExecStart=", "Environment=", "ListenStream=")
        assert all(line.startswith(filled) for line in changed), changed
        assert there[0] == MARK


def test_a_user_without_settings_gets_the_usual_places() -> None:
    texts = render_units(BARE)
    assert lines(texts[SOCKET], "ListenStream") == ["%t/ask/askd.sock"]
    assert lines(texts[SERVICE], "Environment") == ['"PATH=/usr/bin"']
    (start,) = lines(texts[SERVICE], "ExecStart")
    assert start == f'"{Path(sys.executable).with_name("askd")}" "run"'


def test_this_users_places_are_kept_and_no_secret_is(tmp_path: Path) -> None:
    home = tmp_path / 'a "b" %c \\d'
    texts = render_units({
        **BARE, "ASK_HOME": str(home), "XDG_CACHE_HOME": "/c", "OPENAI_API_KEY": "sk-secret",
    })  # fmt: skip
    assert lines(texts[SERVICE], "Environment") == [
        '"PATH=/usr/bin"',
        '"XDG_CACHE_HOME=/c"',
        f'"ASK_HOME={tmp_path}/a \\"b\\" %%c \\\\d"',
    ]
    assert lines(texts[SOCKET], "ListenStream") == [f'{tmp_path}/a "b" %%c \\d/run/askd.sock']
    assert "secret" not in "".join(texts.values())


def test_a_socket_that_was_asked_for_is_listened_at() -> None:
    texts = render_units({**BARE, "ASK_SOCKET": "/somewhere/s"})
    assert lines(texts[SOCKET], "ListenStream") == ["/somewhere/s"]
    assert "ASK_SOCKET" not in texts[SERVICE]


def test_a_program_whose_name_systemd_does_not_take_is_run_by_another() -> None:
    assert units.quote_command(["/a $b/askd", "$x"]) == '"/a $b/askd" "$$x"'
    assert units.quote_command(["/it's $b/askd"]) == '"/usr/bin/env" "/it\'s $$b/askd"'


def test_what_would_end_a_line_is_refused() -> None:
    for write in (quote, escape):
        with pytest.raises(Failed, match="cannot stand in a unit"):
            write("a\nExecStart=b")


def test_without_a_script_the_module_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert units.find_program() == [str(tmp_path / "python"), "-P", "-m", "askd"]


def test_units_stand_where_systemd_looks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    usual = tmp_path / ".config" / "systemd" / "user"
    assert units.find_directory({}) == usual
    assert units.find_directory({"XDG_CONFIG_HOME": "relative"}) == usual
    assert units.find_directory({"XDG_CONFIG_HOME": "/c"}) == Path("/c/systemd/user")


def test_an_installation_without_its_texts_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(units, "_INSTALLED", tmp_path)
    monkeypatch.setattr(units, "_CHECKED_OUT", tmp_path)
    with pytest.raises(Failed, match="not installed whole"):
        render_units(BARE)
