"""Where the settings are, what they are, whether they are right."""

import importlib.util
import json
import subprocess
from pathlib import Path

import pytest

from ask.commands.config import encode_value, flatten
from tests.client.commands.conftest import Ask
from tests.client.commands.fake_daemon import FakeDaemon


def test_path_needs_neither_file_nor_daemon(home: Path, ask: Ask) -> None:
    expected = str(home / "config" / "config.toml")
    assert ask("config", "path").out == expected + "\n"
    assert json.loads(ask("config", "path", "--json").out) == {"path": expected}
    assert not home.exists()


def test_show_prints_every_setting_in_force(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.settings["providers"] = {"work": {"dialect": "openai-chat"}}
    daemon.settings["models"] = {"work/x.y": {"context_window": 5}}
    assert ask("config", "show").out.splitlines() == [
        "# /home/me/config.toml",
        "persist_special_commands = true",
        'providers.work.dialect = "openai-chat"',
        'models."work/x.y".context_window = 5',
    ]
    assert json.loads(ask("config", "show", "--json").out)["settings"] == daemon.settings


def test_settings_are_flattened_in_order() -> None:
    assert list(flatten({"b": 1, "a": {"c": None, "d": {"e-f": [1]}}})) == [
        ("b", 1),
        ("a.d.e-f", [1]),
    ]
    assert encode_value("ü") == '"ü"'


def test_check_passes_a_missing_and_a_right_file(home: Path, ask: Ask) -> None:
    result = ask("config", "check")
    assert (result.code, result.out) == (0, f"{home}/config/config.toml: in order\n")
    assert json.loads(ask("config", "check", "--json").out)["ok"] is True


def test_check_names_key_and_line(home: Path, ask: Ask) -> None:
    path = home / "config" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text('title = "off"\n\ntitel = "off"\n')
    result = ask("config", "check")
    assert (result.code, result.out) == (2, "")
    assert "titel" in result.err
    assert "3" in result.err
    assert json.loads(ask("config", "check", "--json").out)["data"]["reason"] == "bad_config"


def test_check_without_the_daemons_side_says_how_to_get_it(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    result = ask("config", "check")
    assert result.code == 69
    assert "pip install askd" in result.err


def test_a_check_that_does_not_end_is_not_waited_for(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hang(*_: object, **__: object) -> None:
        raise subprocess.TimeoutExpired("askd", 30)

    monkeypatch.setattr(subprocess, "run", hang)
    assert ask("config", "check").code == 1
