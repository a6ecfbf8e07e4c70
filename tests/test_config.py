"""Settings: every default, every error with its line, comments that survive a write."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd import settings as shapes
from askd.config import (
    parse_settings,
    read_environment,
    read_settings,
    split_key,
    write_setting,
)
from askd.errors import BadConfig
from askd.settings import Settings

DEFAULTS: dict[str, object] = {
    "default_model": None,
    "local_only": False,
    "persist_special_commands": True,
    "title": "first-words",
    "providers": {},
    "models": {},
    "aliases": {},
    "local": {"model_path": None, "context_window": 8192, "idle_s": 600.0, "threads": None},
    "tools": {
        "enabled": [],
        "sandbox": "auto",
        "network": False,
        "writable": [],
        "command_timeout_s": 120.0,
        "output_bytes": 32_768,
        "max_completions": 50,
        "max_repeats": 3,
        "snapshots": True,
    },
    "instructions": {"enabled": True, "files": ["AGENTS.md"]},
    "mcpServers": {},
    "approval": {"policy": None, "tools": {}, "commands": {}},
    "context": {
        "compaction": True,
        "compaction_threshold": 0.8,
        "compaction_model": None,
        "summary_tokens": 500,
        "user_message_tokens": 20_000,
        "prune_threshold": 0.9,
        "min_retain_turns": 2,
        "max_history_messages": None,
        "overflow": None,
    },
    "history": {"keep_days": None, "archive": False, "redact_keys": False},
    "notify": {"command": None, "detached": False},
    "rollouts": {"enabled": True, "directory": None},
    "log": {"level": "info"},
}


def test_every_setting_has_this_default() -> None:
    assert Settings().model_dump() == DEFAULTS


def test_no_file_means_every_default(tmp_path: Path) -> None:
    assert read_settings(tmp_path / "config.toml") == Settings()


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("title = 'model'\ncolour = 1\n", 2, "colour: there is no such setting"),
        ("\n\nlocal_only = 'yes'\n", 3, "local_only"),
        ("local_only = 1\n", 1, "local_only: must be true or false, without quotes"),
        ("title = 'x'\n", 1, "title: must be 'first-words'"),
        ("[providers.x]\napi_key_cmd = 'pass'\n", 2, "api_key_cmd: must be a list, such as"),
        ("[models.small]\neffort = 'low'\n", 1, "models.small: is no model"),
        ("\n[providers.'a/b']\ndialect = 'ollama'\n", 2, "name is not empty and has no /"),
        ("[context]\nprune_threshold = 1.5\n", 2, "context.prune_threshold"),
        ("[log]\n# loud\nlevel = 'shout'\n", 3, "log.level"),
        ("[providers.work]\ndialect = 'openai-chat'\n", 1, "providers.work.base_url: is needed"),
        (
            "[providers.work]\ndialect = 'openai-chat'\nbase_url = 'x'\nkey = 'y'\n",
            4,
            "providers.work.key: there is no such setting",
        ),
        (
            "[providers.work]\ndialect = 'openai-chat'\nbase_urk = 'x'\n",
            3,
            "providers.work.base_urk: there is no such setting",
        ),
        ('[models."a.b/c"]\ncontext_window = -5\n', 2, "context_window"),
        ("[providers.x]\nbase_url = 'http://h'\ndialect = 'local'\n", 3, "providers.x.dialect"),
        ("[providers.x]\nbase_url = 'http://h'\n", 1, "providers.x.dialect: is needed"),
        ('[models."a/b"]\ninput_price = 1\n', 1, "come together"),
        ("[mcpServers.x]\ncommand = 'x'\nargz = []\n", 3, "mcpServers.x.argz: there is no such"),
        ("title = 'off'\n[mcpServers.x]\n", 2, "mcpServers.x: takes either a command or a url"),
        ("[mcpServers.x]\ncommand = 'x'\n[mcpServers.x.env]\nA = 1\n", 4, "x.env.A: must be a t"),
        ("\n[mcpServers.a__b]\ncommand = 'x'\n", 2, "mcpServers.a__b: has other characters"),
        ("title = \n", 1, "line 1"),
        ("default_model = ''\n", 1, "default_model: is empty"),
        ("[providers.x]\ndialect = 'openai-chat'\nbase_url = 'nope'\n", 3, "is no address"),
        (
            "[providers.x]\ndialect = 'openai-chat'\nbase_url = ' http://h'\n",
            3,
            "providers.x.base_url: holds a space or an invisible character",
        ),
        (
            "[providers.x]\nbase_url = 'http://h:70000/v1'\ndialect = 'openai-chat'\n",
            2,
            "providers.x.base_url: has a port that is no number from 1 to 65535",
        ),
    ],
)
def test_an_error_names_its_key_and_line(text: str, line: int, words: str) -> None:
    with pytest.raises(BadConfig) as caught:
        parse_settings(text, "config.toml")
    assert words in caught.value.message
    assert f"line {line}" in caught.value.message
    assert caught.value.code == 2


def test_a_file_that_is_no_text_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(BadConfig, match="cannot be read"):
        read_settings(path)


def test_writing_keeps_comments_and_order(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("# mine\ntitle = 'off' # quiet\n\n[log]\nlevel = 'debug'\n")
    settings = write_setting(path, "default_model", "work/big")
    assert settings.default_model == "work/big"
    text = path.read_text()
    assert "# mine" in text
    assert "# quiet" in text
    assert read_settings(path) == settings
    assert path.stat().st_mode & 0o777 == 0o600
    assert write_setting(path, "default_model", None).default_model is None


def test_writing_into_a_table_that_is_not_there_creates_it(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "config.toml"
    assert write_setting(path, "log.level", "error").log.level == "error"
    assert read_settings(path).log.level == "error"


def test_a_write_that_would_break_the_file_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("title = 'off'\n")
    with pytest.raises(BadConfig):
        write_setting(path, "title", "loud")
    assert path.read_text() == "title = 'off'\n"


def test_a_name_of_several_words_stands_in_quotes(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    key = 'approval.commands."./run.sh all"'
    assert write_setting(path, key, "auto").approval.commands == {"./run.sh all": "auto"}
    write_setting(path, "approval.tools.write_file", "deny")
    assert read_settings(path).approval.tools == {"write_file": "deny"}
    assert write_setting(path, key, None).approval.commands == {}
    assert read_settings(path).approval.tools == {"write_file": "deny"}, "the others stay"


def test_a_table_goes_with_its_last_setting_unless_something_is_said_in_it(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("title = 'off'\n[context]\n# mine\nprune_threshold = 0.5\n")
    for key in ("approval.commands.make", "approval.tools.x__y", "context.prune_threshold"):
        write_setting(path, key, "auto" if key.startswith("approval") else 0.6)
        write_setting(path, key, None)
    assert path.read_text().split() == ["title", "=", "'off'", "[context]", "#", "mine"]


SERVER = {"command": "npx", "args": ["-y", "a b"], "env": {"K": "v", "a.b": "c"}}


def test_a_whole_server_is_written_and_replaced_and_removed_beside_comments(
    tmp_path: Path,
) -> None:
    path = tmp_path / "config.toml"
    before = (
        "# mine\n[mcpServers.a]\n# about a\ncommand = 'x' # as it is\n[mcpServers.a.env]\nK = 'v'\n"
        "\n[log]\nlevel = 'debug'\n\n# about z\n[mcpServers.z]\ncommand = 'z'\n"
    )
    path.write_text(before)
    path.chmod(0o644)
    written = write_setting(path, "mcpServers.time", SERVER).mcpServers
    assert list(written) == ["a", "time", "z"]
    assert written["time"].env == {"K": "v", "a.b": "c"}
    assert path.stat().st_mode & 0o777 == 0o600, "it holds what nobody else should see"
    replaced = write_setting(path, "mcpServers.time", {"url": "http://h/mcp"}).mcpServers["time"]
    assert (replaced.command, replaced.env, replaced.url) == (None, {}, "http://h/mcp")
    for comment in ("# mine", "# about a", "# as it is", "# about z"):
        assert comment in path.read_text()
    write_setting(path, "mcpServers.time", None)
    assert "".join(path.read_text().split()) == "".join(before.split())
    assert path.read_text().startswith("# mine\n[mcpServers.a]\n# about a\ncommand = 'x' # as it")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "mcpServers = {}\n",
        "mcpServers = { a = { command = 'x' } }\n",
        "mcpServers.a.command = 'x'\n",
        "[mcpServers]\na = { command = 'x' }\n",
        "[mcpServers]\n",
        "[mcpServers.time]\ncommand = 'old'\n[mcpServers.time.env]\nOLD = '1'\n",
    ],
)
def test_a_server_is_written_into_any_shape_of_the_table(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    before = set(read_settings(path).mcpServers) - {"time"}
    written = write_setting(path, "mcpServers.time", SERVER).mcpServers
    assert written["time"].model_dump(exclude_defaults=True) == SERVER
    assert set(written) == before | {"time"}
    assert set(write_setting(path, "mcpServers.time", None).mcpServers) == before
    assert read_settings(path).model_dump(exclude={"mcpServers"}) == Settings().model_dump(
        exclude={"mcpServers"}
    )


def test_a_server_that_does_not_fit_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    for value in ({}, {"command": "x", "url": "http://h"}, {"command": "x", "type": "http"}, 3):
        with pytest.raises(BadConfig, match=r"mcpServers\.time"):
            write_setting(path, "mcpServers.time", value)
    with pytest.raises(BadConfig, match=r"mcpServers\.a__b: has other characters"):
        write_setting(path, "mcpServers.a__b", SERVER)
    assert not path.exists()


def test_what_a_check_says_of_a_value_is_told_as_it_was_written() -> None:
    with pytest.raises(BadConfig) as caught:
        parse_settings('[approval.commands]\n"A; be B" = "deny"\n', "c.toml")
    assert caught.value.message == (
        "c.toml, line 1: approval.commands: no command begins with 'A; be B': give its first "
        "words, without quotes and without what a shell replaces"
    )


def test_removing_what_is_not_there_leaves_the_file_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("# mine\n")
    write_setting(path, "approval.commands.make", None)
    write_setting(path, "approval.policy", None)
    assert path.read_text() == "# mine\n"


@pytest.mark.parametrize("key", ["", ".", "a b", 'a."b', "a = 1 #", "a = 1\nb", "a\nb", "x = {}"])
def test_what_is_no_name_of_a_setting_is_refused(key: str, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    with pytest.raises(BadConfig, match="is no setting's name"):
        write_setting(path, key, "x")
    assert not path.exists()


def test_nothing_is_written_beneath_a_value(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("title = 'off'\n")
    with pytest.raises(BadConfig, match="title is no table"):
        write_setting(path, "title.deep", "x")


@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"])), min_size=1, max_size=3))
def test_any_name_can_be_written_as_a_key(steps: list[str]) -> None:
    assert split_key(".".join(json.dumps(step, ensure_ascii=False) for step in steps)) == steps


def test_each_setting_is_described() -> None:
    def check(model: type) -> None:
        for name, field in model.model_fields.items():  # type: ignore[attr-defined]
            assert field.description, name
            assert field.description.endswith("."), name

    for section in (
        shapes.Settings,
        shapes.ProviderSettings,
        shapes.ModelSettings,
        shapes.LocalSettings,
        shapes.LogSettings,
    ):
        check(section)


def test_any_variable_of_the_daemon_may_hold_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORK_KEY", "wk-canary")
    monkeypatch.setenv("EMPTY_KEY", "")
    monkeypatch.setenv("NOTIFY_SOCKET", "/run/systemd/notify")
    environment = read_environment()
    assert environment.keys["WORK_KEY"] == "wk-canary"
    assert "EMPTY_KEY" not in environment.keys
    assert "NOTIFY_SOCKET" not in environment.keys  # it is the service manager's
    assert "WORK_KEY" not in environment.child_env
    assert "wk-canary" not in repr(environment)
