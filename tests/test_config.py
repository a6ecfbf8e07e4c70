"""Settings: every default, every error with its line, comments that survive a write."""

from pathlib import Path

import pytest

from askd import settings as shapes
from askd.config import parse_settings, read_environment, read_settings, write_setting
from askd.errors import BadConfig
from askd.settings import Settings

DEFAULTS = {
    "default_model": None,
    "local_only": False,
    "persist_special_commands": True,
    "title": "first-words",
    "providers": {},
    "models": {},
    "aliases": {},
    "local": {"model_path": None, "context_window": 8192, "idle_s": 600.0, "threads": None},
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
