"""The judge of the proof of failing calls sees what is wrong with rollouts."""

import itertools
from pathlib import Path
from typing import cast

import pytest

from ask.connection import Client
from tests.faults.proofs import syscalls
from tests.faults.proofs.syscalls import Batch
from tests.faults.syscalls_house import House


@pytest.mark.parametrize(
    ("files", "harm"),
    [
        ({"rollout-kept.jsonl": "note 1. note 2."}, None),
        ({"rollout-kept.jsonl": "note 1."}, "1 answered writes are in no rollout: note 2."),
        ({}, "2 answered writes are in no rollout: note 1."),
        (
            {"rollout-kept.jsonl": "note 1. note 2.", ".rollout-kept.jsonl.partial": ""},
            "there is .rollout-kept.jsonl.partial",
        ),
        (
            {"rollout-kept.jsonl": "note 1. note 2.", "rollout-gone.jsonl": ""},
            "there is rollout-gone.jsonl",
        ),
        (
            {"rollout-kept.jsonl": "note 1. note 2.", ".rollout-gone.jsonl.partial": ""},
            "there is .rollout-gone.jsonl.partial",
        ),
    ],
)
def test_rollouts_after_a_start(
    files: dict[str, str], harm: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(syscalls, "MIRROR_S", 0.0)
    folder = tmp_path / "ask" / "data" / "rollouts" / "2026" / "11" / "23"
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_text(content)
    house = House.__new__(House)  # no daemon is needed to look at files
    house.home = tmp_path
    batch = Batch(house, cast("Client", None), "kept", itertools.count(1))
    batch.answered += ["note 1.", "note 2."]
    batch.deleted.append("gone")
    batch.check_rollouts()
    assert batch.harms == ([] if harm is None else [f"0.0 s after a start {harm}"])
