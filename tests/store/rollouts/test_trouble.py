"""Trouble: said once of its kind and directory, tried again ever less often, over when it is."""

import errno
import logging
import math
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from askd.errors import StorageFailed
from askd.store.rollouts.trouble import RETRY_MAX_S, RETRY_S, Trouble, describe

ONE, TWO = Path("/one"), Path("/two")


def full() -> OSError:
    return OSError(errno.ENOSPC, "No space left on device")


async def test_each_kind_is_said_once_for_a_directory_until_all_is_well(
    caplog: pytest.LogCaptureFixture,
) -> None:
    trouble = Trouble()
    for _ in range(3):
        trouble.note(full(), ONE)
    assert len(caplog.records) == 1
    assert "/one: No space left on device. The conversations are safe" in caplog.text
    trouble.note(PermissionError(errno.EACCES, "Permission denied", "/one/a"), ONE)
    trouble.note(full(), TWO)
    assert len(caplog.records) == 3
    trouble.forget(ONE)  # something went wrong since everything was tried
    assert (trouble.text or "").endswith("written: /two: No space left on device.")
    trouble.begin()
    with caplog.at_level(logging.INFO):
        trouble.forget(ONE)
    assert not trouble.text
    assert "Rollouts are written again: /one" in caplog.text
    before = len(caplog.records)
    trouble.forget(ONE)
    assert len(caplog.records) == before
    trouble.note(full(), ONE)
    assert len(caplog.records) == before + 1


async def test_it_is_tried_again_ever_less_often(autojump_clock: MockClock) -> None:
    trouble = Trouble()
    assert trouble.retry_at == math.inf
    pauses = []
    for _ in range(8):
        now = trio.current_time()
        trouble.note(full(), ONE)
        trouble.note(full(), ONE)
        pauses.append(trouble.retry_at - now)
        await trio.sleep_until(trouble.retry_at)
        trouble.begin()
    assert pauses[:3] == [RETRY_S, 2 * RETRY_S, 4 * RETRY_S]
    assert pauses[-1] == RETRY_MAX_S
    trouble.forget(ONE)
    trouble.note(full(), ONE)
    assert trouble.retry_at - trio.current_time() == RETRY_S


async def test_what_nobody_foresaw_is_seen_whole(caplog: pytest.LogCaptureFixture) -> None:
    trouble = Trouble()
    trouble.note(StorageFailed("The disk is gone."), ONE)
    assert caplog.records[0].exc_info is None
    trouble.note(ZeroDivisionError("division by zero"), ONE)
    assert caplog.records[1].exc_info is not None
    assert trouble.text == "Rollouts cannot be written: ZeroDivisionError: division by zero."


def test_the_file_is_named_if_it_is_the_files_fault() -> None:
    error = IsADirectoryError(errno.EISDIR, "Is a directory", "/one/2026/a.jsonl")
    assert describe(error, ONE) == "Rollouts cannot be written: /one/2026/a.jsonl: Is a directory."
    said = describe(StorageFailed("The disk is gone."), ONE)
    assert said == "Rollouts cannot be written: The disk is gone."
