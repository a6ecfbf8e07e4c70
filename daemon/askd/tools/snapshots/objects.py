"""Objects of git's: made in a directory of ours, and added to a repository from there.

What turns files into objects and back, git's filters, is named by whoever made the
repository, and runs confined: it writes to our directory and to nothing that anybody
believes. It knows no index and no work tree.
"""

import os
from collections.abc import Mapping
from mmap import ACCESS_READ, mmap
from pathlib import Path

from askd.tools.snapshots.git import CannotRecord, Git, Reach

STORED = "lfs"
"""In a repository, where git-lfs keeps what it has made of files. There is no hook in it, and no
configuration."""


def find_reach(git_dir: str, scratch: Path) -> Reach:
    """What git and its filters change, and have to see, when they read or write files.

    Raises:
        CannotRecord: the repository's directory cannot be read.
    """
    stored = Path(git_dir).resolve() / STORED
    writes = [str(scratch)]
    if stored.is_dir() and not stored.is_symlink():
        writes.append(str(stored))
    try:
        # One by one, for what lies in something read-only could not be written.
        reads = [entry.path for entry in os.scandir(git_dir) if entry.name != STORED]
    except OSError as error:
        raise CannotRecord(f"{git_dir} cannot be read: {error.strerror}.") from None
    return Reach(writes=writes, reads=reads)


async def keep_tree(git: Git, tree: str, scratch: Path, *, at: str, env: Mapping[str, str]) -> None:
    """Add what is new in a tree to the objects of the repository that `at` is in.

    A filter may have written anything to ours. So they are unpacked there, for which git finds
    out anew what each of them is called: none can pass for another.

    Args:
        env: the variables with which git has ours for its own, and the repository's beside.
    """
    # Of the tree what only our directory has; nothing is made if that is nothing.
    wanted = ("--revs", "--local", "--missing=allow-any", "--non-empty")
    quick = ("-q", "--window=0", "--compression=0")
    said = await git.run(
        *("pack-objects", *wanted, *quick, str(scratch / "new")),
        at=at,
        data=f"{tree}\n".encode(),
        more=env,
    )
    name = said.decode().strip()
    if not name:
        return
    with (
        (scratch / f"new-{name}.pack").open("rb") as stream,
        mmap(stream.fileno(), 0, access=ACCESS_READ) as pack,
        memoryview(pack) as data,
    ):
        await git.run("unpack-objects", "-q", at=at, data=data)
