"""A plan finds everything of a conversation that holds a secret, and writes nothing."""

import hashlib
import json
import sqlite3

import pytest

from askd.core.events import ItemAdded, PromptAccepted, Renamed, Titled
from askd.core.items import AssistantMessage, Blob, ToolCall, UserMessage
from askd.core.scrubbing import MARK, Scrub
from askd.errors import NotFound
from askd.store import changes
from askd.store.batch import commit_batch
from askd.store.log import Partial, Write
from askd.store.scrub.plans import describe, make_plan
from tests.store.builders import add, answer, create, finish, job, key, note, prompt

SECRET = 'hun"ter\\22\nö'
SCRUB = Scrub([SECRET])


def commit(connection: sqlite3.Connection, *writes: Write) -> None:
    for outcome in commit_batch(connection, [changes.append(each) for each in writes], at=5.0):
        if isinstance(outcome, Exception):
            raise outcome


def test_it_finds_every_place_and_leaves_them_as_they_are(connection: sqlite3.Connection) -> None:
    content = f"long {SECRET}".encode()
    digest = hashlib.sha256(content).hexdigest()
    asked = PromptAccepted(
        "t", "k", (UserMessage("t.0", (Blob(digest, len(content), "text/plain"),)),)
    )
    call = ToolCall("call_1", "look", json.dumps({"a": SECRET}))
    commit(
        connection,
        create("c", note("nothing"), Titled(f"about {SECRET}"), name="n"),
        Write(
            conversation_id="c",
            bodies=[asked],
            blobs=[(digest, content)],
            key=key(f"k {SECRET}", "t"),
            jobs=[job("j")],
        ),
    )
    partial = Partial("c", "t", "t.1", "text", f"so far {SECRET}")
    commit_batch(connection, [changes.save_partials([partial])], at=6.0)
    connection.execute("UPDATE jobs SET errors = ?", (json.dumps([{"error": SECRET}]),))
    commit(connection, add("c", ItemAdded("t", AssistantMessage("t.2", calls=(call,)), 1)))
    before = list(connection.iterdump())
    plan = make_plan(connection, "c", SCRUB)
    assert list(plan.events) == [3, 4, 5]
    assert plan.blobs == {digest: f"long {MARK}".encode()}
    assert plan.row == ("n", f"about {MARK}", None)
    assert plan.partials == [(f"so far {MARK}", "t.1", "text")]
    assert [(json.loads(errors), id) for _, errors, id in plan.jobs] == [([{"error": MARK}], "j")]
    assert plan.keys == [f"k {SECRET}"]
    assert plan.occurrences == 5
    found = describe(connection, "c", plan)
    assert (found.name, found.title, found.events) == ("n", f"about {MARK}", 3)
    assert found.is_busy, "its turn has not ended"
    assert list(connection.iterdump()) == before


def test_nothing_is_found_where_it_is_not(connection: sqlite3.Connection) -> None:
    commit(connection, create("c", prompt("t"), answer("t"), finish("t"), name="n"))
    assert make_plan(connection, "c", SCRUB).is_empty
    with pytest.raises(NotFound):
        make_plan(connection, "nobody", SCRUB)


def test_a_name_becomes_one_that_is_free(connection: sqlite3.Connection) -> None:
    commit(connection, create("a", name=MARK), create("b", name=f"{MARK}-2"))
    commit(connection, create("c", Renamed("x"), Renamed(SECRET), name=f"{SECRET}!"))
    plan = make_plan(connection, "c", SCRUB)
    assert plan.row[0] == f"{MARK}-3"
    bodies = [json.loads(body) for body in plan.events.values()]
    assert [body["name"] for body in bodies] == [f"{MARK}!", f"{MARK}-3"]
    long = "x" * 50 + "hunter22"
    commit(connection, create("d", name=long))
    assert make_plan(connection, "d", Scrub(["hunter22"])).row[0] == ("x" * 50 + MARK)[:64]


def test_half_of_it_at_the_end_of_a_title_counts_where_it_was_said(
    connection: sqlite3.Connection,
) -> None:
    scrub = Scrub(["hunter22-and-more"])
    said = prompt("t", "my key is hunter22-and-more")
    commit(
        connection,
        create("c", said, finish("t"), Titled("my key is hunter22-an")),
        create("d", prompt("t", "the hunt"), finish("t"), Titled("the hunt")),
    )
    assert make_plan(connection, "c", scrub).row[1] == f"my key is {MARK}"
    assert make_plan(connection, "d", scrub).is_empty


def test_a_record_that_cannot_be_read_is_scrubbed_all_the_same(
    connection: sqlite3.Connection,
) -> None:
    commit(connection, create("c", note("a"), note("b"), note("d")))
    torn, bytes_of = '{"text": "hunter22', b'\xff{"hunter22": 1}'
    for seq, body in ((2, torn), (3, bytes_of), (4, '{"x": NaN, "y": "hunter22"}')):
        connection.execute("UPDATE events SET body = ? WHERE seq = ?", (body, seq))
    plan = make_plan(connection, "c", Scrub(["hunter22"]))
    assert plan.events == {
        2: f'{{"text": "{MARK}',
        3: b'\xff{"[scrubbed]": 1}',
        4: f'{{"x": NaN, "y": "{MARK}"}}',
    }
