"""The person's own editor, on one file: found as git finds it, waited for, never killed.

It writes nothing itself and reads nothing back.
"""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ask.exits import FAILED, USAGE, Failed

USUAL = ("sensible-editor", "nano", "vi")
"""Taken where nothing is set, the first that is there."""
SHELL_MISSING = 127
"""What a shell answers whose command is not there (POSIX, 2.8.2)."""


def find_editor(environ: Mapping[str, str], *, has_terminal: bool) -> str:
    """The command, with its options: `$VISUAL`, else `$EDITOR`, else what is usual.

    Raises:
        Failed: none is set, and there is no terminal for one, or none to take.
    """
    said = environ.get("VISUAL") or environ.get("EDITOR")
    if said:
        return said
    found = next((each for each in USUAL if has_terminal and shutil.which(each)), None)
    if found is None:
        raise Failed(
            USAGE,
            "There is no editor to open.",
            hint="Say which: EDITOR=nano ask ...",
            data={"reason": "usage"},
        )
    return found


def edit_file(path: Path, environ: Mapping[str, str]) -> None:
    """Open a file in the editor, and wait for the editor's end.

    Raises:
        Failed: it could not be started, or ended as if something went wrong.
    """
    editor = find_editor(environ, has_terminal=os.isatty(0))
    # The shell takes `code --wait` apart, and a path with blanks stays one word, as git does it.
    command = ["sh", "-c", f'{editor} "$@"', editor, str(path)]
    with _leave_interrupts():
        try:
            code = subprocess.Popen(command, env=dict(environ)).wait()
        except OSError as error:
            raise Failed(FAILED, f"The editor cannot be started: {error.strerror}.") from None
    if code == SHELL_MISSING:
        raise Failed(
            USAGE,
            f"The editor {editor!r} is not there.",
            hint="Say another: EDITOR=nano ask ...",
            data={"reason": "usage"},
        )
    if code:
        raise Failed(FAILED, f"The editor {editor!r} ended with code {code}.")


@contextmanager
def _leave_interrupts() -> Iterator[None]:
    """Ctrl-C belongs to the editor; a handler of ours, unlike "ignored", is none in a child."""
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
