"""The sentences with which the store says no, each in one place.

It decides nothing: whoever finds a reason raises what these build.
"""

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from askd.errors import NotFound, RequestError, StaleFence, StorageFailed
from askd.store.log import Fence, PromptKey

SHORT_ID = 8
"""Characters of an id that people are shown: enough for 100,000 conversations."""
SHOWN_CANDIDATES = 10
"""A sentence with more names than this is no longer read; `data` has them all."""


def conversation_not_found(text: str) -> NotFound:
    """No conversation has this id, name or prefix."""
    return NotFound(f"Conversation not found: id={text}\nList them: ask list")


def conversation_ambiguous(text: str, found: Sequence[tuple[str, str | None]]) -> NotFound:
    """An id prefix of several conversations, given as (id, name)."""
    length = SHORT_ID
    while len({id[:length] for id, _ in found}) < len(found):
        length += 1
    shown = [f"{id[:length]} ({name})" if name else id[:length] for id, name in found]
    if len(shown) > SHOWN_CANDIDATES:
        rest = len(shown) - SHOWN_CANDIDATES
        shown = [*shown[:SHOWN_CANDIDATES], f"{rest} more"]
    return NotFound(
        f"More than one conversation begins with {text}: {', '.join(shown)}. "
        "Give more characters of the id.",
        reason="conversation_ambiguous",
        data={"candidates": [id for id, _ in found]},
    )


def conversation_exists(conversation_id: str) -> RequestError:
    """A conversation of this id is there already."""
    return RequestError(f"The conversation {conversation_id} exists already.")


def name_taken(name: str, holder: str) -> RequestError:
    """Another conversation has the name."""
    return RequestError(
        f"The name {name!r} belongs to the conversation {holder[:SHORT_ID]}. Choose another.",
        reason="name_taken",
        data={"name": name, "conversation_id": holder},
    )


def key_reused(key: PromptKey) -> RequestError:
    """A key that stands for another prompt."""
    return RequestError(
        f"The key {key.key} stands for a prompt with other words, options or conversation. "
        "Use a new key for a new prompt.",
        reason="key_reused",
    )


def blob_not_found(sha256: str) -> NotFound:
    """Content that nobody put, or whose conversation was deleted."""
    return NotFound(f"Content not found: sha256={sha256}. Send it again.", reason="blob_not_found")


def job_not_found(job_id: str) -> NotFound:
    """There is no such job; in a script an empty id is one that an earlier line did not get."""
    if not job_id:
        return NotFound("No job is named: its id is empty.", reason="job_not_found")
    return NotFound(f"Job not found: id={job_id}\nList them: ask jobs list", reason="job_not_found")


def job_ambiguous(text: str, found: Sequence[str]) -> NotFound:
    """A prefix that several jobs begin with."""
    return NotFound(
        f"More than one job begins with {text}: {', '.join(found)}. "
        "Give more characters of the id.",
        reason="job_ambiguous",
        data={"candidates": [*found]},
    )


def schedule_not_found(text: str) -> NotFound:
    """There is no such schedule."""
    if not text:
        return NotFound("No schedule is named: its id is empty.", reason="schedule_not_found")
    return NotFound(
        f"Schedule not found: {text}\nList them: ask schedule list", reason="schedule_not_found"
    )


def schedule_ambiguous(text: str, found: Sequence[str]) -> NotFound:
    """Several schedules that begin with a prefix, or that prompt one conversation."""
    return NotFound(
        f"More than one schedule is {text}: {', '.join(found)}. Give more characters of the id.",
        reason="schedule_ambiguous",
        data={"candidates": [*found]},
    )


def wrong_job_state(job_id: str, state: str) -> RequestError:
    """A job with which this cannot be done as it is."""
    return RequestError(
        f"The job {job_id} is {state}: it cannot be tried again now.",
        reason="wrong_job_state",
        data={"job_id": job_id, "state": state},
    )


def stale_fence(fence: Fence) -> StaleFence:
    """An attempt that came too late."""
    return StaleFence(f"Attempt {fence.attempt} of the job {fence.job_id} is not the current one.")


def bad_cursor() -> RequestError:
    """A cursor that no list has answered."""
    return RequestError("The cursor is not one that a list has answered. Begin without one.")


def log_not_whole(lost: Sequence[int], path: Path) -> StorageFailed:
    """Records of a conversation are gone, or lie where the database is damaged."""
    first, last = min(lost), max(lost)
    named = f"record {first}" if first == last else f"{len(lost)} records from {first} to {last}"
    return StorageFailed(
        f"Failed to load conversation: {named} cannot be read from {path}. "
        "What is left: ask history show. To bring it back from its rollout: ask doctor --rebuild",
        reason="log_not_whole",
        data={"lost": len(lost), "first": first, "last": last},
    )


def search_damaged() -> StorageFailed:
    """The index of words cannot be read; the conversations can."""
    return StorageFailed(
        "The search index is damaged. It is built anew from the conversations, which are whole: "
        "search again in a minute.",
        reason="search_damaged",
    )


def storage_failed(error: sqlite3.Error | OSError, path: Path) -> StorageFailed:
    """What SQLite or the system said about the database at `path`, for a person."""
    data = {"path": str(path)}
    if isinstance(error, OSError):
        return StorageFailed(f"{path} cannot be written: {error.strerror}.", data=data)
    return StorageFailed(_explain(error, path), data=data)


def copy_error(error: Exception) -> Exception:
    """An equal error, for each of many callers: one raised in all would mix their tracebacks."""
    copy = type(error)(*error.args)
    copy.__dict__.update(error.__dict__)
    return copy


def is_full(error: sqlite3.Error) -> bool:
    """Whether the disk, or a limit on the database, has no room left."""
    return primary_code(error) == sqlite3.SQLITE_FULL


def is_damage(error: sqlite3.Error) -> bool:
    """Whether what was to be read is no longer what a database looks like."""
    return primary_code(error) == sqlite3.SQLITE_CORRUPT


def is_worth_reopening(error: sqlite3.Error) -> bool:
    """Whether the connection itself may be what is broken.

    A disk that refuses to write is no reason: the connection works again when the
    disk does, and to close it would take from readers what a full disk cannot give back.
    """
    return primary_code(error) in {
        None,
        sqlite3.SQLITE_MISUSE,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_CANTOPEN,
    }


def primary_code(error: sqlite3.Error) -> int | None:
    """SQLite's result code without the detail; None: the error is Python's own."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else int(code) & 0xFF


def _explain(error: sqlite3.Error, path: Path) -> str:
    match primary_code(error):
        case sqlite3.SQLITE_FULL:
            return f"No space left on the disk that holds {path}."
        case sqlite3.SQLITE_READONLY:
            return f"{path} cannot be written: it, its directory or its disk is read-only."
        case sqlite3.SQLITE_CANTOPEN:
            return f"{path} cannot be opened. Check that its directory is there and is yours."
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return f"{path} is locked by another program. Close it, then try again."
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return (
                f"{path} is damaged. "
                "It comes back with ask doctor --rebuild, or ask doctor --restore BACKUP."
            )
        case sqlite3.SQLITE_IOERR:
            name = getattr(error, "sqlite_errorname", "SQLITE_IOERR")
            return f"The disk that holds {path} reported an error ({name})."
        case _:
            return f"{path} cannot be used: {error}."
