"""The floors hold, and the check that says so has teeth."""

import pytest

from tests.house import floors


def test_no_module_breaks_the_floors() -> None:
    assert floors.find_all() == []


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("askd.core.turn", "import time\n"),
        ("askd.core.turn", "from askd.errors import AskdError\n"),
        ("askd.core.turn", "from askd.store.log import Write\n"),
        ("askd.store.writer", "from askd.providers.base import Model\n"),
        ("askd.store.writer", "from askd.sessions.hub import Hub\n"),
        ("askd.sessions.live", "from ask.protocol.messages import METHODS\n"),
        ("askd.sessions.live", "from askd.config import Settings\n"),
        ("askd.server.wire", "from ask.connection import Client\n"),
        ("askd.jobs.worker", "def f():\n    from askd.server import wire\n"),
        ("askd.providers.local", "from os import environ\n"),
    ],
)
def test_planted_violation_in_the_daemon_is_found(name: str, source: str) -> None:
    assert floors.find_daemon_violations(name, source)


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("ask.connection", "import trio\n"),
        ("ask.render", "import rich\n"),
        ("ask.prompt", "def f():\n    import httpx\n"),
        ("ask.fast.run", "import re\n"),
        ("ask.fast.argv", "from typing import Any\n"),
        ("ask.protocol.frames", "from ask.paths import Paths\n"),
        ("ask.connection", "from askd.core import items\n"),
    ],
)
def test_planted_violation_in_the_client_is_found(name: str, source: str) -> None:
    assert floors.find_client_violations(name, source)


def test_planted_reader_of_the_environment_is_found() -> None:
    assert floors.find_environment_reads("askd.app", "import os\nx = os.environ['A']\n")
    assert floors.find_environment_reads("askd.app", "import os\nx = os.getenv('A')\n")


def test_planted_second_writer_is_found() -> None:
    planted = "import sqlite3\nsqlite3.connect('ask.db')\n"
    assert floors.find_database_opens("askd.store.queries", planted)
    assert not floors.find_database_opens("askd.store.writer", planted)
    readonly = "import sqlite3\nsqlite3.connect(f'file:{p}?mode=ro', uri=True)\n"
    assert not floors.find_database_opens("askd.store.queries", readonly)


def test_each_room_of_the_daemon_has_a_floor() -> None:
    rooms = {path.name for path in (floors.DAEMON / "askd").iterdir() if path.is_dir()}
    assert rooms - {"__pycache__"} <= set(floors.LEVEL)
