"""Tries are counted by kind and end, with what they took."""

from askd.jobs.counters import Counters, KindCount
from askd.store.log import Fence


def test_nothing_was_done() -> None:
    counters = Counters()
    assert (list(counters.read(at=1.0)), counters.running("title")) == ([], 0)


def test_tries_are_counted() -> None:
    counters = Counters()
    first, second, again = Fence("a", "b", 1), Fence("c", "b", 1), Fence("a", "b", 2)
    counters.begin("title", first, waited_s=0.5, at=10.0)
    counters.begin("title", second, waited_s=2.0, at=11.0)
    counters.begin("compact", Fence("d", "b", 1), waited_s=0.0, at=12.0)
    counters.end("title", first, "failed", at=13.0)
    counters.begin("title", again, waited_s=0.0, at=14.0)
    counters.end("title", second, "completed", at=15.0)
    assert counters.running("title") == 1
    compact, title = counters.read(at=20.0)
    assert title == KindCount(
        kind="title",
        ends={"failed": 1, "completed": 1},
        running=1,
        queue_s=2.5,
        queue_max_s=2.0,
        run_s=7.0,
        run_max_s=4.0,
        oldest_s=6.0,
    )
    assert (compact.kind, compact.ends, compact.running, compact.oldest_s) == ("compact", {}, 1, 8)
