"""What real shells run of a line, against what the rules took it for.

Every command is a script that notes how it was called; nothing else is in the path. A line
that the rules allow must have run what they allow and nothing besides.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from askd.core.commands import Approval, find_command_rule

RULES: dict[str, Approval] = {"git status": "auto", "echo": "auto", "cat": "auto", "ls": "auto"}
WIDER: dict[str, Approval] = {
    **RULES,
    **dict.fromkeys(("env", "xargs", "find", "sh", "bash", "nohup", "timeout", "printf"), "auto"),
}
"""Rules for programs that run others must not let those run either."""
EXPECTED = {"git status", "echo", "cat", "ls"}
NOTED = ("git", "evil", "ls", "cat", "rm", "sudo")
REAL = ("env", "xargs", "find", "sh", "bash", "nohup", "timeout", "nice", "setsid", "true")

HIDING = [
    "git status; evil",
    "git status;evil",
    "git status\nevil",
    "git status && evil",
    "git status || evil; evil",
    "git status | evil",
    "git status & evil",
    "git status &evil",
    "git status |& evil",
    "git status $(evil)",
    "git status `evil`",
    'git status "$(evil)"',
    'git status "`evil`"',
    'git status "a\\"$(evil)"',
    "git status 'a'$(evil)'b'",
    "git status '\\'; evil",
    "git status <(evil)",
    "git status >(evil)",
    "git status ${x:-$(evil)}",
    "git status ${x:=`evil`}",
    "git status $((1 + $(evil)))",
    "git status $[ $(evil) ]",
    "git status $(echo `evil`)",
    "git status $(echo ')'; evil)",
    "git status {a,$(evil)}",
    "git status #a\nevil",
    "git status # it's\nevil",
    "git status \\\n; evil",
    "git status \\\\\nevil",
    "git status 'a\\'; evil",
    'git status "a\\\\"; evil',
    "git status $'a\\'b'; evil",
    "git status $'a\\'; evil #'",
    'git status $"a"; evil',
    "x=$(evil) git status",
    "x=`evil`; git status",
    "PATH=.:$PATH git status; evil",
    "! git status; evil",
    "(git status; evil)",
    "{ git status; evil; }",
    "if git status; then evil; fi",
    "while ! evil; do git status; done",
    "for x in evil; do $x; done",
    "case x in x) evil;; esac",
    "git() { evil; }; git status",
    "function git { evil; }; git status",
    "alias git=evil\ngit status",
    "eval evil",
    "eval 'ev''il'",
    "exec evil",
    "command evil",
    "env evil",
    "env X=1 evil",
    "nohup evil",
    "timeout 5 evil",
    "echo evil | xargs -n 1 env",
    "echo x | xargs evil",
    "find . -maxdepth 0 -exec evil {} \\;",
    "find . -maxdepth 0 -execdir evil {} +",
    "sh -c evil",
    "sh -c 'git status; evil'",
    "bash -c \"bash -c 'evil'\"",
    "echo evil | sh",
    "bash <<< evil",
    "sh <<E\nevil\nE",
    "cat <<E\n$(evil)\nE",
    "cat <<'E'\nit's\nE\nevil",
    "cat <<-E\n\tx\n\tE\nevil",
    "echo evil > f; sh f",
    "echo evil > f; . ./f",
    "trap evil EXIT",
    "trap 'evil' EXIT; git status",
    "\\evil",
    "ev''il",
    "ev\\\nil",
    "$'\\x65vil'",
    "$'\\145vil'",
    "e${x}vil",
    "x=evil; $x",
    "git status;${x}evil",
    "*vil",
    "e?il",
    "{evil,x}",
    "time evil",
    "coproc evil",
    "git status 2>&1; evil",
    "git status 2>&1 | evil",
    "git status >&2 & evil",
    "&>/dev/null evil",
    ">/dev/null evil",
    "2>/dev/null evil",
    "</dev/null evil",
    "git status >/dev/null; evil </dev/null",
    "printf -v 'a[$(evil)]' x",
    "test -v 'a[$(evil)]'",
    "let 'a[$(evil)]=1'",
    "[[ -v a[$(evil)] ]]",
    "echo ${a[$(evil)]}",
    'echo "\'"; evil; echo "\'"',
    'echo \\"; evil; echo \\"',
    "echo \\'; evil; echo \\'",
    "echo a\\ ; evil",
    "git status\r\nevil",
    "git status;\tevil",
    "git status \n\n evil",
]
"""They run `evil` in one shell at least, whatever they begin with."""

HARMLESS = [
    "echo 'a'\"'\"'; evil; '\"'\"",
    "git status",
    "git status -s; ls -la | cat",
    "git status 2>&1 | cat 2>/dev/null && echo done",
    "echo 'evil; evil' \"evil | evil\" \\; evil",
    "ls $HOME *.py ~/x {a,b}",
    "git \\\nstatus",
    "echo a#evil",
    "git 'status' \"x y\"\nls",
    "ls 'a'\\''; evil'",
    'echo "it\'s; evil"',
    "</dev/null cat >/dev/null",
]


class Shells:
    """Runs lines where only noted commands are."""

    def __init__(self, root: Path) -> None:
        self._programs, self._notes = root / "bin", root / "notes"
        self._place = root / "place"
        for directory in (self._programs, self._place):
            directory.mkdir()
        for name in REAL:
            found = shutil.which(name)
            assert found is not None
            (self._programs / name).symlink_to(found)
        for name in NOTED:
            script = self._programs / name
            script.write_text(
                f'#!/bin/sh\n[ "{name} $1" = "git status" ] && set -- " status" || set --\n'
                f'echo "{name}$1" >> "$NOTES"\n'
            )
            script.chmod(0o755)
        (self._place / "evil").symlink_to(self._programs / "evil")

    def run(self, shell: str, line: str) -> set[str]:
        """The commands that were run; of their arguments only what says which of git's it was."""
        self._notes.write_text("")
        subprocess.run(
            [shutil.which(shell) or shell, "-c", line],
            cwd=self._place,
            env={"PATH": str(self._programs), "NOTES": str(self._notes), "HOME": "/"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,  # read to its end: also what runs beside the line has ended
            stderr=subprocess.STDOUT,
            timeout=20,
            check=False,
        )
        return set(self._notes.read_text().splitlines())


SHELLS = [each for each in ("bash", "dash", "sh") if shutil.which(each)]


@pytest.fixture
def shells(tmp_path: Path) -> Shells:
    assert os.sep == "/"
    return Shells(tmp_path)


@pytest.mark.parametrize("line", HIDING)
def test_that_what_hides_a_command_is_never_allowed(line: str, shells: Shells) -> None:
    ran = set().union(*(shells.run(shell, line) for shell in SHELLS))

    assert "evil" in ran, "a line that runs nothing hidden proves nothing"
    assert find_command_rule(line, RULES) is None
    assert find_command_rule(line, WIDER) is None


def test_that_reading_the_first_words_alone_would_not_do(shells: Shells) -> None:
    """The control: what a look at the beginning of each line lets through."""
    fooled = [
        line
        for line in HIDING
        if line.startswith(tuple(RULES)) and "evil" in shells.run("bash", line)
    ]

    assert len(fooled) > 40


@pytest.mark.parametrize("line", HARMLESS)
def test_that_what_is_allowed_runs_as_it_was_read(line: str, shells: Shells) -> None:
    assert find_command_rule(line, RULES) == "auto"
    for shell in SHELLS:
        assert shells.run(shell, line) <= EXPECTED
