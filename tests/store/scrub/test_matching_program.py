"""The program that looks for expressions: what it finds, what it says."""

import json
import subprocess
import sys
from pathlib import Path

from askd.store.scrub import matching_program
from askd.store.scrub.matching_program import find


def test_each_text_once_in_order_and_no_empty_one() -> None:
    assert find(r"sk-\w+|x*", ["a sk-1 sk-2", "sk-1", "xx"], most=10, text_s=5) == [
        "sk-1",
        "sk-2",
        "xx",
    ]


def test_what_matches_too_much() -> None:
    assert find(r"\w", ["abc"], most=2, text_s=5) is None
    assert find(r"\w", ["ab"], most=2, text_s=5) == ["a", "b"]


def test_as_a_program() -> None:
    asked = [{"pattern": "h.t", "most": 5, "text_s": 5}, "hot\n hät", "hit \ud800", "hut"]
    run = subprocess.run(
        [sys.executable, "-I", "-S", str(Path(matching_program.__file__))],
        input="".join(json.dumps(each) + "\n" for each in asked),
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    assert json.loads(run.stdout) == {"found": ["hot", "hät", "hit", "hut"]}
    assert run.stderr == ""
