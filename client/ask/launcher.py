"""The launcher script: starts this installation without Python's own search for packages.

At each start Python's `site` looks for what is installed, and runs what that wants to have run
(`.pth` files): a fifth of the time in which a Python that does nothing has come and gone. The
script has the places written down instead. It is run with `-S`, which leaves that search out, and
with `-I`, which leaves out `PYTHON*` variables and the current directory ("Interface options" in
Python's manual). Installers cannot write it: pip gives a script the interpreter's name alone.
"""

import ast
import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ask.exits import FAILED, STORAGE, Failed

MARK = "# Written by `ask install-launcher`, which writes it anew."
"""The second line of what we wrote; what does not have it is somebody else's and is left alone."""

_FLAGS = "-IS"  # in one word: what follows a script's interpreter is handed on as one
_NORMAL_FLAGS = "-EP"  # as usual, but for the variables and the current directory
_LINE_BYTES = 255
"""Of a script's first line: the kernel reads 256 bytes with its end (linux/binfmts.h)."""
_MODE = 0o755
_TRY_S = 30.0
"""As long may a start take on a machine that is very busy."""
_OWN_PATH = "import sys; print(ascii(sys.path))"

_SCRIPT = """\
#!{python} {flags}
{mark}
import sys

sys.path += {places}
try:
    if sys.version_info[:2] != {version}:
        raise ImportError("another Python is there now")
    from ask.__main__ import main
except ImportError as error:
    sys.exit(f"ask is not where it was ({{error}}). Install it, then have its install-launcher "
             f"write {{__file__!a}} anew, or remove that.")
main()
"""


def render_launcher(
    python: str, places: Sequence[str], version: tuple[int, int] = sys.version_info[:2]
) -> str:
    """The script.

    Args:
        python: the interpreter; it knows its own library.
        places: the directories where everything else is.
        version: the interpreter's; what another one would find there is not for it.

    Raises:
        Failed: no script can name this interpreter.
    """
    text = _SCRIPT.format(
        python=python, flags=_FLAGS, mark=MARK, places=ascii(list(places)), version=version
    )
    line = os.fsencode(text.partition("\n")[0])
    if not python or len(python.split()) != 1 or len(line) > _LINE_BYTES:
        raise Failed(
            FAILED,
            f"A script cannot be started by {python or 'a Python without a name'}: there is a "
            f"space in its path, or it is longer than {_LINE_BYTES} bytes with what is before it.",
            hint="Install ask into a directory with a shorter name, and without spaces.",
        )
    return text


def find_places() -> list[str]:
    """Where this Python finds what is installed, beyond its own library.

    Asked of others like it, for this one may have been sent elsewhere, by `PYTHONPATH` or from
    where it stands.
    """
    library, searched = (
        # The last line: what is installed may print something of its own at a start.
        ast.literal_eval(_run([sys.executable, flags, "-c", _OWN_PATH]).rpartition("\n")[2])
        for flags in (_FLAGS, _NORMAL_FLAGS)
    )
    places = [each for each in (*searched, *_find_homes()) if os.path.exists(each)]
    found = dict.fromkeys(map(os.path.abspath, places))  # each once, in their order
    return [each for each in found if each not in library]


def _find_homes() -> list[str]:
    """Where both our packages are, however they came to be found."""
    specs = [importlib.util.find_spec(name) for name in ("ask", "askd")]
    return [str(Path(spec.origin).parents[1]) for spec in specs if spec and spec.origin]


def is_own_script(path: Path) -> bool:
    """Whether a path leads to the script by which pip starts this installation."""
    scripts = (sys.argv[0], Path(sys.executable).with_name("ask"))
    return os.path.realpath(path) in [os.path.realpath(each) for each in scripts]


def is_ours(path: Path) -> bool:
    """Whether a file is a launcher of ours, or a link to one or to the script that pip wrote.

    Raises `OSError`.
    """
    if not path.is_file():
        return False
    if path.is_symlink() and is_own_script(path):
        return True
    with path.open("rb") as stream:
        beginning = stream.read(_LINE_BYTES + len(MARK) + 2)
    return MARK.encode() in beginning.split(b"\n")[1:2]


def write_launcher(path: Path, text: str) -> str:
    """Put the script in its place, whole and tried, or not at all; what it says its version is.

    Raises `Failed`.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with open(handle, "w", encoding="utf-8", errors="surrogateescape") as stream:
                stream.write(text)
            os.chmod(temporary, _MODE)
            version = _run([temporary, "--version"], what=f"The script for {path}")
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise Failed(STORAGE, f"{path} cannot be written: {error.strerror}.") from None
    return version


def _run(command: list[str], *, what: str | None = None) -> str:
    """What a program prints that must work; raises `Failed` with what it said if it does not."""
    what = what or command[0]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TRY_S, check=False
        )
    except OSError as error:
        raise Failed(FAILED, f"{what} cannot be started there: {error.strerror}.") from None
    except subprocess.TimeoutExpired:
        raise Failed(FAILED, f"{what} did not end within {_TRY_S:.0f} s.") from None
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip() or f"code {done.returncode}"
        raise Failed(FAILED, f"{what} does not work: {said}")
    return done.stdout.decode(errors="replace").strip()
