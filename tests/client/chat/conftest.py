"""The home and the daemon of the commands' tests, and a desk that asks it."""

from collections.abc import Iterator

import pytest

from ask.chat.desk import Desk
from ask.connection import Client
from tests.client.commands.conftest import daemon, home
from tests.client.commands.fake_daemon import FakeDaemon

__all__ = ["Seat", "daemon", "home", "seat"]


class Seat:
    """A desk at the fake daemon, and what it showed."""

    def __init__(self, client: Client) -> None:
        self.shown: list[str] = []
        self.told: list[str] = []
        self.desk = Desk(caller=client, show=self.shown.append, tell=self.told.append)


@pytest.fixture
def seat(daemon: FakeDaemon) -> Iterator[Seat]:
    """A desk of a new conversation."""
    with Client.connect(start=False) as client:
        yield Seat(client)
