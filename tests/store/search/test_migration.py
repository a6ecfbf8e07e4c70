"""A database of schema 2 can be searched as if its words had been taken in when they were said."""

import sqlite3
from contextlib import closing
from pathlib import Path

from askd.core.events import Body, ConversationCreated, Event, PromptWithdrawn, TurnFinished
from askd.store.backups import backup_path
from askd.store.bodies import encode_text
from askd.store.database import configure_writer, prepare_file
from askd.store.migrations import MIGRATIONS, migrate
from tests.store.builders import answer, finish, open_store, prompt

BEFORE = [each for each in MIGRATIONS if each.number < 3]


async def test_an_old_database_can_be_searched(path: Path) -> None:
    prepare_file(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as old:
        configure_writer(old, path)
        migrate(old, path, at=1.0, migrations=BEFORE)
        for id, start in (("young", 500.0), ("ancient", 100.0)):
            bodies: list[Body] = [
                ConversationCreated(id),
                prompt("t", f"the fox of {id}"),
                answer("t", "sleeps"),
                finish("t"),
                prompt("u", "the fox again"),
                PromptWithdrawn("u"),
                TurnFinished("u", "withdrawn", 1),
            ]
            old.execute(
                "INSERT INTO conversations VALUES (?, NULL, NULL, NULL, 1.0, 1.0, 0, ?)",
                (id, len(bodies)),
            )
            for seq, body in enumerate(bodies, start=1):
                event = Event(id, seq, start + seq, body)
                old.execute(
                    "INSERT INTO events VALUES (?, ?, ?, ?, 1, ?)",
                    (id, seq, event.at, event.type, encode_text(body)),
                )
        old.execute("INSERT INTO events VALUES ('young', 8, 9.0, 'item_added', 1, 'broken fox')")
        old.execute("INSERT INTO events VALUES ('young', 9, 9.0, 'prompt_accepted', 1, '{}')")
    async with open_store(path) as store:
        page = await store.reader.search("fox", limit=9)
        assert [(hit.conversation_id, hit.seq, hit.at) for hit in page.rows] == [
            ("young", 2, 502.0),  # by time, though the other was read first
            ("ancient", 2, 102.0),
        ]
        await store.writer.delete("young")
        page = await store.reader.search("fox", limit=9)
        assert [hit.conversation_id for hit in page.rows] == ["ancient"]
    with closing(sqlite3.connect(backup_path(path, 2))) as copy:
        assert copy.execute("SELECT max(number) FROM migrations").fetchone() == (2,)
