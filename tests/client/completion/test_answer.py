"""The process behind a Tab: what it writes for each shell, what it loads, what it never does."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ask.completion.answer import SHELLS, VARIABLE, answer_shell, complete, list_lines
from tests.client.commands.fake_daemon import FakeDaemon
from tests.client.fast.test_guards import ENTRY, HEAVY, environment, list_modules

MODULES_LIMIT = 16
"""A Tab's own eight, and what a prompt of the short way loads."""


def run(shell: str, *words: str, env: dict[str, str] | None = None) -> tuple[int, str, str]:
    """A Tab through the real entry: code, output, errors."""
    done = subprocess.run(
        [sys.executable, "-m", "ask", *words],
        env={**os.environ, VARIABLE: f"{shell}_complete", **(env or {})},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.usefixtures("patient")
def test_each_shell_gets_what_it_reads(daemon: FakeDaemon) -> None:
    daemon.create("two words: 'x'")
    assert list_lines("bash", ["tw", "ask -s tw"]) == ["word\ttwo\\ words:\\ \\'x\\'"]
    assert list_lines("bash", ["tw", "ask -s 'tw"]) == ["word\ttwo words: '\\''x'\\''"]
    assert list_lines("bash", ["tw", 'ask -s "tw']) == ["word\ttwo words: 'x'"]
    assert list_lines("zsh", ["ask", "-s", "tw"]) == ["word\ttwo words: 'x'\t"]
    assert list_lines("fish", ["ask -s tw"]) == ["word\ttwo words: 'x'\t"]
    assert list_lines("fish", ["A=b ask --session=tw"]) == ["word\t--session=two words: 'x'\t"]


@pytest.mark.usefixtures("patient")
def test_bash_replaces_what_follows_its_last_break(daemon: FakeDaemon) -> None:
    daemon.models = [{"name": "openai/gpt-5:free", "provider": "openai"}]
    assert list_lines("bash", ["fr", "ask -m openai/gpt-5:fr"]) == ["word\tfree"]
    assert list_lines("bash", ["op", "ask --model=op"]) == ["word\topenai/gpt-5:free"]
    # Where a colon breaks no words, and where something is replaced that is not the end.
    assert list_lines("bash", ["openai/g", "ask -m openai/g"]) == ["word\topenai/gpt-5:free"]
    assert list_lines("bash", ["nope", "ask -m openai/g"]) == []


def test_paths_are_the_shells_but_where_it_would_miss_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a b").touch()
    (tmp_path / "src" / "c").touch()
    monkeypatch.chdir(tmp_path)
    assert list_lines("bash", ["sr", "ask -f sr"]) == ["file"]
    assert list_lines("bash", ["sr", "ask @sr"]) == ["file"]
    assert list_lines("bash", ["ou", "ask hi > ou"]) == ["file"]
    assert list_lines("bash", ["di", "ask mcp add x --cwd di"]) == ["directory"]
    assert list_lines("bash", ["-fsrc/a", "ask -fsrc/a"]) == ["word\t-fsrc/a\\ b"]
    assert list_lines("bash", ["@sr", "ask @sr"]) == ["open\t@src/"]
    quoted = list_lines("bash", ["see @sr", 'ask "see @sr'])
    assert quoted == ["open\tsee @src/", "word\tsee @src/a b", "word\tsee @src/c"]
    assert list_lines("zsh", ["ask", "see @sr"]) == ["file\tsee @\tsr"]
    assert list_lines("fish", ["ask --file=sr"]) == ["file\t--file=\tsr"]


def test_options_are_offered_once_and_with_what_they_are_for() -> None:
    def words(*before: str) -> dict[str, str]:
        return dict(complete(before[:-1], before[-1])[1])

    assert words("--appr") == {"--approve": "What becomes of a tool's call that needs your word"}
    assert words("history", "sh") == {"show": words("history", "")["show"]}
    assert "--json" not in words("list", "--json", "-")
    assert "--session" not in words("-s", "x", "-")
    assert "--file" in words("-f", "x", "-"), "it may be said again"
    assert words("hello", "") == {}
    assert words("--", "") == {}


def test_words_of_a_list_are_not_offered_again(daemon: FakeDaemon, patient: None) -> None:
    found = dict(complete(["-T"], "read_file,")[1])
    assert "write_file" in found
    assert "read_file" not in found
    assert list_lines("zsh", ["ask", "-T", "read_file,wr"]) == [
        "word\tread_file,write_file\tWrite a text file."
    ]


def test_a_command_may_complete_by_a_function_of_its_own() -> None:
    assert complete(["api"], "blob/")[1] == [("blob/put", ""), ("blob/read", "")]


@pytest.mark.parametrize("shell", SHELLS)
def test_through_the_real_entry(home: Path, shell: str) -> None:
    words = {"bash": ["comp", "ask comp"], "zsh": ["ask", "comp"], "fish": ["ask comp"]}[shell]
    code, out, err = run(shell, *words)
    assert (code, err) == (0, "")
    assert [line.split("\t")[1] for line in out.splitlines()] == ["compact", "completion"]
    code, out, err = run(shell, *words, env={VARIABLE: f"{shell}_source"})
    assert (code, err) == (0, "")
    assert f"{VARIABLE}={shell}_complete" in out


@pytest.mark.parametrize(
    "words", [[], ["x"], ["\udcff", "ask \udcff"], ["a"] * 9, ["", "ask -s \udcff'"]]
)
@pytest.mark.parametrize("shell", SHELLS)
def test_whatever_a_shell_says_it_is_answered_quietly(
    home: Path, shell: str, words: list[str]
) -> None:
    code, _, err = run(shell, *words)
    assert (code, err) == (0, "")
    assert not home.exists(), "no daemon was started, nothing was written"


def test_a_full_disk_and_a_shell_that_has_gone_are_nobodys_concern(home: Path) -> None:
    with open("/dev/full", "wb") as full:
        for _ in range(2):
            done = subprocess.run(
                [sys.executable, "-m", "ask", "", "ask "],
                env={**os.environ, VARIABLE: "bash_complete"},
                stdout=full,
                stderr=subprocess.PIPE,
                check=False,
            )
            assert (done.returncode, done.stderr) == (0, b"")


def test_another_shell_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert answer_shell({VARIABLE: "tcsh_complete"}, []) == 1


def test_little_is_loaded_at_a_tab(daemon: FakeDaemon) -> None:
    environ = {**environment(daemon.path), VARIABLE: "zsh_complete"}
    more = list_modules(ENTRY, "ask", "-s", "wo", environ=environ) - list_modules(
        "os._exit(0)", environ=environ
    )
    assert not [name for name in more for heavy in HEAVY if name.split(".")[0] == heavy]
    assert len(more) <= MODULES_LIMIT, sorted(more)
