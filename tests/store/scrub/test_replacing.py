"""In one transaction a secret leaves a conversation, and every byte of the database."""

import hashlib
import json
import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from askd.core.context import build_context
from askd.core.conversation import fold
from askd.core.events import Event, ItemAdded, PromptAccepted, PromptWithdrawn, Titled, TurnStarted
from askd.core.items import AssistantMessage, Blob, Text, ToolCall, ToolOutput, UserMessage
from askd.core.pairs import heal
from askd.core.scrubbing import MARK, Scrub, spell
from askd.errors import Busy, NotFound
from askd.store import changes
from askd.store.batch import commit_batch
from askd.store.database import open_readonly
from askd.store.jobs import rows as job_rows
from askd.store.log import Write
from askd.store.scrub.replacing import count_rest, find_secret, refuse_busy, scrub_conversation
from askd.store.scrub.replacing import scrub_rest as make_scrub_rest
from tests.store.builders import (
    Store,
    add,
    answer,
    create,
    finish,
    job,
    key,
    note,
    open_store,
    prompt,
)

SECRET = 'hunter22x"\\\nöß'
WORD = "hunter22xyzzy"
LONG = ("file of words " * 30 + f"{SECRET} {WORD}\n") * 600
DIGEST = hashlib.sha256(LONG.encode()).hexdigest()
PICTURE = b"\x89PNG\xff" + WORD.encode() + b"\xfe"
PICTURE_DIGEST = hashlib.sha256(PICTURE).hexdigest()


async def fill(store: Store, id: str = "c", *, name: str | None = None) -> None:
    """A conversation in which it stands everywhere."""
    parts = (
        Text(f"say {SECRET} and {WORD}"),
        Blob(DIGEST, len(LONG.encode()), "text/plain"),
        Blob(PICTURE_DIGEST, len(PICTURE), "image/png"),
    )
    call = ToolCall("call_1", "look", json.dumps({"a": SECRET, "b": json.dumps({"c": WORD})}))
    write = Write(
        conversation_id=id,
        bodies=[PromptAccepted("t", "k", (UserMessage("t.0", parts),), cwd=f"/{WORD}")],
        key=key(f"key of {id} {WORD}", "t"),
        terminal=f"terminal of {id} {WORD}",
        blobs=[(DIGEST, LONG.encode()), (PICTURE_DIGEST, PICTURE)],
    )
    await store.writer.append(create(id, Titled(f"about {SECRET} {WORD}"), name=name))
    await store.writer.append(write)
    await store.writer.append(
        add(
            id,
            TurnStarted("t", 1),
            ItemAdded("t", AssistantMessage("t.1", (Text(WORD),), calls=(call,)), 1),
            ItemAdded("t", ToolOutput("t.2", "call_1", "look", (Text(SECRET),)), 1),
            finish("t"),
            prompt("u", f"taken back {WORD}"),
            PromptWithdrawn("u"),
            finish("u"),
            *(note(f"{number} {WORD * number}", id=f"n{number}") for number in range(40)),
        )
    )


async def scrub(store: Store, id: str, *texts: str) -> int:
    done = await store.writer.scrub(scrub_conversation(id, Scrub(texts)))
    return done.occurrences


def find_in_files(path: Path, *secrets: str) -> list[str]:
    """In which files of the database which spelling stands."""
    return [
        f"{each.name}: {spelled!r}"
        for each in sorted(path.parent.iterdir())
        for secret in secrets
        for spelled in spell(secret)
        if spelled.encode() in each.read_bytes()
    ]


async def test_no_byte_of_it_is_left_in_any_spelling(path: Path) -> None:
    async with open_store(path) as store:
        await fill(store)
        assert find_in_files(path, SECRET, WORD)
        assert await scrub(store, "c", SECRET, WORD) > 600
        await store.writer.scrub(make_scrub_rest(Scrub([SECRET, WORD])))
        assert await store.writer.erase()
        assert find_in_files(path, SECRET, WORD) == []
        assert await scrub(store, "c", SECRET, WORD) == 0, "a second time there is nothing"
        assert (await store.reader.search("scrubbed", limit=100)).rows
        assert not (await store.reader.search(WORD, limit=100)).rows
        assert (await store.reader.search("file words", limit=100)).rows
    assert find_in_files(path, SECRET, WORD) == []


@pytest.mark.parametrize("seed", [27, 28])
async def test_no_byte_is_left_where_rows_have_moved_from_page_to_page(
    path: Path, seed: int
) -> None:
    # A row that moves to another page leaves a copy behind: with the first seed some have.
    chance = random.Random(seed)
    ids = ["c0", "c1", "c2", "c3"]
    async with open_store(path) as store:
        for id in ids:
            await store.writer.append(create(id))
        for turn in range(40):
            length = int(10 ** chance.uniform(0, 2.6))
            said = " ".join(chance.choice(("alpha", "beta", WORD)) for _ in range(length))
            write = add(chance.choice(ids), prompt(f"t{turn}", said), finish(f"t{turn}"))
            await store.writer.append(write)
        for id in ids:
            await scrub(store, id, WORD)
        assert await store.writer.erase()
        assert find_in_files(path, WORD) == []


async def test_the_rest_is_as_it_was(path: Path) -> None:
    async with open_store(path) as store:
        await fill(store)
        await store.writer.append(create("other", prompt("t"), answer("t"), finish("t")))
        before, other = await store.reader.load("c"), await store.reader.load("other")
        row = await store.reader.get("c")
        await scrub(store, "c", SECRET, WORD)
        after = await store.reader.load("c")
        assert [(e.seq, e.at, e.type, e.version) for e in after] == [
            (e.seq, e.at, e.type, e.version) for e in before
        ]
        assert _ids(after) == _ids(before)
        assert await store.reader.load("other") == other
        now = await store.reader.get("c")
        assert row is not None
        assert now is not None
        assert (now.updated_at, now.message_count, now.title) == (
            row.updated_at,
            row.message_count,
            f"about {MARK} {MARK}",
        )
        healed, faults = heal(build_context(fold("c", after), None, system=None).items)
        assert [item.id for item in healed] == ["t.0", "t.1", "t.2"]
        assert faults == []
        prompt_body = after[2].body
        assert isinstance(prompt_body, PromptAccepted)
        text, long, picture = prompt_body.items[0].parts
        assert text == Text(f"say {MARK} and {MARK}")
        assert isinstance(long, Blob)
        assert isinstance(picture, Blob)
        content = await store.reader.read_blob(long.sha256)
        assert content.decode() == LONG.replace(SECRET, MARK).replace(WORD, MARK)
        assert hashlib.sha256(content).hexdigest() == long.sha256
        assert len(await store.reader.read_blob(picture.sha256)) == len(PICTURE)
        with pytest.raises(NotFound):
            await store.reader.read_blob(DIGEST)


def _ids(events: list[Event]) -> list[str]:
    return [
        event.body.item.id
        for event in events
        if isinstance(event.body, ItemAdded) and event.body.item.id
    ]


async def test_content_that_another_conversation_has_stays_with_that_one(path: Path) -> None:
    async with open_store(path) as store:
        await fill(store, "c")
        await fill(store, "d")
        await scrub(store, "c", SECRET, WORD)
        assert await store.reader.read_blob(DIGEST) == LONG.encode()
        await scrub(store, "d", SECRET, WORD)
        with pytest.raises(NotFound):
            await store.reader.read_blob(DIGEST)
        assert len({len(await store.reader.load(id)) for id in "cd"}) == 1


async def test_a_prompt_that_was_taken_back_is_not_found_afterwards_either(path: Path) -> None:
    async with open_store(path) as store:
        await fill(store)
        await scrub(store, "c", SECRET, WORD)
        assert not (await store.reader.search("taken back", limit=10)).rows


async def test_where_a_turn_is_at_work_nothing_is_changed(path: Path) -> None:
    async with open_store(path) as store:
        await store.writer.append(create("c", prompt("t", WORD)))
        before = await store.reader.load("c")
        with pytest.raises(Busy, match=r"in: c\. Nothing was changed"):
            await scrub(store, "c", WORD)
        assert await scrub(store, "c", "not in there") == 0
        await store.writer.append(Write(conversation_id="c", bodies=[finish("t")], jobs=[job("j")]))
        await store.writer.apply(job_rows.claim_job("boot-1"))
        with pytest.raises(Busy) as caught:
            await scrub(store, "c", WORD)
        assert WORD not in str(caught.value)
        assert (await store.reader.load("c"))[:2] == before


async def test_a_key_is_known_again_and_stands_nowhere(path: Path) -> None:
    async with open_store(path) as store:
        await fill(store)
        await scrub(store, "c", WORD)
        known = await store.reader.find_key(f"key of c {WORD}")
        assert known is not None
        assert known.turn_id == "t"
        again = await store.writer.append(
            Write(conversation_id="c", bodies=[note()], key=key(f"key of c {WORD}", "t", "other"))
        )
        assert again.repeated is not None, "its digest told what was said"


async def test_its_rollout_is_to_be_written_anew(path: Path) -> None:
    async with open_store(path) as store:
        await store.writer.append(create("c", note(WORD)))
        await store.writer.append(create("d", note("x")))
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.executemany(
                "INSERT INTO rollouts VALUES (?, ?, 2, 99)", [("c", "r/c"), ("d", "r/d")]
            )
        done = await store.writer.scrub(scrub_conversation("c", Scrub([WORD])))
        assert done.rollout == "r/c"
        await store.writer.scrub(scrub_conversation("d", Scrub([WORD])))
        with closing(open_readonly(path)) as connection:
            rows = connection.execute("SELECT path, seq, bytes FROM rollouts ORDER BY path")
            assert rows.fetchall() == [("r/c", 0, 0), ("r/d", 2, 99)]


async def test_looking_finds_what_scrubbing_replaces(path: Path) -> None:
    async with open_store(path) as store:
        for id in ("c", "d"):
            await fill(store, id)
        await store.writer.append(create("e", note("x")))
        wanted = Scrub([SECRET, WORD])
        with closing(open_readonly(path)) as connection:
            found = list(find_secret(connection, wanted))
        assert sorted(each.conversation_id for each in found) == ["c", "d"]
        for each in found:
            assert await scrub(store, each.conversation_id, SECRET, WORD) == each.occurrences
        with closing(open_readonly(path)) as connection:
            assert list(find_secret(connection, wanted)) == []
        with pytest.raises(NotFound):
            await scrub(store, "nobody", WORD)


def test_rows_that_belong_to_nobody(connection: sqlite3.Connection) -> None:
    wanted = Scrub([WORD])
    write = changes.append(create("c", note("x")))
    commit_batch(connection, [write], at=1.0)
    connection.execute(
        "INSERT INTO usage VALUES ('c', 't', 1, 1.0, ?, 1, 1, 1, 1, NULL)", (f"p/{WORD}",)
    )
    connection.execute("INSERT INTO terminals VALUES (?, 'c', 1.0)", (WORD,))
    connection.execute("INSERT INTO keys VALUES (?, 'd', 'gone', 't', 0)", (WORD,))
    connection.execute(
        "INSERT INTO jobs (id, kind, unique_key, arguments, state, run_at, max_attempts,"
        " created_at) VALUES ('j', 'k', 'u', ?, 'completed', 1.0, 1, 1.0)",
        (json.dumps({"text": WORD, "conversation_id": WORD}),),
    )
    assert count_rest(connection, wanted) == 4
    commit_batch(connection, [make_scrub_rest(wanted)], at=2.0)
    assert count_rest(connection, wanted) == 0
    assert connection.execute("SELECT model FROM usage").fetchone() == (f"p/{MARK}",)
    (arguments,) = connection.execute("SELECT arguments FROM jobs").fetchone()
    assert json.loads(arguments) == {"text": MARK, "conversation_id": WORD}, "an id stays"


def test_who_is_busy_is_named_and_how_far_it_came() -> None:
    error = refuse_busy(["abcdefgh-1234", "12345678-9"], done=3)
    assert "abcdefgh, 12345678" in error.message
    assert "3 conversation(s) were scrubbed before" in error.message
    assert error.data == {"conversation_ids": ["abcdefgh-1234", "12345678-9"], "done": 3}
