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
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from ask.exits import FAILED, STORAGE, Failed

MARK = "# Written by `ask install-launcher`, which writes it anew."
"""The second line of what we wrote; what does not have it is somebody else's and is left alone."""

_FLAGS = "-IS"  # in one word: what follows a script's interpreter is handed on as one
_NORMAL_FLAGS = "-EP"  # as usual, but for the variables and the current directory
_LINE_BYTES = 255
"""Of a script's first line: the kernel reads 256 bytes with its end (linux/binfmts.h)."""
_TRY_S = 30.0
"""As long may a start take on a machine that is very busy."""
_OWN_PATH = "import sys; print(ascii(sys.path))"

_SCRIPT = """\
#!{python} {flags}
{mark}
import sys

sys.path += {places}
try:
    from ask.__main__ import main
except ModuleNotFoundError:
    sys.exit("ask is not where it was any more. Install it, or remove " + ascii(__file__))
main()
"""


def render_launcher(python: str, places: Sequence[str]) -> str:
    """The script.

    Args:
        python: the interpreter; it knows its own library.
        places: the directories where everything else is.

    Raises:
        Failed: no script can name this interpreter.
    """
    text = _SCRIPT.format(python=python, flags=_FLAGS, mark=MARK, places=ascii(list(places)))
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
        ast.literal_eval(_run([sys.executable, flags, "-c", _OWN_PATH]))
        for flags in (_FLAGS, _NORMAL_FLAGS)
    )
    # Ours first: it is looked for most.
    return _leave_out(library, [*_find_homes(), *searched])


def _leave_out(known: Iterable[str], places: Iterable[str]) -> list[str]:
    """The places that exist and are not known, each once, in their order."""
    found = dict.fromkeys(os.path.abspath(each) for each in places if os.path.exists(each))
    return [each for each in found if each not in set(known)]


def _find_homes() -> list[str]:
    """Where both our packages are, however they came to be found."""
    specs = [importlib.util.find_spec(name) for name in ("ask", "askd")]
    return [str(Path(spec.origin).parents[1]) for spec in specs if spec and spec.origin]


def is_ours(path: Path) -> bool:
    """Whether a file is a launcher of ours, or a link to the script that pip wrote beside us.

    Raises `OSError`.
    """
    if path.is_symlink():
        return path.resolve() == Path(sys.executable).with_name("ask").resolve()
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        beginning = stream.read(_LINE_BYTES + len(MARK) + 2)
    return MARK.encode() in beginning.split(b"\n")[1:2]


def write_launcher(path: Path, text: str) -> str:
    """Put the script in its place, whole and tried, or not at all; what it says its version is.

    Raises `Failed`.
    """
    beside = path.with_name(f".{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(text, encoding="utf-8", errors="surrogateescape")
        beside.chmod(0o755)
        version = _run([str(beside), "--version"])
        beside.replace(path)
    except OSError as error:
        raise Failed(STORAGE, f"{path} cannot be written: {error.strerror}.") from None
    finally:
        with suppress(OSError):  # it is in its place, or was never written
            beside.unlink()
    return version


def _run(command: list[str]) -> str:
    """What a program prints that must work; raises `Failed` with what it said if it does not."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TRY_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failed(FAILED, f"{command[0]} cannot be started: {error}.") from None
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip() or f"code {done.returncode}"
        raise Failed(FAILED, f"{command[0]} does not work: {said}")
    return done.stdout.decode(errors="replace").strip()
