"""A `systemctl` for a PATH: it keeps what a user's systemd would, and refuses what that refuses.

Each call is a line of the file `calls`. A unit is enabled by a link, as the real one does it,
only if its file is there and has been read (`daemon-reload`) as it stands now.
"""

import os
import sys
from pathlib import Path

PROGRAM = """\
#!{python}
import sys
sys.path.insert(0, {root!r})
from tests.fakes.systemctl import main
sys.exit(main(sys.argv[1:], {room!r}))
"""
WANTS = "sockets.target.wants"


class Systemctl:
    """The fake and what it was told; `place` it on a PATH.

    Attributes:
        path: the directory to put before all others of PATH.
    """

    def __init__(self, room: Path) -> None:
        self.path = room / "bin"
        self._room = room
        self.path.mkdir(parents=True)

    def place(self) -> None:
        """Put the program where it is found."""
        root = str(Path(__file__).parents[2])
        program = self.path / "systemctl"
        program.write_text(PROGRAM.format(python=sys.executable, root=root, room=str(self._room)))
        program.chmod(0o700)

    def calls(self) -> list[str]:
        """What it was told since it was asked last, one call a line, without questions."""
        path = self._room / "calls"
        said = path.read_text().splitlines() if path.exists() else []
        path.write_text("")
        return [each for each in said if not each.startswith(("show ", "status "))]

    def fail(self, word: str) -> None:
        """From now on calls with this first word are refused."""
        (self._room / "fails").write_text(word)

    def runs_as(self, pid: int) -> None:
        """The service runs, as this process."""
        (self._room / "pid").write_text(str(pid))


def main(words: list[str], room: str) -> int:
    """What the program does; its exit code."""
    base = Path(room)
    assert words[0] == "--user", words
    verb, *rest = words[1:]
    with (base / "calls").open("a") as calls:
        calls.write(" ".join([verb, *rest]) + "\n")
    refused = (base / "fails").read_text() if (base / "fails").exists() else ""
    if refused == verb:
        print(f"Failed to {verb}:\nNo medium found", file=sys.stderr)
        return 1
    units = Path(os.environ["XDG_CONFIG_HOME"]) / "systemd" / "user"
    unit = units / rest[-1] if rest else units
    match verb:
        case "show" if "MainPID" in rest[0]:
            print((base / "pid").read_text() if (base / "pid").exists() else "0")
        case "show":
            print("Version=252")
        case "daemon-reload":
            for each in (path for path in units.glob("*") if path.is_file()):
                (base / each.name).write_bytes(each.read_bytes())
        case "enable" | "start" | "restart":
            known = base / unit.name
            if not unit.exists() or not known.exists() or known.read_bytes() != unit.read_bytes():
                print(f"Unit {unit.name} not found or changed on disk.", file=sys.stderr)
                return 1
            if verb == "enable":
                link = units / WANTS / unit.name
                link.parent.mkdir(exist_ok=True)
                link.unlink(missing_ok=True)
                link.symlink_to(unit)
        case "disable":
            (units / WANTS / unit.name).unlink(missing_ok=True)
        case "edit":
            if not unit.with_name(f"{unit.name}.service").exists():
                print(f"No files found for {unit.name}.service.", file=sys.stderr)
                return 1
            added = units / f"{unit.name}.service.d" / "override.conf"  # what the editor leaves
            added.parent.mkdir(exist_ok=True)
            added.write_text("[Service]\nEnvironment=A=b\n")
        case "status":
            pass
        case "stop":
            (base / "pid").unlink(missing_ok=True)
        case _:
            print(f"Unknown command verb {verb}.", file=sys.stderr)
            return 1
    return 0
