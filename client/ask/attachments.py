r"""What a prompt mentions, read: files, lines of files, directories, servers' resources.

Each is read once and named as it was written. A missing file, a device, a binary
file is refused by name before anything is sent; it decides nothing about what a
mention is (`ask.mentions`), and never looks at standard input.
"""

import codecs
import os
import stat
from collections.abc import Sequence
from functools import partial

from ask.exits import Failed
from ask.fast.caller import say
from ask.folders import ENTRIES_LIMIT, TooMany, list_files
from ask.images import find_image_type
from ask.inputs import FILES_LIMIT, TEXT, Input, check_text, read_content, show_path, unfit
from ask.mentions import Found, Kind, Mention, find_mentions
from ask.references import Reference
from ask.resources import Resources
from ask.terminal import strip_controls

DIRECTORY_LIMIT_BYTES = 4 * 1024 * 1024
"""Text of one directory: about a million tokens, more than nearly every model takes."""
SAMPLE_BYTES = 8 * 1024
"""The beginning of a file tells whether it is binary, as git tells it."""

_Utf8 = codecs.getincrementaldecoder("utf-8")
_Identity = tuple[int, int, tuple[int, int] | None]


def read_mentions(
    text: str,
    *,
    beside: Sequence[str] = (),
    quiet: bool = False,
    resources: Resources | None = None,
) -> tuple[str, list[Input]]:
    """The words without the `@` of each mention, and what is mentioned, each once.

    Args:
        beside: files that are attached anyway, and need not be once more.
        quiet: do not say what was taken of a directory, nor what is waited for.
        resources: what servers offer; the daemon is asked only if the words may mean one.

    Raises:
        Failed: one is missing, or cannot be taken.
    """
    resources = resources or Resources(quiet=quiet)
    found = find_mentions(text, look, resources.serves)
    if found.missing:
        raise _refuse_missing(found, text)
    if found.misread:
        raise _refuse_lines(found.misread[0])
    reader = _Reader(beside, quiet=quiet)
    for mention in found.mentions:
        if isinstance(mention, Mention):
            reader.take(mention)
    # Servers come last: what is wrong with a file is known before anything is asked of them.
    for reference in dict.fromkeys(each for each in found.mentions if isinstance(each, Reference)):
        for each in resources.read(reference):
            reader.add(each)
    for path in dict.fromkeys(found.bare):
        reader.say(f"{path} is a directory; to attach what it holds: @{path}/")
    return found.text, reader.inputs


def look(path: str) -> Kind | None:
    """What is at a path that was written in a prompt."""
    try:
        mode = os.stat(os.path.expanduser(path)).st_mode
    except PermissionError:
        return "file" if "/" in path else None  # reading it will say so
    except (OSError, ValueError):
        return None
    return "directory" if stat.S_ISDIR(mode) else "file"


class _Reader:
    """Reads one prompt's mentions.

    Attributes:
        inputs: what has been read, in order.
    """

    def __init__(self, beside: Sequence[str], *, quiet: bool) -> None:
        self.inputs: list[Input] = []
        self._quiet = quiet
        self._known: set[_Identity] = set()
        for path in beside:
            if look(path) == "file":
                self._is_new(path)

    def say(self, line: str) -> None:
        """A line for people."""
        if not self._quiet:
            say(f"{strip_controls(line)}\n")

    def take(self, mention: Mention) -> None:
        """Read what is mentioned, unless it has been read."""
        path = os.path.expanduser(mention.path)
        if look(path) == "directory":
            if mention.lines is not None:
                raise unfit(f"{show_path(mention.path)} is a directory and has no lines.")
            self._take_directory(mention.path, path)
        elif self._is_new(path, mention.lines):
            self.add(self._read_file(mention, path))

    def add(self, read: Input) -> None:
        """Take what has been read."""
        if len(self.inputs) >= FILES_LIMIT:
            raise unfit(f"A prompt takes at most {FILES_LIMIT} files, and more are mentioned.")
        self.inputs.append(read)

    def _is_new(self, path: str, lines: tuple[int, int] | None = None) -> bool:
        try:
            status = os.stat(path)
        except OSError:
            return True
        identity = (status.st_dev, status.st_ino, lines)
        if identity in self._known:
            return False
        self._known.add(identity)
        return True

    def _read_file(self, mention: Mention, path: str) -> Input:
        name = show_path(mention.path)
        content = read_content(path, name, opener=partial(_open_regular, name))
        media_type = find_image_type(content)
        if media_type is not None:
            if mention.lines is not None:
                raise unfit(f"{name} is an image and has no lines.")
            return Input(content, name, media_type)
        if b"\0" in content:
            raise unfit(f"{name} is a binary file; a mention takes text or an image.")
        check_text(content, name)
        if mention.lines is None:
            return Input(content, name)
        return _cut(content, name, *mention.lines)

    def _take_directory(self, written: str, path: str) -> None:
        shown = show_path(written)
        hint = "Mention the part that matters."
        try:
            files = list_files(path)
        except OSError as error:
            raise unfit(f"{shown} cannot be read: {error.strerror}.") from None
        except TooMany:
            raise unfit(f"{shown} has more than {ENTRIES_LIMIT} files.", hint=hint) from None
        room, taken, texts = DIRECTORY_LIMIT_BYTES, 0, 0
        for each in files:
            content = _read_text(os.path.join(path, each), room)
            if content is None:
                continue
            texts += 1
            room -= len(content)
            if room < 0:
                limit = DIRECTORY_LIMIT_BYTES >> 20
                raise unfit(f"{shown} holds more than {limit} MiB of text.", hint=hint)
            if self._is_new(os.path.join(path, each)):
                taken += 1
                self.add(Input(content, show_path(os.path.join(written, each)), TEXT))
        if not texts:
            raise unfit(f"{shown} holds no text file.")
        left = len(files) - texts
        rest = f", {left} left out (binary, or unreadable)" if left else ""
        self.say(f"{shown}: {taken} file{'' if taken == 1 else 's'} attached{rest}.")


def _open_regular(name: str, path: str, flags: int) -> int:
    """Open a regular file; no device is even opened."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise unfit(f"{name} is no regular file; a mention takes no device, pipe or socket.")
    return _open_at_once(path, flags)


def _read_text(path: str, room: int) -> bytes | None:
    """A file of a directory, or a byte more of it than there is room for; None: it is no text."""
    try:
        with open(path, "rb", opener=_open_at_once) as stream:
            sample = stream.read(SAMPLE_BYTES)
            if b"\0" in sample:
                return None
            content = sample + stream.read(max(room + 1 - len(sample), 0))
    except OSError:
        return None
    if b"\0" in content or find_image_type(content):
        return None
    try:
        # Where the room ends, a character may have been cut.
        _Utf8().decode(content, final=len(content) <= room)
    except UnicodeDecodeError:
        return None
    return content


def _open_at_once(path: str, flags: int) -> int:
    """Open without waiting: a file may have become a pipe since it was looked at."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def _cut(content: bytes, name: str, first: int, last: int) -> Input:
    """Lines of a text, counted from 1; what lies behind its end is not there, nor in the name."""
    if not 1 <= first <= last:
        raise unfit(f"{name} has no lines {first} to {last}; the first one is 1.")
    lines = content.split(b"\n")
    if not lines[-1]:
        lines.pop()
    if first > len(lines):
        count = len(lines)
        raise unfit(f"{name} has {count} line{'' if count == 1 else 's'}, and no line {first}.")
    chosen = lines[first - 1 : last]
    named = Mention(name, (first, first + len(chosen) - 1))
    return Input(b"\n".join(chosen) + b"\n", named.name)


def _refuse_missing(found: Found, text: str) -> Failed:
    names = [show_path(each) for each in dict.fromkeys(found.missing)]
    what = f"is no file {names[0]}" if len(names) == 1 else f"are no files {', '.join(names)}"
    return unfit(
        f"There {what} to attach.",
        hint=rf"Not meant as a file? Write \@{_show_written(found.missing[0], text)}, "
        "or say --no-mentions.",
    )


def _show_written(name: str, text: str) -> str:
    """A name as it was typed: in its quotes, if it had some."""
    path, mark, lines = name.rpartition("#L")
    for said, rest in ((name, ""), (path, mark + lines)):
        if said and f'@"{said}"' in text:
            return f'"{show_path(said)}"{rest}'
    return show_path(name)


def _refuse_lines(written: str) -> Failed:
    path, _, lines = show_path(written).rpartition("#L")
    return unfit(
        f"#L{lines} names no lines of {path}.",
        hint="Lines are written #L10 or #L10-25. Not meant as a file? Put a \\ before the @, "
        "or say --no-mentions.",
    )
