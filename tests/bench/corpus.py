"""A store as years of use leave it: so many messages, through the store's own machinery.

The same number of messages is the same store on every machine: all that is random
comes from a seed. It is built once below a directory and found there again: a home with an
`ASK_HOME` that a daemon can be started in, and the messages as JSON lines beside it.
`python -m tests.bench.corpus DIRECTORY MESSAGES...` builds it beforehand.
"""

import argparse
import itertools
import json
import random
import shutil
import sqlite3
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from askd.core.events import (
    Body,
    CompletionFinished,
    ConversationCreated,
    ItemAdded,
    PromptAccepted,
    SettingsChanged,
    Titled,
    TurnFinished,
    TurnStarted,
)
from askd.core.items import AssistantMessage, Text, ToolCall, ToolOutput, UserMessage
from askd.core.outcome import Usage
from askd.store.changes import append
from askd.store.log import Write
from askd.store.migrations import MIGRATIONS
from askd.store.transactions import Asked, Transactions
from askd.store.writer import connect

VERSION = 1
"""Of what is written: another one is another directory."""
SEED = 20_260_101
SMALLEST, LARGEST = 2, 400
"""Messages of a conversation. Small ones are many: each order of magnitude is as frequent."""
RARE, COMMON = "sandpoint", "tension"
"""Words that the rest of the vocabulary cannot make, of letters that it has: else `grep` had only
to look for a letter."""
RARE_EVERY, COMMON_EVERY = 4000, 100
"""A rare hit is 25 messages of 100,000, so that a page of twenty is full in every store."""
VOCABULARY = 30_000
FIRST_WORD = "the"
"""In most messages, as the first words of any language are."""
WORDS = (8, 82)
"""Of a message, 45 on average."""
BEGIN_AT = 1_700_000_000.0
GAP_S = 63.0
"""Between two messages of all conversations together: a million in two years."""
BATCH_MESSAGES = 5000
"""Committed at once: large writes, in which a conversation is one."""
SYLLABLES = [a + b for a in ("b", "d", "f", "k", "l", "m", "n", "p", "r", "s", "t", "v", "st", "tr")
             for b in ("a", "e", "i", "o", "u", "an", "er", "in", "ol")]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Facts:
    """What a built store holds. `longest`: the id of a conversation with the most messages."""

    messages: int
    conversations: int
    rare: int
    common: int
    longest: str
    longest_messages: int


@dataclass(frozen=True, slots=True)
class Corpus:
    """A built store below `home`, as `tests.system.world` lays one out."""

    home: Path
    facts: Facts

    @property
    def database(self) -> Path:
        """The database of a daemon in this home."""
        return self.home / "ask" / "data" / "ask.db"

    @property
    def lines(self) -> Path:
        """`{conversation_id, at, role, text}` for each message, in the order of the log."""
        return self.home / "messages.jsonl"


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation that is to be written."""

    conversation_id: str
    at: float
    role: str
    text: str


def open_corpus(directory: Path, messages: int) -> Corpus:
    """The store of so many messages below `directory`, built if it is not there."""
    home = directory / f"messages-{messages}-v{VERSION}"
    note = home / "corpus.json"
    if not note.exists():
        partial = home.with_name(f"{home.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        facts = _build(Corpus(partial, Facts(messages, 0, 0, 0, "", 0)))
        (partial / "corpus.json").write_text(json.dumps(asdict(facts)))
        partial.rename(home)
    return Corpus(home, Facts(**json.loads(note.read_text())))


def _build(corpus: Corpus) -> Facts:
    transactions = Transactions(
        corpus.database, connect=_connect, now=time.time, migrations=MIGRATIONS
    )
    corpus.database.parent.mkdir(parents=True)
    transactions.open()
    conversations, largest = 0, (0, "")
    pending: list[Asked] = []
    waiting = 0
    with corpus.lines.open("w", encoding="utf-8") as lines:
        for write, said in make_conversations(corpus.facts.messages):
            conversations += 1
            largest = max(largest, (len(said), write.conversation_id))
            lines.writelines(json.dumps(_describe(each)) + "\n" for each in said)
            pending.append(Asked(append(write)))
            waiting += len(said)
            if waiting >= BATCH_MESSAGES:
                _commit(transactions, pending)
                pending, waiting = [], 0
    _commit(transactions, pending)
    transactions.rest()
    transactions.close()
    messages = corpus.facts.messages
    return Facts(
        messages=messages,
        conversations=conversations,
        rare=len(range(RARE_EVERY // 2, messages, RARE_EVERY)),
        common=len(range(COMMON_EVERY // 2, messages, COMMON_EVERY)),
        longest=largest[1],
        longest_messages=largest[0],
    )


def _connect(path: Path) -> sqlite3.Connection:
    connection = connect(path)
    # More of the file in memory than the daemon keeps: this is not what is measured.
    connection.execute("PRAGMA cache_size = -262144")
    return connection


def _commit(transactions: Transactions, asked: list[Asked]) -> None:
    for outcome in transactions.commit(asked, at=BEGIN_AT):
        if isinstance(outcome, Exception):
            raise outcome
    transactions.checkpoint()


def _describe(message: Message) -> dict[str, object]:
    return {name: getattr(message, name) for name in Message.__slots__}


def make_conversations(messages: int) -> Iterator[tuple[Write, list[Message]]]:
    """Whole conversations in the order of their beginnings, with what they say.

    A smaller number is a beginning of a larger one, the last conversation cut.
    """
    speech = Speech()
    number = 0
    for index in itertools.count():
        if number >= messages:
            return
        chance = random.Random(SEED + index)
        size = round(SMALLEST * (LARGEST / SMALLEST) ** chance.random()) // 2 * 2
        size = min(size, messages - number)
        yield _converse(speech, chance, index, first=number, size=size)
        number += size


class Speech:
    """Texts by a vocabulary in which, as in languages, few words are frequent."""

    def __init__(self) -> None:
        chance = random.Random(SEED)
        made = {
            "".join(chance.choices(SYLLABLES, k=chance.randint(1, 4))): None
            for _ in range(VOCABULARY * 2)
        }
        self._words = [FIRST_WORD, *itertools.islice(made, VOCABULARY - 1)]
        self._weights = list(
            itertools.accumulate(1 / (rank + 2.7) for rank in range(len(self._words)))
        )

    def say(self, chance: random.Random, number: int) -> str:
        """The text of the message of this number."""
        words = chance.choices(self._words, cum_weights=self._weights, k=chance.randint(*WORDS))
        if number % RARE_EVERY == RARE_EVERY // 2:
            words.insert(len(words) // 2, RARE)
        if number % COMMON_EVERY == COMMON_EVERY // 2:
            words.insert(len(words) // 3, COMMON)
        if number % 50 == 7:
            words.append("caf\u00e9 \u2014 na\u00efve")  # what is not plain takes another way
        for place in range(9, len(words), 10):
            words[place] += ".\n" if place % 30 == 29 else ","
        return " ".join(words)


def _converse(
    speech: Speech, chance: random.Random, index: int, *, first: int, size: int
) -> tuple[Write, list[Message]]:
    id = str(uuid.UUID(int=chance.getrandbits(128), version=4))
    bodies: list[Body] = [
        ConversationCreated(id, f"work-{index}" if index % 20 == 0 else None),
        SettingsChanged(model="bench/model"),
    ]
    at = BEGIN_AT + first * GAP_S
    times = [at, at]
    said: list[Message] = []

    def say(role: str) -> str:
        text = speech.say(chance, first + len(said))
        said.append(Message(id, at, role, text))
        return text

    def add(*added: Body) -> None:
        bodies.extend(added)
        times.extend([at] * len(added))

    for turn in itertools.count():
        left = size - len(said)
        if not left:
            break
        turn_id = f"t{turn}"
        prompt = UserMessage(f"{turn_id}.0", (Text(say("user")),))
        add(PromptAccepted(turn_id, f"{id}-{turn}", (prompt,)), TurnStarted(turn_id, 1))
        at += chance.uniform(2.0, 20.0)
        completion = 1
        if left >= 4 and chance.random() < 0.2:
            call = ToolCall(f"call-{turn}", "read", json.dumps({"path": f"notes/{turn}.md"}))
            asking = AssistantMessage(f"{turn_id}.1", (Text(say("assistant")),), calls=(call,))
            output = ToolOutput(f"{turn_id}.2", call.call_id, call.name, (Text(say("tool")),))
            add(ItemAdded(turn_id, asking, 1), ItemAdded(turn_id, output, 1))
            completion = 2
            at += chance.uniform(2.0, 20.0)
        if len(said) < size:
            answer = AssistantMessage(f"{turn_id}.{2 * completion - 1}", (Text(say("assistant")),))
            add(ItemAdded(turn_id, answer, completion))
        usage = Usage(input_tokens=100 * (turn + 1), output_tokens=60)
        add(
            CompletionFinished(turn_id, completion, "end", usage),
            TurnFinished(turn_id, "completed", 0, usage),
        )
        if not turn:
            add(Titled(" ".join(said[0].text.split()[:5])))
        at += chance.uniform(10.0, 120.0)
    return Write(conversation_id=id, bodies=bodies, create=True, times=times), said


def main() -> int:
    """Build what is not there yet; print what there is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("messages", type=int, nargs="+")
    options = parser.parse_args()
    for messages in options.messages:
        began = time.monotonic()
        corpus = open_corpus(options.directory, messages)
        print(f"{corpus.home} ({time.monotonic() - began:.0f} s): {corpus.facts}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
