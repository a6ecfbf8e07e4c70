"""The daemon's log: levels as they are named, and nobody else's chatter."""

import logging
from collections.abc import Iterator

import pytest

from askd.logs import configure_log
from askd.providers.redact import KnownSecrets

CANARY = "sk-canary-0123456789"


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.mark.parametrize(
    ("name", "level"),
    [("debug", 10), ("WARNING", 30), ("error", 40), (None, 20), ("", 20), ("loud", 20)],
)
def test_levels(name: str | None, level: int) -> None:
    configure_log(name)
    assert logging.getLogger().level == level


def test_requests_are_not_logged_by_the_http_client(capsys: pytest.CaptureFixture[str]) -> None:
    configure_log("debug")
    logging.getLogger("httpx").info("GET http://example/?key=secret")
    logging.getLogger("askd").debug("ours")
    said = capsys.readouterr().err
    assert "secret" not in said
    assert "DEBUG askd: ours" in said


def test_secrets_are_hidden_in_the_whole_record(capsys: pytest.CaptureFixture[str]) -> None:
    secrets = KnownSecrets([CANARY])
    configure_log("info", hide=secrets.hide)
    log = logging.getLogger("askd.test")
    log.info("said %s", CANARY)
    try:
        secret = CANARY  # noted by the traceback's own line, and by the exception's words
        raise ValueError(f"a key: {secret}", {"key": secret})
    except ValueError:
        log.exception("failed with %r", {"authorization": f"Bearer {CANARY}"})
    log.warning("stack of %s", CANARY, stack_info=True)
    said = capsys.readouterr().err
    assert CANARY not in said
    assert "said ***" in said
    assert "ValueError: ('a key: ***', {'key': '***'})" in said
    assert "Traceback (most recent call last)" in said
    assert "{'authorization': 'Bearer ***'}" in said


def test_secret_that_is_learned_later_is_hidden_too(capsys: pytest.CaptureFixture[str]) -> None:
    secrets = KnownSecrets()
    configure_log("info", hide=secrets.hide)
    secrets.add(CANARY)
    logging.getLogger("askd").info(CANARY)
    assert CANARY not in capsys.readouterr().err


def test_nothing_to_hide_with(capsys: pytest.CaptureFixture[str]) -> None:
    configure_log("info")
    logging.getLogger("askd").info("as it %s", "is")
    assert "INFO askd: as it is" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["httpx", "httpcore.connection", "httpcore"])
def test_http_client_is_quiet_whatever_the_level(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_log("debug", hide=str)
    logging.getLogger(name).debug("connect_tcp host=secret")
    logging.getLogger(name).info("HTTP Request: POST http://host/?key=secret")
    assert "secret" not in capsys.readouterr().err
