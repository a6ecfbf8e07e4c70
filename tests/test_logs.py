"""The daemon's log: levels as they are named, and nobody else's chatter."""

import logging
from collections.abc import Iterator

import pytest

from askd.logs import configure_log


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
