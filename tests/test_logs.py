"""The daemon's log: levels as they are named, and nobody else's chatter."""

import logging
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from askd.logs import configure_log, open_log
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


@pytest.mark.parametrize("name", ["httpx", "httpx2"])
def test_requests_are_not_logged_by_the_http_client(
    capsys: pytest.CaptureFixture[str], name: str
) -> None:
    configure_log("debug")
    logging.getLogger(name).info("GET http://example/?key=secret")
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


@pytest.mark.parametrize("name", ["mcp.client.streamable_http", "client"])
def test_what_servers_of_tools_say_is_not_logged(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_log("debug", hide=str)
    logging.getLogger(name).error("could not read: what a server said")
    logging.getLogger(name).warning("what a server said")
    assert capsys.readouterr().err == ""


def test_no_message_passes_for_another_record(capsys: pytest.CaptureFixture[str]) -> None:
    configure_log("info")
    log = logging.getLogger("askd.test")
    log.warning("said %s", "one\n2026-01-01T00:00:00.000+00:00 INFO askd: two\x1b[2J\r\u2028three")
    first, second = capsys.readouterr().err.splitlines()
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\dT[\d:.]{12}[+-]\d\d:\d\d WARNING askd.test: said one", first
    )
    assert second == r"    2026-01-01T00:00:00.000+00:00 INFO askd: two\x1b[2J\x0d\u2028three"


def test_the_journal_hears_the_level_of_each_line(capsys: pytest.CaptureFixture[str]) -> None:
    configure_log("debug", for_journal=True)
    log = logging.getLogger("askd.test")
    log.debug("a")
    log.info("b")
    log.warning("c\nd")
    log.critical("e")
    said = capsys.readouterr().err.splitlines()
    assert [line[:3] for line in said] == ["<7>", "<6>", "<4>", "<4>", "<3>"]
    assert [line[3:] for line in said[1:4]] == ["askd.test: b", "askd.test: c", "d"]


def test_whose_standard_error_is_the_journal_is_asked(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    status = os.fstat(2)
    for stream, said in (
        (f"{status.st_dev}:{status.st_ino}", "<4>askd: x"),
        ("1:2", "WARNING askd"),
    ):
        found = {"JOURNAL_STREAM": stream}
        set_level = open_log(None, tmp_path / "askd.log", systemd=found, hide=str)
        set_level("warning")
        logging.getLogger("askd").info("not this")
        logging.getLogger("askd").warning("x")
        heard = capfd.readouterr().err
        assert said in heard
        assert "not this" not in heard


def test_a_process_of_its_own_level_does_not_heed_the_settings(tmp_path: Path) -> None:
    open_log("error", tmp_path / "askd.log", systemd={}, hide=str)("debug")
    assert logging.getLogger().level == logging.ERROR


def test_whoever_wants_to_know_hears_of_each_record() -> None:
    heard: list[None] = []
    configure_log("info", written=lambda: heard.append(None))
    logging.getLogger("askd").warning("one")
    logging.getLogger("askd").debug("not written")
    assert heard == [None]
