"""kill -9 at any moment: nothing that was answered is lost, and no number is missing.

It says nothing of power cuts: the kernel keeps what a killed process wrote.
"""

import os
import random
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

from askd.store.database import open_readonly
from tests.store.crash_child import CONVERSATIONS

ROOT = Path(__file__).resolve().parents[2]
KILLS = 20


def kill_writers(path: Path, *, kills: int, manner: str) -> tuple[int, int]:
    """Let writers run and kill them; how many events were answered, and how many of them lost."""
    moments = random.Random(7)
    there = dict.fromkeys(CONVERSATIONS, 0)
    answers = lost = 0
    with subprocess.Popen(
        [sys.executable, "-m", "tests.store.crash_child"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        for _ in range(kills):
            child.stdin.write(f"{manner} {path}\n")
            child.stdin.flush()
            pid = int(child.stdout.readline().removeprefix("pid "))
            patience = moments.randrange(1, 120)
            answered = dict(there)
            for line in child.stdout:
                if line == "dead\n":
                    break
                _, id, seq = line.split()
                assert int(seq) == answered[id] + 1, "answers come in order, after every crash too"
                answered[id] += 1
                answers += 1
                patience -= 1
                if patience == 0:
                    os.kill(pid, signal.SIGKILL)
            there = count_events(path)
            lost += sum(max(0, answered[id] - there[id]) for id in CONVERSATIONS)
        child.stdin.close()
    return answers, lost


def count_events(path: Path) -> dict[str, int]:
    """How many events each conversation has; that they are numbered 1..n is asserted."""
    reader = open_readonly(path)
    found = {}
    for id in CONVERSATIONS:
        rows = reader.execute(
            "SELECT seq FROM events WHERE conversation_id = ? ORDER BY seq", (id,)
        )
        seqs = [seq for (seq,) in rows]
        assert seqs == list(range(1, len(seqs) + 1))
        row = reader.execute("SELECT last_seq FROM conversations WHERE id = ?", (id,)).fetchone()
        assert (row or (0,))[0] == len(seqs)
        found[id] = len(seqs)
    reader.close()
    return found


def test_nothing_that_was_answered_is_lost(path: Path) -> None:
    answers, lost = kill_writers(path, kills=KILLS, manner="honest")
    assert answers > KILLS * 20, "the writers did write"
    assert lost == 0
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()


def test_an_answer_before_the_commit_would_be_found(path: Path) -> None:
    """The test above has teeth: writers that answer too early lose events here."""
    _, lost = kill_writers(path, kills=KILLS, manner="early")
    assert lost > 0
