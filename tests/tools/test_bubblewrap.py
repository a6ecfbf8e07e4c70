"""What stands where in bubblewrap's sandbox, and which bubblewrap is one that works."""

import os
import sys
from pathlib import Path

import pytest

from askd.processes.confinement import Confinement
from askd.processes.supervise import Command
from askd.tools import bubblewrap
from askd.tools.bubblewrap import TEMPORARY_BYTES, Bubblewrap, find_bubblewrap, lay_out
from tests.faults.escapes import run

SYSTEM_PATH = os.defpath
BOUNDED = {"/tmp", "/var/tmp", "/dev/shm"}


def lay(confinement: Confinement, below: Path) -> dict[str, str]:
    """What is put below a directory, by the path from there, in its order."""
    return {
        os.path.relpath(path, below): kind
        for path, kind in lay_out(confinement, cwd="/", runtime=None)
        if path.startswith(str(below))
    }


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A workspace with something to keep in it, and something beside it."""
    for each in ("ws/.git", "ws/a/b/.git", "ws/own", "other"):
        (tmp_path / each).mkdir(parents=True)
    (tmp_path / "ws/file").touch()
    return tmp_path


def test_parents_come_first_and_what_takes_away_wins(place: Path) -> None:
    found = lay(
        Confinement(
            writable=[str(place / "ws"), str(place / "ws/own")],
            read_only=[str(place / "ws/.git"), str(place / "ws/own")],
            hidden=[str(place / "ws/own"), str(place / "ws/file")],
        ),
        place,
    )
    assert found == {"ws": "write", "ws/.git": "read", "ws/file": "nothing", "ws/own": "empty"}
    assert next(iter(found)) == "ws"


def test_what_is_above_a_kept_place_cannot_be_renamed(place: Path) -> None:
    kept = [str(place / "ws/a/b/.git")]
    found = lay(Confinement(writable=[str(place / "ws")], read_only=kept), place)
    assert found == {"ws": "write", "ws/a": "write", "ws/a/b": "write", "ws/a/b/.git": "read"}
    outside = lay(Confinement(writable=[str(place / "other")], read_only=kept), place)
    assert outside == {"other": "write", "ws/a/b/.git": "read"}


def test_a_link_is_kept_by_its_directory(place: Path) -> None:
    (place / "ws/a/.git").symlink_to("b")
    found = lay(
        Confinement(writable=[str(place / "ws")], read_only=[str(place / "ws/a/.git")]), place
    )
    assert found == {"ws": "write", "ws/a": "read", "ws/a/b": "write"}


def test_nothing_is_put_where_nothing_is(place: Path) -> None:
    confinement = Confinement(
        read_only=[str(place / "none")], hidden=["/nowhere"], writable=[str(place / "x")]
    )
    assert lay(confinement, place) == {}


@pytest.mark.parametrize(
    ("cwd", "kind"), [("ws", "write"), ("ws/a", "write"), ("ws/.git", "read"), ("other", "read")]
)
def test_the_working_directory_is_always_there(place: Path, cwd: str, kind: str) -> None:
    confinement = Confinement(writable=[str(place / "ws")], read_only=[str(place / "ws/.git")])
    assert dict(lay_out(confinement, cwd=str(place / cwd), runtime=None))[str(place / cwd)] == kind


def test_the_interpreter_stays_in_sight(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bubblewrap, "TEMPORARY", (str(place),))
    monkeypatch.setattr(bubblewrap, "NEEDED", (str(place / "other"), "/usr"))
    found = dict(lay_out(Confinement(), cwd="/", runtime=None))
    assert found[str(place / "other")] == "read"
    assert "/usr" not in found


async def test_one_that_works_is_found() -> None:
    found = await find_bubblewrap(SYSTEM_PATH)
    assert found is not None
    assert found.program.endswith("/bwrap")


@pytest.mark.parametrize(
    "script",
    [None, "#!/bin/sh\nexit 1\n", '#!/bin/sh\n[ "$1" = --help ]\n', "no program", "#!/nowhere\n"],
)
async def test_one_that_does_not_work_is_none(tmp_path: Path, script: str | None) -> None:
    if script is not None:
        (tmp_path / "bwrap").write_text(script)
        (tmp_path / "bwrap").chmod(0o755)
    assert await find_bubblewrap(str(tmp_path)) is None


@pytest.mark.parametrize("options", [frozenset[str](), bubblewrap.NEWER])
async def test_the_directory_is_the_one_that_was_open(
    tmp_path: Path, options: frozenset[str]
) -> None:
    """Also with an older bubblewrap, which has to be told a path."""
    found = await find_bubblewrap(SYSTEM_PATH)
    assert found is not None
    one = Bubblewrap(found.program, options & found.options)
    (tmp_path / "here").mkdir()
    fd = os.open(tmp_path / "here", os.O_RDONLY)
    os.rename(tmp_path / "here", tmp_path / "meant")
    (tmp_path / "here").mkdir()
    here = str(tmp_path / "here")
    argv = one.wrap(
        ["sh", "-c", ": > x; ls /proc/self/fd"],
        Confinement(writable=[here]),
        cwd=here,
        cwd_fd=fd,
        names=["PATH"],
    )
    ended = await run(
        Command(argv=argv, env={"PATH": SYSTEM_PATH}, cwd=here, cwd_fd=fd, wraps=True)
    )
    os.close(fd)
    assert ended.status == 0, ended
    assert len(ended.output.split()) <= 4
    assert (tmp_path / "meant/x").exists()
    assert not (tmp_path / "here/x").exists()


@pytest.mark.parametrize("cwd", ["/", "/dev", "/proc"])
@pytest.mark.parametrize("is_writable", [True, False])
async def test_the_sandboxes_own_places_stay_its_own(cwd: str, is_writable: bool) -> None:
    """Also for who stands there: else no device could be opened, and other processes be seen."""
    found = await find_bubblewrap(SYSTEM_PATH)
    assert found is not None
    confinement = Confinement(writable=[cwd]) if is_writable else Confinement(read_only=[cwd])
    seen = f": < /dev/null && [ ! -e /proc/{os.getpid()} ] && ls -d /proc/[0-9]* | wc -l"
    argv = found.wrap(["sh", "-c", seen], confinement, cwd=cwd, names=["PATH"])
    ended = await run(Command(argv=argv, env={"PATH": SYSTEM_PATH}, cwd=cwd, wraps=True))
    assert ended.status == 0, ended
    assert int(ended.output) < 6


def test_every_place_in_memory_has_a_size() -> None:
    words = Bubblewrap("/usr/bin/bwrap", frozenset({"--size"})).wrap(
        ["true"], Confinement(), cwd="/"
    )
    places = [at for at, word in enumerate(words) if word == "--tmpfs" and words[at + 1] in BOUNDED]
    assert {words[at + 1] for at in places} == BOUNDED
    assert all(words[at - 2 : at] == ["--size", str(TEMPORARY_BYTES)] for at in places)
    assert words.index("--remount-ro") > max(at for at in places if words[at + 1] == "/dev/shm")


def test_the_last_step_is_this_rooms() -> None:
    words = Bubblewrap("/bwrap").wrap(["x"], Confinement(network=True), cwd="/")
    assert "--unshare-net" not in words
    assert words[-1] == "x"
    assert os.path.realpath(sys.executable) in words
    assert Path(bubblewrap.INSIDE).is_file()
