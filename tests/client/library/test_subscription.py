"""A subscription is a stream with errors of the library, and an end."""

import math
import os
from pathlib import Path

import pytest

import ask
from ask.library.link import Link
from ask.library.subscription import Subscription
from tests.client.library.test_stream import say_something
from tests.fakes.daemon import FakeDaemon, answer


def subscribe(daemon: FakeDaemon, *, since: int = 0, interactive: bool = False) -> Subscription:
    (conversation_id,) = daemon.events
    link = Link(os.environ, start=False)
    return Subscription(link, conversation_id, since=since, interactive=interactive)


def test_events_come_until_it_is_closed(lone_home: Path) -> None:
    with say_something(lone_home, answer("yes")) as daemon:
        with subscribe(daemon, interactive=True) as subscription:
            found = []
            for event in subscription:
                found.append(type(event).__name__)
                if isinstance(event, ask.Finished):
                    subscription.close()
        assert list(subscription) == []
    assert found[-2:] == ["Message", "Finished"]
    assert daemon.asked("conversation/subscribe")[0]["interactive"] is True


def test_it_begins_where_one_likes(lone_home: Path) -> None:
    with say_something(lone_home, answer("yes")) as daemon, subscribe(daemon, since=2) as events:
        assert isinstance(next(events), ask.Started)


def test_a_wait_may_be_short(lone_home: Path) -> None:
    with say_something(lone_home) as daemon, subscribe(daemon, since=2) as events:
        assert events.wait(0.01) is None


def test_a_deleted_conversation_is_not_found(lone_home: Path) -> None:
    with say_something(lone_home) as daemon:
        subscription = subscribe(daemon)
        daemon.events.clear()
        with pytest.raises(ask.NotFound) as caught:
            next(subscription)
    assert caught.value.conversation_id == subscription.conversation_id


def test_a_wait_that_means_nothing_is_refused(lone_home: Path) -> None:
    with say_something(lone_home) as daemon:
        with subscribe(daemon) as events, pytest.raises(ask.UsageError, match="number of seconds"):
            events.wait(math.nan)
        with pytest.raises(ask.UsageError, match="closed"):
            events.wait(0.0)
        assert daemon.asked("conversation/subscribe") == [], "nothing was opened for it"
