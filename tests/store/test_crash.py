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


def kill_writers(path: Path, *, kills: int) -> list[dict[str, int]]:
    """Let writers run and kill them; what had been answered after each kill, by conversation."""
    moments = random.Random(7)
    answered = dict.fromkeys(CONVERSATIONS, 0)
    after_each = []
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
            child.stdin.write(f"{path}\n")
            child.stdin.flush()
            pid = int(child.stdout.readline().removeprefix("pid "))
            patience = moments.randrange(1, 120)
            for line in child.stdout:
                if line == "dead\n":
                    break
                _, id, seq = line.split()
                assert int(seq) == answered[id] + 1, "answers come in order, after every crash too"
                answered[id] += 1
                patience -= 1
                if patience == 0:
                    os.kill(pid, signal.SIGKILL)
            check(path, answered)
            after_each.append(dict(answered))
        child.stdin.close()
    return after_each


def check(path: Path, answered: dict[str, int]) -> None:
    """Every answered event is there, and each conversation's numbers are 1..n."""
    reader = open_readonly(path)
    for id, least in answered.items():
        seqs = [
            seq
            for (seq,) in reader.execute(
                "SELECT seq FROM events WHERE conversation_id = ? ORDER BY seq", (id,)
            )
        ]
        assert seqs == list(range(1, len(seqs) + 1))
        assert len(seqs) >= least
        row = reader.execute("SELECT last_seq FROM conversations WHERE id = ?", (id,)).fetchone()
        assert (row or (0,))[0] == len(seqs)
        # What was committed and not answered before the kill counts from here on.
        answered[id] = len(seqs)
    reader.close()


def test_nothing_that_was_answered_is_lost(path: Path) -> None:
    after_each = kill_writers(path, kills=KILLS)
    assert sum(after_each[-1].values()) > KILLS * 20, "the writers did write"
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()
