"""The sandbox: what is found, what it says of itself, and what its commands see."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from askd.processes.confinement import Confiner
from askd.tools import sandbox as sandboxes
from askd.tools.base import CannotRun
from askd.tools.sandbox import RLIMITS, Sandbox, Wanted
from tests.fakes import unconfinable
from tests.faults.escapes import ENV, PYTHON, Ended, run

CONFINERS: tuple[Confiner, ...] = ("bubblewrap", "landlock")


async def run_confined(confiner: Confiner, workspace: Path, script: str, **more: bool) -> Ended:
    """A shell's script in a workspace that it may write to."""
    sandbox = Sandbox(confiner, hidden=[str(workspace / "hidden"), str(workspace / "key")])
    command = await sandbox.confine(
        ["/bin/sh", "-c", script],
        env=ENV,
        cwd=str(workspace),
        writable=[str(workspace)],
        network=more.get("network", False),
    )
    return await run(command)


@pytest.mark.parametrize(
    ("wanted", "path", "found"),
    [
        ("auto", os.defpath, "bubblewrap"),
        ("auto", "", "landlock"),
        ("bubblewrap", os.defpath, "bubblewrap"),
        ("bubblewrap", "", "none"),
        ("landlock", os.defpath, "landlock"),
        ("none", os.defpath, "none"),
    ],
)
async def test_what_is_found(wanted: Wanted, path: str, found: Confiner) -> None:
    sandbox = Sandbox(wanted, path=path)
    assert await sandbox.find() == found
    assert await sandbox.find() == found


@pytest.mark.parametrize("wanted", ["auto", "bubblewrap", "landlock"])
def test_where_nothing_confines_it_says_so(wanted: str) -> None:
    """On a kernel without Landlock that allows no namespaces, bubblewrap or not."""
    script = f"""
import trio
from askd.tools.sandbox import Sandbox
async def main():
    sandbox = Sandbox({wanted!r})
    print(await sandbox.find())
    print(sandbox.describe())
trio.run(main)
"""
    done = subprocess.run(
        [sys.executable, unconfinable.__file__, sys.executable, "-c", script],
        capture_output=True,
        check=True,
    )
    assert done.stdout.decode().splitlines() == [
        "none",
        "not confined: it could reach anything that you can, also this daemon.",
    ]


@pytest.mark.parametrize("confiner", CONFINERS)
async def test_it_says_what_a_command_is_kept_from(confiner: Confiner) -> None:
    sandbox = Sandbox(confiner)
    await sandbox.find()
    assert "it has no network." in sandbox.describe()
    assert "the network is open to it." in sandbox.describe(network=True)
    assert "writes only to temporary files of its own, " in sandbox.describe()
    said = sandbox.describe(writable=["the working directory", "/a"])
    assert "writes only to the working directory, /a and to temporary files of its own, " in said


@pytest.mark.parametrize("confiner", ["bubblewrap", "landlock", "none"])
async def test_a_command_sees_its_variables_alone(confiner: Confiner, tmp_path: Path) -> None:
    command = await Sandbox(confiner).confine(
        ["env"], env={"PATH": os.defpath, "X": "é"}, cwd=str(tmp_path)
    )
    ended = await run(command)
    names = {line.partition("=")[0] for line in ended.output.splitlines()}
    assert names == {"PATH", "X"} | (set() if confiner == "none" else {"TMPDIR"})
    assert "X=é" in ended.output


@pytest.mark.parametrize("confiner", CONFINERS)
async def test_a_workspace_beneath_tmp_is_there(confiner: Confiner, tmp_path: Path) -> None:
    assert tmp_path.is_relative_to("/tmp") or "TMPDIR" in os.environ
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden/key").write_text("secret")
    (tmp_path / "key").write_text("secret")
    (tmp_path / "file").write_text("content")
    ended = await run_confined(
        confiner, tmp_path, "pwd; cat file hidden/key key; echo x >> file; echo y > $TMPDIR/y"
    )
    assert ended.output == f"{tmp_path}\ncontent"
    assert (tmp_path / "file").read_text() == "contentx\n"


@pytest.mark.parametrize("confiner", CONFINERS)
async def test_nothing_is_writable_that_was_not_named(confiner: Confiner, tmp_path: Path) -> None:
    command = await Sandbox(confiner).confine(
        ["sh", "-c", "echo x > new"], env=ENV, cwd=str(tmp_path)
    )
    assert (await run(command)).status != 0
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("confiner", CONFINERS)
async def test_what_the_daemon_runs_from_is_not_written_to(
    confiner: Confiner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a project's own environment, a command could change what starts the next one."""
    inside = tmp_path / ".venv" / "lib"
    inside.mkdir(parents=True)
    (inside / "launcher.py").write_text("as it was")
    (tmp_path / "src").mkdir()
    monkeypatch.setattr(sandboxes, "INSTALLED", (str(tmp_path / ".venv"),))
    script = "echo x > {0}lib/launcher.py; mv {0}lib {0}other; mv .venv v; echo x > src/file"
    ended = await run_confined(confiner, tmp_path, script.format(".venv/"))
    assert ended.status == 0, ended
    await run_confined(confiner, inside.parent, script.format(""))
    assert (inside / "launcher.py").read_text() == "as it was"


@pytest.mark.parametrize("confiner", CONFINERS)
@pytest.mark.parametrize("network", [False, True])
async def test_the_network_is_a_matter_of_choice(
    confiner: Confiner, network: bool, tmp_path: Path
) -> None:
    script = f"{PYTHON} -c 'import socket; s = socket.socket(); s.connect((\"127.0.0.1\", 1))'"
    ended = await run_confined(confiner, tmp_path, script, network=network)
    # Nobody listens at port 1 on either side; who is refused by the kernel says something else.
    refused = "ConnectionRefused" in ended.trouble
    assert refused == (network or confiner == "bubblewrap"), ended


@pytest.mark.parametrize("confiner", CONFINERS)
async def test_what_is_asks_own_is_no_place_to_run(confiner: Confiner, tmp_path: Path) -> None:
    own = tmp_path / "own"
    (own / "deep").mkdir(parents=True)
    sandbox = Sandbox(confiner, hidden=[str(own)])
    with pytest.raises(CannotRun, match="belongs to ask"):
        await sandbox.confine(["true"], env=ENV, cwd=str(own / "deep"), writable=[str(own)])
    command = await sandbox.confine(
        ["sh", "-c", f"echo x > {own}/x"], env=ENV, cwd=str(tmp_path), writable=[str(own)]
    )
    assert (await run(command)).status != 0
    assert not (own / "x").exists()


@pytest.mark.parametrize("confiner", CONFINERS)
async def test_limits_are_the_commands_own(confiner: Confiner, tmp_path: Path) -> None:
    ended = await run_confined(confiner, tmp_path, "ulimit -Hc; ulimit -Hn; ulimit -Ht")
    core, files, seconds = ended.output.split()
    assert (int(core), int(files)) == (0, RLIMITS["NOFILE"])
    assert int(seconds) <= RLIMITS["CPU"]


async def test_none_is_the_plain_command(tmp_path: Path) -> None:
    command = await Sandbox("none").confine(["x"], env={}, cwd=str(tmp_path))
    assert command.argv == ["x"]
    assert command.confinement is None
    assert not command.wraps
