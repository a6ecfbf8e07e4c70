"""The texts and images of a prompt: read, checked, and sent, large ones in chunks.

Nothing is sent before everything has been checked. Texts are UTF-8, images are
told by their content; anything else is refused with a sentence, never guessed at.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ask.blobs import put_blob
from ask.connection import Caller
from ask.exits import USAGE, Failed
from ask.fast import caller
from ask.fast.argv import may_mention
from ask.fast.run import Carried
from ask.fast.stdin import InputLate, read_input
from ask.images import IMAGE_NAMES, find_image_type
from ask.protocol.limits import BLOB_LIMIT_BYTES
from ask.signals import TimeIsUp

INLINE_LIMIT_BYTES = caller.INPUT_LIMIT_BYTES
"""A larger part travels as a blob."""
FILES_LIMIT = 1000
"""What one prompt may have attached: a message holds no more parts than its limits allow."""
INLINE_TOTAL_BYTES = 512 * 1024
"""What all inline parts of one request may have together: the message has 1 MiB."""
TEXT = "text/plain"
STDIN_IMAGE = "-"
"""In place of a file: the image comes on standard input."""


Opener = Callable[[str, int], int]
"""As `open` takes one: a path and flags to a descriptor."""


@dataclass(frozen=True, slots=True)
class Input:
    """One piece of a prompt, and where it came from; None: the words themselves."""

    content: bytes
    name: str | None = None
    media_type: str = TEXT


def read_inputs(
    text: str,
    files: Sequence[str],
    carried: Carried,
    *,
    images: Sequence[str] = (),
    mentioned: Sequence[Input] = (),
    stdin: bool,
    quiet: bool,
) -> list[Input]:
    """The words, the files, the images, what is mentioned, standard input: all of it, checked.

    Args:
        text: the prompt's words.
        images: files; `-` is standard input, of which no text is read then.
        mentioned: what the words mention, read already.
        carried: what the short way has read; what is read here is added.
        stdin: whether to look at standard input at all.
        quiet: do not say that it is silent or empty.

    Raises:
        Failed: one cannot be read, is none of its kind, is too large; or there is nothing to ask.
    """
    count = len(files) + len(images) + len(mentioned)
    if count > FILES_LIMIT:
        raise unfit(f"A prompt takes at most {FILES_LIMIT} files, not {count}.")
    if STDIN_IMAGE in images and not (stdin and caller.has_input()):
        raise unfit("-a - takes an image from standard input, and there is none.")
    if images.count(STDIN_IMAGE) > 1:
        raise unfit("-a - can be given once: standard input is one image.")
    inputs: list[Input] = []
    if text.strip():
        try:
            inputs.append(Input(text.encode()))
        except UnicodeEncodeError:
            raise unfit("The prompt is not valid UTF-8.") from None
    inputs += [read_file(path) for path in files]
    inputs += [read_image(path, carried, quiet=quiet) for path in images]
    inputs += mentioned
    read = stdin and STDIN_IMAGE not in images
    content = read_stdin(carried, quiet=quiet) if read else b""
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


def attach_mentions(
    text: str,
    *,
    beside: Sequence[str] = (),
    quiet: bool = False,
    environ: Mapping[str, str] | None = None,
    deadline: float | None = None,
) -> tuple[str, list[Input]]:
    """The words that a person typed, and what they mention (`ask.attachments`).

    Args:
        environ: where the daemon is looked for, if a server's resource may be mentioned.
        deadline: until when that may take, in monotonic seconds.

    Raises:
        Failed: what is mentioned is missing, or cannot be taken.
    """
    if not may_mention(text):
        return text, []
    from ask.attachments import read_mentions
    from ask.resources import Resources

    resources = Resources(environ, deadline=deadline, quiet=quiet)
    return read_mentions(text, beside=beside, quiet=quiet, resources=resources)


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
        raise unfit(
            f"Standard input is larger than {BLOB_LIMIT_BYTES >> 20} MiB.",
            hint="Send the part that matters, for example its end: ... | tail -c 1M | ask ...",
        )
    if b"\0" in content:
        raise unfit("Standard input is binary; a prompt takes text.")
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
        raise unfit("-f needs a file, and its name is empty.")
    name = show_path(path)
    if path == STDIN_IMAGE and not os.path.exists(path):
        raise unfit("-f takes a file, not -.", hint="Standard input is added without an option.")
    content = read_content(path, name)
    if b"\0" in content:
        hint = "Attach an image with -a." if find_image_type(content) else None
        raise unfit(f"{name} is a binary file; -f takes text.", hint=hint)
    return Input(check_text(content, name), name)


def read_image(path: str, carried: Carried, *, quiet: bool) -> Input:
    """An image to attach: a file, or standard input."""
    if not path:
        raise unfit("-a needs an image, and its name is empty.")
    if path == STDIN_IMAGE:
        name, shown = caller.INPUT_NAME, "Standard input"
        content, more = _read_rest(b"", carried.deadline, quiet=quiet)
        if more:
            raise unfit(f"Standard input is larger than {BLOB_LIMIT_BYTES >> 20} MiB.")
    else:
        name = shown = show_path(path)
        content = read_content(path, name)
    media_type = find_image_type(content)
    if media_type is None:
        hint = None if b"\0" in content else "Attach text with -f."
        raise unfit(f"{shown} is no image of the kinds that models take: {IMAGE_NAMES}.", hint=hint)
    return Input(content, name, media_type)


def read_content(path: str, name: str, *, opener: Opener | None = None) -> bytes:
    """A file's bytes, up to what can be sent; `name` stands for it in the errors.

    Raises:
        Failed: it cannot be read, or is larger.
    """
    try:
        with open(path, "rb", opener=opener) as stream:
            content = stream.read(BLOB_LIMIT_BYTES + 1)
    except OSError as error:
        raise unfit(f"{name} cannot be read: {error.strerror}.") from None
    if len(content) > BLOB_LIMIT_BYTES:
        raise unfit(f"{name} is larger than {BLOB_LIMIT_BYTES >> 20} MiB.")
    return content


def show_path(path: str) -> str:
    """A path for people; bytes in it that are no text are shown as such."""
    return os.fsencode(path).decode(errors="replace")


def unfit(message: str, *, hint: str | None = None) -> Failed:
    """What is raised for an input that cannot be taken."""
    return Failed(USAGE, message, hint=hint, data={"reason": "bad_input"})


def check_text(content: bytes, name: str) -> bytes:
    """The content itself, if it is UTF-8."""
    try:
        content.decode()
    except UnicodeDecodeError as error:
        raise unfit(
            f"{name} is not valid UTF-8 text (at byte {error.start}).",
            hint="Convert it first, for example with iconv.",
        ) from None
    return content


def send_parts(client: Caller, inputs: Sequence[Input]) -> list[dict[str, Any]]:
    """The parts of the prompt; large ones have been sent as blobs when this returns."""
    parts: list[dict[str, Any]] = []
    room = INLINE_TOTAL_BYTES
    for each in inputs:
        size = len(each.content)
        name = {} if each.name is None else {"name": each.name}
        if each.media_type == TEXT and size <= min(INLINE_LIMIT_BYTES, room):
            room -= size
            parts.append({"type": "text", "text": each.content.decode(), **name})
        else:
            digest = put_blob(client, each.content)
            described = {"sha256": digest, "bytes": size, "media_type": each.media_type}
            parts.append({"type": "blob", **described, **name})
    return parts
