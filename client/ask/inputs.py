"""The texts of a prompt: read, checked, and sent, large ones in chunks.

Nothing is sent before everything has been checked. Texts are UTF-8; anything
else is refused with a sentence, never guessed at.
"""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ask.connection import Client
from ask.exits import USAGE, Failed
from ask.fast import caller
from ask.fast.run import Carried
from ask.fast.stdin import InputLate, read_input
from ask.protocol.messages import BLOB_CHUNK_BYTES, BLOB_LIMIT_BYTES
from ask.signals import TimeIsUp

INLINE_LIMIT_BYTES = caller.INPUT_LIMIT_BYTES
"""A larger part travels as a blob."""
FILES_LIMIT = 1000
"""What one prompt may have attached: a message holds no more parts than its limits allow."""
INLINE_TOTAL_BYTES = 512 * 1024
"""What all inline parts of one request may have together: the message has 1 MiB."""
UPLOAD_LIMIT_S = 60.0
"""For one chunk."""


@dataclass(frozen=True, slots=True)
class Input:
    """One text of a prompt, and where it came from; None: the words themselves."""

    content: bytes
    name: str | None = None


def read_inputs(
    text: str, files: Sequence[str], carried: Carried, *, stdin: bool, quiet: bool
) -> list[Input]:
    """The words, the files, standard input: every text of the prompt, checked.

    Args:
        text: the prompt's words.
        carried: what the short way has read; what is read here is added.
        stdin: whether to look at standard input at all.
        quiet: do not say that it is silent or empty.

    Raises:
        Failed: one cannot be read, is no text, is too large; or there is nothing to ask.
    """
    if len(files) > FILES_LIMIT:
        raise _unfit(f"A prompt takes at most {FILES_LIMIT} files, not {len(files)}.")
    inputs: list[Input] = []
    if text.strip():
        try:
            inputs.append(Input(text.encode()))
        except UnicodeEncodeError:
            raise _unfit("The prompt is not valid UTF-8.") from None
    inputs += [read_file(path) for path in files]
    content = read_stdin(carried, quiet=quiet) if stdin else b""
    if content.strip():
        inputs.append(Input(content, caller.INPUT_NAME if inputs else None))
    if not inputs:
        raise Failed(
            USAGE,
            "The prompt is empty.",
            hint='Try: ask "Why is the sky blue?" (or: ask --help)',
            data={"reason": "empty_prompt"},
        )
    return inputs


def read_stdin(carried: Carried, *, quiet: bool) -> bytes:
    """Standard input to its end, begun where the short way stopped."""
    content, more = carried.stdin, carried.more
    if content is None:
        if carried.answer is not None or not caller.has_input():
            return b""
        content, more = _read_rest(b"", carried.deadline, quiet=quiet)
    elif more:
        content, more = _read_rest(content, carried.deadline, quiet=True)
    carried.stdin, carried.more = content, more
    if len(content) > BLOB_LIMIT_BYTES:
        raise _unfit(
            f"Standard input is larger than {BLOB_LIMIT_BYTES >> 20} MiB.",
            hint="Send the part that matters, for example its end: ... | tail -c 1M | ask ...",
        )
    if b"\0" in content:
        raise _unfit("Standard input is binary; a prompt takes text.")
    return check_text(content, "Standard input")


def _read_rest(begun: bytes, deadline: float | None, *, quiet: bool) -> tuple[bytes, bool]:
    try:
        rest, more = read_input(BLOB_LIMIT_BYTES - len(begun), quiet=quiet, deadline=deadline)
    except InputLate:
        raise TimeIsUp(
            "The time limit was reached while standard input was read; nothing was asked.",
            hint="If it has nothing to say, leave it alone: --no-stdin",
        ) from None
    return begun + rest, more


def read_file(path: str) -> Input:
    """A file to attach, as text."""
    if not path:
        raise _unfit("-f needs a file, and its name is empty.")
    name = show_path(path)
    try:
        with open(path, "rb") as stream:
            content = stream.read(BLOB_LIMIT_BYTES + 1)
    except OSError as error:
        raise _unfit(f"{name} cannot be read: {error.strerror}.") from None
    if len(content) > BLOB_LIMIT_BYTES:
        raise _unfit(f"{name} is larger than {BLOB_LIMIT_BYTES >> 20} MiB.")
    if b"\0" in content:
        raise _unfit(f"{name} is a binary file; -f takes text.")
    return Input(check_text(content, name), name)


def show_path(path: str) -> str:
    """A path for people; bytes in it that are no text are shown as such."""
    return os.fsencode(path).decode(errors="replace")


def _unfit(message: str, *, hint: str | None = None) -> Failed:
    return Failed(USAGE, message, hint=hint, data={"reason": "bad_input"})


def check_text(content: bytes, name: str) -> bytes:
    """The content itself, if it is UTF-8."""
    try:
        content.decode()
    except UnicodeDecodeError as error:
        raise _unfit(
            f"{name} is not valid UTF-8 text (at byte {error.start}).",
            hint="Convert it first, for example with iconv.",
        ) from None
    return content


def send_parts(client: Client, inputs: list[Input]) -> list[dict[str, Any]]:
    """The parts of the prompt; large ones have been sent as blobs when this returns."""
    parts: list[dict[str, Any]] = []
    room = INLINE_TOTAL_BYTES
    for each in inputs:
        size = len(each.content)
        name = {} if each.name is None else {"name": each.name}
        if size <= INLINE_LIMIT_BYTES and size <= room:
            room -= size
            parts.append({"type": "text", "text": each.content.decode(), **name})
        else:
            digest = put_blob(client, each.content)
            described = {"sha256": digest, "bytes": size, "media_type": "text/plain"}
            parts.append({"type": "blob", **described, **name})
    return parts


def put_blob(client: Client, content: bytes) -> str:
    """Send content in chunks; its digest."""
    digest = hashlib.sha256(content).hexdigest()
    for offset in range(0, len(content), BLOB_CHUNK_BYTES):
        chunk = content[offset : offset + BLOB_CHUNK_BYTES]
        params = {"sha256": digest, "size": len(content), "offset": offset, "bytes": chunk}
        client.call("blob/put", params, limit_s=UPLOAD_LIMIT_S)
    return digest
