"""The last step inside of a sandbox: its filter is there, and what was set on the way is not."""

import json
import subprocess
import sys
from pathlib import Path

from askd.processes import inside


def run(tmp_path: Path, *argv: str) -> subprocess.CompletedProcess[bytes]:
    """Run something as if bubblewrap had started it."""
    plan = json.dumps({"writable": [str(tmp_path)], "foreign": ["PWD", "LC_CTYPE"]})
    return subprocess.run(
        [sys.executable, "-I", "-S", "-X", "utf8", inside.__file__, plan, *argv],
        capture_output=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", "X": "1", "PWD": "/somewhere"},
    )


def test_the_command_gets_what_it_was_given(tmp_path: Path) -> None:
    done = run(tmp_path, "env")
    assert sorted(done.stdout.split()) == [b"PATH=/usr/bin:/bin", b"X=1"]


def test_it_is_filtered_and_writes_where_it_may(tmp_path: Path) -> None:
    done = run(tmp_path, "sh", "-c", f"unshare -U true || : > {tmp_path}/a && : > {tmp_path}/../b")
    assert b"Operation not permitted" in done.stderr
    assert b"Permission denied" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert not (tmp_path.parent / "b").exists()


def test_it_fails_as_a_shell_does(tmp_path: Path) -> None:
    done = run(tmp_path, "no-such-program")
    assert done.returncode == 127
    assert done.stderr == b"no-such-program: No such file or directory\n"
