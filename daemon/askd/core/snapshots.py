"""The snapshots of a conversation, and which files the copies among them tell of.

Pure. What a commit holds is not known here.
"""

from collections.abc import Sequence

from askd.core.conversation import Conversation
from askd.core.items import Copy, Snapshot


def find_snapshots(conversation: Conversation) -> list[Snapshot]:
    """All the snapshots of a conversation, the newest first."""
    added = [each for record in conversation.turns.values() for each in record.items]
    found = [each.item for each in (*added, *conversation.strays)]
    snapshots = [each for each in found if isinstance(each, Snapshot)]
    # Of two of the same moment, the one that was added later is the newer one.
    return sorted(snapshots, key=lambda each: each.at or 0.0)[::-1]


def find_files(snapshots: Sequence[Snapshot], wanted: Snapshot) -> list[Copy]:
    """The files of a directory as they were when one of its snapshots was taken.

    A turn copies a file when it is about to write it; so what a file was at an earlier
    moment is in the first copy that was made of it since.

    Args:
        snapshots: of the conversation, the newest first; `wanted` is among them.
    """
    files: dict[str, Copy] = {}
    for each in snapshots[snapshots.index(wanted) :: -1]:
        if not each.commit and each.worktree == wanted.worktree:
            for copy in each.copies:
                files.setdefault(copy.path, copy)
    return list(files.values())
