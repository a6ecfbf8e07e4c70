"""Scenes on a broken disk, each for a process of its own; run by `test_disk_faults`.

`python -m tests.store.disk_faults SCENE DIRECTORY` prints what happened as one
JSON object. A scene changes what its process, or its mounts, may do.
"""

import json
import os
import resource
import sys
from pathlib import Path
from typing import Any

import trio

from askd.errors import StorageFailed
from askd.store import writer as writer_module
from tests.store.builders import Store, add, create, note, open_store, seqs

KIB = 1024
MIB = 1024 * KIB
NOBODY = 65534


async def try_append(store: Store, size: int) -> str:
    """`stored`, or what was said instead."""
    try:
        await store.writer.append(add("c", note("x" * size)))
    except StorageFailed as error:
        return error.message
    return "stored"


async def fill_disk(directory: Path) -> dict[str, Any]:
    """A small disk of our own becomes full, something is deleted, and there is room again."""
    mount = ["mount", "-t", "tmpfs", "-o", "size=80m,mode=700", "tmpfs", str(directory)]
    await trio.run_process(mount)
    writer_module.IDLE_S = 0.01
    reserve = directory / "data" / "reserve.bin"
    filler = directory / "filler"
    told: dict[str, Any] = {}
    async with open_store(directory / "data" / "ask.db") as store:
        told["reserve kept"] = reserve.exists()
        await store.writer.append(create("c"))
        await store.writer.append(create("big", *[note("y" * 200 * KIB) for _ in range(10)]))
        # A deletion empties the log's file: one that is kept has room of its own.
        await store.writer.append(create("first"))
        await store.writer.delete("first")
        await rest(directory)
        with filler.open("wb", buffering=0) as stream:
            try:
                while True:
                    stream.write(bytes(4 * KIB))
            except OSError as error:
                told["disk"] = error.strerror
        told["large"] = await try_append(store, MIB)
        told["next"] = await try_append(store, MIB)
        told["readable"] = seqs(await store.reader.load("c"))
        await store.writer.delete("big")
        told["deleted"] = await store.reader.load("big") == []
        told["reserve given"] = not reserve.exists()
        filler.unlink()
        told["afterwards"] = await try_append(store, MIB)
        await rest(directory)
        with trio.move_on_after(5):
            while not reserve.exists():
                await trio.lowlevel.checkpoint()
        told["reserve again"] = reserve.exists()
        told["events"] = seqs(await store.reader.load("c"))
        told["seen"] = [event.seq for event in store.seen if event.conversation_id == "c"]
    return told


async def rest(directory: Path) -> None:
    """Until the writer has emptied its log, as after a deletion."""
    log = directory / "data" / "ask.db-wal"
    with trio.fail_after(5):
        while log.stat().st_size:
            await trio.lowlevel.checkpoint()


async def limit_files(directory: Path) -> dict[str, Any]:
    """No file may grow, as with RLIMIT_FSIZE or an exceeded quota; then it may again."""
    told: dict[str, Any] = {}
    async with open_store(directory / "data" / "ask.db") as store:
        await store.writer.append(create("c"))
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (16 * KIB, hard))
        told["limited"] = await try_append(store, 100 * KIB)
        told["next"] = await try_append(store, 100 * KIB)
        told["readable"] = seqs(await store.reader.load("c"))
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        told["afterwards"] = await try_append(store, 100 * KIB)
        told["events"] = seqs(await store.reader.load("c"))
    return told


def become_nobody(directory: Path) -> None:
    """Root may write everything: give the directory, and ourselves, to somebody else."""
    if os.geteuid() == 0:
        for path in (directory, *directory.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        os.setgid(NOBODY)
        os.setuid(NOBODY)


async def read_only(directory: Path) -> dict[str, Any]:
    """Directories that may not be written, for a user who is not root."""
    (directory / "empty").mkdir()
    async with open_store(directory / "old" / "ask.db") as store:
        await store.writer.append(create("c"))
    become_nobody(directory)
    (directory / "empty").chmod(0o500)
    (directory / "old" / "ask.db").chmod(0o400)
    (directory / "old").chmod(0o500)
    told: dict[str, Any] = {}
    for name in ("empty", "old"):
        try:
            async with open_store(directory / name / "ask.db"):
                told[name] = "opened"
        except* StorageFailed as group:
            told[name] = [str(error) for error in group.exceptions]
    return told


SCENES = {"fill_disk": fill_disk, "limit_files": limit_files, "read_only": read_only}

if __name__ == "__main__":
    print(json.dumps(trio.run(SCENES[sys.argv[1]], Path(sys.argv[2]))))
