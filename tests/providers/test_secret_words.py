"""Secrets among the variables and the words of a command: found by their names, and no others."""

import pytest

from askd.providers.redact import KnownSecrets
from askd.providers.secret_words import hide_words, learn_program, names_secret

SECRET = "s3cr3t-v4lue-0f-mine"


@pytest.mark.parametrize(
    "name",
    [
        "GITHUB_TOKEN", "OPENAI_API_KEY", "apikey", "--api-key", "PGPASSWORD", "DB_PASS", "pass",
        "MY_SECRET", "GITHUB_PAT", "Authorization", "--auth-token", "X-Api-Key", "DB_PWD",
        "AWS_SECRET_ACCESS_KEY", "SMTP_PASSPHRASE", "CREDENTIALS", "--password", "PASS_1",
    ],
)  # fmt: skip
def test_names_of_secrets(name: str) -> None:
    assert names_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        "PATH", "HOME", "LANG", "DEBUG", "--path", "COMPASS", "PATTERN", "--verbose",
        "KEY_FILE", "--token-file", "AUTH_MODE", "TOKEN_LIMIT", "CREDENTIALS_PATH", "--auth-host",
    ],
)  # fmt: skip
def test_names_of_others(name: str) -> None:
    assert not names_secret(name)


@pytest.mark.parametrize(
    ("env", "args"),
    [
        ({"GITHUB_TOKEN": SECRET}, []),
        ({"AUTHORIZATION": f"Bearer {SECRET}"}, []),
        ({"DATABASE_URL": f"postgresql://me:{SECRET}@db/x"}, []),
        ({}, ["--token", SECRET]),
        ({}, [f"--api-key={SECRET}"]),
        ({}, ["--header", f"Authorization: Bearer {SECRET}"]),
        ({}, [f"postgresql://me:{SECRET}@db/x"]),
        ({}, [f"https://example.com/mcp?api_key={SECRET}"]),
        ({}, ["-e", f"API_KEY={SECRET}"]),
    ],
)
def test_what_is_secret_is_hidden_from_then_on(env: dict[str, str], args: list[str]) -> None:
    secrets = KnownSecrets()
    learn_program(secrets, env=env, args=args)
    assert secrets.hide(f"it says {SECRET}.") == "it says ***."
    assert SECRET not in "".join(hide_words(args))


def test_what_is_none_is_left_as_it_is() -> None:
    secrets = KnownSecrets()
    env = {"LANG": "en_GB.UTF-8", "KEY_FILE": "/home/me/keys/one.pem", "API_KEY": "anything"}
    args = ["-y", "--root", "/home/me/projects", "https://example.com/mcp", "--auth", "--verbose"]
    learn_program(secrets, env=env, args=args)
    said = " ".join([*env.values(), *args])
    assert secrets.hide(said) == said
    assert hide_words(args) == args


def test_words_that_are_shown() -> None:
    args = [
        "run", "--token", "abc", "--key=abc", "X-Api-Key: abc", "https://me:abc@host/x?a=b",
        "http://[", "--auth", "--next",
    ]  # fmt: skip
    assert hide_words(args) == [
        "run", "--token", "***", "--key=***", "X-Api-Key: ***", "https://***@host/x?***",
        "http://[", "--auth", "--next",
    ]  # fmt: skip


@pytest.mark.parametrize("word", ["-" * 100_000, "a" * 100_000, "pass" * 50_000, "key=" * 50_000])
def test_long_words_take_no_time(word: str) -> None:
    hide_words([word, word])
