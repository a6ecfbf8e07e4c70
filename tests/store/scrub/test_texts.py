"""Everything that was said is handed out, as it was said."""

import json
import sqlite3
from pathlib import Path

from askd.core.events import ItemAdded
from askd.core.items import AssistantMessage, ToolCall
from askd.store import changes
from askd.store.batch import commit_batch
from askd.store.log import Write
from askd.store.scrub import texts as scrub_texts
from askd.store.scrub.texts import find_texts, read_texts
from tests.store.builders import create, job, key, note, prompt

SAID = 'a "quoted"\nline'


def test_texts_of_a_record_are_as_they_were_said() -> None:
    call = {"type": "item_added", "item": {"arguments": json.dumps({"q": SAID})}}
    assert SAID in find_texts(json.dumps(call).encode())
    assert find_texts(b"no JSON \xff") == ["no JSON �"]
    assert find_texts(json.dumps([SAID, 12]).encode()) == [SAID, "12"]


def test_every_table_and_file_is_read(connection: sqlite3.Connection, tmp_path: Path) -> None:
    call = ToolCall("call_1", "look", json.dumps({"q": SAID}))
    write = Write(
        conversation_id="c",
        bodies=[prompt("t", "asked"), ItemAdded("t", AssistantMessage("t.1", calls=(call,)), 1)],
        key=key("the key", "t"),
        terminal="the terminal",
        jobs=[job("j", "for c")],
    )
    asked = [changes.append(create("c", note("noted"), name="named")), changes.append(write)]
    commit_batch(connection, asked, at=1.0)
    connection.execute("INSERT INTO blobs VALUES ('a', 1, ?)", (b"a long text",))
    connection.execute("INSERT INTO blobs VALUES ('b', 1, ?)", (b"\xff no text",))
    log = tmp_path / "askd.log"
    log.write_text(f"first line\n{json.dumps({'x': SAID})}\n")
    found = [text for page in read_texts(connection, [log, tmp_path / "no file"]) for text in page]
    for each in ("named", "noted", "asked", SAID, "the key", "the terminal", "a long text"):
        assert each in found, each
    assert "first line\n" in found
    assert found.count(SAID) == 2
    assert not [each for each in found if "no text" in each]


def test_pages_are_bounded(connection: sqlite3.Connection) -> None:
    notes = [note("x" * 100_000, id=str(number)) for number in range(25)]
    commit_batch(connection, [changes.append(create("c", *notes))], at=1.0)
    sizes = [sum(map(len, page)) for page in read_texts(connection, [])]
    assert len(sizes) == 3
    assert max(sizes) < scrub_texts.PAGE_CHARACTERS + 100_001
